"""How long a join phase took that a classic member missed, and what began it."""

import pytest

from rebalance_audit.audit.log_audit import audit_log
from tests.audit.commits.test_ends_of_members import (
    commits,
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
    ("silent_ms", "after", "how"),
    [(14_000, "B=0-2 C=3-5", "member_departed"), (9_000, "B=0-5", "member_left")],
    ids=["another one came", "within its session"],
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
    ("leader", "generation", "silent_ms", "how"),
    [
        ("B", 3, 12_000, "member_departed"),
        ("A", 2, 12_000, "member_departed"),
        ("A", 3, 9_000, "member_left"),
    ],
    ids=["it did not lead", "all generations are there", "within its session"],
)
def test_a_leader_that_is_gone_after_a_generation_without_assignment_had_died(
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
