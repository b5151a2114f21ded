"""docs/tables.md and the README's list of tables, from `schemas/tables`."""

import sys
from pathlib import Path

from rebalance_audit.resources import checkout_root
from rebalance_audit.table_checks import TableSchemaError, words
from rebalance_audit.table_schemas import table_schemas
from tools import generated_files

CATALOGUE = "docs/tables.md"
README = "README.md"
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
            lines[-1] += f" Clustered by {', '.join(table.clustered_by)}."
        lines += ["", "| column | type | null | meaning |", "|---|---|---|---|"]
        lines += [
            f"| {column.name} | `{column.type}` | {'yes' if column.nullable else ''} | {column.meaning} |"
            for column in table.columns
        ]
        lines += ["", "Checks:", ""]
        lines += [f"- {check.severity}: {words(check)}" for check in table.checks]
    return "\n".join(lines) + "\n"


def short_catalogue() -> str:
    """One line per table, as a Markdown table for the README."""
    lines = [
        f"Columns, types and checks: [{CATALOGUE}]({CATALOGUE}).",
        "",
        "| table | one row is | |",
        "|---|---|---|",
    ]
    lines += [
        f"| {table.full_name} | {table.grain} | {table.description} |"
        for table in table_schemas().values()
    ]
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
