"""Rows of gold in a lake, of clusters and of a group; until when it knows the log. Importing this imports Arrow."""

from collections.abc import Sequence
from operator import itemgetter
from typing import Any

import pyarrow.compute as pc
import pyarrow.dataset as ds

from rebalance_audit.audit.rows import GOLD_OF_GROUP, GOLD_OF_LOG, TOPICS, Row
from rebalance_audit.errors import LakeNotReadable
from rebalance_audit.readers.tables import open_table, read_rows, require_cluster
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


def group_tables(lake: str, cluster: str, group_id: str) -> dict[str, list[dict[str, Any]]]:
    """Rows of the group by table, each in order of the table's key. Raises LakeNotReadable."""
    return {
        name: in_key_order(
            name, read_rows(lake, f"gold.{name}", cluster=cluster, group_ids=[group_id])
        )
        for name in GOLD_OF_GROUP
    }


def clusters_with(lake: str, group_id: str) -> list[str]:
    """Names of the clusters that have a row of this group, sorted. Raises LakeNotReadable."""
    states = open_table(lake, "gold.group_states")
    found = states.to_table(columns=["cluster"], filter=ds.field("group_id") == group_id)
    return sorted(pc.unique(found.column("cluster")).to_pylist())


def group_ids(lake: str, cluster: str | None) -> set[str]:
    """Groups of the cluster, or of all, that have a row. Raises LakeNotReadable, also without a run of the cluster."""
    table = open_table(lake, "gold.group_states").to_table(columns=["cluster", "group_id"])
    pairs = zip(*(table.column(name).to_pylist() for name in ("cluster", "group_id")), strict=True)
    found = {group_id for name, group_id in pairs if cluster in {None, name}}
    if not found and cluster is not None:
        require_cluster(lake, cluster)
    return found


def log_end_ms(lake: str, cluster: str) -> int | None:
    """Time of the last record that the gold tables know (epoch ms); None where no run noted it."""
    try:
        progress = open_table(lake, "meta.progress")
    except LakeNotReadable:
        return None
    known = progress.to_table(["last_record_at"], filter=ds.field("cluster") == cluster)
    last = pc.max(known.column("last_record_at")).as_py()
    return None if last is None else int(last.timestamp() * 1000)
