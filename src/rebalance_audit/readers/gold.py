"""Gold tables of a lake as rows, read without Spark. Importing this imports Arrow, delta-rs and what a run imports."""

from typing import Any, Final

from rebalance_audit.lake.gold.group_hours import HOURS
from rebalance_audit.lake.runs.run import GOLD_TABLES
from rebalance_audit.readers.tables import read_rows
from rebalance_audit.table_order import in_key_order

TABLES: Final = tuple(name.removeprefix("gold.") for name in GOLD_TABLES if name != HOURS)
"""What the audit fills; the hours are made of these."""


def gold_tables(lake: str, cluster: str) -> dict[str, list[dict[str, Any]]]:
    """All rows of one cluster by table, each in order of the table's key. Raises LakeNotReadable."""
    return {
        name: in_key_order(name, read_rows(lake, f"gold.{name}", cluster=cluster))
        for name in TABLES
    }
