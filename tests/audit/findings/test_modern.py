"""Findings of consumer groups: the story that shows each one, and the nearest story that does not."""

import pytest

from rebalance_audit.audit.options import AuditOptions
from rebalance_audit.audit.rows import Row
from tests.audit.findings.stories import Write, facts, findings, found_in, only, pick
from tests.dsl import TOPIC_IDS, TOPIC_NAMES, Log, log

A_JOINS = (1000, "5 A; 3 2; 7 A 0-5; 6 2; 8 A 2/0 0-5")
B_JOINS = (2000, "5 B; 3 3; 7 A 0-2; 7 B 3-5; 6 3; 8 B 3/0 UNRELEASED -")
A_REVOKES = (2500, "8 A 2/2 UNREVOKED 0-2|3-5")
GONE_A = "8t A; 7t A; 5t A; 3 4"


def handed_over(after_ms: int) -> list[Write]:
    """A gives up its partitions that long after the request, and B gets them."""
    return [
        A_JOINS,
        B_JOINS,
        A_REVOKES,
        (2500 + after_ms, "8 A 3/2 0-2"),
        (2900 + after_ms, "8 B 3/3 3-5"),
    ]


def test_a_healthy_group_has_no_findings() -> None:
    """A join, a hand-over, a leave and growth at the usual pace say nothing that needs attention."""
    assert (
        findings(
            *handed_over(500),
            (60_000, "3 4 h2; 7 A 0-2,6; 6 4; 8 A 4/3 0-2,6"),
            (60_100, "8 B 4/3 3-5"),
            (90_000, "8t B; 7t B; 5t B; 3 5 h2"),
            (90_500, "7 A 0-6; 6 5; 8 A 5/4 0-6"),
        )
        == {}
    )


def test_a_stuck_group_names_who_blocks_it() -> None:
    """B waits for what A does not give up: after the threshold the group is stuck on A until A does."""
    row = only(findings(*handed_over(400_000), slow_revoke_ms=500_000), "stuck_group")
    assert pick(row, "severity", "member_ids", "from_at", "to_at", "from_offset") == (
        "critical",
        ["A"],
        2000,
        402_900,
        7,
    )
    assert row["detail"] == (
        "Epoch 3 was not reached by every member for 6 min 41 s: A took 6 min 40 s to revoke partitions."
    )
    assert "stuck_group" not in findings(*handed_over(290_000))


def test_a_member_that_kept_no_one_waiting_did_not_hold_a_stuck_group_up() -> None:
    """A takes long to revoke what B gets, but B, which does not send a heartbeat, reaches the epoch after it."""
    late: Write = (500_000, "3 4; 7 A 0; 7 B 1-5; 6 4")
    story = [*handed_over(500), late, (500_100, "8 A 3/3 UNREVOKED 0|1-2"), (900_000, "8 A 4/3 0")]
    row = only(findings(*story, (900_500, "8 B 4/3 1-5"), slow_revoke_ms=500_000), "stuck_group")
    assert row["member_ids"] == ["B"]
    assert row["detail"].endswith(": B reached it last.")


def test_a_group_that_is_still_stuck_when_the_log_ends() -> None:
    """The end of the log, not the group's last record, shows how long it has lasted; it has no end."""
    story = log(A_JOINS, B_JOINS, A_REVOKES)
    options = AuditOptions(log_end_ms=900_000)
    kinds = {row["kind"]: row for row in found_in(story, options)}
    assert pick(kinds["stuck_group"], "to_at", "member_ids") == (None, ["A"])
    assert "A did not revoke partitions" in kinds["stuck_group"]["detail"]
    assert found_in(story) == []


def test_an_epoch_that_never_got_a_target() -> None:
    """The last living member died too: no heartbeat computes a target until the next event."""
    dead = [*handed_over(500), (60_000, GONE_A), (103_500, "8t B; 7t B; 5t B; 3 5 h0")]
    row = only(findings(*dead), "epoch_without_target")
    assert pick(row, "from_at", "to_at", "severity") == (60_000, 103_500, "warning")
    assert "Epoch" not in findings(*dead, no_target_ms=50_000)
    assert findings(*dead, no_target_ms=50_000) == {}


def test_a_target_that_came_late() -> None:
    """A target after the threshold is reported as late, one within a few heartbeats is not reported."""
    late = [*handed_over(500), (60_000, GONE_A), (100_000, "7 B 0-5; 6 4; 8 B 4/3 0-5")]
    assert "epoch 4 for 40.0 s" in only(findings(*late), "epoch_without_target")["detail"]
    early = [*late[:-1], (65_000, "7 B 0-5; 6 4; 8 B 4/3 0-5")]
    assert findings(*early) == {}


def test_slow_revokers_come_once_per_member() -> None:
    """Two slow hand-overs of one member are one finding with both records as evidence."""
    again = [
        *handed_over(12_000),
        (60_000, "3 4 h2; 7 A 0; 7 B 1-5; 6 4"),
        (60_100, "8 A 3/3 UNREVOKED 0|1-2"),
        (90_100, "8 A 4/3 0"),
        (90_200, "8 B 4/3 1-5"),
    ]
    row = only(findings(*again), "slow_revoker")
    assert pick(row, "member_ids", "from_at", "to_at") == (["A"], 2500, 90_100)
    assert row["detail"] == "Member A was slow to revoke partitions 2 times, 30.0 s at the longest."
    assert len(facts(row)) == 2
    assert "slow_revoker" not in findings(*handed_over(9_000))


def test_a_member_that_hears_late() -> None:
    """A wait for others is theirs; what is left between target and assignment is the member's own."""
    story = [*handed_over(500)[:-1], (50_000, "8 B 3/3 3-5")]
    assert findings(*story) == {}
    late = [
        *handed_over(500),
        (60_000, "3 4 h2; 7 A 0-2,6; 6 4; 8 A 4/3 0-2,6"),
        (95_000, "8 B 4/3 3-5"),
    ]
    row = only(findings(*late), "slow_member")
    assert pick(row, "member_ids", "from_at", "to_at") == (["B"], 60_000, 95_000)


@pytest.mark.parametrize(
    ("deleted_ms", "gone_ms", "expected"),
    [
        (5000, 22_500, ["foo"]),
        (None, 22_500, None),
        (30_000, 22_500, None),
        (5000, 12_500, None),
        (5000, 40_000, None),
    ],
    ids=["deleted", "alive", "deleted later", "left earlier", "removed much later"],
)
def test_a_revoker_probably_blocked_by_a_deleted_topic(
    deleted_ms: int | None, gone_ms: int, expected: list[str] | None
) -> None:
    """Removal right at the rebalance timeout while a topic to give up is deleted points to the retried commit."""
    options = AuditOptions(
        topic_name=TOPIC_NAMES.get,
        topic_deleted_at=lambda topic: deleted_ms if topic == TOPIC_IDS["foo"] else None,
    )
    found = findings(
        (1000, "5 A timeout=20000; 3 2; 7 A 0-5; 6 2; 8 A 2/0 0-5"),
        B_JOINS,
        A_REVOKES,
        (gone_ms, GONE_A),
        (gone_ms + 300, "7 B 0-5; 6 4; 8 B 4/3 0-5"),
        options=options,
    )
    if expected is None:
        assert "revoker_blocked_by_deleted_topic" not in found
        return
    row = only(found, "revoker_blocked_by_deleted_topic")
    assert pick(row, "topics", "member_ids") == (expected, ["A"])
    assert "probably" in row["detail"]


def moved_at(at_ms: int, *writes: Write) -> Log:
    """A log whose leader epoch is 1 instead of 0 from a moment on."""
    return [
        (record, at._replace(leader_epoch=int(at.record_timestamp_ms >= at_ms)))
        for record, at in log(*writes)
    ]


SLOW_STEPS: list[Write] = [
    *handed_over(500),
    (60_000, "3 4 h2; 7 A 0; 7 B 1-5; 6 4"),
    (60_050, "8 A 3/3 UNREVOKED 0|1-2"),
    (90_050, "8 A 4/3 0"),
    (90_200, "8 B 4/3 1-5"),
]
LATE_TARGET: list[Write] = [
    *handed_over(500),
    (60_000, GONE_A),
    (100_000, "7 B 0-5; 6 4; 8 B 4/3 0-5"),
]


@pytest.mark.parametrize(
    ("story", "moves_ms", "kinds"),
    [
        (SLOW_STEPS, 60_000, {"slow_revoker", "slow_member"}),
        (SLOW_STEPS, 90_050, set()),
        (LATE_TARGET, 2000, {"epoch_without_target"}),
        (LATE_TARGET, 100_000, set()),
    ],
)
def test_no_member_is_slow_without_a_coordinator(
    story: list[Write], moves_ms: int, kinds: set[str]
) -> None:
    """Each step takes 30 s or more, after the coordinator has moved, or from the old one to the new one."""
    assert {row["kind"] for row in found_in(moved_at(moves_ms, *story))} == kinds


def test_a_coordinator_that_took_members_with_it() -> None:
    """Most members gone right after a new leader epoch: probably the brokers caused it, not the clients."""
    lost = [*handed_over(500), (60_000, GONE_A), (60_400, "8t B; 7t B; 5t B; 3 5 h0")]
    _, row = found_in(moved_at(60_000, *lost))
    assert pick(row, "kind", "severity", "member_ids", "from_at", "to_at") == (
        "coordinator_moved",
        "warning",
        ["A", "B"],
        60_000,
        60_400,
    )
    assert "leader epoch 0 to 1" in row["detail"]
    assert "probably caused it" in row["detail"]
    assert findings(*lost) == {}


def test_one_member_that_goes_behind_a_move_may_have_left_by_itself() -> None:
    """It is reported without blaming the move; long after the move it is not reported at all."""
    left = [*handed_over(500), (60_000, GONE_A), (60_400, "7 B 0-5; 6 4; 8 B 4/3 0-5")]
    (row,) = found_in(moved_at(60_000, *left))
    assert row["severity"] == "info"
    assert row["detail"].endswith("The move may be the cause.")
    later = [*left, (60_500, "5 C; 3 5; 7 B 0-2; 7 C 3-5; 6 5; 8 C 5/0 UNRELEASED -")]
    assert found_in(moved_at(60_450, *later)) == []


@pytest.mark.parametrize(
    ("committed", "found"),
    [
        ((), {"coordinator_moved": ["A", "B"], "group_not_served": ["A", "B"]}),
        ((49_000,), {"coordinator_moved": ["A", "B"], "group_not_served": ["A", "B"]}),
        ((49_000, 58_000), {"coordinator_moved": ["B"]}),
    ],
)
def test_a_member_that_committed_after_the_move_was_heard(
    committed: tuple[int, ...], found: dict[str, list[str]]
) -> None:
    """The coordinator moved at 50 s: a commit before that proves nothing, one after it that A survived the move."""
    commits: list[Write] = [(at_ms, f"1 foo:0 {at_ms}") for at_ms in committed]
    gone: list[Write] = [(60_000, GONE_A), (60_400, "8t B; 7t B; 5t B; 3 5 h0")]
    rows = found_in(moved_at(50_000, *handed_over(500), *commits, *gone))
    assert {row["kind"]: row["member_ids"] for row in rows} == found


def test_missing_records_in_the_middle() -> None:
    """A jump of the epoch is a gap; a log that merely begins late is not."""
    row = only(findings(A_JOINS, (2000, "5 B; 3 9; 7 A 0-2; 7 B 3-5; 6 9")), "log_gap")
    assert pick(row, "severity", "from_at") == ("info", 2000)
    late = (1000, "5 A; 7 A 0-5; 6 7; 8 A 7/6 0-5; 3 7")
    joins = (2000, "5 B; 3 8; 7 B 3-5; 7 A 0-2; 6 8; 8 B 8/0 UNRELEASED -")
    assert findings(late, joins) == {}


def test_a_dead_group() -> None:
    """Empty for a week when the log ends; an hour is no reason, nor is a group that came back."""
    story = log(A_JOINS, (5000, "8t A; 7t A; 5t A; 3 3 h0"))
    week_ms = 604_800_000
    (row,) = found_in(story, AuditOptions(log_end_ms=week_ms + 5000))
    assert pick(row, "kind", "from_at", "to_at") == ("dead_group", 5000, None)
    assert found_in(story, AuditOptions(log_end_ms=3_600_000)) == []
    alive = log(A_JOINS)
    assert found_in(alive, AuditOptions(log_end_ms=2 * week_ms)) == []


def test_a_migration_that_stays_half_done() -> None:
    """A classic member beside a consumer member for over an hour is reported; a quick migration is not."""
    mixed = [
        (1000, "5 A session=6000; 3 2; 7 A 0-5; 6 2; 8 A 2/0 0-5"),
        B_JOINS,
        A_REVOKES,
        (3000, "8 A 3/2 0-2"),
        (3400, "8 B 3/3 3-5"),
    ]
    done = (4_000_000, "5 A; 8 A 3/3 0-2")
    row = only(findings(*mixed, done), "half_finished_migration")
    assert pick(row, "member_ids", "from_at", "to_at") == (["A"], 2000, 4_000_000)
    assert findings(*mixed, (400_000, done[1])) == {}


def test_expressions_that_differ_only_in_writing() -> None:
    """The parentheses of librdkafka make a second expression of the same; another topic prefix does not."""

    def second(expression: str) -> dict[str, list[Row]]:
        return findings(
            (1000, "5 A regex=^f.*; 8 A 1/0 -"),
            (1100, "16 ^f.* foo; 3 2"),
            (1200, f"5 B regex={expression}; 8 B 1/0 -"),
            (1300, f"16 {expression} foo; 3 3"),
        )

    row = only(second("(^f.*)"), "regexes_alike")
    assert pick(row, "severity", "topics") == ("info", ["foo"])
    assert second("(^fo.*)") == {}


def test_shares_that_stay_unequal() -> None:
    """Five partitions against one with the same subscription, for minutes, is unbalanced; three against three not."""
    joins = "5 B; 3 3; 7 A {0}; 7 B {1}; 6 3; 8 A 3/2 {0}; 8 B 3/0 UNRELEASED -"
    unequal = [A_JOINS, (2000, joins.format("0-4", "5")), (2400, "8 B 3/3 5")]
    thresholds = {"unbalanced_ms": 60_000, "unbalanced_factor": 1}
    later = AuditOptions(log_end_ms=100_000)
    row = only(findings(*unequal, options=later, **thresholds), "unbalanced_assignment")
    assert pick(row, "member_ids", "to_at", "severity") == (["A"], None, "info")
    equal = [A_JOINS, (2000, joins.format("0-2", "3-5")), (2400, "8 B 3/3 3-5")]
    assert findings(*equal, options=later, **thresholds) == {}


def test_unnecessary_moves() -> None:
    """Partitions that swap owners while no member comes or goes were moved for nothing; growth moves nothing."""
    swaps: list[Write] = []
    for number in range(6):
        at_ms, epoch = 100_000 * (number + 1), 4 + number
        mine, yours = ("3-5", "0-2") if number % 2 == 0 else ("0-2", "3-5")
        swaps += [
            (
                at_ms,
                f"3 {epoch} h{epoch}; 7 A {mine}; 7 B {yours}; 6 {epoch}; 8 A {epoch}/{epoch - 1} UNRELEASED -",
            ),
            (at_ms + 100, f"8 B {epoch}/{epoch - 1} {yours}"),
            (at_ms + 200, f"8 A {epoch}/{epoch} {mine}"),
        ]
    row = only(findings(*handed_over(500), *swaps), "unsticky_assignment")
    assert row["detail"].startswith(
        "39 partitions moved in 7 epochs, where the joins and departures of members needed about 3 moves"
    )
    assert "unsticky_assignment" not in findings(*handed_over(500), *swaps[:6])


def test_the_same_log_gives_the_same_ids() -> None:
    """Ids come from the log alone, and differ between findings of one log."""
    first = found_in(log(*handed_over(400_000)))
    again = found_in(log(*handed_over(400_000)))
    assert [row["finding_id"] for row in first] == [row["finding_id"] for row in again]
    assert len({row["finding_id"] for row in first}) == len(first) > 1


def silent_since_growth(*gone_ms: int) -> list[Write]:
    """Four members get nothing of what a fifth one's join brings; each is removed at a time of its own."""
    members = "CDEF"
    joins = [
        (
            998 + epoch,
            f"5 {name}; 3 {epoch}; 7 {name} {epoch}; 6 {epoch}; 8 {name} {epoch}/0 {epoch}",
        )
        for epoch, name in enumerate(members, start=2)
    ]
    targets = "; ".join(f"7 {name} -" for name in members)
    grown = (2000, f"5 B host=/b; 3 6; {targets}; 7 B 0-5; 6 6; 8 B 6/0 UNRELEASED -")
    removed = [
        (at_ms, f"8t {name}; 7t {name}; 5t {name}; 3 {7 + number}")
        for number, (name, at_ms) in enumerate(zip(members, gone_ms, strict=False))
    ]
    return [*joins, grown, *removed]


def test_sessions_that_run_out_in_a_series() -> None:
    """Four in five minutes are a series with its members; three, or a fourth much later, are not."""
    series = silent_since_growth(50_000, 60_000, 70_000, 80_000)
    row = only(findings(*series), "session_expiries")
    assert pick(row, "member_ids", "from_at", "to_at") == (["C", "D", "E", "F"], 50_000, None)
    assert row["detail"] == ("4 sessions probably expired within 30.0 s.")
    assert facts(row)[0] == "session of C probably expired"
    for calm in ((50_000, 60_000, 70_000), (50_000, 60_000, 70_000, 350_001)):
        assert "session_expiries" not in findings(*silent_since_growth(*calm))
    assert "session_expiries" in findings(*silent_since_growth(*calm[:3]), expiries=3)


def test_a_series_goes_on_until_it_is_quiet_for_a_window() -> None:
    """At the log's end it has no end yet; once the log goes on without it, it has."""
    story = log(*silent_since_growth(50_000, 60_000, 70_000, 80_000))
    for log_end_ms, to_at in ((90_000, None), (380_001, 80_000)):
        rows = found_in(story, AuditOptions(log_end_ms=log_end_ms))
        (row,) = [row for row in rows if row["kind"] == "session_expiries"]
        assert row["to_at"] == to_at


def test_a_group_that_the_new_coordinator_does_not_serve() -> None:
    """All are gone without a word to the new broker; one that was heard, or one that is left, denies it."""
    lost = [*handed_over(500), (60_000, GONE_A), (60_400, "8t B; 7t B; 5t B; 3 5 h0")]
    kinds = {row["kind"]: row for row in found_in(moved_at(60_000, *lost))}
    row = kinds["group_not_served"]
    assert pick(row, "member_ids", "from_at", "to_at") == (["A", "B"], 60_000, 60_400)
    assert "leader epoch 0 to 1" in row["detail"]
    assert "none of the 2 members" in row["detail"]
    heard = [*lost[:-2], (59_000, "8 A 3/3 0-2"), *lost[-2:]]
    for other in (moved_at(59_000, *heard), moved_at(60_000, *lost[:-1]), log(*lost)):
        assert "group_not_served" not in {row["kind"] for row in found_in(other)}
