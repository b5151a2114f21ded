"""What the timer tells that all members of a group commit by: who closed, who rejoined, and who was at work."""

import pytest

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


@pytest.mark.parametrize(
    ("phase_ms", "how"),
    [(30_000, "member_rebalance_timeout"), (22_000, "member_removed_by_admin")],
    ids=["as the time is up", "before"],
)
def test_who_fetches_no_assignment_is_dropped_as_the_rebalance_timeout_ends(
    phase_ms: int, how: str
) -> None:
    """A, a static member, joins generation 2 and commits nothing in it; B goes on, and rejoins a second after."""
    settings = "session=45000 timeout=30000"
    began_ms = 45_000 + phase_ms
    records = of_java(
        (1_000, f"2 1 range A@a=0-2 B@b=3-5 {settings} state_at=1000"),
        *commits(0, *EVERY_5_S, 43_000),
        *commits(3, *EVERY_5_S, 43_100, *range(50_100, began_ms, 5_000), began_ms + 1_000),
        (45_010, f"2 2 range A@a=0-2 B@b=3-5 {settings} state_at=45000"),
        (began_ms + 1_200, f"2 3 range B@b=0-5 {settings} state_at={began_ms + 1_100}"),
    )
    assert end_of_a(records) == (how, "probable")


@pytest.mark.parametrize(
    ("ended_ms", "how"),
    [(53_000, "member_rebalance_timeout"), (48_000, "member_left")],
    ids=["as long as it may", "as A goes"],
)
def test_who_works_while_the_others_wait_as_long_as_they_may_did_not_rejoin(
    ended_ms: int, how: str
) -> None:
    """B rejoins at second 43. A's commits arrive, but it hears of nothing."""
    settings = "session=10000 timeout=10000"
    records = of_java(
        (1_000, f"2 1 range A=0-2 B=3-5 {settings} state_at=1000"),
        *commits(0, *range(2_000, ended_ms - 500, 1_000)),
        *commits(3, *range(2_000, 43_000, 1_000), 42_500),
        (ended_ms + 5, f"2 2 range B=0-5 {settings} state_at={ended_ms}"),
    )
    assert end_of_a(records) == (how, "probable")


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


def test_a_commit_out_of_time_is_none_on_closing_if_the_session_ends_to_the_tick() -> None:
    """A rejoined too, or was about to, and died: the phase goes on until its session is over."""
    settings = "session=10000 timeout=60000"
    records = of_java(
        (1_000, f"2 1 range A=0-2 B=3-5 {settings} state_at=1000"),
        *commits(0, *EVERY_5_S, 43_100),
        *commits(3, *EVERY_5_S, 43_900),
        (53_115, f"2 2 range B=0-2 C=3-5 {settings} state_at=53110"),
    )
    assert end_of_a(records) == ("member_session_expired", "probable")


def test_nobody_who_comes_back_to_the_next_coordinator_expired() -> None:
    """It starts all sessions as it loads the group: they end together. The members had committed every 5 s."""
    settings = "session=10000 timeout=60000"
    records = of_java(
        (1_000, f"2 1 range A=0-2 B=3-5 {settings} state_at=1000"),
        *commits(0, *EVERY_5_S),
        *commits(3, *EVERY_5_S),
        (58_000, "2 2 - state_at=58000"),
    )
    assert end_of_a(with_fail_over(records, 45_000)) == ("member_session_expired", "probable")


def test_the_timer_is_known_in_the_next_generation_as_well() -> None:
    """Generation 2 is too short for a rhythm. A commits 2 s into it: by its timer it would have been 5 s."""
    settings = "session=10000 timeout=60000"
    records = of_java(
        (1_000, f"2 1 range A=0-2 B=3-5 {settings} state_at=1000"),
        *commits(0, *EVERY_5_S),
        *commits(3, *EVERY_5_S),
        (43_005, f"2 2 range A=0-1 B=2-3 C=4-5 {settings} state_at=43000"),
        *commits(0, 45_000),
        *commits(3, 46_500),
        (59_005, f"2 3 range B=2-3 C=4-5 D=0-1 {settings} state_at=59000"),
    )
    assert end_of_a(records) == ("member_left", "probable")


@pytest.mark.parametrize(
    ("last_ms", "how"),
    [(61_050, "member_removed_by_admin"), (60_300, "member_left")],
    ids=["on a tick", "between two"],
)
def test_a_commit_on_a_tick_of_the_timer_is_none_on_closing_though_ticks_before_had_none(
    last_ms: int, how: str
) -> None:
    """A and B are Java clients, C is one of librdkafka, which commits on its timer if there is something new.

    All go at once, right after timers that went on to the end.
    """
    records = of_java(
        (1_000, "2 1 range A=0-1 B=2-3 C=4-5 session=45000 timeout=60000 state_at=1000"),
        *commits(0, *range(6_000, 62_000, 5_000)),
        *commits(2, *range(6_020, 62_000, 5_000)),
        *commits(4, 6_050, 11_050, 16_050, 56_050, last_ms),
        (61_355, "2 2 - state_at=61350"),
    )
    assert end_of_a(with_rack(records, "", only="C")) == (how, "probable")
