"""Answers about the groups of a cluster, each in place of an earlier one to the same question."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeAlias

from rebalance_audit.lake.storage.run_ids import commit_metadata, new_run_id
from rebalance_audit.lake.storage.sinks import Sink
from rebalance_audit.lake.storage.table_maker import translated
from rebalance_audit.lake.storage.table_writer import Written
from rebalance_audit.lake.storage.tables import Lake
from rebalance_audit.moments import utc_datetime
from rebalance_audit.tables.schemas import table_schemas

AnswerRow: TypeAlias = Mapping[str, Any]


def replace_rows(
    lake: Lake,
    cluster: str,
    name: str,
    rows: Sequence[AnswerRow],
    is_answered: Callable[[AnswerRow], bool],
    now: datetime,
) -> Written:
    """Write rows, whose moments are epoch milliseconds, in one commit; none if nothing differs.

    Rows that the table has and that are answered now, by the columns of their key, are removed. Raises LakeNotReadable
    and LakeNotWritable, and LakeBusy.
    """
    run_id = new_run_id(now)
    key = [column for column in table_schemas()[name].key if column != "cluster"]
    with (
        translated(lake.table_path(name)),
        commit_metadata(lake.spark, run_id),
        lake.staging(run_id),
    ):
        lake.create([name])
        sink = Sink(lake, cluster, run_id)
        sink.begin([name])
        kept = {values_of(row, key) for row in rows}
        gone = [
            row
            for row in lake.few_rows(name, cluster, key)
            if is_answered(row) and values_of(row, key) not in kept
        ]
        moments = [
            column.name for column in table_schemas()[name].columns if column.type == "timestamp"
        ]
        changes = sink.rows_here(
            name, [_stored(row, moments) for row in rows], [_stored(row, moments) for row in gone]
        )
        return sink.merge(name, changes)


def values_of(row: AnswerRow, names: Sequence[str]) -> tuple[Any, ...]:
    """The values of these columns."""
    return tuple(row[name] for name in names)


def _stored(row: AnswerRow, moments: Sequence[str]) -> AnswerRow:
    return {**row, **{name: utc_datetime(row[name]) for name in moments if name in row}}
