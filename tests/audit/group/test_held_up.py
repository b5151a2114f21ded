"""Who held a rebalance up, and how long a classic group's join phase most likely took."""

import pytest

from rebalance_audit.audit.log_audit import audit_log
from tests.dsl import log

Writes = list[tuple[int, str]]

TWO = "5 A client=c-a; 5 B client=c-b; 3 2; 7 A 0-2; 7 B 3-5; 6 2; 8 A 2/0 0-2; 8 B 2/0 3-5"
C_JOINS = "5 C client=c-c; 3 3; 7 A 0; 7 C 1-2; 6 3; 8 C 3/0 UNRELEASED -"


def named(writes: Writes) -> list[tuple[str, int | None, str, str]]:
    """Of the log's last rebalance: who held it up, for how long (ms), why, and the certainty of the first."""
    row = audit_log(log(*writes))["rebalances"][-1]
    return [
        (name, ms, why, row["held_up_certainty"])
        for name, ms, why in zip(
            row["held_up_by"], row["held_up_ms"], row["held_up_why"], strict=True
        )
    ]


RECONCILIATIONS: dict[str, tuple[Writes, list[tuple[str, int | None, str, str]]]] = {
    "kept partitions": (
        [
            (1000, TWO),
            (5000, C_JOINS),
            (5100, "8 A 2/2 UNREVOKED 0|1-2"),
            (9100, "8 A 3/2 0"),
            (9200, "8 B 3/2 3-5"),
            (9300, "8 C 3/3 1-2"),
        ],
        [("c-a", 4000, "kept_partitions", "proven")],
    ),
    "no member": (
        [(1000, TWO), (5000, "3 3; 6 3"), (5010, "8 A 3/2 0-2"), (5020, "8 B 3/2 3-5")],
        [],
    ),
    "a static member that had left": (
        [
            (
                1000,
                "5 A instance=pod-0; 5 B client=c-b; 3 2; 7 A 0-2; 7 B 3-5; 6 2; 8 A 2/0 0-2; 8 B 2/0 3-5",
            ),
            (3000, "8 A -2/2 0-2"),
            (5000, "5 C client=c-c; 3 3; 7 A 0; 7 C 1-2; 6 3; 8 B 3/2 3-5; 8 C 3/0 UNRELEASED -"),
            (36_000, "8t A; 7t A; 5t A; 3 4"),
            (36_100, "7 C 0-2; 6 4; 8 C 4/3 0-2"),
            (36_200, "8 B 4/3 3-5"),
        ],
        [("pod-0", 31_000, "had_left", "proven")],
    ),
}


@pytest.mark.parametrize("story", RECONCILIATIONS)
def test_every_step_of_a_consumer_group_shows_whom_it_waits_for(story: str) -> None:
    """No member is named that did not keep the others waiting."""
    writes, expected = RECONCILIATIONS[story]
    assert named(writes) == expected


def eager(
    at_ms: int, generation: int, joined_ms: int, *members: str, session_ms: int = 10_000
) -> tuple[int, str]:
    """A generation's record; each member has one partition and a rebalance timeout of 30 s."""
    assigned = " ".join(f"{member}={number}" for number, member in enumerate(members))
    return (
        at_ms,
        f"2 {generation} range {assigned} session={session_ms} timeout=30000 state_at={joined_ms}",
    )


def commits(member: int, *times_ms: int) -> Writes:
    """Commits for the partition of the member with this number."""
    return [(at_ms, f"1 foo:{member} 1") for at_ms in times_ms]


def estimate(writes: Writes) -> tuple[int | None, list[str], list[str]]:
    """Of the last generation: its estimate (ms), who held it up, and why."""
    tables = audit_log(log(*sorted(writes)))
    row = tables["rebalances"][-1]
    return (
        tables["epochs"][-1]["not_stable_estimate_ms"],
        row["held_up_member_ids"],
        row["held_up_why"],
    )


CREATED = (1000, "2 0 state_at=1000")
STEADY = [*commits(0, 9000, 14_000, 19_000, 24_000), *commits(1, 9000, 14_000, 19_000, 24_000)]

OLD = 30_000
"""Session timeout of clients older than KIP-62: their rebalance timeout is the same."""


def rounds_of(waited_ms: int, number: int) -> Writes:
    """So many times B closes with a commit, A rejoins that much later, and B joins again."""
    writes = [CREATED, eager(4010, 1, 4000, "A", "B")]
    for round_ms in range(0, number * 40_000, 40_000):
        generation = 2 + round_ms // 20_000
        left_ms = round_ms + 26_000
        writes += [
            *commits(0, *(round_ms + at_ms for at_ms in (9000, 14_000, 19_000, 24_000))),
            *commits(1, *(round_ms + at_ms for at_ms in (9000, 14_000, 19_000, 24_000)), left_ms),
            eager(left_ms + waited_ms + 10, generation, left_ms + waited_ms, "A"),
            eager(round_ms + 44_010, generation + 1, round_ms + 44_000, "A", "B"),
        ]
    return writes


JOIN_PHASES: dict[str, tuple[Writes, tuple[int | None, list[str], list[str]]]] = {
    "the record that creates a group begins its first join phase": (
        [CREATED, eager(7010, 1, 7000, "A", "B")],
        (6010, [], []),
    ),
    "an empty group gathers as long as it did first": (
        [
            CREATED,
            eager(4010, 1, 4000, "A"),
            (20_000, "2 2 state_at=20000"),
            eager(90_010, 3, 90_000, "A"),
        ],
        (3010, [], []),
    ),
    "all stop committing at once: the join phase began then": (
        [
            CREATED,
            eager(4010, 1, 4000, "A", "B"),
            *STEADY,
            *commits(0, 26_000),
            *commits(1, 26_100),
            eager(46_010, 2, 46_000, "A", "B", "C"),
        ],
        (21_460, [], []),
    ),
    "a member at work has not heard of the rebalance": (
        [
            CREATED,
            eager(4010, 1, 4000, "A", "B"),
            *STEADY,
            *commits(1, 29_000, 34_000, 39_000, 44_000),
            eager(46_010, 2, 46_000, "A", "B", "C"),
        ],
        (2260, [], []),
    ),
    "the end of a session began it: no member joined": (
        [
            CREATED,
            eager(4010, 1, 4000, "A", "B"),
            *commits(0, *range(5000, 45_000, 1000)),
            *commits(1, *range(5000, 33_000, 1000)),
            eager(45_010, 2, 45_000, "A"),
        ],
        (3010, ["B"], ["silent"]),
    ),
    "a client finishes its work before it rejoins, and commits then": (
        [
            CREATED,
            eager(4010, 1, 4000, "A", "B"),
            *commits(0, *range(5000, 25_000, 1000), 24_500),
            *commits(1, *range(5000, 25_000, 1000), 24_600, 44_000),
            eager(45_010, 2, 45_000, "A", "B", "C"),
        ],
        (21_710, [], []),
    ),
    "nothing shows how often a client without the usual defaults sends heartbeats": (
        [
            CREATED,
            eager(4010, 1, 4000, "A", session_ms=OLD),
            *commits(0, 9000, 14_000, 19_000, 24_000, 29_000),
            eager(31_010, 2, 31_000, "A", "B", session_ms=OLD),
        ],
        (None, [], []),
    ),
    "a member joined, and one may have left or expired: how long it was waited for does not show": (
        [
            CREATED,
            eager(4010, 1, 4000, "A", "B"),
            eager(60_010, 2, 60_000, "A", "C"),
        ],
        (None, [], []),
    ),
    "a new broker's delay for a group's first members never showed": (
        [eager(4010, 1, 4000, "A")],
        (None, [], []),
    ),
    "the last to go did not rejoin until its session ended": (
        [
            CREATED,
            eager(4010, 1, 4000, "A", "B"),
            *STEADY,
            *commits(0, 27_000),
            eager(36_010, 2, 36_000),
        ],
        (9010, ["B"], ["did_not_rejoin"]),
    ),
}


@pytest.mark.parametrize("story", JOIN_PHASES)
def test_commits_and_sessions_suggest_when_a_join_phase_began(story: str) -> None:
    """No record says it; the estimate stays within the bounds."""
    writes, expected = JOIN_PHASES[story]
    assert estimate(writes) == expected


@pytest.mark.parametrize(
    ("waited_ms", "rounds", "expected"),
    [(500, 1, 2260), (500, 6, 447), (4000, 1, 2260), (4000, 6, None)],
)
def test_heartbeats_are_learned_from_join_phases_whose_begin_shows(
    waited_ms: int, rounds: int, expected: int | None
) -> None:
    """Six waits show that members hear of a rebalance sooner than by default, or too late for an estimate."""
    assert estimate(rounds_of(waited_ms, rounds))[0] == expected


def test_a_member_that_rejoins_long_after_the_others_held_the_join_phase_up() -> None:
    """The others committed as they gave up their partitions; its own commit came just before the end."""
    writes = [
        CREATED,
        eager(4010, 1, 4000, "A", "B", "C"),
        *STEADY,
        *commits(2, 9000, 14_000, 19_000, 24_000),
        *commits(0, 26_000),
        *commits(1, 26_100),
        *commits(2, 33_000),
        eager(34_010, 2, 34_000, "A", "B", "C", "D"),
    ]
    assert estimate(writes) == (9460, ["C"], ["kept_partitions"])
    others_late = sorted(writes + commits(1, 32_500))
    assert estimate(others_late)[1] == []


def test_a_member_was_silent_for_no_longer_than_its_session() -> None:
    """It commits nothing, but heartbeats renew its session and are in no record."""
    first, second = (
        f"2 {generation} range {assigned} session=10000 timeout=30000 state_at={joined_ms}"
        for generation, assigned, joined_ms in (
            (1, "A@i=0 B@j=1", 4000),
            (2, "A@i=0-1", 45_000),
        )
    )
    row = audit_log(log(CREATED, (4010, first), (45_010, second)))["rebalances"][-1]
    assert (row["held_up_by"], row["held_up_why"], row["held_up_ms"]) == (
        ["j"],
        ["silent"],
        [10_000],
    )


MOVE: dict[str, tuple[Writes, list[str]]] = {
    "while a consumer group rebalances": (
        [
            (1000, TWO),
            (5000, "3 3; 6 3"),
            (5100, "8 A 3/2 0-2"),
            (9000, "8 B 3/2 3-5"),
        ],
        ["coordinator"],
    ),
    "before a classic group rebalances": (
        [
            CREATED,
            eager(4010, 1, 4000, "A", "B"),
            *commits(0, 8000),
            eager(46_010, 2, 46_000, "A", "B", "C"),
        ],
        [],
    ),
    "perhaps while a classic group rebalances": (
        [CREATED, eager(4010, 1, 4000, "A", "B"), eager(46_010, 2, 46_000, "A", "B", "C")],
        ["coordinator"],
    ),
}


@pytest.mark.parametrize("story", MOVE)
def test_a_move_of_the_coordinator_is_named_where_no_member_is(story: str) -> None:
    """By the leader epochs of the records; not where a commit shows that it had moved before."""
    writes, expected = MOVE[story]
    moved_at_ms = 6000
    records = [
        (record, position._replace(leader_epoch=int(position.record_timestamp_ms > moved_at_ms)))
        for record, position in log(*writes)
    ]
    row = audit_log(records)["rebalances"][-1]
    assert row["held_up_by"] == expected
    assert row["held_up_member_ids"] == [None] * len(expected)
    assert row["held_up_certainty"] == ("possible" if expected else None)
