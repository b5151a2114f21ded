"""Members that left a classic group empty: what comes next separates a leave from a removal."""

import pytest

from rebalance_audit.audit.log_audit import LogAudit
from rebalance_audit.audit.options import AuditOptions
from rebalance_audit.audit.rows import Row
from tests.dsl import log

SETTINGS = "session=10000 timeout=60000"
BEFORE = [
    (1_000, f"2 1 range A=0-5 {SETTINGS} state_at=1000"),
    *[(at_ms, f"1 foo:0 {at_ms}") for at_ms in range(6_000, 41_000, 5_000)],
]
EMPTIED = (42_000, f"2 2 {SETTINGS} state_at=42000")


def back(at_ms: int, host: str = "") -> tuple[int, str]:
    """A generation with a client of the same id as A."""
    return (at_ms, f"2 3 range B{host}=0-5 {SETTINGS} state_at={at_ms}")


def audited(*writes: tuple[int, str], log_end_ms: int | None = None) -> dict[str, list[Row]]:
    """The rows of the log."""
    audit = LogAudit(AuditOptions(log_end_ms=log_end_ms))
    for record, position in log(*writes):
        audit.feed(record, position)
    return audit.tables()


def end_of_a(tables: dict[str, list[Row]]) -> tuple[str, dict[str, float]]:
    """How A ended, and how likely else; all tables say the same."""
    (member,) = [row for row in tables["members"] if row["member_id"] == "A"]
    (cause,) = [
        row
        for row in tables["rebalance_causes"]
        if row["epoch"] == 2 and row["member_id"] == "A" and row["cause_seq"] == 0
    ]
    (rebalance,) = [row for row in tables["rebalances"] if row["first_epoch"] == 2]
    assert member["left_how"] == cause["cause"] == rebalance["primary_cause"]
    assert rebalance["outcome"] == "emptied"
    assert rebalance["ended_at"] == 42_000
    weights = cause["alternative_weights"]
    assert len(weights) == len(cause["alternatives"])
    ends = zip(cause["alternatives"], weights, strict=True)
    return cause["cause"], {end: weight for end, weight in ends if weight is not None}


def test_a_client_that_was_at_work_and_is_back_at_once_may_have_been_removed() -> None:
    """A commit in time, 2 s before the group was empty, and back 1.5 s later."""
    cause, weights = end_of_a(audited(*BEFORE, EMPTIED, back(43_500)))
    assert cause == "member_departed"
    assert weights["member_removed_by_admin"] > 0.2
    later = end_of_a(audited(*BEFORE, EMPTIED, back(90_000)))[1]
    assert weights["member_removed_by_admin"] > 10 * later["member_removed_by_admin"]


@pytest.mark.parametrize("log_end_ms", [42_000 + 30_000, 42_000 + 3_600_000])
def test_a_client_that_stays_away_left(log_end_ms: int) -> None:
    """As soon as the log has gone on for long enough; the row says from when on it may differ."""
    assert end_of_a(audited(*BEFORE, EMPTIED, log_end_ms=log_end_ms))[0] == "member_left"


def test_until_the_log_shows_whether_the_client_is_back_the_end_is_less_certain() -> None:
    """The log ends 5 s after the group was left empty."""
    _, soon = end_of_a(audited(*BEFORE, EMPTIED, log_end_ms=47_000))
    _, late = end_of_a(audited(*BEFORE, EMPTIED, log_end_ms=72_000))
    assert soon["member_removed_by_admin"] > late["member_removed_by_admin"]
