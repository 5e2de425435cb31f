"""`planner schema`: JSON Schemas for editors and for consumers of the result."""

from __future__ import annotations

import click

from planner.cli.config import PlannerCommand
from planner.cli.output import output_option, write_result


@click.command(cls=PlannerCommand)
@click.option("--of", "of", type=click.Choice(["spec", "result"]), default="spec", show_default=True,
              help="Which document: the spec that is read, or the JSON that solve prints.")  # fmt: skip
@output_option
def schema(of: str, output: str) -> None:
    """Print the JSON Schema of a spec (for editors) or of a result.

    An editor with a YAML language server checks a spec against it: put
    `# yaml-language-server: $schema=workload.schema.json` into the spec's first line.
    """
    import json

    if of == "result":
        from planner.report.schema import result_schema

        tree = result_schema()
    else:
        from planner.spec.schema import spec_schema

        tree = spec_schema()
    write_result(json.dumps(tree, indent=2, ensure_ascii=True), output)
