"""A lake of three clusters, made without Spark, in which each has a group of the same id."""

from pathlib import Path
from typing import Any, Final

from tests.support.lake_without_spark import empty_gold, write_lake

START_MS: Final = 1_790_000_000_000
LASTED_MS: Final = {
    ("blue", "checkout"): 2_000,
    ("blue", "billing"): 5_000,
    ("green", "checkout"): 60_000,
    ("eu/1", "checkout"): 30_000,
}
"""Cluster and group -> how long its only rebalance took."""
WORST_FIRST: Final = ["green/checkout", "eu~11/checkout", "blue/billing", "blue/checkout"]


def write_fleet(lake: Path) -> None:
    """One lake, written cluster by cluster."""
    for cluster in dict.fromkeys(cluster for cluster, _ in LASTED_MS):
        write_lake(lake, _tables_of(cluster), cluster)


def _tables_of(cluster: str) -> dict[str, list[dict[str, Any]]]:
    """The groups of a cluster, each with a rebalance that a member of that cluster set off."""
    tables = empty_gold()
    for (name, group_id), lasted_ms in LASTED_MS.items():
        if name != cluster:
            continue
        member = f"{cluster}-member"
        own = {"group_id": group_id, "incarnation": 0, "log_partition": 0}
        own |= {"completeness": "complete", "protocol": "consumer"}
        why = {"primary_cause": "member_joined", "primary_certainty": "proven"}
        begun = own | why | {"started_at": START_MS, "rebalance_seq": 1}
        ended_ms = START_MS + lasted_ms
        tables["epochs"].append(
            begun | {"epoch": 4, "outcome": "converged", "converged_at": ended_ms, "members": 1}
        )
        tables["rebalance_causes"].append(
            own
            | {"epoch": 4, "cause_seq": 0, "cause": "member_joined", "certainty": "proven"}
            | {"role": "began", "at": START_MS, "member_id": member, "detail": "It joined."}
        )
        took = dict.fromkeys(
            ("duration_ms", *(f"duration_{end}_ms" for end in ("min", "max", "estimate"))),
            lasted_ms,
        )
        tables["rebalances"].append(
            begun
            | took
            | {"first_epoch": 4, "last_epoch": 4, "epochs": 1, "ended_at": ended_ms}
            | {"outcome": "stable"}
        )
        tables["members"].append(own | {"member_id": member, "client_id": member})
        tables["group_states"].append(
            own
            | {"from_offset": 7, "from_at": ended_ms, "group_state": "Stable", "is_current": True}
        )
        tables["findings"].append(
            own
            | {"finding_id": group_id, "kind": "slow_revoker", "severity": "warning"}
            | {"from_at": START_MS, "detail": f"{member} was slow.", "advice": "Look at it."}
        )
    return tables
