"""The `planner` command: lazy subcommands, layered configuration, exit codes (DESIGN §8)."""

from __future__ import annotations

import contextlib
import gc
import io
import os
import sys
from collections.abc import Sequence

import click

from planner import __version__
from planner.cli import config
from planner.cli.errors import print_planner_error, print_usage_error
from planner.errors import PlannerError

COMMANDS: dict[str, str] = {
    "solve": "Rank verified purchase plans for a spec.",
    "check": "Check a spec and say what it asks for, without solving.",
    "explain": "Explain a plan, or why something was not chosen.",
    "report": "Write the page for a review: one HTML file that loads nothing, or Markdown.",
    "predict": "Predict throughput, TTFT and TPOT of a configuration at a load.",
    "fit": "Say whether a model fits, what it holds, what limits it and what to change.",
    "breakeven": "API against machines over volume: a curve, a table, and where they cross.",
    "calibrate": "Turn benchmark files into a calibration of the estimates.",
    "import": "Turn another planner's problem into a spec.",
    "catalog": "List, show and check what can be bought.",
    "schema": "Print the JSON Schema of a spec (for editors) or of a result.",
    "init": "Write a commented starter spec.",
}
"""Name → first line of its help. Kept here so that `planner --help` imports no command; a test compares them."""

EXIT_CODES = """\
Exit codes: 0 at least one verified plan · 1 our failure · 2 bad usage or input · 3 proven infeasible ·
4 no plan in the time limit (or gap above --max-gap) · 130 interrupted."""


INTERRUPTED = 130


def load_command(name: str) -> click.Command:
    """The command of that name, from its module; a word that Python keeps for itself has a `_` behind it there."""
    from importlib import import_module
    from keyword import iskeyword

    word = f"{name}_" if iskeyword(name) else name
    command = getattr(import_module(f"planner.cli.commands.{word}"), word)
    if not isinstance(command, click.Command):
        raise TypeError(f"{name} is no click command")
    return command


class LazyGroup(click.Group):
    """Imports a command's module when it is needed, not for `--help` of the group."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        return load_command(cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if not name.startswith("-") and name not in COMMANDS:
            from difflib import get_close_matches

            near = get_close_matches(name, COMMANDS, n=2)
            hint = f" Did you mean {' or '.join(near)}?" if near else f" Commands: {', '.join(COMMANDS)}."
            raise click.UsageError(f"No such command '{name}'.{hint}", ctx)
        return super().resolve_command(ctx, args)


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    epilog=EXIT_CODES,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, "-V", "--version", prog_name="planner")
@click.option("--show-config", is_flag=True, help="Print every option's value and where it comes from, then stop.")
@click.pass_context
def cli(ctx: click.Context, show_config: bool) -> None:
    """Decide what hardware to buy for LLM inference: ranked, explained, verified plans.

    Results go to standard output, everything else to standard error. Flags beat PLANNER_… environment variables,
    which beat planner.toml (or [tool.planner] in pyproject.toml) here, which beats the user's config.toml.
    """
    ctx.obj = config.Settings.read()
    ctx.obj.show = show_config
    if ctx.invoked_subcommand is None:
        if show_config:
            config.show_all(ctx, COMMANDS)
            return
        click.echo(ctx.get_help())


SELDOM = (200_000, 20, 100)
"""Thresholds of the garbage collector: a command builds large tables that live until it ends, and looking through them
again and again takes a third of the time that building them takes."""


def main(args: Sequence[str] | None = None) -> None:
    """Run the command line and leave the process with one of the exit codes of DESIGN §8."""
    gc.set_threshold(*SELDOM)
    code = run(args)
    if code == INTERRUPTED:
        # The interpreter forgets that Ctrl-C was handled where it fell into an exec() and would die of the signal.
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        os._exit(code)
    sys.exit(code)


def run(args: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    _open_streams()
    _write_anything()
    try:
        code = cli.main(args=None if args is None else list(args), prog_name="planner", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except click.exceptions.Exit as stop:
        return stop.exit_code
    except click.ClickException as error:
        print_usage_error(error)
        return 2
    except PlannerError as error:
        print_planner_error(error)
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        click.echo("interrupted", err=True)
        return INTERRUPTED
    except BrokenPipeError:
        _abandon_stdout()
        return 0
    except OSError as error:
        _abandon_stdout()
        click.echo(
            f"error[U109]: {error.strerror or error}" + (f": {error.filename}" if error.filename else ""), err=True
        )
        return 1
    except Exception as error:
        if os.environ.get("PLANNER_DEBUG") == "1":
            raise
        said = " ".join(str(error).split())[:300]
        click.echo(
            f"internal error: {type(error).__name__}: {said} — please report it with the spec that caused it "
            "(PLANNER_DEBUG=1 shows the traceback)",
            err=True,
        )
        return 1


def _open_streams() -> None:
    """Standard streams that the caller closed (`>&-`) lead nowhere, and their descriptors to nothing else."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free descriptor: this one
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "w" if number else "r", encoding="utf-8", closefd=False))  # noqa: SIM115


def _write_anything() -> None:
    """A terminal that cannot show a character gets a `?` in its place, not an error."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _abandon_stdout() -> None:
    """Nobody takes the rest (`planner … | head`, a full disk): the interpreter must not try again on exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
