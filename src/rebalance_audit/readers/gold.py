"""Rows of gold in a lake, of clusters, groups, rollouts; until when it knows the log. Importing this imports Arrow."""

from collections.abc import Collection, Sequence
from operator import itemgetter
from typing import Any, Final

import pyarrow.compute as pc
import pyarrow.dataset as ds

from rebalance_audit.audit.deploys.deploy_rows import deploy_rows
from rebalance_audit.audit.deploys.rollout import Rollout
from rebalance_audit.audit.rows import DEPLOYS, GOLD_OF_GROUP, GOLD_OF_LOG, TOPICS, Row
from rebalance_audit.errors import LakeNotReadable
from rebalance_audit.readers.tables import open_table, read_rows, require_cluster, table_exists
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


_TABLES: Final = ("epochs", "rebalance_causes", "members")
_LONG_MS: Final = 86_400_000
"""A rebalance may have begun so long before its bounds in the tables say."""


def stored_deploys(lake: str, cluster: str, group_ids: Collection[str] = ()) -> list[Row] | None:
    """Rows of gold.deploys, of some groups if these are given; None where the lake has none.

    Raises LakeNotReadable.
    """
    name = f"gold.{DEPLOYS}"
    if not table_exists(lake, name):
        return None
    rows = read_rows(lake, name, cluster=cluster, group_ids=group_ids)
    return in_key_order(DEPLOYS, rows) if rows else None


def matched_deploys(
    lake: str, cluster: str, deploys: Sequence[Rollout], group_ids: Collection[str] = ()
) -> list[Row]:
    """Rows about these rollouts, of some groups if these are given; only groups that rebalanced then are read.

    Raises LakeNotReadable.
    """
    if not deploys:
        return []
    from_ms = min(deploy.window[0] for deploy in deploys) - _LONG_MS
    to_ms = max(deploy.window[1] for deploy in deploys) + _LONG_MS
    rebalances = [
        row
        for row in read_rows(lake, "gold.rebalances", cluster=cluster, group_ids=group_ids)
        if any(
            at is not None and from_ms <= at <= to_ms for at in (row["started_at"], row["ended_at"])
        )
    ]
    groups = sorted({row["group_id"] for row in rebalances})
    if not groups:
        return []
    tables = {
        name: read_rows(lake, f"gold.{name}", cluster=cluster, group_ids=groups) for name in _TABLES
    }
    return in_key_order(DEPLOYS, deploy_rows({**tables, "rebalances": rebalances}, deploys))
