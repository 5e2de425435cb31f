"""Where an option's value comes from: flag > PLANNER_… variable > project file > user file > default (STYLE §9)."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
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

    def values_for(self, path: tuple[str, ...]) -> dict[str, tuple[Any, str]]:
        """Option key → (value, file it came from) for a command such as ("catalog", "list").

        A stronger file wins; inside a file a table nearer to the command (`[catalog.list]`) beats `[catalog]`, which
        beats the top level. Dashes and underscores in keys are one.
        """
        found: dict[str, tuple[Any, str]] = {}
        for layer in self.layers:
            merged: dict[str, Any] = {}
            for table in _tables(layer.values, path):
                merged |= {k.replace("-", "_"): v for k, v in table.items() if not isinstance(v, Mapping)}
            for key, value in merged.items():
                found.setdefault(key, (value, layer.path))
        return found


def _tables(values: Mapping[str, Any], path: tuple[str, ...]) -> list[Mapping[str, Any]]:
    """The top level and the tables on the way to a command, the nearest last."""
    tables = [values]
    for name in path:
        inner = tables[-1].get(name)
        if not isinstance(inner, Mapping):
            break
        tables.append(inner)
    return tables


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
        path = command_words(ctx)
        prefix = "_".join(("PLANNER", *path)).upper()
        for option in self.settable():
            key = key_of(option).upper()
            option.envvar = [f"{prefix}_{key}", f"PLANNER_{key}"]
        if isinstance(ctx.obj, Settings):
            _refuse_unknown_keys(self, ctx, ctx.obj, path)
            values = ctx.obj.values_for(path)
            _refuse_wrong_kinds(self, values)
            ctx.default_map = {str(o.name): values[key_of(o)][0] for o in self.settable() if key_of(o) in values}
        try:
            return super().parse_args(ctx, args)
        except click.BadParameter as error:
            guilty = error.param
            if isinstance(guilty, click.Option) and guilty in self.settable():
                source = ctx.get_parameter_source(str(guilty.name))
                if source in (ParameterSource.ENVIRONMENT, ParameterSource.DEFAULT_MAP):
                    message = f"{error.message} It comes from {_source_text(ctx, guilty, source)}."
                    raise click.BadParameter(message, ctx=error.ctx or ctx, param=guilty) from None
            raise

    def settable(self) -> list[click.Option]:
        """The options that variables and files may set."""
        return [p for p in self.params if isinstance(p, click.Option) and p.expose_value]

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


def command_words(ctx: click.Context) -> tuple[str, ...]:
    """`("catalog", "list")`."""
    words: list[str] = []
    at: click.Context | None = ctx
    while at is not None and at.parent is not None:
        words.insert(0, at.info_name or "")
        at = at.parent
    return tuple(words)


def key_of(option: click.Option) -> str:
    """The name of an option in files and variables: its long flag with underscores."""
    return max(option.opts, key=len).lstrip("-").replace("-", "_")


def _refuse_unknown_keys(
    command: PlannerCommand, ctx: click.Context, settings: Settings, path: tuple[str, ...]
) -> None:
    """A key that no option reads is a typing error, not something to ignore.

    In a command's own table the options are the command's; at the top level those of all commands, and the tables are
    the commands themselves.
    """
    options = {key_of(o) for o in command.settable()}
    name = f"planner {' '.join(path)}"
    faults = []
    for layer in settings.layers:
        tables = _tables(layer.values, path)
        own = tables[-1] if len(tables) == len(path) + 1 else {}
        faults += [_unknown_key(key, layer, options, name) for key in own if key.replace("-", "_") not in options]
        if any(
            k.replace("-", "_") not in ({path[0]} if isinstance(v, Mapping) else options)
            for k, v in layer.values.items()
        ):
            everything, commands = _all_options(ctx.find_root())
            for key, value in layer.values.items():
                known = commands if isinstance(value, Mapping) else everything
                if key.replace("-", "_") not in known:
                    faults.append(_unknown_key(key, layer, known, "planner"))
    if faults:
        raise InputError(faults)


def _unknown_key(key: str, layer: Layer, known: Iterable[str], command: str) -> Fault:
    from difflib import get_close_matches

    near = get_close_matches(key.replace("-", "_"), sorted(known), n=1)
    hint = f"did you mean {near[0]}?" if near else f"see '{command} --help'"
    return Fault("U111", f"'{key}' is no option of '{command}'", path=layer.path, help=hint)


def _all_options(root: click.Context) -> tuple[set[str], set[str]]:
    """(keys of all options, names of all commands) of the command line."""
    options: set[str] = set()

    def visit(command: click.Command | None) -> None:
        if isinstance(command, PlannerCommand):
            options.update(map(key_of, command.settable()))
        elif isinstance(command, click.Group):
            for name in command.list_commands(root):
                visit(command.get_command(root, name))

    visit(root.command)
    return options, set(root.command.list_commands(root)) if isinstance(root.command, click.Group) else set()


def _refuse_wrong_kinds(command: PlannerCommand, values: Mapping[str, tuple[Any, str]]) -> None:
    """What a file says is of the kind that the command line would take; and true is no number."""
    faults = []
    for option in command.settable():
        value, path = values.get(key_of(option), (None, ""))
        if option.multiple:
            sound, wanted = isinstance(value, list) and all(isinstance(v, str) for v in value), "a list of words"
        elif option.is_flag:
            sound, wanted = isinstance(value, bool), "true or false"
        else:
            sound, wanted = isinstance(value, str | int | float) and not isinstance(value, bool), "one word or number"
        if not sound and key_of(option) in values:
            faults.append(Fault("U112", f"'{key_of(option)}' must be {wanted}, not {value!r}", path=path))
    if faults:
        raise InputError(faults)


def describe(ctx: click.Context) -> list[str]:
    """`name = value  (source)` for every option of a parsed command."""
    if not isinstance(ctx.command, PlannerCommand):
        return []
    lines = []
    for option in ctx.command.settable():
        name = str(option.name)
        value = ctx.params.get(name)
        shown = "none" if value is None else value
        lines.append(f"{key_of(option)} = {shown}  ({_source_text(ctx, option, ctx.get_parameter_source(name))})")
    return lines


def _source_text(ctx: click.Context, option: click.Option, source: ParameterSource | None) -> str:
    if source == ParameterSource.COMMANDLINE:
        return "command line"
    if source == ParameterSource.ENVIRONMENT:
        import os

        names = [option.envvar] if isinstance(option.envvar, str) else list(option.envvar or ())
        return f"environment {next((n for n in names if os.environ.get(n)), '')}".strip()
    if source == ParameterSource.DEFAULT_MAP and isinstance(ctx.obj, Settings):
        return ctx.obj.values_for(command_words(ctx))[key_of(option)][1]
    return "default"


def show_all(ctx: click.Context, commands: Iterable[str]) -> None:
    """The values of every command's options as they would be without flags."""
    files = ", ".join(layer.path for layer in ctx.obj.layers) or "none found"
    click.echo(f"# configuration files: {files}")
    _show_group(ctx, commands)


def _show_group(ctx: click.Context, commands: Iterable[str]) -> None:
    group = ctx.command
    if not isinstance(group, click.Group):
        return
    for name in commands:
        command = group.get_command(ctx, name)
        if isinstance(command, PlannerCommand):
            with command.make_context(name, [], parent=ctx) as sub:
                click.echo(f"[{'.'.join(command_words(sub))}]")
                for line in describe(sub):
                    click.echo(line)
        elif isinstance(command, click.Group):
            with click.Context(command, parent=ctx, info_name=name) as sub:
                _show_group(sub, command.list_commands(sub))


def stdout_is_terminal() -> bool:
    """True where colour may be used on standard output."""
    import os

    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
