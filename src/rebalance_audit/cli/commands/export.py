"""`rebalance-audit export`: the gold tables and the views over them for tools that read no Delta, or a trace."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from rebalance_audit.cli import options
from rebalance_audit.cli.invocation import configured
from rebalance_audit.cli.output import HandOut, summarised
from rebalance_audit.cli.progress import slow_step
from rebalance_audit.cli.source import LakeSource, Segments, takes_source
from rebalance_audit.sentences import words

if TYPE_CHECKING:
    from rebalance_audit.tables.rows import GoldRows

EXAMPLES: Final = """\b
Examples:
  rebalance-audit export copy-of-log --sqlite audit.sqlite
  rebalance-audit export --lake /data/lake --duckdb audit.duckdb
  rebalance-audit export --lake /data/lake --cluster blue --parquet audit-files
  rebalance-audit export copy-of-log --perfetto checkout.pftrace --group checkout
"""


@click.command(epilog=EXAMPLES)
@options.path("--duckdb", text="A DuckDB database: tables in the schema gold, views in views.")
@options.path("--sqlite", text="An SQLite database: a table for each table and each view.")
@options.path(
    "--parquet", metavar="DIR", text="A folder with a Parquet file for each table and each view."
)
@options.path("--csv", metavar="DIR", text="A folder with a CSV file for each table and each view.")
@options.path(
    "--perfetto", text="A trace for ui.perfetto.dev: a track per group, member and partition."
)
@options.groups_of("With --perfetto: only this group; may be repeated.")
@click.option(
    "--guard-formulas",
    is_flag=True,
    help="With --csv: prefix an apostrophe to text that a spreadsheet would run as a formula (= + - @).",
)
@summarised()
@takes_source(options.broker_logs, options.broker_log_zone, options.end_offsets)
@configured
def export(
    _invocation: object,
    /,
    source: Segments | LakeSource,
    hand_out: HandOut,
    *,
    group_ids: tuple[str, ...],
    guard_formulas: bool,
    **targets: Path | None,
) -> None:
    """Write the gold tables, and the views that dashboards are made of, as files; or the timeline as a trace.

    Reads SEGMENTS or a lake, all clusters unless --cluster names one. An existing file is
    replaced once the new one is complete. What to do with the files: docs/bi.md.
    """
    chosen = {kind: target for kind, target in targets.items() if target is not None}
    if len(chosen) != 1:
        raise click.UsageError(
            "Give exactly one of --duckdb, --sqlite, --parquet, --csv and --perfetto."
        )
    ((kind, target),) = chosen.items()
    if guard_formulas and kind != "csv":
        raise click.UsageError("--guard-formulas goes with --csv.")
    if group_ids and kind != "perfetto":
        raise click.UsageError("--group goes with --perfetto.")
    gold = source.gold()
    if kind == "perfetto":
        with slow_step("writing the trace"):
            trace = _write_trace(gold, target, group_ids)
        hand_out({"format": kind, "out": str(target), "trace": trace}, _trace_text(target, trace))
        return
    from rebalance_audit.readers.export import export_gold  # noqa: PLC0415 - imports DuckDB

    with slow_step("writing tables and views"):
        counts = export_gold(gold, kind, target, guard_formulas=guard_formulas)
    hand_out({"format": kind, "out": str(target), "rows": dict(counts)}, _text(target, counts))


def _write_trace(gold: "GoldRows", target: Path, group_ids: tuple[str, ...]) -> dict[str, int]:
    from rebalance_audit.local.audit import Audit  # noqa: PLC0415 - a plain export needs none of it
    from rebalance_audit.readers.gold import log_end_ms  # noqa: PLC0415
    from rebalance_audit.readers.lake_reader import LakeReader  # noqa: PLC0415
    from rebalance_audit.readers.perfetto_trace import export_perfetto  # noqa: PLC0415 - 1 s

    if isinstance(gold, LakeReader):
        return export_perfetto(gold, target, partial(log_end_ms, gold.path), group_ids)
    assert isinstance(gold, Audit)
    end_ms = gold.facts.last_ms
    return export_perfetto(gold, target, lambda _cluster: end_ms, group_ids)


def _trace_text(target: Path, trace: Mapping[str, int]) -> str:
    counts = (
        words.counted(trace[name], name.removesuffix("s"))
        for name in ("groups", "tracks", "events", "flows")
    )
    return f"{target}: {', '.join(counts)}; open it at https://ui.perfetto.dev"


def _text(target: Path, counts: Mapping[str, int]) -> str:
    tables = {name: rows for name, rows in counts.items() if name.startswith("gold.")}
    return (
        f"{target}: {words.counted(len(tables), 'table')} with {words.counted(sum(tables.values()), 'row')}, "
        f"{words.counted(len(counts) - len(tables), 'view')}"
    )
