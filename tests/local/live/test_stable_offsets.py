"""Committed offsets of a log that grows, with transactions: what `kafka-consumer-groups --describe` would show."""

from pathlib import Path

import pytest

from rebalance_audit.audit.options import AuditOptions
from rebalance_audit.local.live.growth import Break, GrowingSegments
from rebalance_audit.local.live.live_audit import LiveAudit
from rebalance_audit.wire.topic_names import TopicNames
from tests.dsl import TOPIC_NAMES
from tests.support.transactions import BEGIN_MS, batches_of, steps_of, write_segment

EVERY_MS = 1_000

CASES = {
    "plain": ("40 60", [40, 60]),
    "committed": ("40 7:90 C7", [40, 40, 90]),
    "aborted": ("40 7:90 A7", [40, 40, 40]),
    "nothing else is committed": ("7:90 C7", [None, 90]),
    "a plain commit in between": ("7:90 60 C7 70", [None, 60, 60, 70]),
    "two producers": ("40 7:50 8:60 C8 C7", [40, 40, 40, 60, 60]),
    "the later commit aborted": ("40 7:50 8:60 A8 C7", [40, 40, 40, 40, 50]),
    "a tombstone in between": ("40 7:90 t C7 8:95 C8", [40, 40, None, None, None, 95]),
}
"""Steps, and the committed offset after each of them."""


def live_audit(groups: tuple[str, ...] = ()) -> LiveAudit:
    """Knows the topics."""
    return LiveAudit(AuditOptions(topic_name=TOPIC_NAMES.get), TopicNames(), groups, with_lag=True)


def committed(audit: LiveAudit) -> list[tuple[int, int]]:
    """Committed offset of the partition, and when it became that; empty without one."""
    return [(each.committed, each.at_ms) for _, each in audit.committed_positions()]


@pytest.mark.parametrize(("line", "expected"), CASES.values(), ids=CASES)
def test_committed_offset_after_each_step(
    line: str, expected: list[int | None], tmp_path: Path
) -> None:
    """Read step by step, and all at once."""
    batches = [*batches_of(steps_of(line), EVERY_MS)]
    log = GrowingSegments(write_segment(tmp_path / "growing", batches[:1]))
    growing = live_audit()
    since: tuple[int | None, int] = None, 0
    for number, offset in enumerate(expected, 1):
        write_segment(tmp_path / "growing", batches[: number + 1])
        whole = live_audit(("g",))
        for audit, read in (
            (growing, log),
            (whole, GrowingSegments(tmp_path / "growing")),
        ):
            for each in read.read():
                audit.take(*each)
        if offset != since[0]:
            since = offset, BEGIN_MS + number * EVERY_MS
        assert committed(growing) == committed(whole) == ([since] if offset is not None else [])


@pytest.mark.parametrize(
    ("then", "expected"), [(Break.LOST, [40]), (Break.TRUNCATED, [40, 95])], ids=["lost", "again"]
)
def test_a_log_that_does_not_continue(then: Break, expected: list[int], tmp_path: Path) -> None:
    """A lost marker may have ended the transaction; a truncated partition is read again from its beginning."""
    audit = live_audit()
    *before, marker = batches_of(steps_of("40 7:95 C7"), EVERY_MS)
    for each in GrowingSegments(write_segment(tmp_path / "log", before)).read():
        audit.take(*each)
    assert [offset for offset, _ in committed(audit)] == expected[:1]
    audit.take(0, then)
    if then is Break.TRUNCATED:
        assert not committed(audit)
        log = write_segment(tmp_path / "log", [*before, marker])
    else:
        log = write_segment(tmp_path / "rest", [marker])
    for each in GrowingSegments(log).read():
        audit.take(*each)
    assert [offset for offset, _ in committed(audit)] == expected[-1:]
