"""What offset commits tell of members that were removed, or went while the coordinator moved."""

import pytest

from rebalance_audit.audit.log_audit import audit_log
from rebalance_audit.audit.options import AuditOptions
from tests.audit.commits.test_ends_of_members import (
    CLASSIC,
    commits,
    end_of,
    with_fail_over,
    with_rack,
)
from tests.dsl import TOPIC_NAMES, log


def test_a_member_that_stopped_before_a_fail_over_expired() -> None:
    """B works with both coordinators, A with the first alone, though it always has something to commit."""
    records = log(
        *sorted(
            (
                CLASSIC,
                *commits(0, *range(5_000, 21_000, 5_000)),
                *commits(3, *range(6_000, 58_000, 5_000)),
                (57_000, "2 2 range B=0-5 session=10000 timeout=300000 state_at=56990"),
            )
        )
    )
    moved = with_fail_over(records, 30_000)
    causes = audit_log(moved, AuditOptions(topic_name=TOPIC_NAMES.get))["rebalance_causes"]
    assert [row["cause"] for row in causes if row["member_id"] == "A"][-1] == (
        "member_session_expired"
    )


@pytest.mark.parametrize(
    ("last_ms", "after", "how"),
    [
        (45_000, "-", "member_removed_by_admin"),
        (42_000, "-", "member_left"),
        (47_700, "-", "member_left"),
        (45_000, "range B=0-5", "member_left"),
        (42_000, "range B=0-5", "member_left"),
    ],
)
def test_who_commits_on_closing_and_did_not_was_removed(last_ms: int, after: str, how: str) -> None:
    """A Java client commits as it closes, out of its rhythm; one that is removed at work has no time for that.

    Kafka's Admin removes all dynamic members at once. One that goes alone without a commit unsubscribed.
    """
    cause = end_of(
        "A",
        CLASSIC,
        *commits(0, *range(5_000, 41_000, 5_000), last_ms),
        *commits(3, *range(5_000, 41_000, 5_000), last_ms, *([48_900] if after != "-" else [])),
        (50_000, f"2 2 {after} session=10000 timeout=300000 state_at=49990"),
    )
    assert cause["cause"] == how


@pytest.mark.parametrize(
    ("last_ms", "how"), [(49_900, "member_removed_by_admin"), (49_000, "member_left")]
)
def test_timers_that_go_on_until_all_are_gone_show_a_removal(last_ms: int, how: str) -> None:
    """Each of two committed to the tick just before. Those that close commit when they do."""
    cause = end_of(
        "A",
        CLASSIC,
        *commits(0, *range(4_900, 45_000, 5_000), last_ms),
        *commits(3, *range(4_900, 45_000, 5_000), last_ms),
        (50_000, "2 2 - state_at=49990"),
    )
    assert cause["cause"] == how


@pytest.mark.parametrize(
    ("before", "after", "how"),
    [
        ("C=2 F=3", "D=0 E=1 G=2 F=3", "member_removed_by_admin"),
        ("C=2 F=3", "D=0 E=1 C=2 F=3", "member_left"),
        ("", "D=0 E=1", "member_removed_by_admin"),
        ("C=2 F=3", "F=0-3", "member_left"),
    ],
    ids=["three", "two of many", "all", "none is back"],
)
def test_members_that_go_together_and_are_back_at_once_had_been_removed(
    before: str, after: str, how: str
) -> None:
    """Clients that are removed join again within the join phase; all had committed in the middle of their work.

    Two of many are rather instances that somebody restarts: Kafka's Admin removes all dynamic members at once.
    """
    settings = "session=10000 timeout=30000"
    writes = (
        (1_000, f"2 1 range A=0 B=1 {before} {settings} state_at=1000"),
        *commits(0, 4_000, 5_500),
        *commits(1, 4_300, 6_100),
        *commits(2, 4_200, 6_000, 7_000),
    )
    cause = end_of("A", *writes, (8_000, f"2 2 range {after} {settings} state_at=7990"))
    assert cause["cause"] == how


def test_three_instances_that_come_back_together_had_been_removed_together() -> None:
    """Each alone finds a stable group; so one request removed them, whatever else the generation shows."""
    before = "A@i1=0 B@i2=1 C@i3=2 E@i5=3"
    after = "a@i1=0 b@i2=1 c@i3=2 D@i4=4 E@i5=3"
    settings = "session=30000 timeout=20000"
    got = audit_log(
        log(
            (1_000, f"2 1 range {before} {settings} state_at=1000"),
            *(
                each
                for number in range(3)
                for each in commits(number, 4_000, 6_000, 8_000 + number)
            ),
            (9_500, f"2 2 range {after} {settings} state_at=9490"),
        )
    )
    ends = {row["member_id"]: row["left_how"] for row in got["members"] if row["left_how"]}
    assert ends == dict.fromkeys("ABC", "member_removed_by_admin")


@pytest.mark.parametrize(
    ("other_until_ms", "how"),
    [(24_000, "member_removed_by_admin"), (26_900, "member_session_expired")],
    ids=["none missed", "one missed"],
)
@pytest.mark.parametrize(
    ("before", "after"),
    [("A=0 B=1 C=2", "D=0 E=1 C=2"), ("A@i1=0 B@i2=1 C@i3=2", "D@i1=0 E@i2=1 C@i3=2")],
    ids=["dynamic", "static"],
)
def test_sessions_that_may_not_have_run_out_when_the_join_phase_began_are_no_expiries(
    before: str, after: str, other_until_ms: int, how: str
) -> None:
    """A and B commit every 5 s until 21 s, and both are back. A phase may last longer than what is left of sessions.

    C goes on until the phase: if it does so for longer than 5 s, A and B were no longer at work.
    """
    settings = "session=6000 timeout=30000"
    got = audit_log(
        log(
            *sorted(
                [
                    (1_000, f"2 1 range {before} {settings} state_at=1000"),
                    *commits(0, 6_000, 11_000, 16_000, 21_000),
                    *commits(1, 6_010, 11_010, 16_010, 21_010),
                    *commits(2, 5_900, 10_900, 15_900, 20_900, other_until_ms),
                    (28_000, f"2 2 range {after} {settings} state_at=27990"),
                ]
            )
        )
    )
    ends = {row["member_id"]: row["left_how"] for row in got["members"] if row["left_how"]}
    if "@" in before and how == "member_session_expired":
        assert "member_removed_by_admin" not in ends.values()
    else:
        assert ends == dict.fromkeys("AB", how)


@pytest.mark.parametrize(
    ("after", "how"),
    [
        ("E=0 F=1 G=2 D=3", "member_removed_by_admin"),
        ("E=0 F=1 D=2-3", "member_session_expired"),
    ],
    ids=["all are back", "one is not"],
)
def test_several_that_are_back_at_once_had_been_removed_though_another_committed_as_it_rejoined(
    after: str, how: str
) -> None:
    """D, a Java client, commits once more as it hears of the join phase, 5.9 s after A, B and C, which rest for 5 s."""
    settings = "session=6000 timeout=30000"
    records = log(
        *sorted(
            [
                (1_000, f"2 1 range A=0 B=1 C=2 D=3 {settings} state_at=1000"),
                *(
                    each
                    for number in range(3)
                    for each in commits(number, *range(6_000, 22_000, 5_000))
                ),
                *commits(3, *range(5_900, 21_000, 5_000), 26_900),
                (28_000, f"2 2 range {after} {settings} state_at=27990"),
            ]
        )
    )
    members = audit_log(with_rack(records, None))["members"]
    ends = {row["member_id"]: row["left_how"] for row in members if row["left_how"]}
    assert ends == dict.fromkeys("ABC", how)


def test_one_that_was_removed_shows_how_those_went_that_commit_seldom() -> None:
    """A's timer made its last commit, so it did not close. B had nothing to commit for long, and went with it."""
    cause = end_of(
        "B",
        (1_000, "2 1 range A=0 B=1 C=2 session=10000 timeout=300000 state_at=1000"),
        *commits(0, *range(5_000, 46_000, 5_000)),
        *commits(1, 4_000, 20_000, 38_000),
        *commits(2, *range(6_000, 47_000, 5_000)),
        (50_000, "2 2 - state_at=49990"),
    )
    assert cause["cause"] == "member_removed_by_admin"
    assert {"member_left", "member_session_expired"} <= set(cause["alternatives"])
