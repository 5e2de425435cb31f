"""`planner import`: other planners' problem files as workload files."""

from __future__ import annotations

from pathlib import Path

import click

from planner.cli.config import PlannerCommand
from planner.cli.output import output_option, write_result

name_option = click.option("--name", metavar="NAME", default=None, show_default="from the file's name",
                           help="Name of the review.")  # fmt: skip


@click.group("import")
def import_() -> None:
    """Turn another planner's problem into a spec."""


@import_.command(cls=PlannerCommand, needs=("file",))
@click.argument("file", required=False, metavar="FILE")
@name_option
@output_option
def melange(file: str, name: str | None, output: str) -> None:
    """A Mélange or AIBrix problem: throughputs per GPU and request size, a size mix, prices.

    FILE is the JSON file with gpu_info, workload_distribution and total_request_rate; - reads standard input. The
    cheapest plan of the spec costs 730 × the problem's optimum in USD per hour.
    """
    from planner.peers.melange import melange_spec, read_melange

    review, shown = _name(name, file), "standard input" if file == "-" else Path(file).name
    write_result(melange_spec(read_melange(file), review, shown), output)
    _next(output)


@import_.command(cls=PlannerCommand, needs=("folder",))
@click.argument("folder", required=False, metavar="DIR")
@name_option
@output_option
def inferno(folder: str, name: str | None, output: str) -> None:
    """An llm-inferno system: accelerators, models, service classes, servers with load.

    DIR holds the *-data.json files. Capacities come from the published queue; cents per hour become USD per month
    × 7.30.
    """
    from planner.peers.inferno import read_inferno
    from planner.peers.inferno_spec import inferno_spec

    review, shown = _name(name, folder), Path(folder).resolve().name
    write_result(inferno_spec(read_inferno(folder), review, shown), output)
    _next(output)


def _name(given: str | None, path: str) -> str:
    """A usable name for the review: the one given, or from the file's own."""
    from planner.errors import Fault, InputError
    from planner.peers.text import own_names
    from planner.spec.names import is_usable_name

    if given is not None:
        if not is_usable_name(given):
            help_ = "use letters, digits, spaces, '.', '_' and '-'"
            raise InputError([Fault("U101", f"--name: {given!r} is not a usable name", help=help_)])
        return given
    stem = "imported" if path == "-" else Path(path).resolve().stem
    return own_names([stem])[stem]


def _next(output: str) -> None:
    if output != "-":
        click.echo(f"wrote {output}; try: planner solve {output}", err=True)
