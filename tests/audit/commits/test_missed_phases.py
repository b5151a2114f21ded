"""How long a join phase took that a classic member missed, and what began it."""

import pytest

from rebalance_audit.audit.log_audit import audit_log
from tests.audit.commits.test_ends_of_members import (
    commits,
    in_transactions,
    with_fail_over,
    with_rack,
)
from tests.dsl import Log, log


def phase(*writes: tuple[int, str]) -> Log:
    """A log of these writes in the order of their times, with members that are Java clients."""
    return with_rack(log(*sorted(writes)), None)


def how_a_ended(records: Log) -> str:
    """The cause of the last generation that names A."""
    causes = audit_log(records)["rebalance_causes"]
    epoch = max(row["epoch"] for row in causes)
    (cause,) = [row for row in causes if row["member_id"] == "A" and row["epoch"] == epoch]
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


@pytest.mark.parametrize(
    ("ended_ms", "poll_ms", "after", "how"),
    [
        (65_010, 30_000, "D=0-5", "member_session_expired"),
        (65_300, 30_000, "D=0-5", "member_departed"),
        (65_010, 45_000, "D=0-5", "member_departed"),
    ],
    ids=["to the tick", "later", "as long as it may poll"],
)
def test_a_session_that_ends_to_the_tick_as_the_phase_does_tells_more_than_late_polls_can(
    ended_ms: int, poll_ms: int, after: str, how: str
) -> None:
    """A, the only member, last commits at second 20; D is a new process of the same application."""
    settings = f"session=45000 timeout={poll_ms}"
    records = phase(
        (1_000, f"2 1 range A=0-5 {settings} state_at=1000"),
        *commits(0, *range(2_000, 21_000, 1_000)),
        (ended_ms + 5, f"2 2 range {after} {settings} state_at={ended_ms}"),
    )
    assert how_a_ended(records) == how


@pytest.mark.parametrize(
    ("ended_ms", "how"),
    [(105_300, "member_session_expired"), (111_000, "member_departed")],
    ids=["with its session", "later"],
)
def test_a_phase_that_another_one_began_went_on_until_the_session_of_the_missing_one_was_over(
    ended_ms: int, how: str
) -> None:
    """C joins at second 80, and B rejoins. A pauses for up to 40 s, and made its last commit at second 60."""
    settings = "session=45000 timeout=60000"
    records = phase(
        (1_000, f"2 1 range A=0-2 B=3-5 {settings} state_at=1000"),
        *commits(0, 5_000, 10_000, 50_000, 60_000),
        *commits(3, *range(4_000, 80_000, 5_000), 81_000),
        (ended_ms + 5, f"2 2 range B=0-2 C=3-5 {settings} state_at={ended_ms}"),
    )
    assert how_a_ended(records) == how


@pytest.mark.parametrize(
    ("leader", "generation", "silent_ms", "how"),
    [
        ("A", 3, 12_000, "member_session_expired"),
        ("B", 3, 12_000, "member_departed"),
        ("A", 2, 12_000, "member_departed"),
        ("A", 3, 9_000, "member_left"),
    ],
    ids=["it led", "it did not lead", "all generations are there", "within its session"],
)
def test_a_leader_that_is_gone_after_a_generation_that_nobody_assigned_had_died(
    leader: str, generation: int, silent_ms: int, how: str
) -> None:
    """Whoever leads assigns as soon as all have joined, and the assignment makes a generation leave a record."""
    settings = f"session=10000 timeout=60000 lead={leader}"
    ended_ms = 60_000 + silent_ms
    records = log(
        (1_000, f"2 1 range A=0-2 B=3-5 {settings} state_at=1000"),
        *commits(0, 60_000),
        (
            ended_ms + 5,
            f"2 {generation} range B=0-5 session=10000 timeout=60000 state_at={ended_ms}",
        ),
    )
    assert how_a_ended(records) == how


@pytest.mark.parametrize(
    ("last_ms", "how"),
    [(60_000, "member_session_expired"), (57_500, "member_departed")],
    ids=["by its timer", "out of time"],
)
def test_of_several_that_are_gone_the_session_of_one_that_closed_ended_nothing(
    last_ms: int, how: str
) -> None:
    """The session of A ends to the tick as the phase does, and so does that of B. Who closed committed out of time."""
    settings = "session=10000 timeout=60000"
    ended_ms = last_ms + 10_000
    records = phase(
        (1_000, f"2 1 range A=0-1 B=2-3 C=4-5 {settings} state_at=1000"),
        *commits(0, *range(5_000, 56_000, 5_000), last_ms),
        *commits(2, *range(4_700, 56_000, 5_000)),
        (ended_ms + 5, f"2 2 range C=0-1 D=2-5 {settings} state_at={ended_ms}"),
    )
    assert how_a_ended(records) == how


@pytest.mark.parametrize(
    ("session_ms", "others_ms", "ended_ms", "how"),
    [
        (10_000, 46_000, 90_000, "member_session_expired"),
        (45_000, 46_000, 90_000, "member_departed"),
        (45_000, 50_000, 79_500, "member_rebalance_timeout"),
    ],
    ids=["its session first", "late polls first", "no time for a session"],
)
def test_who_is_silent_since_the_coordinator_moved_went_by_the_timer_that_ends_first(
    session_ms: int, others_ms: int, ended_ms: int, how: str
) -> None:
    """A last commits at second 42, five seconds before the next coordinator takes over. The others wait for it."""
    settings = f"session={session_ms} timeout=30000"
    records = phase(
        (1_000, f"2 1 range A=0-2 B=3-5 {settings} state_at=1000"),
        *commits(0, *range(2_000, 43_000, 5_000)),
        *commits(3, *range(3_000, others_ms, 5_000), others_ms),
        (ended_ms + 5, f"2 2 range B=0-5 {settings} state_at={ended_ms}"),
    )
    assert how_a_ended(with_fail_over(records, 47_000)) == how
