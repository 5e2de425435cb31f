"""`planner catalog`: what can be bought, whether the tables are sound, and what a model config amounts to."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from planner.cli.config import PlannerCommand, stdout_is_terminal
from planner.cli.output import format_option, output_option, write_result
from planner.errors import Fault, InputError

if TYPE_CHECKING:
    from planner.catalog.catalog import Catalog

FORMATS = ("table", "json", "csv", "markdown")
TABLES = (
    "accelerators", "instance_types", "offers", "providers", "regions", "models", "precisions", "engines", "support",
    "apis", "profiles", "spot_markets", "price_paths", "round_trips", "groups",
)  # fmt: skip
NAMES = ("countries", "client_regions", "certifications")
F = TypeVar("F", bound=Callable[..., Any])


@click.group()
def catalog() -> None:
    """List, show and check what can be bought."""


def source_options(function: F) -> F:
    """Which catalog: --catalog and --overlay."""
    function = click.option("--overlay", "overlays", multiple=True, metavar="FILE",
                            help="A catalog fragment on top; may be given several times.")(function)  # fmt: skip
    return click.option("--catalog", "path", metavar="DIR", default=None, show_default="the shipped one",
                        help="Catalog directory.")(function)  # fmt: skip


def _load(path: str | None, overlays: tuple[str, ...]) -> Catalog:
    from planner.catalog.load import load_catalog

    return load_catalog(path, overlays)


@catalog.command("list", cls=PlannerCommand)
@click.argument("table", required=False, type=click.Choice(TABLES + NAMES), metavar="[TABLE]")
@click.option("--where", "filters", multiple=True, metavar="FIELD=VALUE",
              help="Only rows whose field has this value, e.g. accelerator=H100-SXM (or an alias).")  # fmt: skip
@source_options
@format_option(*FORMATS)
@output_option
def list_(
    table: str | None, filters: tuple[str, ...], path: str | None, overlays: tuple[str, ...], format_: str, output: str
) -> None:
    """List the rows of a table, or the tables with their sizes.

    TABLE is one of accelerators, instance_types, offers, providers, regions, models, precisions, engines, support,
    apis, profiles, spot_markets, price_paths, round_trips, groups; or of the names that a spec may use besides:
    countries (and groups of them), client_regions, certifications.
    """
    from planner.report.catalog import empty_hint, list_rows, rows_text, tables_text

    cat = _load(path, overlays)
    colour = output == "-" and stdout_is_terminal()
    if table is None:
        write_result(tables_text(cat, TABLES, format_, colour), output)
        return
    conditions = [_pair(f) for f in filters]
    rows = list_rows(cat, table, conditions)
    write_result(rows_text(table, rows, format_, colour), output)
    hint = None if rows else empty_hint(cat, table, conditions)
    if hint:
        click.echo(f"note: {hint}", err=True)


def _pair(text: str) -> tuple[str, str]:
    field, sign, value = text.partition("=")
    if not sign or not field:
        raise click.UsageError(f"--where takes FIELD=VALUE, not '{text}'")
    return field.strip().replace("-", "_"), value.strip()


@catalog.command(cls=PlannerCommand, needs=("name",))
@click.argument("name", required=False, metavar="NAME")
@source_options
@format_option("table", "json")
@output_option
def show(name: str, path: str | None, overlays: tuple[str, ...], format_: str, output: str) -> None:
    """Show every row that has a name.

    NAME is an id or alias of any table: an accelerator, model, precision, engine, provider, API, instance type,
    offer, region, …
    """
    from planner.catalog.catalog import UnknownName
    from planner.catalog.query import show as look_up
    from planner.report.catalog import found_text

    cat = _load(path, overlays)
    try:
        found = look_up(cat, name)
    except UnknownName as unknown:
        near = unknown.suggestions
        hint = f"did you mean {' or '.join(near)}?" if near else "planner catalog list TABLE shows every name"
        raise InputError([Fault("U108", f"no row of the catalog is named '{name}'", help=hint)]) from None
    write_result(found_text(found, format_), output)


@catalog.command(cls=PlannerCommand, short_help="Check the tables for errors and oddities.")
@click.option("--all", "everything", is_flag=True, help="Print every note, not one per kind with its count.")
@source_options
@format_option("table", "json", "csv", "markdown")
@output_option
def check(everything: bool, path: str | None, overlays: tuple[str, ...], format_: str, output: str) -> None:
    """Check the tables: what cannot be is an error (exit 2), what is odd is a warning or a note.

    Errors: zero, negative, NaN, duplicate, undated prices, unknown names. Odd: spot not below on-demand, old, assumed
    or outlying prices, unknown countries and operators.
    """
    from planner.catalog.check import check_catalog
    from planner.report.catalog import check_text

    cat = _load(path, overlays)
    findings = check_catalog(cat)
    write_result(check_text(cat, findings, format_, everything), output)


@catalog.command(cls=PlannerCommand, needs=("config",))
@click.argument("config", required=False, metavar="CONFIG")
@format_option("table", "json")
@output_option
def model(config: str, format_: str, output: str) -> None:
    """Count a model's parameters and cache from its published config.

    CONFIG is a Hugging Face config.json or Mistral's params.json, a folder that holds one, or - for standard input.
    Parameters are counted by part, in all and active per token, with both embeddings and without; the cache per token
    and the fixed state per request; the attention of every layer; what a quantised checkpoint keeps in 16 bit. An
    architecture that is not known is an error that names the field.
    """
    from planner.catalog.config_file import read_config_file
    from planner.catalog.shape_describe import describe_config
    from planner.report.model import model_text

    found = describe_config(read_config_file(config))
    write_result(model_text(found, format_, output == "-" and stdout_is_terminal()), output)
