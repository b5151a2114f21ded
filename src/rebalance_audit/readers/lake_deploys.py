"""Rollouts and the groups of a lake: from files that are given now, or as a run with --deploys stored them."""

from collections.abc import Collection, Sequence
from typing import Final

from rebalance_audit.audit.deploys.deploy_rows import deploy_rows
from rebalance_audit.audit.deploys.rollout import Rollout
from rebalance_audit.audit.rows import DEPLOYS, Row
from rebalance_audit.readers.tables import is_there, read_rows
from rebalance_audit.tables.order import in_key_order

_TABLES: Final = ("epochs", "rebalance_causes", "members")
_LONG_MS: Final = 86_400_000
"""A rebalance may have begun so long before its bounds in the tables say."""


def stored_deploys(lake: str, cluster: str, group_ids: Collection[str] = ()) -> list[Row] | None:
    """Rows of gold.deploys, of some groups if these are given; None where the lake has none.

    Raises LakeNotReadable.
    """
    name = f"gold.{DEPLOYS}"
    if not is_there(lake, name):
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
