"""`planner calibrate`: benchmark files → measured points that correct the estimates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from planner.cli.config import PlannerCommand
from planner.cli.numbers import FiniteRange
from planner.cli.output import output_option, write_result

if TYPE_CHECKING:
    from collections.abc import Sequence

    from planner.performance.residuals import MeasuredPoint

POSITIVE = click.IntRange(1, 1_000_000)
FAR_OFF = 3.0
"""Measured ÷ estimated beyond which, or below its inverse, an option is more likely wrong than the estimate."""


@click.command(cls=PlannerCommand, needs=("files",))
@click.argument("files", nargs=-1, metavar="FILES...")
@click.option("--model", metavar="ID", default=None, show_default="from the file", help="Model that was served.")
@click.option("--accelerator", metavar="NAME", default=None, show_default="from the file", help="Accelerator.")
@click.option(
    "--num-gpus",
    type=POSITIVE,
    default=None,
    show_default="from the file, else TP × PP",
    help="Accelerators in all; more than TP × PP are further replicas.",
)
@click.option(
    "--tensor-parallel",
    type=POSITIVE,
    default=None,
    show_default="from the file",
    help="Accelerators that share each layer.",
)
@click.option(
    "--pipeline-parallel", type=POSITIVE, default=None, show_default="from the file, else 1", help="Groups of layers."
)
@click.option(
    "--expert-parallel",
    type=POSITIVE,
    default=None,
    show_default="from the file, else what the model needs",
    help="Accelerators that share the experts.",
)
@click.option(
    "--engine", metavar="NAME[@VERSION]", default=None, show_default="from the file, else vllm", help="Engine."
)
@click.option(
    "--precision",
    metavar="NAME",
    default=None,
    show_default="from the file or the model's name, else native",
    help="Precision of the weights.",
)
@click.option("--kv-precision", metavar="NAME", default=None, show_default="bf16", help="Precision of the KV cache.")
@click.option(
    "--input-tokens",
    type=FiniteRange(0, 1e8),
    default=None,
    show_default="from the file",
    help="Mean prompt tokens of a request.",
)
@click.option(
    "--output-tokens",
    type=FiniteRange(1, 1e8),
    default=None,
    show_default="from the file",
    help="Mean generated tokens of a request.",
)
@click.option(
    "--concurrency",
    type=FiniteRange(1, 1e7),
    default=None,
    show_default="from the file",
    help="Requests in flight, on all accelerators together.",
)
@click.option("--max-num-seqs", type=POSITIVE, default=None, show_default="the engine's", help="Engine setting.")
@click.option(
    "--max-num-batched-tokens",
    type=POSITIVE,
    default=None,
    show_default="the engine's",
    help="Engine setting: tokens of one iteration.",
)
@click.option(
    "--gpu-memory-utilization",
    type=FiniteRange(0, 1, min_open=True),
    default=None,
    show_default="0.9",
    help="Engine setting.",
)
@click.option("--catalog", metavar="DIR", default=None, show_default="the shipped one", help="Catalog directory.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["yaml", "json"]),
    default=None,
    show_default="json where FILE ends so, else yaml",
    help="How to write the calibration.",
)
@output_option
def calibrate(files: tuple[str, ...], catalog: str | None, format_: str | None, output: str, **stated: Any) -> None:
    """Turn benchmark files into a calibration of the estimates.

    FILES are outputs of vllm bench serve, GuideLLM, aiperf or genai-perf, InferenceX or AccelMark, or CSV tables of
    points, told apart by content; - reads standard input. Options say what the files do not, and go before what they
    say. The calibration is for `planner predict --calibration` and for `measured: - file:` in a spec.
    """  # fmt: skip
    from planner.catalog.load import load_catalog
    from planner.performance.parameters import load_parameters
    from planner.performance.residuals import compare
    from planner.predict.calibration_file import calibration_text
    from planner.predict.configure import Configurator
    from planner.predict.formats.detect import read_benchmark, read_bytes
    from planner.predict.measure import measure

    configurator = Configurator(load_catalog(catalog))
    texts = {k: f"{v:g}" if isinstance(v, float) else str(v) for k, v in stated.items() if v is not None}
    read = [read_benchmark(read_bytes(f), "standard input" if f == "-" else f) for f in files]
    found = measure(read, texts, configurator)
    as_json = format_ == "json" or (format_ is None and output.endswith(".json"))
    write_result(calibration_text(found.points, as_json), output)
    for fault in found.warnings:
        click.echo(f"warning: {fault.file}: {fault.message}", err=True)
    if found.notes:
        click.echo(f"not stated, taken: {'; '.join(found.notes)}", err=True)
    _report(compare(found.points, configurator.catalog, load_parameters()))


def _report(measured: Sequence[MeasuredPoint]) -> None:
    """Measured ÷ estimated by configuration, on standard error."""
    import math
    from statistics import median

    by: dict[str, list[MeasuredPoint]] = {}
    for m in measured:
        by.setdefault(m.at.config, []).append(m)
    for config, points in by.items():
        parts = []
        for name, logs in (
            ("time per output token", [p.step_log for p in points]),
            ("first token", [p.first_token_log for p in points]),
        ):
            ratios = [math.exp(x) for x in logs if math.isfinite(x)]
            if ratios:
                parts.append(f"{name} {median(ratios):.2f} × the estimate")
        count = f"{len(points)} point{'s' if len(points) > 1 else ''}"
        click.echo(f"{config}: {count}: {', '.join(parts)}", err=True)
        far = [p for p in points if math.isfinite(p.step_log) and abs(p.step_log) > math.log(FAR_OFF)]
        if far:
            click.echo(
                f"warning: {far[0].point.source} is {math.exp(far[0].step_log):.2g} × the estimate: check model, "
                "accelerator, precision and degrees before you use this",
                err=True,
            )
