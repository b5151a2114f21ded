"""Answers about the groups of a cluster, each in place of an earlier one to the same question."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from operator import itemgetter
from typing import Any, Final, TypeAlias

from rebalance_audit.audit.deploys.rollout import Rollout
from rebalance_audit.lake.storage.sinks import Sink
from rebalance_audit.lake.storage.table_log import commit_metadata, new_run_id
from rebalance_audit.lake.storage.table_writer import Written, translated
from rebalance_audit.lake.storage.tables import Lake
from rebalance_audit.tables.schemas import TableName, table_schemas

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
    key_of = itemgetter(*key)
    with (
        translated(lake.table_path(name)),
        commit_metadata(lake.spark, run_id),
        lake.staging(run_id),
    ):
        lake.create([name])
        sink = Sink(lake, cluster, run_id)
        sink.begin([name])
        kept = set(map(key_of, rows))
        gone = [
            row
            for row in lake.read_small(name, cluster, key)
            if is_answered(row) and key_of(row) not in kept
        ]
        return sink.merge(name, sink.in_memory_rows(name, rows, gone))


_ANSWER: Final = itemgetter("group_id", "from_at", "to_at")
"""What the rows of one answer share."""


def write_predictions(
    lake: Lake, cluster: str, rows: Sequence[AnswerRow], now: datetime
) -> Written:
    """Write whole answers, whose moments are epoch milliseconds; raises as `replace_rows`.

    Rows of the same groups and windows that the answers do not have are removed.
    """
    answered = set(map(_ANSWER, rows))
    return replace_rows(
        lake,
        cluster,
        TableName.WHAT_IF,
        rows,
        lambda row: _ANSWER(row) in answered,
        now,
    )


def write_deploy_costs(
    lake: Lake, cluster: str, deploys: Sequence[Rollout], rows: Sequence[AnswerRow], now: datetime
) -> Written:
    """Write all rows about these rollouts, whose moments are epoch milliseconds; raises as `replace_rows`."""
    keys = {deploy.key for deploy in deploys}
    return replace_rows(
        lake,
        cluster,
        TableName.DEPLOYS,
        rows,
        lambda row: (row["deploy_id"], row["started_at"]) in keys,
        now,
    )
