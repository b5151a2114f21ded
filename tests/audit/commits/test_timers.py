"""What the timer shows that all members of a group commit by: who closed, who rejoined, and who was at work."""

from rebalance_audit.audit.log_audit import audit_log
from rebalance_audit.audit.options import AuditOptions
from tests.audit.commits.test_ends_of_members import commits, with_fail_over, with_rack
from tests.dsl import TOPIC_NAMES, Log, log

EVERY_5_S = range(6_000, 42_000, 5_000)
"""The commits of a Java client whose generation began at second 1."""


def of_java(*writes: tuple[int, str]) -> Log:
    """A log of these writes in the order of their times, with members that are Java clients."""
    return with_rack(log(*sorted(writes)), None)


def end_of_a(records: Log) -> tuple[str, str]:
    """How A went, by the last generation."""
    causes = audit_log(records, AuditOptions(topic_name=TOPIC_NAMES.get))["rebalance_causes"]
    epoch = max(row["epoch"] for row in causes)
    (cause,) = [row for row in causes if row["member_id"] == "A" and row["epoch"] == epoch]
    return cause["cause"], cause["certainty"]


def test_who_rejoined_with_the_others_left_as_it_waited_with_them() -> None:
    """No session ends while a member waits, and no time to rejoin once it has. C joins, and all but A go on with it."""
    settings = "session=10000 timeout=9000"
    records = of_java(
        (1_000, f"2 1 range A=0-2 B=3-5 {settings} state_at=1000"),
        *commits(0, *EVERY_5_S, 43_100),
        *commits(3, *EVERY_5_S, 43_000),
        (52_005, f"2 2 range B=0-2 C=3-5 {settings} state_at=52000"),
    )
    assert end_of_a(records) == ("member_left", "probable")


def test_members_that_do_not_return_to_the_next_coordinator_most_likely_expired() -> None:
    """It starts all sessions as it loads the group: they end together. The members had committed every 5 s."""
    settings = "session=10000 timeout=60000"
    records = of_java(
        (1_000, f"2 1 range A=0-2 B=3-5 {settings} state_at=1000"),
        *commits(0, *EVERY_5_S),
        *commits(3, *EVERY_5_S),
        (58_000, "2 2 - state_at=58000"),
    )
    rows = audit_log(with_fail_over(records, 45_000), AuditOptions(topic_name=TOPIC_NAMES.get))
    (cause,) = [
        row for row in rows["rebalance_causes"] if row["detail"].startswith("Member A is gone")
    ]
    assert cause["alternatives"][0] == "member_session_expired"
    assert cause["alternative_weights"][0] > 0.9
