"""`planner init`: a commented starter spec."""

from __future__ import annotations

from pathlib import Path

import click

from planner.cli.config import PlannerCommand
from planner.cli.output import write_result
from planner.errors import Fault, InputError


@click.command(cls=PlannerCommand)
@click.argument("file", default="workload.yaml", metavar="[FILE]")
@click.option("--force", is_flag=True, help="Overwrite FILE if it exists.")
def init(file: str, force: bool) -> None:
    """Write a commented starter spec.

    FILE is workload.yaml unless given; - prints it. An existing file is kept unless --force is given.
    """
    from importlib import import_module

    starter_text = import_module("planner.spec.starter").starter_text

    if file != "-":
        path = Path(file)
        if path.is_dir() or not path.parent.is_dir():
            what = "it is a directory" if path.is_dir() else f"no directory {path.parent}"
            raise InputError([Fault("U103", f"cannot write {file}: {what}")])
        if path.exists() and not force:
            raise InputError([Fault("U104", f"{file} exists already", help="give another name, or --force")])
    write_result(starter_text(), file)
    if file != "-":
        click.echo(f"wrote {file}; try: planner solve {file}", err=True)
