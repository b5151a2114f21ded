"""How long a join phase took that a classic member missed, and what began it."""

import pytest

from rebalance_audit.audit.log_audit import audit_log
from tests.audit.commits.test_ends_of_members import commits, in_transactions, with_rack
from tests.dsl import Log, log


def phase(*writes: tuple[int, str]) -> Log:
    """A log of these writes in the order of their times, with members that are Java clients."""
    return with_rack(log(*sorted(writes)), None)


def how_a_ended(records: Log) -> str:
    """The cause of the second generation that names A."""
    causes = audit_log(records)["rebalance_causes"]
    (cause,) = [row for row in causes if row["member_id"] == "A" and row["epoch"] == 2]
    assert cause["certainty"] == "probable"
    return str(cause["cause"])


@pytest.mark.parametrize(
    ("ended_ms", "others", "how"),
    [
        (66_000, "C=3-5", "member_session_expired"),
        (51_000, "C=3-5", "member_left"),
        (66_000, "D=3-5", "member_departed"),
    ],
    ids=["its session", "its polls", "two are gone"],
)
def test_the_phase_that_waited_for_one_member_ended_as_that_went(
    ended_ms: int, others: str, how: str
) -> None:
    """D joins at second 40, so that B and C rejoin; A made its last commit at second 20. Then nobody is missing but A.

    A session of 45 s, a max.poll.interval.ms of 30 s: each has its own time, whatever began the phase.
    """
    settings = "session=45000 timeout=30000"
    records = phase(
        (1_000, f"2 1 range A=0-2 B=3 C=4-5 {settings} state_at=1000"),
        *commits(0, *range(5_000, 21_000, 5_000)),
        *commits(3, *range(4_000, 40_000, 5_000), 40_900),
        *commits(4, *range(4_100, 40_000, 5_000), 41_000),
        (ended_ms + 5, f"2 2 range B=0-2 {others} {settings} state_at={ended_ms}"),
    )
    assert how_a_ended(records) == how


@pytest.mark.parametrize(
    ("silent_ms", "after", "how"),
    [
        (14_000, "B=0-5", "member_session_expired"),
        (14_000, "B=0-2 C=3-5", "member_departed"),
        (9_000, "B=0-5", "member_left"),
    ],
    ids=["after its session", "another one came", "within its session"],
)
def test_a_member_whose_end_alone_began_the_phase_had_expired_where_its_session_had_time_to(
    silent_ms: int, after: str, how: str
) -> None:
    """A pauses for up to 40 s: it is no news that it is silent. B, a Java client, rejoins as it hears of the phase."""
    settings = "session=10000 timeout=60000"
    last_ms, gone_ms = 60_000, 60_000 + silent_ms
    records = phase(
        (1_000, f"2 1 range A=0-2 B=3-5 {settings} state_at=1000"),
        *commits(0, 5_000, 10_000, 50_000, last_ms),
        *commits(3, *range(4_000, gone_ms, 5_000), gone_ms - 20),
        (gone_ms + 5, f"2 2 range {after} {settings} state_at={gone_ms}"),
    )
    assert how_a_ended(records) == how


@pytest.mark.parametrize(
    ("silent_ms", "how"),
    [(63_000, "member_left"), (13_000, "member_session_expired")],
    ids=["its polls", "its session"],
)
def test_commits_in_transactions_show_when_a_member_was_at_work(silent_ms: int, how: str) -> None:
    """They restart no session, but who commits has polled, and has sent its last heartbeat a moment before at most."""
    settings = "session=10000 timeout=60000"
    last_ms, gone_ms = 60_000, 60_000 + silent_ms
    records = phase(
        (1_000, f"2 1 range A=0-2 B=3-5 {settings} state_at=1000"),
        *commits(0, *range(5_000, last_ms + 1, 5_000)),
        *commits(3, *range(4_000, gone_ms, 5_000), gone_ms - 20),
        (gone_ms + 5, f"2 2 range B=0-5 {settings} state_at={gone_ms}"),
    )
    assert how_a_ended(in_transactions(records)) == how
