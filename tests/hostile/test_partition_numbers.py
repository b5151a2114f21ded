"""Partition numbers come from clients: what they cost is what is there, not what they say."""

import json
from pathlib import Path

import pytest

from rebalance_audit.audit.findings.assignments import number_gaps
from tests.hostile.tenant_log import TenantLog
from tests.hostile.within_limits import rebalance_audit

HIGHEST = (1 << 31) - 1


@pytest.mark.parametrize("command", [["inspect"], ["inspect", "--json"], ["state"], ["metrics"]])
def test_the_highest_partition_number_costs_nothing(tmp_path: Path, command: list[str]) -> None:
    """A client-made assignment names partition 2³¹-1 only."""
    log = TenantLog()
    for number in (1, 2):
        log.generation("g", number, [("t", (HIGHEST,))])
    ended = rebalance_audit(command[0], log.write(tmp_path), *command[1:])
    assert ended.exit_code == 0, ended.err


def test_missing_partitions_are_counted(tmp_path: Path) -> None:
    """The finding names the first missing partitions and counts the others."""
    log = TenantLog()
    for number, held in ((1, (0, 3, HIGHEST)), (2, (0, 3, HIGHEST))):
        log.generation("g", number, [("t", held)], after_ms=3_600_000)
    ended = rebalance_audit("inspect", log.write(tmp_path), "--json")
    details = [
        each["detail"]
        for each in json.loads(ended.out)["findings"]
        if each["kind"] == "lost_partition"
    ]
    assert len(details) == 1
    assert f"did not hold t 1, 2, 4, 5, 6, 7, 8, 9 and {HIGHEST - 3 - 8 + 1} more" in details[0]


@pytest.mark.parametrize(
    ("numbers", "highest", "gaps"),
    [
        ((), 0, ((0, 0),)),
        ((0, 1, 2), 2, ()),
        ((1, 5), 5, ((0, 0), (2, 4))),
        ((-7, 0), 2, ((1, 2),)),
        ((0, 0, 9), 4, ((1, 4),)),
    ],
)
def test_number_gaps(
    numbers: tuple[int, ...], highest: int, gaps: tuple[tuple[int, int], ...]
) -> None:
    """Ranges of absent numbers."""
    assert number_gaps(numbers, highest) == gaps
