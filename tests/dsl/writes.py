"""Writes of a coordinator: the records of one request, at one time, at consecutive offsets."""

from rebalance_audit.replay.changes import Position
from rebalance_audit.wire.records import Record
from tests.dsl.records import records

Log = list[tuple[Record, Position]]


def log(*writes: tuple[int, str]) -> Log:
    """Records of (time in ms, lines) pairs; a hole in the offsets parts one write from the next."""
    found: Log = []
    log_offset = 0
    for at_ms, lines in writes:
        for record in records(lines, at_ms):
            found.append((record, Position(0, log_offset, at_ms, 0)))
            log_offset += 1
        log_offset += 1
    return found
