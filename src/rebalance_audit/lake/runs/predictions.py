"""gold.what_if: answers of `what-if` about groups of a cluster, each in place of an earlier one about its window."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from rebalance_audit.lake.storage.run_ids import commit_metadata, new_run_id
from rebalance_audit.lake.storage.sinks import Sink
from rebalance_audit.lake.storage.table_maker import translated
from rebalance_audit.lake.storage.table_writer import Written
from rebalance_audit.lake.storage.tables import Lake
from rebalance_audit.moments import utc_datetime
from rebalance_audit.tables.schemas import TableName, table_schemas

Row = Mapping[str, Any]
_ANSWER: Final = ("group_id", "from_at", "to_at")
"""Columns that the rows of one answer share."""


def write_predictions(lake: Lake, cluster: str, rows: Sequence[Row], now: datetime) -> Written:
    """Write whole answers, whose moments are epoch milliseconds, in one commit; none if nothing differs.

    Rows of the same groups and windows that the answers do not have are removed. Raises LakeNotReadable and
    LakeNotWritable, and LakeBusy.
    """
    name, run_id = TableName.WHAT_IF, new_run_id(now)
    key = [column for column in table_schemas()[name].key if column != "cluster"]
    with (
        translated(lake.table_path(name)),
        commit_metadata(lake.spark, run_id),
        lake.staging(run_id),
    ):
        lake.create([name])
        sink = Sink(lake, cluster, run_id)
        sink.begin([name])
        answered = {_values(row, _ANSWER) for row in rows}
        kept = {_values(row, key) for row in rows}
        gone = [
            row
            for row in lake.few_rows(name, cluster, key)
            if _values(row, _ANSWER) in answered and _values(row, key) not in kept
        ]
        changes = sink.rows_here(name, [*map(_stored, rows)], [*map(_stored, gone)])
        return sink.merge(name, changes)


def _values(row: Row, names: Sequence[str]) -> tuple[Any, ...]:
    return tuple(row[name] for name in names)


def _stored(row: Row) -> Row:
    moments = {name: utc_datetime(row[name]) for name in ("from_at", "to_at")}
    return {**row, **moments}
