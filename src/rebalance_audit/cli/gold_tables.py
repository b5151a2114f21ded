"""Gold tables of a lake as rows, without Spark. Importing this imports Arrow and delta-rs."""

from typing import Any, Final

from rebalance_audit.audit.rows import GOLD_OF_GROUP
from rebalance_audit.cli.gold_order import in_key_order
from rebalance_audit.lake.read import read_rows

TABLES: Final = (*GOLD_OF_GROUP, "topics")


def gold_tables(lake: str, cluster: str) -> dict[str, list[dict[str, Any]]]:
    """All rows of one cluster by table, each in order of the table's key. Raises LakeNotReadable."""
    return {
        name: in_key_order(name, read_rows(lake, f"gold.{name}", cluster=cluster))
        for name in TABLES
    }
