"""What the time of a rebalance went to: every millisecond has one owner, or is said to have none."""

import pytest

from rebalance_audit.audit.log_audit import audit_log
from rebalance_audit.audit.rows import Row
from rebalance_audit.figures.rows import bounds_in
from rebalance_audit.local.audit import audit_segments
from tests.audit.broker_log.stories import Line, audit, prepared, stabilized
from tests.audit.logs import CAPTURES
from tests.dsl import log

Writes = list[tuple[int, str]]
Parts = list[tuple[str, str, int]]

TWO = "5 A client=c-a; 5 B client=c-b; 3 2; 7 A 0-2; 7 B 3-5; 6 2; 8 A 2/0 0-2; 8 B 2/0 3-5"


def parts(row: Row) -> Parts:
    """Name, why and ms of each part."""
    return [(part["name"], part["why"], part["ms"]) for part in row["duration_parts"]]


CONSUMER: dict[str, tuple[Writes, Parts]] = {
    "the target, one member that kept partitions, and the last to hear of it": (
        [
            (1000, TWO),
            (5000, "5 C client=c-c; 3 3"),
            (5400, "7 A 0; 7 C 1-2; 6 3; 8 C 3/0 UNRELEASED -"),
            (5500, "8 A 2/2 UNREVOKED 0|1-2"),
            (9500, "8 A 3/2 0"),
            (9600, "8 C 3/3 1-2"),
            (9900, "8 B 3/2 3-5"),
        ],
        [("c-a", "kept_partitions", 4000), ("c-b", "late", 500), ("assignor", "no_target", 400)],
    ),
    "two kept partitions at once: the time is of the one that kept them longest": (
        [
            (1000, TWO),
            (5000, "5 C client=c-c; 3 3; 7 A 0; 7 B 3; 7 C 1-2,4-5; 6 3; 8 C 3/0 UNRELEASED -"),
            (5100, "8 A 2/2 UNREVOKED 0|1-2"),
            (5200, "8 B 2/2 UNREVOKED 3|4-5"),
            (8100, "8 A 3/2 0"),
            (9200, "8 B 3/2 3"),
            (9300, "8 C 3/3 1-2,4-5"),
        ],
        [
            ("c-b", "kept_partitions", 4000),
            ("c-b", "late", 100),
            ("c-a", "kept_partitions", 100),
            ("c-c", "late", 100),
        ],
    ),
    "whom the next epoch removes was silent": (
        [
            (1000, TWO),
            (2000, "3 3; 6 3"),
            (2100, "8 A 3/2 0-2"),
            (8000, "8t B; 7t B; 5t B; 3 4; 7 A 0-5; 6 4; 8 A 4/3 0-5"),
        ],
        [("c-b", "silent", 6000)],
    ),
}


@pytest.mark.parametrize("story", CONSUMER)
def test_every_step_of_a_consumer_group_has_an_owner(story: str) -> None:
    """The records show each step, so none of the time is unknown."""
    writes, expected = CONSUMER[story]
    row = audit_log(log(*writes))["rebalances"][-1]
    assert parts(row) == expected
    assert row["duration_unknown_ms"] == 0


def generation(at_ms: int, number: int, joined_ms: int, *members: str) -> tuple[int, str]:
    """A generation's record, in which the first member leads."""
    assigned = " ".join(f"{member}={place}" for place, member in enumerate(members))
    return at_ms, f"2 {number} range {assigned} state_at={joined_ms}"


FIRST = generation(1010, 1, 1000, "A", "B", "C")
JOINS = "Adding new member D with group instance id null; client reason: not provided"
B_FAILS = "Member B in group g has failed, removing it from the group."
LEAVES = (
    "[Group g] Member B has left group through explicit `LeaveGroup` request; client reason: closed"
)
OLD_LEAVES = (
    "Member MemberMetadata(memberId=B, groupInstanceId=None, clientId=c-b, clientHost=/10.0.0.1, "
    "sessionTimeoutMs=45000, rebalanceTimeoutMs=300000, supportedProtocols=List(range)) has left group g "
    "through explicit `LeaveGroup`; client reason: closed"
)
LOGGED: dict[str, tuple[list[Line], tuple[str, str, int, str], int]] = {
    "expired in the join phase, which another member began": (
        [prepared(4000, 1, JOINS), (8990, B_FAILS), stabilized(9000, 2, 3)],
        ("B", "did_not_rejoin", 4990, "proven"),
        10,
    ),
    "began it by expiring": (
        [
            (4000, B_FAILS),
            prepared(4001, 1, "removing member B on heartbeat expiration."),
            stabilized(9000, 2, 3),
        ],
        ("B", "silent", 2991, "proven"),
        4999,
    ),
    "left, which ended the join phase": (
        [prepared(4000, 1, JOINS), (8999, LEAVES), stabilized(9000, 2, 3)],
        ("B", "did_not_rejoin", 4999, "proven"),
        1,
    ),
    "left, and the join phase went on": (
        [prepared(4000, 1, JOINS), (6000, LEAVES), stabilized(9000, 2, 3)],
        ("B", "did_not_rejoin", 2000, "possible"),
        3000,
    ),
    "left, which a coordinator of 3.x logs after the end of the join phase": (
        [prepared(4000, 1, JOINS), stabilized(9000, 2, 3), (9001, OLD_LEAVES)],
        ("B", "did_not_rejoin", 5000, "proven"),
        0,
    ),
}


@pytest.mark.parametrize("story", LOGGED)
def test_the_broker_log_says_whom_a_join_phase_waited_for(story: str) -> None:
    """Its times decide, not the commits; a member whose end began the join phase did not hold it up."""
    lines, expected, unknown_ms = LOGGED[story]
    tables = audit(log(FIRST, generation(9020, 2, 9000, "A", "C", "D")), lines)
    row = tables["rebalances"][-1]
    columns = ("held_up_member_ids", "held_up_why", "held_up_ms", "held_up_certainties")
    assert list(zip(*(row[name] for name in columns), strict=True)) == [expected]
    assert row["duration_unknown_ms"] == unknown_ms


@pytest.mark.parametrize("name", sorted(each.name for each in CAPTURES.iterdir()))
def test_parts_add_up(name: str) -> None:
    """In consumer, share and streams groups the records show what all of the time went to."""
    rows = audit_segments(CAPTURES / name / "segments").tables["rebalances"]
    for row in rows:
        took = bounds_in(row, "duration")
        took_ms = 0 if took is None else took.likely
        assert sum(part["ms"] for part in row["duration_parts"] or ()) == took_ms
        assert row["protocol"] == "classic" or not row["duration_unknown_ms"]
