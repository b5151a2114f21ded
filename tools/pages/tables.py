"""docs/tables.md and the README's list of tables, from `schemas/tables`."""

import sys
from pathlib import Path

from rebalance_audit.resources import checkout_root
from rebalance_audit.tables.checks import TableSchemaError, words
from rebalance_audit.tables.schemas import table_schemas
from tools import generated_files

CATALOGUE = "docs/tables.md"
README = "README.md"
LAYERS = {
    "bronze": "the log as it was, with its bytes",
    "silver": "records decoded, and what could not be decoded",
    "gold": "the answers",
    "meta": "what runs, ingests and checks did, and what the next run goes on from",
}
"""Layers in the order of the way of a record, and what each holds."""
BEGIN, END = "<!-- tables:begin -->", "<!-- tables:end -->"


def catalogue() -> str:
    """Every table with its columns and checks, as Markdown."""
    lines = [
        "# Output tables",
        "",
        "Generated from `schemas/tables/` by `make codegen`. Times are UTC, durations carry their unit in the name.",
        "A table lies at `<lake>/<layer>/<name>`.",
    ]
    for table in table_schemas().values():
        lines += ["", f"## {table.full_name}", "", table.description, ""]
        lines.append(f"One row is {table.grain}. Key: {', '.join(table.key)}.")
        if table.clustered_by:
            lines[-1] += (
                f" `maintain` puts rows of the same {' and '.join(table.clustered_by)} together."
            )
        lines += ["", "| column | type | null | meaning |", "|---|---|---|---|"]
        lines += [
            f"| {column.name} | `{column.type}` | {'yes' if column.nullable else ''} | {column.meaning} |"
            for column in table.columns
        ]
        lines += ["", "Checks:", ""]
        lines += [f"- {check.severity}: {words(check)}" for check in table.checks]
    return "\n".join(lines) + "\n"


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
