"""Upgrades and downgrades; the cleaner has taken some of their records while the log was read (KAFKA-19862)."""

import pytest

from rebalance_audit.replay.step import Policy
from tests.dsl import anomalies, picture, replay, replayed

CLASSIC = "2 7 range A=0-2 B=3-5"
CONSUMER_ERA = "5 A; 3 8; 7 A 0-5; 6 8; 8 A 8/0 STABLE 0-5"
TOMBSTONES = "8t A; 7t A; 6t; 5t A; 16t ^f; 3t"
LATER = "2 9 range A=0-5"


@pytest.mark.parametrize(
    ("records", "reported", "after"),
    [
        (TOMBSTONES, [], "Classic Stable 7 | A 0-2 | B 3-5"),
        (f"{TOMBSTONES}; {LATER}", [], "Classic Stable 9 | A 0-5"),
        (CONSUMER_ERA, ["wrong_group_type"], "Consumer Stable 8/8 | A 8/0 STABLE 0-5"),
        (f"{CONSUMER_ERA}; {LATER}", ["wrong_group_type"], "Classic Stable 9 | A 0-5"),
        (
            f"{CONSUMER_ERA}; {LATER}; {TOMBSTONES}",
            ["wrong_group_type"],
            "Classic Stable 9 | A 0-5",
        ),
    ],
    ids=["tombstones after", "classic again", "no tombstone before", "downgraded", "both"],
)
def test_the_latest_era_counts(records: str, reported: list[str], after: str) -> None:
    """A classic record is not taken back by tombstones of the consumer group, and does not hide its era."""
    slot = replayed(CLASSIC)
    found = [
        kind
        for record in records.split("; ")
        for kind in anomalies(replay(slot, record, Policy.LENIENT))
    ]
    assert (found, picture(slot)) == (reported, after)
