"""The gold rows of one group in a lake. Importing this imports Arrow and delta-rs."""

from typing import Any

import pyarrow.compute as pc
import pyarrow.dataset as ds

from rebalance_audit.audit.rows import GOLD_OF_GROUP
from rebalance_audit.readers.tables import open_table, read_rows, require_cluster
from rebalance_audit.tables.order import in_key_order


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
