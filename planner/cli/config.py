"""Where an option's value comes from: flag > PLANNER_… variable > project file > user file > default (STYLE §9)."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from planner.errors import Fault, InputError

PROJECT_FILE = "planner.toml"


@dataclass(frozen=True)
class Layer:
    """One configuration file: top-level keys hold for every command that has such an option, `[solve]` for one."""

    path: str
    values: Mapping[str, Any]


@dataclass
class Settings:
    """The configuration files found, the strongest first."""

    layers: tuple[Layer, ...] = ()
    show: bool = False
    origin: dict[tuple[str, str], str] = field(default_factory=dict)
    """(command, parameter) → path of the file that a value came from."""

    @classmethod
    def read(cls, cwd: Path | None = None, user_file: Path | None = None) -> Settings:
        """Read planner.toml, else [tool.planner] of pyproject.toml, in `cwd`, then the user's config.toml.

        Raises InputError (U110) for a file that is not TOML.
        """
        here = cwd or Path.cwd()
        layers = []
        project = _read_toml(here / PROJECT_FILE)
        if project is not None:
            layers.append(Layer(PROJECT_FILE, project))
        else:
            tool = (_read_toml(here / "pyproject.toml") or {}).get("tool", {})
            if isinstance(tool, Mapping) and isinstance(tool.get("planner"), Mapping):
                layers.append(Layer("pyproject.toml [tool.planner]", tool["planner"]))
        path = user_file or user_config_file()
        user = _read_toml(path)
        if user is not None:
            layers.append(Layer(str(path), user))
        return cls(tuple(layers))

    def default_map(self, commands: Iterable[str]) -> dict[str, Any]:
        """click's default_map: command → option → value; a table of a command beats the top level of its file."""
        known = set(commands)
        merged: dict[str, Any] = {}
        for command in known:
            values: dict[str, Any] = {}
            for layer in self.layers:
                own = layer.values.get(command, {})
                general = {k: v for k, v in layer.values.items() if k not in known}
                for key, value in {**general, **(own if isinstance(own, Mapping) else {})}.items():
                    name = key.replace("-", "_")
                    if name not in values:
                        values[name] = value
                        self.origin[command, name] = layer.path
            merged[command] = values
        return merged


def user_config_file() -> Path:
    """The user's file, e.g. ~/.config/planner/config.toml."""
    from platformdirs import user_config_path

    return user_config_path("planner", appauthor=False) / "config.toml"


def _read_toml(path: Path) -> Mapping[str, Any] | None:
    import tomllib

    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError, PermissionError):
        return None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError([Fault("U110", f"not a TOML file: {error}", path=str(path))]) from error


class PlannerCommand(click.Command):
    """A command whose options can be set by variables and files, and which can say where each value came from."""

    def __init__(self, *args: Any, needs: tuple[str, ...] = (), **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.needs = needs
        """Arguments that must be given, unless the command only shows its configuration."""
        self.params.append(
            click.Option(["--show-config"], is_flag=True, expose_value=False, callback=_remember_show,
                         help="Print every option's value and where it comes from, then stop.")
        )  # fmt: skip

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        prefix = "PLANNER_" + ctx.command_path.split(" ", 1)[-1].replace(" ", "_").upper()
        for param in self.params:
            if isinstance(param, click.Option) and param.name and param.envvar is None and param.expose_value:
                param.envvar = [f"{prefix}_{param.name.upper()}", f"PLANNER_{param.name.upper()}"]
        if isinstance(ctx.obj, Settings):
            _refuse_unknown_keys(self, ctx.obj, (ctx.info_name or "", ctx.parent))
        return super().parse_args(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        """Show the configuration instead of running, where asked for; else run."""
        if ctx.meta.get("planner.show_config") or (isinstance(ctx.obj, Settings) and ctx.obj.show):
            for line in describe(ctx):
                click.echo(line)
            return 0
        for param in self.params:
            if param.name in self.needs and ctx.params.get(param.name) in (None, ()):
                raise click.MissingParameter(ctx=ctx, param=param)
        return super().invoke(ctx)


def _remember_show(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        ctx.meta["planner.show_config"] = True


def _refuse_unknown_keys(command: click.Command, settings: Settings, where: tuple[str, click.Context | None]) -> None:
    """A key of a command's own table that is no option of it is a typing error, not something to ignore."""
    name, parent = where
    if parent is None or parent.parent is not None:
        return
    options = {p.name for p in command.params if isinstance(p, click.Option) and p.expose_value}
    faults = []
    for layer in settings.layers:
        own = layer.values.get(name, {})
        for key in own if isinstance(own, Mapping) else ():
            if key.replace("-", "_") not in options:
                from difflib import get_close_matches

                near = get_close_matches(key.replace("-", "_"), sorted(o for o in options if o), n=1)
                faults.append(
                    Fault("U111", f"'{key}' is no option of 'planner {name}'", path=layer.path,
                          help=f"did you mean {near[0]}?" if near else f"see 'planner {name} --help'")
                )  # fmt: skip
    if faults:
        raise InputError(faults)


def describe(ctx: click.Context) -> list[str]:
    """`name = value  (source)` for every option of a parsed command."""
    lines = []
    for param in ctx.command.params:
        if not isinstance(param, click.Option) or not param.name or not param.expose_value:
            continue
        source = ctx.get_parameter_source(param.name)
        lines.append(f"{param.name} = {ctx.params.get(param.name)!r}  ({_source_text(ctx, param, source)})")
    return lines


def _source_text(ctx: click.Context, param: click.Option, source: ParameterSource | None) -> str:
    if source == ParameterSource.COMMANDLINE:
        return "command line"
    if source == ParameterSource.ENVIRONMENT:
        import os

        names = [param.envvar] if isinstance(param.envvar, str) else list(param.envvar or ())
        return f"environment {next((n for n in names if os.environ.get(n)), '')}".strip()
    if source == ParameterSource.DEFAULT_MAP and isinstance(ctx.obj, Settings):
        return ctx.obj.origin.get((ctx.info_name or "", param.name or ""), "configuration file")
    return "default"


def show_all(ctx: click.Context, commands: Iterable[str]) -> None:
    """The values of every command's options as they would be without flags."""
    group = ctx.command
    if not isinstance(group, click.Group):
        return
    files = ", ".join(layer.path for layer in ctx.obj.layers) or "none found"
    click.echo(f"# configuration files: {files}")
    for name in commands:
        command = group.get_command(ctx, name)
        if isinstance(command, PlannerCommand):
            with command.make_context(name, [], parent=ctx) as sub:
                click.echo(f"[{name}]")
                for line in describe(sub):
                    click.echo(line)


def stdout_is_terminal() -> bool:
    """True where colour may be used on standard output."""
    import os

    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
