"""gold.what_if: answers of `what-if` about groups of a cluster, each in place of an earlier one about its window."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from rebalance_audit.lake.runs.replaced_rows import AnswerRow, replace_rows, values_of
from rebalance_audit.lake.storage.table_writer import Written
from rebalance_audit.lake.storage.tables import Lake
from rebalance_audit.tables.schemas import TableName

_ANSWER: Final = ("group_id", "from_at", "to_at")
"""Columns that the rows of one answer share."""


def write_predictions(
    lake: Lake, cluster: str, rows: Sequence[AnswerRow], now: datetime
) -> Written:
    """Write whole answers, whose moments are epoch milliseconds; raises as `replace_rows`.

    Rows of the same groups and windows that the answers do not have are removed.
    """
    answered = {values_of(row, _ANSWER) for row in rows}
    return replace_rows(
        lake,
        cluster,
        TableName.WHAT_IF,
        rows,
        lambda row: values_of(row, _ANSWER) in answered,
        now,
    )
