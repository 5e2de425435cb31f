"""`planner fit`: does a model fit on an accelerator, what does it hold, and what would make it fit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from planner.cli.commands.catalog import source_options
from planner.cli.config import PlannerCommand, stdout_is_terminal
from planner.cli.numbers import ShareRange
from planner.cli.output import format_option, output_option, write_result
from planner.errors import Fault, InputError

if TYPE_CHECKING:
    from planner.catalog.catalog import Catalog
    from planner.catalog.types import LlmModel
    from planner.performance.fit import FitQuestion

DOES_NOT_FIT = 3
COUNT = click.IntRange(min=1)


@click.command(cls=PlannerCommand)
@click.option("--model", metavar="ID", help="A model of the catalog, by id or alias.")
@click.option(
    "--config", metavar="FILE", help="A model by its config.json or params.json (or a folder with one, or -)."
)
@click.option("--accelerator", metavar="NAME", show_default="a table over all of them",
              help="An accelerator of the catalog.")  # fmt: skip
@click.option("--tensor-parallel", type=COUNT, metavar="N", show_default="the fewest accelerators that fit",
              help="Accelerators that share every layer.")  # fmt: skip
@click.option("--pipeline-parallel", type=COUNT, metavar="N", help="Stages of layers (with --tensor-parallel).",
              show_default="1")  # fmt: skip
@click.option("--expert-parallel", type=COUNT, metavar="N", show_default="1",
              help="Groups that keep experts whole (divides --tensor-parallel).")  # fmt: skip
@click.option("--attention-data-parallel", type=COUNT, metavar="N", show_default="1",
              help="Groups with requests of their own (divides --tensor-parallel).")  # fmt: skip
@click.option(
    "--precision", metavar="P", show_default="the checkpoint's own", help="Of the weights: bf16, fp8, int4, …"
)
@click.option("--kv-precision", metavar="P", show_default="as the model computes: bf16, or fp32 for fp32 weights",
              help="Of the KV cache: bf16, fp8, …")  # fmt: skip
@click.option("--max-model-len", type=COUNT, metavar="N", show_default="the model's own limit",
              help="Longest context to admit, in tokens.")  # fmt: skip
@click.option("--max-num-seqs", type=COUNT, metavar="N", show_default="the engine's",
              help="Sequences scheduled at once.")  # fmt: skip
@click.option("--gpu-memory-utilization", type=ShareRange(0, 1, min_open=True), metavar="U", default=0.9,
              show_default=True, help="Share of the physical memory that the engine may use.")  # fmt: skip
@click.option("--concurrency", type=COUNT, metavar="N", default=1, show_default=True,
              help="Requests of the longest context that must be held at once.")  # fmt: skip
@click.option("--engine", metavar="NAME[@VERSION]", default="vllm", show_default=True,
              help="Serving engine, e.g. vllm@0.19.")  # fmt: skip
@source_options
@format_option("table", "json", "csv", "markdown")
@output_option
def fit(path: str | None, overlays: tuple[str, ...], format_: str, output: str, **options: Any) -> int:
    """Say whether a model fits, what it holds, what limits it and what to change.

    Exits 0 where it fits and 3 where it does not. Without --tensor-parallel the fewest accelerators that fit are
    sought; without --accelerator every accelerator of the catalog is answered that way, the fewest and smallest first.
    CSV and Markdown are for that table only.
    """
    from planner.catalog.load import load_catalog

    catalog = load_catalog(path, overlays)
    question = _question(catalog, options)
    colour = output == "-" and stdout_is_terminal()
    if options["accelerator"] is None:
        return _survey(question, catalog, format_, output, colour)
    from planner.performance.fit import answer, smallest
    from planner.performance.fit_advice import suggestions
    from planner.report.fit import fit_text

    if format_ in ("csv", "markdown"):
        raise click.UsageError(f"--format {format_} is for the table over accelerators: leave --accelerator out")
    found = smallest(question, catalog) if options["tensor_parallel"] is None else answer(question, catalog)
    write_result(fit_text(found, suggestions(found, catalog), format_, colour), output)
    return 0 if found.fits else DOES_NOT_FIT


def _survey(question: FitQuestion, catalog: Catalog, format_: str, output: str, colour: bool) -> int:
    from planner.performance.fit_survey import survey
    from planner.report.fit import survey_text

    rows = survey(question, catalog)
    write_result(survey_text(rows, format_, colour), output)
    return 0 if any(r.fits for r in rows) else DOES_NOT_FIT


def _question(catalog: Catalog, options: dict[str, Any]) -> FitQuestion:
    """The question that the options ask. Raises InputError for names, click.UsageError for options that miss others."""
    from planner.performance.engines import engine_named
    from planner.performance.fit import FitQuestion

    if (options["model"] is None) == (options["config"] is None):
        raise click.UsageError("give a model: either --model ID or --config FILE")
    degrees = ("pipeline_parallel", "expert_parallel", "attention_data_parallel")
    stated = [d for d in degrees if options[d] is not None]
    if options["tensor_parallel"] is None and stated:
        raise click.UsageError(f"--{stated[0].replace('_', '-')} needs --tensor-parallel")
    if options["accelerator"] is None and options["tensor_parallel"] is not None:
        raise click.UsageError("--tensor-parallel needs --accelerator")
    faults: list[Fault] = []
    model = _named(faults, "--model", lambda: _model(catalog, options))
    engine = _named(faults, "--engine", lambda: engine_named(options["engine"], catalog))
    name = options["accelerator"] or catalog.accelerators[0].id
    accelerator = _named(faults, "--accelerator", lambda: catalog.accelerator(name))
    stated_precision = options["precision"] or (model.native_precision if model else "bf16")
    precision = _named(faults, "--precision", lambda: catalog.precision(stated_precision))
    computed = "fp32" if precision is not None and precision.id == "fp32" else "bf16"
    kv = _named(faults, "--kv-precision", lambda: catalog.precision(options["kv_precision"] or computed))
    if kv is not None and kv.kv_bytes is None:
        known = ", ".join(p.id for p in catalog.precisions if p.kv_bytes)
        faults.append(Fault("U115", f"{kv.id} is not a precision of a KV cache", path="--kv-precision", help=known))
    if faults or model is None or engine is None or accelerator is None or precision is None or kv is None:
        raise InputError(faults)
    tensor = options["tensor_parallel"] or 1
    for degree in ("expert_parallel", "attention_data_parallel"):
        if tensor % (options[degree] or 1):
            said = f"{options[degree]} groups do not divide {tensor} accelerators"
            faults.append(Fault("U116", said, path=f"--{degree.replace('_', '-')}"))
    if faults:
        raise InputError(faults)
    return FitQuestion(
        model=model,
        accelerator=accelerator,
        engine=engine,
        precision=precision,
        kv_precision=kv,
        max_model_len=options["max_model_len"] or model.max_context_tokens,
        tensor_parallel=tensor,
        pipeline_parallel=options["pipeline_parallel"] or 1,
        expert_parallel=options["expert_parallel"] or 1,
        attention_data_parallel=options["attention_data_parallel"] or 1,
        max_num_seqs=options["max_num_seqs"],
        gpu_memory_utilization=options["gpu_memory_utilization"],
        concurrency=options["concurrency"],
    )


def _named(faults: list[Fault], option: str, look_up: Any) -> Any:
    """A row by its name; what has none is added to `faults`."""
    from planner.catalog.catalog import UnknownName

    try:
        return look_up()
    except UnknownName as unknown:
        near = unknown.suggestions
        table = {"--kv-precision": "precisions"}.get(option, f"{option[2:]}s")
        hint = f"did you mean {' or '.join(near)}?" if near else f"planner catalog list {table} shows every name"
        faults.append(Fault("U114", f"the catalog has no {unknown.kind} '{unknown.name}'", path=option, help=hint))
    except InputError as wrong:
        faults.extend(wrong.faults)
    return None


def _model(catalog: Catalog, options: dict[str, Any]) -> LlmModel:
    if options["model"] is not None:
        return catalog.model(options["model"])
    from pathlib import Path

    from planner.catalog.config_file import read_config_file
    from planner.catalog.shape import model_from_config

    path = options["config"]
    resolved = Path(path).resolve()
    named = resolved if resolved.is_dir() else resolved.parent if resolved.name in ("config.json", "params.json") else (
        resolved.with_suffix(""))  # fmt: skip
    name = "model" if path == "-" else named.name or "model"
    return model_from_config(read_config_file(path), id=name, source=f"config {path}", as_of=catalog.as_of)
