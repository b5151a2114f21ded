"""Gold tables of a lake as rows. Importing this imports Arrow and delta-rs."""

from collections.abc import Sequence
from operator import itemgetter

from rebalance_audit.audit.rows import GOLD_OF_LOG, TOPICS, Row
from rebalance_audit.readers.tables import read_rows
from rebalance_audit.tables.order import in_key_order


def gold_tables(
    lake: str, cluster: str | None, group_ids: Sequence[str] = ()
) -> dict[str, list[Row]]:
    """Rows of one cluster, or of all, by table, each in order of the table's key. Raises LakeNotReadable.

    `group_ids`: only the rows of these groups; all of them if empty.
    """
    found = {}
    for name in GOLD_OF_LOG:
        wanted = () if name == TOPICS else group_ids
        rows = read_rows(lake, f"gold.{name}", cluster=cluster, group_ids=wanted)
        # The cluster is the first column of every key.
        found[name] = sorted(in_key_order(name, rows), key=itemgetter("cluster"))
    return found
