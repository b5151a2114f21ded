"""`rebalance-audit export`: the gold tables and the views over them for tools that read no Delta."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from rebalance_audit.cli import options
from rebalance_audit.cli.gold_source import reads_gold
from rebalance_audit.cli.invocation import configured
from rebalance_audit.cli.progress import slow_step
from rebalance_audit.cli.summaries import HandOut, summarised
from rebalance_audit.report import words

if TYPE_CHECKING:
    from rebalance_audit.tables.gold_rows import GoldRows

EXAMPLES: Final = """\b
Examples:
  rebalance-audit export copy-of-log --sqlite audit.sqlite
  rebalance-audit export --lake /data/lake --duckdb audit.duckdb
  rebalance-audit export --lake /data/lake --cluster blue --parquet audit-files
"""


def _target(kind: str, metavar: str, text: str) -> Callable[[options.Decorated], options.Decorated]:
    path = click.Path(path_type=Path, dir_okay=metavar == "DIR", file_okay=metavar == "FILE")
    return click.option(f"--{kind}", type=path, metavar=metavar, help=text)


@click.command(epilog=EXAMPLES)
@_target("duckdb", "FILE", "A DuckDB database: tables in the schema gold, views in views.")
@_target("sqlite", "FILE", "An SQLite database: a table for each table and each view.")
@_target("parquet", "DIR", "A folder with a Parquet file for each table and each view.")
@_target("csv", "DIR", "A folder with a CSV file for each.")
@click.option(
    "--guard-formulas",
    is_flag=True,
    help="With --csv: an apostrophe before text that a spreadsheet would run, as it begins with = + - @.",
)
@summarised()
@reads_gold
@configured
def export(
    _invocation: object,
    /,
    gold: "GoldRows",
    hand_out: HandOut,
    *,
    guard_formulas: bool,
    **targets: Path | None,
) -> None:
    """Write the gold tables, and the views that dashboards are made of, as files.

    From SEGMENTS, or from a lake: then with all clusters, unless --cluster names one. A file that exists is replaced
    when the new one is complete. docs/bi.md shows what to do with it.
    """
    chosen = {kind: target for kind, target in targets.items() if target is not None}
    if len(chosen) != 1:
        raise click.UsageError("Give one of --duckdb, --sqlite, --parquet and --csv.")
    ((kind, target),) = chosen.items()
    if guard_formulas and kind != "csv":
        raise click.UsageError("--guard-formulas goes with --csv.")
    from rebalance_audit.readers.export import export_gold  # noqa: PLC0415 - imports DuckDB

    with slow_step("writing tables and views"):
        counts = export_gold(gold, kind, target, guard_formulas=guard_formulas)
    hand_out(_summary(kind, target, counts), _text(target, counts))


def _summary(kind: str, target: Path, counts: Mapping[str, int]) -> dict[str, Any]:
    return {"format": kind, "out": str(target), "rows": dict(counts)}


def _text(target: Path, counts: Mapping[str, int]) -> str:
    tables = {name: rows for name, rows in counts.items() if name.startswith("gold.")}
    return (
        f"{target}: {words.counted(len(tables), 'table')} with {words.counted(sum(tables.values()), 'row')}, "
        f"{words.counted(len(counts) - len(tables), 'view')}"
    )
