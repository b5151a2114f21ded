"""Gold tables of a lake as rows, read without Spark."""

from typing import Any, Final

from rebalance_audit.readers.tables import read_rows
from rebalance_audit.table_order import in_key_order
from rebalance_audit.table_schemas import GOLD_TABLES, TableName

TABLES: Final = tuple(
    name.removeprefix("gold.") for name in GOLD_TABLES if name != TableName.GROUP_HOURS
)
"""What the audit fills; the hours are made of these."""


def gold_tables(lake: str, cluster: str) -> dict[str, list[dict[str, Any]]]:
    """All rows of one cluster by table, each in order of the table's key. Raises LakeNotReadable."""
    return {
        name: in_key_order(name, read_rows(lake, f"gold.{name}", cluster=cluster))
        for name in TABLES
    }
