"""`planner init`: a commented starter spec."""

from __future__ import annotations

from pathlib import Path

import click

from planner.cli.config import PlannerCommand
from planner.cli.output import write_result
from planner.errors import Fault, InputError


@click.command(cls=PlannerCommand)
@click.argument("file", default="workload.yaml", metavar="[FILE]")
@click.option("--name", metavar="NAME", default=None, show_default="from FILE", help="Name of the review.")
@click.option("--force", is_flag=True, help="Overwrite FILE if it exists.")
def init(file: str, name: str | None, force: bool) -> None:
    """Write a commented starter spec.

    FILE is workload.yaml unless given; - prints it. An existing file is kept unless --force is given.
    """
    from planner.spec.starter import starter_spec

    if file != "-":
        path = Path(file)
        if path.is_dir() or not path.parent.is_dir():
            what = "it is a directory" if path.is_dir() else f"no directory {path.parent}"
            raise InputError([Fault("U103", f"cannot write {file}: {what}")])
        if path.exists() and not force:
            raise InputError([Fault("U104", f"{file} exists already", help="give another name, or --force")])
    write_result(starter_spec(name or _name_for(file)), file)
    if file != "-":
        click.echo(f"wrote {file}; try: planner solve {file}", err=True)


def _name_for(file: str) -> str:
    """A usable name from the file's own: letters, digits, dots, dashes and underscores of its stem."""
    import re

    return re.sub(r"[^A-Za-z0-9._-]+", "-", Path(file).stem).strip("-._") or "workload"
