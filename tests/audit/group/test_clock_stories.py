"""What clocks do to a group's story: a coordinator whose clock differs takes over, or two requests have one time."""

import re

import pytest

from rebalance_audit.audit.log_audit import audit_log
from rebalance_audit.audit.options import AuditOptions
from rebalance_audit.audit.rows import Row
from tests.dsl import TOPIC_NAMES, Log, log

Writes = tuple[tuple[int, str], ...]

TWO_MEMBERS: Writes = (
    (1000, "5 A; 3 1; 7 A 0-5; 6 1; 8 A 1/0 0-5"),
    (2000, "5 B; 3 2; 7 A 0-2; 7 B 3-5; 6 2; 8 B 2/0 UNRELEASED -"),
    (3000, "8 A 1/1 UNREVOKED 0-2|3-5"),
    (3500, "8 A 2/1 0-2"),
    (4000, "8 B 2/2 3-5"),
)
STORIES: dict[str, Writes] = {
    "left": (
        *TWO_MEMBERS,
        (9000, "8t B; 7t B; 5t B; 3 3"),
        (9001, "7 A 0-5; 6 3"),
        (9500, "8 A 3/2 0-5"),
        (20_000, "8t A; 7t A; 5t A; 3 4"),
    ),
    "expired": (*TWO_MEMBERS, (49_000, "8t B; 7t B; 5t B; 3 3"), (49_001, "7 A 0-5; 6 3")),
    "static": (
        (1000, "5 A instance=i; 3 1; 7 A 0-5; 6 1; 8 A 1/0 0-5"),
        (2000, "8 A -2/1 0-5"),
        (4000, "8t A; 7t A; 5t A; 5 B instance=i; 7 B 0-5; 8 B 1/0 0-5"),
        (9000, "8 B -2/1 0-5"),
        (54_000, "8t B; 7t B; 5t B; 3 2"),
    ),
    "classic": (
        (1000, "2 0 state_at=1000"),
        (4250, "2 1 range A=0-5 state_at=4200"),
        (9030, "2 2 range A=0-2 B=3-5 state_at=9000"),
        (30_000, "2 3 range A=0-5 state_at=29990"),
    ),
    "downgrade": (
        (1000, "5 A; 3 1; 7 A 0-1; 6 1; 8 A 1/0 0-1"),
        (2000, "5 B session=6000 timeout=6000; 3 2; 7 A 0; 7 B 1; 6 2; 8 B 2/0 UNRELEASED -"),
        (9000, "8t A; 8t B; 7t A; 7t B; 6t; 5t A; 5t B; 3t; 2 2 range B=1"),
        (9200, "2 3 range B=0-1 state_at=9100"),
    ),
    "share": (
        (1000, "10 A; 11 1; 13 A 0-1; 12 1; 14 A 1/0 0-1"),
        (2000, "10 B; 11 2; 13 A 0; 13 B 1; 12 2; 14 B 2/0 -"),
        (2500, "14 A 2/1 0"),
        (4000, "14 B 2/2 1"),
        (50_000, "14t B; 13t B; 10t B; 11 3; 13 A 0-1; 12 3"),
    ),
}


def tables_of(entries: Log) -> dict[str, list[Row]]:
    """The audit of a log that lacks nothing."""
    options = AuditOptions(topic_name=TOPIC_NAMES.get, is_whole=lambda _: True)
    return audit_log(entries, options)


def causes(tables: dict[str, list[Row]], certainty: str | None = None) -> set[tuple[object, ...]]:
    """Causes of each epoch, with one certainty or any."""
    columns = ("epoch", "cause", "member_id", "certainty")
    return {
        tuple(row[each] for each in columns)
        for row in tables["rebalance_causes"]
        if certainty in {None, row["certainty"]}
    }


def taken_over(writes: Writes, place: int, step_ms: int, *, is_seen: bool) -> Log:
    """From a write on another broker leads; without leader epochs, as on a live cluster, it cannot be seen."""
    entries = []
    log_offset = 0
    for number, (at_ms, lines) in enumerate(writes):
        moved = number >= place
        ahead_ms = step_ms if moved else 0
        shifted = re.sub(r"(?<=state_at=)\d+", lambda at: str(int(at[0]) + ahead_ms), lines)  # noqa: B023
        for record, position in log((at_ms + ahead_ms, shifted)):
            leader_epoch = int(moved) if is_seen else None
            entries.append(
                (record, position._replace(log_offset=log_offset, leader_epoch=leader_epoch))
            )
            log_offset += 1
        log_offset += 1
    return entries


@pytest.mark.parametrize("story", STORIES)
def test_another_clock_proves_nothing_and_takes_no_time_back(story: str) -> None:
    """Whenever it takes over, and however far behind or ahead it is."""
    writes = STORIES[story]
    proven = causes(tables_of(log(*writes)), "proven")
    for place in range(1, len(writes)):
        for step_ms in (-5000, -1, 1, 5000):
            for is_seen in (True, False):
                tables = tables_of(taken_over(writes, place, step_ms, is_seen=is_seen))
                assert causes(tables, "proven") <= proven, (place, step_ms, is_seen)
                durations = [
                    each
                    for rows in tables.values()
                    for row in rows
                    for column, value in row.items()
                    if column.endswith("_ms")
                    for each in (value if isinstance(value, list) else [value])
                ]
                assert all(each is None or each >= 0 for each in durations), (place, step_ms)


@pytest.mark.parametrize("story", STORIES)
def test_two_writes_of_one_time_prove_no_more(story: str) -> None:
    """A coordinator answers several requests within a millisecond, and their records follow each other."""
    writes = STORIES[story]
    proven = causes(tables_of(log(*writes)), "proven")
    for place in range(1, len(writes)):
        assert causes(tables_of(at_one_time(writes, place)), "proven") <= proven, place


def at_one_time(writes: Writes, place: int) -> Log:
    """The write at a place follows the one before at once."""
    entries = []
    log_offset = 0
    for number, (at_ms, lines) in enumerate(writes):
        log_offset += number != place
        for record, position in log((writes[place - 1][0] if number == place else at_ms, lines)):
            entries.append((record, position._replace(log_offset=log_offset)))
            log_offset += 1
    return entries


C_JOINS = "5 C; 3 3; 7 A 0-1; 7 C 2; 6 3; 8 C 3/0 UNRELEASED -"
B_LEAVES = "8t B; 7t B; 5t B; 3 3"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("5 A host=/9.9.9.9", C_JOINS),
        ("5 A timeout=99", C_JOINS),
        ("5 A assignor=range", C_JOINS),
        ("5 A regex=^f", C_JOINS),
        ("16t ^f", C_JOINS),
        ("5 A regex=^f", B_LEAVES),
        (B_LEAVES, "5 A regex=^f"),
        (B_LEAVES, "5 C; 3 4; 7 A 0-2; 7 C 3-5; 6 4; 8 C 4/0 3-5"),
        ("5 A topics=foo,bar; 3 3", "8t B; 7t B; 5t B; 3 4"),
        ("5 A rack=r1; 3 3", "8t B; 7t B; 5t B; 3 4"),
        ("4 foo:9; 3 3", "5 C; 3 4; 7 A 0-2; 7 C 6-8; 6 4; 8 C 4/0 6-8"),
        ("8t A; 7t A; 5t A; 3 3", "8t B; 7t B; 5t B; 3 4"),
    ],
)
def test_requests_of_two_members_in_one_millisecond(one: str, other: str) -> None:
    """Each has the causes that it has when they are half a second apart."""
    apart: Writes = (*TWO_MEMBERS, (9000, one), (9500, other))
    together = at_one_time(apart, len(TWO_MEMBERS) + 1)
    assert causes(tables_of(together)) == causes(tables_of(log(*apart)))
