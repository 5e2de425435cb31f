"""`planner predict`: throughput and latency of a configuration at a load, one point or a table of them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from planner.cli.config import PlannerCommand
from planner.cli.numbers import FiniteRange
from planner.cli.output import format_option, output_option, write_result
from planner.errors import PREDICT_CODES, Fault, InputError

if TYPE_CHECKING:
    from planner.performance.calibration import Calibration
    from planner.performance.parameters import PerformanceParameters
    from planner.predict.configure import Configurator
    from planner.predict.silicon import SiliconTables

MOST_CSV_BYTES = 500_000_000
NEEDED = ("model", "accelerator", "input_tokens", "output_tokens")
POSITIVE = click.IntRange(1, 1_000_000)


@click.command(cls=PlannerCommand)
@click.option("--model", metavar="ID", default=None, help="Model: an id, alias or hub name such as Qwen/Qwen3-32B-FP8.")
@click.option("--accelerator", metavar="NAME", default=None, help="Accelerator, e.g. H100-SXM.")
@click.option(
    "--num-gpus",
    type=POSITIVE,
    default=None,
    show_default="TP × PP",
    help="Accelerators in all; more than TP × PP are further replicas, or attention ranks of a MoE.",
)
@click.option(
    "--tensor-parallel",
    type=POSITIVE,
    default=None,
    show_default="from --num-gpus, else the least that fits",
    help="Accelerators that share each layer.",
)
@click.option("--pipeline-parallel", type=POSITIVE, default=None, show_default="1", help="Groups of layers.")
@click.option(
    "--expert-parallel",
    type=POSITIVE,
    default=None,
    show_default="1, or what the model needs",
    help="Accelerators that share the experts.",
)
@click.option("--engine", metavar="NAME[@VERSION]", default=None, show_default="vllm where it runs", help="Engine.")
@click.option(
    "--precision",
    metavar="NAME",
    default=None,
    show_default="the name's, else the model's native one",
    help="Precision of the weights.",
)
@click.option("--kv-precision", metavar="NAME", default=None, show_default="bf16", help="Precision of the KV cache.")
@click.option("--input-tokens", type=FiniteRange(0, 1e8), default=None, help="Prompt tokens of a request.")
@click.option("--output-tokens", type=FiniteRange(1, 1e8), default=None, help="Generated tokens of a request.")
@click.option(
    "--concurrency",
    type=FiniteRange(1, 1e7),
    default=None,
    show_default="as many as fit",
    help="Requests in flight at once, on all accelerators together.",
)
@click.option(
    "--rate",
    type=FiniteRange(0, 1e7, min_open=True),
    default=None,
    help="Requests per second (Poisson) instead of a concurrency.",
)
@click.option(
    "--cached-input-tokens",
    type=FiniteRange(0, 1e8),
    default=None,
    show_default="0",
    help="Part of the prompt that a prefix cache holds.",
)
@click.option(
    "--tokens-per-step",
    type=FiniteRange(1, 64),
    default=None,
    show_default="1",
    help="With speculative decoding: tokens that one iteration yields of a request, as measured on your traffic.",
)
@click.option(
    "--batch", type=FiniteRange(1, 1e7), default=None, help="Size of a static batch instead of a concurrency."
)
@click.option(
    "--kind",
    type=click.Choice(["online", "static_batch", "offline_throughput", "single_stream"]),
    default=None,
    show_default="online",
    help="How requests arrive.",
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
@click.option(
    "--calibration",
    "calibrations",
    metavar="FILE",
    multiple=True,
    help="What `planner calibrate` wrote; may be given several times.",
)
@click.option(
    "--silicon",
    is_flag=True,
    help="Use NVIDIA's operator tables where they cover the configuration (needs planner[silicon]).",
)
@click.option(
    "--csv",
    "csv_file",
    metavar="FILE",
    default=None,
    help="Predict every row of a CSV file (- reads standard input) and write it with the predictions beside.",
)
@click.option("--catalog", metavar="DIR", default=None, show_default="the shipped one", help="Catalog directory.")
@format_option("table", "json")
@output_option
def predict(
    csv_file: str | None, calibrations: tuple[str, ...], silicon: bool, catalog: str | None, format_: str, output: str,
    **asked: Any,
) -> None:  # fmt: skip
    """Predict throughput, TTFT and TPOT of a configuration at a load.

    Figures are medians; error_band is the 80 % interval of true ÷ predicted time. What is not stated is inferred, and
    provenance says how. With --csv: columns model, accelerator, num_gpus, tensor_parallel, pipeline_parallel,
    expert_parallel, engine, precision, kv_precision, input_tokens, output_tokens, concurrency, kind; blank = unknown.
    A row that cannot be predicted keeps its place and says why in the column error.
    """  # fmt: skip
    given = [k for k, v in asked.items() if v is not None]
    if csv_file is not None and given:
        raise click.UsageError(f"--csv takes its points from the file: leave out --{given[0].replace('_', '-')}")
    if csv_file is not None and format_ != "table":
        raise click.UsageError(f"--csv writes CSV: leave out --format {format_}")
    missing = [] if csv_file is not None else [n for n in NEEDED if asked[n] is None]
    if missing:
        words = ", ".join(f"--{n.replace('_', '-')}" for n in missing)
        raise click.UsageError(f"Missing {words} (or --csv FILE for a table of points)")
    load = [k for k in ("concurrency", "rate", "batch") if asked[k] is not None]
    if len(load) > 1:
        raise click.UsageError(f"--{load[0]} and --{load[1]} exclude each other")
    if csv_file is None:
        from planner.predict.single import predict_one
        from planner.report.predict import prediction_text

        write_result(prediction_text(predict_one(asked, *_model(catalog, calibrations, silicon)), format_), output)
        return
    from planner.predict.table import predict_table, read_table, table_text

    table = read_table(_bytes(csv_file), "standard input" if csv_file == "-" else csv_file)
    found = predict_table(table, *_model(catalog, calibrations, silicon))
    write_result(table_text(found), output)
    if found.failed:
        click.echo(
            f"{found.failed} of {len(found.answers)} rows could not be predicted: see the column error", err=True
        )


def _model(
    catalog: str | None, calibrations: tuple[str, ...], silicon: bool
) -> tuple[Configurator, PerformanceParameters, Calibration, SiliconTables | None]:
    """What predicts: names, parameters, the user's own measurements, and operator tables if asked for and there."""
    from planner.catalog.load import load_catalog
    from planner.performance.parameters import load_parameters
    from planner.performance.residuals import calibration_of
    from planner.predict.calibration_file import with_calibrations
    from planner.predict.configure import Configurator
    from planner.predict.silicon import load_silicon

    rows, parameters = with_calibrations(load_catalog(catalog), calibrations), load_parameters()
    configurator = Configurator(rows)
    tables = load_silicon(configurator.names) if silicon else None
    if silicon and tables is None:
        click.echo("warning: aiconfigurator-core is not installed: pip install 'planner[silicon]'", err=True)
    return configurator, parameters, calibration_of(rows, parameters), tables


def _bytes(file: str) -> bytes:
    """The bytes of a file or of standard input. Raises InputError (P101)."""
    try:
        if file == "-":
            data = sys.stdin.buffer.read(MOST_CSV_BYTES + 1)
        else:
            with open(file, "rb") as handle:  # noqa: PTH123 (a name too long for a path is an error of the system)
                data = handle.read(MOST_CSV_BYTES + 1)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise InputError([Fault("P101", f"cannot read {file}: {why}", help=PREDICT_CODES["P101"].help)]) from error
    if len(data) > MOST_CSV_BYTES:
        message = f"{file} has more than {MOST_CSV_BYTES // 1_000_000} MB"
        raise InputError([Fault("P101", message, help="split the table")])
    return data
