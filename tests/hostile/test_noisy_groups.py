"""Groups that are made to be noisy do not hide others from the metrics, or are counted where they do."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from rebalance_audit.readers.lake_reader import open_lake
from rebalance_audit.readers.metrics import metrics_shape
from tests.support.lake_without_spark import empty_gold, write_lake

GROUPS_MAX = 5
MINUTE = 60_000


def group(name: str, first_at: int, *severities: str) -> Mapping[str, list[dict[str, Any]]]:
    """Rows of a group that was first seen then, with findings that go on and an hour lost to each."""
    state = {"group_id": name, "group_state": "Stable", "is_current": True, "from_at": first_at}
    findings = [
        {"group_id": name, "kind": "rebalance_storm", "severity": how, "from_at": first_at}
        for how in severities
    ]
    lost = [
        {"group_id": name, "outcome": "stable", "duration_estimate_ms": 60 * MINUTE}
        for _ in severities
    ]
    return {"group_states": [state], "findings": findings, "rebalances": lost}


def metrics_of(lake: Path, groups: list[Mapping[str, list[dict[str, Any]]]]) -> dict[str, Any]:
    """Name without prefix -> its series."""
    tables = {
        name: [*rows, *(row for each in groups for row in each.get(name, ()))]
        for name, rows in empty_gold().items()
    }
    write_lake(lake, tables, "blue")
    return {
        each["name"].removeprefix("rebalance_audit_"): each["series"]
        for each in metrics_shape(open_lake(lake), GROUPS_MAX)
    }


@pytest.mark.parametrize("severity", ["critical", "warning"])
def test_younger_groups_do_not_push_out_older_ones_in_trouble(
    severity: str, tmp_path: Path
) -> None:
    """However many findings the younger ones have, and whatever they are called."""
    noisy = [group(f"{n:03}-noise", 100 * MINUTE + n, *[severity] * 9) for n in range(20)]
    found = metrics_of(tmp_path, [*noisy, group("shop", MINUTE, severity)])
    named = {series["labels"]["group"] for series in found["group_open_findings"]}
    assert "shop" in named
    assert len(named) == GROUPS_MAX


def test_groups_in_trouble_that_are_left_out_are_counted(tmp_path: Path) -> None:
    """The rules of conf/alerts fire for them; calm ones are counted apart."""
    old = [group(f"old-{n}", n, "critical") for n in range(GROUPS_MAX)]
    found = metrics_of(tmp_path, [*old, group("shop", 9 * MINUTE, "warning"), group("calm", 0)])
    counts = {
        name: [series["value"] for series in found[name]]
        for name in ("groups_without_series", "troubled_groups_without_series")
    }
    assert counts == {"groups_without_series": [2.0], "troubled_groups_without_series": [1.0]}
    assert sum(series["value"] for series in found["cluster_open_findings"]) == GROUPS_MAX + 1
