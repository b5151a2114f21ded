"""docs/tables.md and the README's list of tables, from `schemas/tables`."""

import sys
from collections import Counter
from pathlib import Path

from rebalance_audit.resources import checkout_root
from rebalance_audit.tables.checks import TableSchemaError, words
from rebalance_audit.tables.schemas import Column, table_schemas
from workshop import generated_files

CATALOGUE = "docs/tables.md"
README = "README.md"
LAYERS = {
    "bronze": "the log as it was, with its bytes",
    "silver": "records decoded, and what could not be decoded",
    "gold": "the answers",
    "meta": "what runs, ingests and checks did, and what the next run goes on from",
}
"""Layers in the order of the way of a record, and what each holds."""
SHARED_BY = 3
"""A column that so many tables have with the same meaning is described once."""
HEAD = ("| column | type | null | meaning |", "|---|---|---|---|")
BEGIN, END = "<!-- tables:begin -->", "<!-- tables:end -->"


def catalogue() -> str:
    """Every table with its columns and checks, as Markdown."""
    times = Counter(column for table in table_schemas().values() for column in table.columns)
    shared = [column for column in times if times[column] >= SHARED_BY]
    lines = [
        "# Output tables",
        "",
        "Generated from `schemas/tables/` by `make codegen`. Times are UTC, durations carry their unit in the name.",
        "A table is at `<lake>/<layer>/<name>`.",
        "",
        "## Columns of several tables",
        "",
        *HEAD,
        *(_row(column) for column in shared),
    ]
    for table in table_schemas().values():
        lines += ["", f"## {table.full_name}", "", table.description, ""]
        lines.append(f"One row is {table.grain}. Key: {', '.join(table.key)}.")
        if table.clustered_by:
            lines[-1] += (
                f" `maintain` puts rows of the same {' and '.join(table.clustered_by)} together."
            )
        also = [f"`{column.name}`" for column in table.columns if column in shared]
        if also:
            lines[-1] += f" Shared columns: {', '.join(also)}."
        lines += ["", *HEAD, *(_row(column) for column in table.columns if column not in shared)]
        lines += ["", "Checks:", ""]
        lines += [f"- {check.severity}: {words(check)}" for check in table.checks]
    return "\n".join(lines) + "\n"


def _row(column: Column) -> str:
    null = "yes" if column.nullable else ""
    return f"| {column.name} | `{column.type}` | {null} | {column.meaning} |"


def short_catalogue() -> str:
    """The tables of each layer by name, as a Markdown table for the README."""
    names: dict[str, list[str]] = {layer: [] for layer in LAYERS}
    for table in table_schemas().values():
        names[table.layer].append(table.name)
    lines = [
        f"Each table with its columns, types and checks: [{CATALOGUE}]({CATALOGUE}).",
        "",
        "| layer | what it holds | tables |",
        "|---|---|---|",
    ]
    lines += [f"| {layer} | {held} | {', '.join(names[layer])} |" for layer, held in LAYERS.items()]
    return "\n".join(lines)


def due(root: Path | None = None) -> dict[Path, str]:
    """Path and text of the files that hold a catalogue, in a checkout.

    Raises TableSchemaError when README.md lacks the two markers.
    """
    root = root or checkout_root()
    readme = root / README
    text = readme.read_text(encoding="utf-8")
    before, begin, rest = text.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not (begin and end):
        raise TableSchemaError(f"{README} lacks {BEGIN} … {END}")
    return {
        root / CATALOGUE: catalogue(),
        readme: f"{before}{BEGIN}\n{short_catalogue()}\n{END}{after}",
    }


if __name__ == "__main__":
    sys.exit(generated_files.main(due))
