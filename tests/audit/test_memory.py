"""The audit keeps the group as it stands, not its history."""

import tracemalloc
from collections.abc import Iterator

from rebalance_audit.audit.group_audit import GroupAudit
from rebalance_audit.audit.rows import Row
from tests.audit.story import GROUP, log


def restarts(times: int) -> Iterator[tuple[int, str]]:
    """A member that stays and one that leaves and returns under a new id, again and again."""
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


def bytes_kept(times: int) -> int:
    """What an audit still holds before the end of a history of `times` restarts."""
    records = log(*restarts(times))
    emitted = 0

    def count(_table: str, _row: Row) -> None:
        nonlocal emitted
        emitted += 1

    tracemalloc.start()
    audit = GroupAudit(GROUP, 0, count)
    for record, position in records:
        audit.feed(record, position)
    kept, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    audit.finish()
    assert emitted > 10 * times
    return kept


SLACK_BYTES = 16_384
"""Room for tables that double; a member id kept from each restart would take four times as much."""


def test_memory_does_not_grow_with_the_history() -> None:
    """Eight hundred restarts leave as much behind in the audit as fifty do."""
    assert bytes_kept(800) < bytes_kept(50) + SLACK_BYTES
