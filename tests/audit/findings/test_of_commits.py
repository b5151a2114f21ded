"""Findings that need every commit: how much a group writes in an hour, and transactions that nothing ends."""

import numpy as np

from rebalance_audit.audit.findings.of_commits import OFFSET_COMMITS, OpenTransactions
from rebalance_audit.audit.hours.record_hours import LogGrowth, by_hour
from rebalance_audit.audit.thresholds import FindingRules

HOUR_MS = 3_600_000
RULES = FindingRules(hanging_ms=15 * 60_000, growth_records=3)


def test_growth_is_found_for_each_day_and_type() -> None:
    """Hours with enough records count, whatever stretches of the log they are read in."""
    growth = LogGrowth()
    of = [("busy", OFFSET_COMMITS), ("busy", "GROUP_METADATA")]
    hours = [1, 1, 1, 1, 2, 2, 5, 5, 5, 25, 25, 25]
    numbers, offsets = np.zeros(len(hours), np.int64), np.arange(len(hours)) + 100
    numbers[[0, 4]] = 1
    times = np.array(hours) * HOUR_MS + offsets
    for begin in range(0, len(hours), 5):
        part = slice(begin, begin + 5)
        growth.add(3, of, by_hour(numbers[part], times[part], offsets[part]))
    found = [
        (row["from_offset"], [each["offset"] for each in row["evidence"]], row["detail"])
        for row in growth.findings(RULES)
    ]
    detail = "It wrote {} records (offset commits) in {} of the day, at most 3 in one hour."
    assert found == [
        (101, [101, 108], detail.format(6, "2 hours")),
        (109, [109, 111], detail.format(3, "1 hour")),
    ]


def test_a_transaction_hangs_until_its_marker() -> None:
    """One finding for each group and producer, once the first commit is old enough."""
    minute_ms, found = 60_000, OpenTransactions()
    for producer_id, group_id, topic, minute in [
        (7, "stuck", "b", 5),
        (7, "stuck", "a", 6),
        (8, "done", "t", 7),
        (9, "young", "t", 46),
        (7, "stuck", "b", 50),
    ]:
        found.committed(producer_id, group_id, topic, (3, minute, minute * minute_ms))
    found.ended(3, 8)
    rows = [*found.findings(60 * minute_ms, RULES)]
    assert [(row["group_id"], row["from_offset"], row["topics"]) for row in rows] == [
        ("stuck", 5, ["a", "b"])
    ]
    assert [each["offset"] for each in rows[0]["evidence"]] == [5, 50]
    assert "producer 7 with 3 offset commits" in rows[0]["detail"]
    assert [*found.findings(None, RULES)] == []
