"""What the reducer makes rows of: an output for each table."""

from collections.abc import Mapping
from typing import Final

from rebalance_audit.audit.rows import GOLD_OF_GROUP
from rebalance_audit.tables.schemas import TableName, table_schemas

GROUP_RECORDS: Final = "group_records"
QUARANTINE: Final = "quarantine"
SNAPSHOTS: Final = "snapshots"
OUTPUTS: Final[Mapping[str, str]] = {
    **{name: f"gold.{name}" for name in GOLD_OF_GROUP},
    GROUP_RECORDS: TableName.GROUP_RECORDS,
    QUARANTINE: TableName.QUARANTINE,
    SNAPSHOTS: TableName.SNAPSHOTS,
}
"""Name in the stream -> full name of the table."""
FILLED_LATER: Final = frozenset({"cluster", "rules", "run_id", "updated_at"})
"""Columns that are the same in all rows of a run, and so are added by it."""


def columns_of(output: str) -> dict[str, str]:
    """Name and type of an output's columns: those of its table that differ between the rows of one run."""
    schema = table_schemas()[OUTPUTS[output]]
    common = FILLED_LATER if output == SNAPSHOTS else {"cluster"}
    return {column.name: column.type for column in schema.columns if column.name not in common}
