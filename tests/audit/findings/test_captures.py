"""Findings of real brokers' logs: what was done to the groups is found, and nothing else."""

from collections import Counter
from functools import cache

import pytest

from rebalance_audit.audit.rows import Row
from rebalance_audit.local.audit import audit_segments
from tests.cli.call import CAPTURES, segments

QUIET = (
    "broker-3.3",
    "broker-3.7",
    "broker-3.9",
    "broker-4.0",
    "broker-4.4",
    "compacted",
    "offsets",
)
"""Small mixes of joins, leaves, kills and growth at the usual pace, one with a compacted log."""


@cache
def found(capture: str) -> list[Row]:
    """Rows of findings of a capture."""
    return audit_segments(segments(capture)).tables["findings"]


def kinds(capture: str) -> Counter[tuple[str, str]]:
    """(group, kind) with counts."""
    return Counter((row["group_id"], row["kind"]) for row in found(capture))


@pytest.mark.parametrize("capture", QUIET)
def test_ordinary_groups_have_no_findings(capture: str) -> None:
    """Groups that joined, left, grew and lost a member in the usual way give no reason to look."""
    assert found(capture) == []


@pytest.mark.parametrize(
    ("capture", "group_id", "kind"),
    [
        ("classic-static", "fleet", "static_subscription_ignored"),
        ("classic-cooperative", "rolling", "eager_under_cooperative_name"),
        ("consumer-protocol", "slow", "slow_revoker"),
        ("consumer-protocol", "regex", "regexes_alike"),
        ("failover", "klassik", "coordinator_moved"),
        ("failover", "ortsfest", "coordinator_moved"),
        ("upgrade", "modern", "group_not_served"),
        ("migration", "mover", "protocol_downgraded"),
    ],
)
def test_what_was_done_to_a_group_is_found(capture: str, group_id: str, kind: str) -> None:
    """The stories of the captures: a static restart with another topic, a slow revoker, a failover, a migration."""
    assert kinds(capture)[group_id, kind]


def test_a_slow_revoker_has_the_members_own_time() -> None:
    """The client slept ten seconds in its callback; the records at its begin and its end say so."""
    rows = [row for row in found("consumer-protocol") if row["kind"] == "slow_revoker"]
    (row,) = [row for row in rows if row["group_id"] == "slow"]
    assert row["to_at"] - row["from_at"] == pytest.approx(10_000, abs=50)
    assert row["member_ids"] == ["PTJBN+40TumiOrw0fP6cmQ"]


def test_findings_are_whole_rows() -> None:
    """Ids are unique, times in order, evidence and advice there, in all captures."""
    for capture in sorted(folder.name for folder in CAPTURES.iterdir()):
        rows = found(capture)
        assert len({row["finding_id"] for row in rows}) == len(rows)
        for row in rows:
            assert row["evidence"], row
            assert row["advice"].endswith("."), row
            assert row["detail"].endswith("."), row
            assert row["to_at"] is None or row["to_at"] >= row["from_at"], row
            order = [item["offset"] for item in row["evidence"]]
            assert row["kind"] == "unsticky_assignment" or order == sorted(order), row
