"""What a member's record costs: the work of that member, however many others the group has."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from rebalance_audit.audit.group_audit import GroupAudit
from tests.dsl import log

RECORDS = [1, 2]
"""Answers between the first and the last of an epoch: those also see the epoch begin and converge."""


class Calls:
    """Counts calls of functions, also of built-in ones."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, _frame: FrameType, event: str, _argument: object) -> None:
        """The hook of `sys.setprofile`."""
        self.count += event in ("call", "c_call")


@contextmanager
def counted() -> Iterator[Calls]:
    """Count the calls made in the block."""
    calls = Calls()
    before = sys.getprofile()
    sys.setprofile(calls)
    try:
        yield calls
    finally:
        sys.setprofile(before)


def calls_of_answers(size: int, *, moves: bool) -> list[int]:
    """Calls for each of some answers to a target, in a group of `size` members with a partition each.

    With `moves`, each of these members gives its partition up; otherwise it only moves on to the epoch.
    """
    names = [f"m{number:04}" for number in range(size)]
    joins = "; ".join(
        f"5 {name}; 3 {epoch}; 7 {name} {epoch - 2}; 6 {epoch}; 8 {name} {epoch}/0 {epoch - 2}"
        for epoch, name in enumerate(names, start=2)
    )
    last = size + 1
    answers = [
        f"8 {name} {epoch}/{epoch - 1} UNREVOKED -|{epoch - 2}"
        if moves
        else f"8 {name} {last + 1}/{epoch} {epoch - 2}"
        for epoch, name in enumerate(names[:5], start=2)
    ]
    audit = GroupAudit("g", 0, lambda _table, _row: None)
    before = log((1_000, joins), (2_000, f"5 new; 3 {last + 1}; 6 {last + 1}"))
    for record, position in before:
        audit.feed(record, position)
    counts = []
    first_offset = before[-1][1].log_offset + 1
    for number, ((record, position),) in enumerate(log((0, answer)) for answer in answers):
        here = position._replace(
            log_offset=first_offset + number, record_timestamp_ms=3_000 + 1_000 * number
        )
        with counted() as calls:
            audit.feed(record, here)
        counts.append(calls.count)
    return [counts[number] for number in RECORDS]


def test_an_answer_visits_no_other_member() -> None:
    """A member that only moves on to a new epoch, and one that gives partitions up."""
    for moves in (False, True):
        assert calls_of_answers(10, moves=moves) == calls_of_answers(150, moves=moves)
