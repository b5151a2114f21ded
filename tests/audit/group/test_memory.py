"""The audit keeps the group's current state, not its history."""

from collections.abc import Callable, Iterator, Sequence

import pytest

from rebalance_audit.audit.group import held_up, rebalance
from rebalance_audit.audit.group_audit import GroupAudit
from rebalance_audit.audit.log_audit import audit_log
from rebalance_audit.audit.options import AuditOptions
from rebalance_audit.audit.rows import Row
from rebalance_audit.replay.changes import Position
from rebalance_audit.wire.records import Record
from tests.audit.group.histories import (
    Write,
    classic_history,
    consumer_history,
    numbered,
    restless_history,
)
from tests.dsl import GROUP_ID, log
from tests.support.memory import Kept, kept_after_each


def restarts(times: int) -> Iterator[tuple[int, str]]:
    """A member that stays, and one that repeatedly leaves and returns under a new id."""
    yield 1000, "5 A; 3 2; 7 A 0-5; 6 2; 8 A 2/0 0-5"
    for number in range(times):
        at_ms, epoch, name = 10_000 * (number + 1), 3 + 2 * number, f"B{number}"
        yield (
            at_ms,
            f"5 {name}; 3 {epoch}; 7 A 0-2; 7 {name} 3-5; 6 {epoch}; 8 {name} {epoch}/0 UNRELEASED -",
        )
        yield at_ms + 500, f"8 A {epoch}/{epoch - 1} 0-2"
        yield at_ms + 900, f"8 {name} {epoch}/{epoch} 3-5"
        yield at_ms + 5000, f"8t {name}; 7t {name}; 5t {name}; 3 {epoch + 1}"
        yield at_ms + 5400, f"7 A 0-5; 6 {epoch + 1}; 8 A {epoch + 1}/{epoch} 0-5"


def kept_at(
    cut: int, records: Sequence[tuple[Record, Position]], options: AuditOptions | None = None
) -> tuple[Kept, Kept]:
    """What an audit holds after so many records of a history, and before the history's end."""
    emitted = 0

    def count(_table: str, _row: Row) -> None:
        nonlocal emitted
        emitted += 1

    audit = GroupAudit(GROUP_ID, 0, count, options or AuditOptions())

    def feed(part: Sequence[tuple[Record, Position]]) -> None:
        for record, position in part:
            audit.feed(record, position)

    few, many = kept_after_each(audit, lambda: feed(records[:cut]), lambda: feed(records[cut:]))
    assert emitted > len(records)
    return few, many


SLACK = Kept(12_288, 150)
"""Allows for hash tables that double in size; a set of all restarts' member ids would take twice as much."""


def assert_no_growth(few: Kept, many: Kept, slack: Kept = SLACK) -> None:
    """A longer history leaves no more in memory."""
    assert many.size_bytes < few.size_bytes + slack.size_bytes
    assert many.blocks < few.blocks + slack.blocks


def test_memory_does_not_grow_with_the_history() -> None:
    """Three hundred restarts leave as much in the audit's memory as fifty do."""
    assert_no_growth(*kept_at(len(log(*restarts(50))), log(*restarts(300))))


@pytest.mark.parametrize("history", [classic_history, consumer_history])
def test_lives_of_a_group_leave_nothing_behind(
    history: Callable[[int], Iterator[Write]],
) -> None:
    """Static members, other topics, expressions, epochs without a target, deletions: two lives take as much as ten."""
    assert_no_growth(*kept_at(len(list(numbered(history(2)))), list(numbered(history(10)))))


def test_a_rebalance_without_an_end_keeps_no_more_of_those_who_held_it_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A group that never becomes stable: a client comes and goes with each epoch, all in one rebalance."""
    monkeypatch.setattr(rebalance, "BLOCKERS_MAX", 20)
    monkeypatch.setattr(held_up, "HOLD_UPS_MAX", 20)
    (row,) = [
        row
        for row in audit_log(numbered(restless_history(1)))["rebalances"]
        if row["outcome"] == "open"
    ]
    assert len(row["blocked_by"]) == 20
    assert len(row["held_up_by"]) == 1, "only for whom it waits now"
