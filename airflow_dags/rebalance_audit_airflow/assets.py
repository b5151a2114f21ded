"""The gold tables as Airflow assets, and the content of events about them."""

from collections.abc import Mapping
from typing import Any

from airflow.sdk import Asset

from rebalance_audit_airflow.window import Window

GOLD = (
    "convergence",
    "epochs",
    "findings",
    "group_hours",
    "group_states",
    "members",
    "ownership",
    "rebalance_causes",
    "rebalances",
    "topics",
)

ASSETS = {
    f"gold.{name}": Asset(
        name=f"rebalance_audit.gold.{name}", uri=f"delta://rebalance-audit/gold/{name}"
    )
    for name in GOLD
}
"""Table -> asset. Names and addresses are the same for every site; an event says which lake and cluster it is about."""


def event_of(
    table: str, window: Window, audited: Mapping[str, Any], checked: Mapping[str, Any]
) -> dict[str, Any]:
    """The content of an event about a table: where it is, window, number of rows that changed, version."""
    versions = {**audited.get("table_versions", {}), **checked.get("table_versions", {})}
    return {
        "lake": audited["lake"],
        "cluster": audited["cluster"],
        **window.as_extra(),
        "rows_changed": audited.get("rows_changed", {}).get(table, 0),
        "table_version": versions.get(table),
        "run_id": audited.get("run_id"),
        "check_id": checked.get("check_id"),
    }
