"""Gold tables of a lake as rows. Importing this imports Arrow and delta-rs."""

from rebalance_audit.audit.rows import GOLD_OF_LOG, Row
from rebalance_audit.readers.tables import read_rows
from rebalance_audit.table_order import in_key_order


def gold_tables(lake: str, cluster: str) -> dict[str, list[Row]]:
    """All rows of one cluster by table, each in order of the table's key. Raises LakeNotReadable."""
    return {
        name: in_key_order(name, read_rows(lake, f"gold.{name}", cluster=cluster))
        for name in GOLD_OF_LOG
    }
