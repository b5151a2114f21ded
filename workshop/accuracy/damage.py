"""What can happen to a log on its way to the audit: batches lost, records cleaned away, clocks and times that move."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final, NamedTuple

from rebalance_audit.wire.generated.messages import GroupMetadataValue
from rebalance_audit.wire.records import Undecodable, decode_record, encode_value
from tests.support.log_entries import Entry, PositionedRecord

Write = list[Entry]
"""Neighbouring entries of one time, one leader and one producer."""

CLOCK_STEP_MS: Final = 5_000
COARSE_MS: Final = 20
HOLE_WRITES: Final = 8
RUN_RECORDS: Final = range(2, 21)
"""How many neighbouring records of a group a run has, by its place."""


class Damaged(NamedTuple):
    """A log after something happened to it."""

    kind: str
    log_offset: int
    """Where it begins."""
    writes: Sequence[Write]


def writes_of(entries: Sequence[Entry]) -> list[Write]:
    """The log of one partition, cut into writes."""

    def same(entry: Entry) -> tuple[object, ...]:
        is_record = isinstance(entry, PositionedRecord)
        return entry.record_timestamp_ms, entry.leader_epoch, entry.producer_id, is_record

    return [list(found) for _, found in groupby(entries, same)]


def _without(writes: Sequence[Write], first: int, count: int) -> list[Write]:
    return [*writes[:first], *writes[first + count :]]


def _lost_write(writes: Sequence[Write], place: int) -> list[Write]:
    return _without(writes, place, 1)


def _lost_hole(writes: Sequence[Write], place: int) -> list[Write]:
    return _without(writes, place, HOLE_WRITES)


def _lost_run(writes: Sequence[Write], place: int) -> list[Write]:
    """Neighbouring records of one group are lost; those of other groups among them stay."""
    group, left = _group_of(writes[place][0]), RUN_RECORDS[place % len(RUN_RECORDS)]
    kept = list(writes[:place])
    for write in writes[place:]:
        rest = []
        for entry in write:
            if left and _group_of(entry) == group:
                left -= 1
            else:
                rest.append(entry)
        if rest:
            kept.append(rest)
    return kept


def _cleaned(
    writes: Sequence[Write], place: int, *, tombstones: bool, first: int = 0
) -> list[Write]:
    """From `first` to this place only the newest record of each key is left."""
    newest: dict[bytes | None, int] = {}
    for write in writes[first:place]:
        for entry in write:
            if isinstance(entry, PositionedRecord):
                newest[entry.key] = entry.log_offset

    def stays(entry: Entry) -> bool:
        if not isinstance(entry, PositionedRecord):
            return True
        is_newest = newest[entry.key] == entry.log_offset
        return is_newest and (tombstones or entry.value is not None)

    cleaned = ([entry for entry in write if stays(entry)] for write in writes[first:place])
    return [*writes[:first], *(write for write in cleaned if write), *writes[place:]]


def _cleaned_prefix(writes: Sequence[Write], place: int) -> list[Write]:
    return _cleaned(writes, place, tombstones=True)


def _cleaned_of_tombstones(writes: Sequence[Write], place: int) -> list[Write]:
    return _cleaned(writes, place, tombstones=False)


def _one_time(writes: Sequence[Write], place: int) -> list[Write]:
    """Writes around this place that are close to each other get one time."""
    near = slice(max(0, place - HOLE_WRITES), place + HOLE_WRITES)
    moved = [
        [
            entry._replace(
                record_timestamp_ms=entry.record_timestamp_ms
                - entry.record_timestamp_ms % COARSE_MS
            )
            for entry in write
        ]
        for write in writes[near]
    ]
    return [*writes[: near.start], *moved, *writes[near.stop :]]


def _swapped(writes: Sequence[Write], place: int) -> list[Write]:
    """Requests of two groups that came in one millisecond change places; where there are none, nothing moves.

    Nothing comes between the records of one request: a coordinator appends them in one batch.
    """
    for number in range(place, len(writes)):
        requests = [list(found) for _, found in groupby(writes[number], _group_of)]
        if len(requests) > 1 and isinstance(writes[number][0], PositionedRecord):
            offsets = [entry.log_offset for entry in writes[number]]
            one, other, *rest = requests
            moved = [entry for request in (other, one, *rest) for entry in request]
            swapped = [
                entry._replace(log_offset=log_offset)
                for entry, log_offset in zip(moved, offsets, strict=True)
            ]
            return [*writes[:number], swapped, *writes[number + 1 :]]
    return list(writes)


def _group_of(entry: Entry) -> bytes:
    """Group ids lead the keys, after two bytes of type."""
    key = entry.key or b"" if isinstance(entry, PositionedRecord) else b""
    return key[4 : 4 + int.from_bytes(key[2:4])]


def _clock_set_back(writes: Sequence[Write], place: int) -> list[Write]:
    """From here on another broker leads, whose clock is behind."""
    return _by_another_clock(writes, place, -CLOCK_STEP_MS)


def _clock_set_ahead(writes: Sequence[Write], place: int) -> list[Write]:
    """From here on another broker leads, whose clock is ahead."""
    return _by_another_clock(writes, place, CLOCK_STEP_MS)


def _by_another_clock(writes: Sequence[Write], place: int, step_ms: int) -> list[Write]:
    later = [[_set(entry, step_ms) for entry in write] for write in writes[place:]]
    return [*writes[:place], *later]


def _set(entry: Entry, step_ms: int) -> Entry:
    """The entry by that clock: a generation's record has its time twice, both by one clock."""
    entry = entry._replace(
        record_timestamp_ms=entry.record_timestamp_ms + step_ms,
        leader_epoch=(entry.leader_epoch or 0) + 1,
    )
    if not isinstance(entry, PositionedRecord) or entry.key is None or entry.value is None:
        return entry
    record = decode_record(entry.key, entry.value)
    if isinstance(record, Undecodable) or not isinstance(record.value, GroupMetadataValue):
        return entry
    if record.value.current_state_timestamp < 0:
        return entry
    changed_ms = record.value.current_state_timestamp + step_ms
    value = record.value._replace(current_state_timestamp=changed_ms)
    assert record.value_version is not None
    return entry._replace(value=encode_value(value, record.value_version))


DAMAGES: Final[Mapping[str, Callable[[Sequence[Write], int], list[Write]]]] = {
    "lost write": _lost_write,
    "lost hole": _lost_hole,
    "lost run of a group": _lost_run,
    "cleaned": _cleaned_prefix,
    "cleaned without tombstones": _cleaned_of_tombstones,
    "one millisecond": _one_time,
    "reordered in a millisecond": _swapped,
    "clock set back": _clock_set_back,
    "clock set ahead": _clock_set_ahead,
}


def damages(entries: Sequence[Entry], trials: int | None) -> Iterator[Damaged]:
    """Every kind of damage at so many places of a partition, evenly spread; at every place without a number."""
    writes = writes_of(entries)
    places = range(1, len(writes))
    if trials is not None and trials < len(places):
        places = places[:: -(-len(places) // trials)]
    for kind, damage in DAMAGES.items():
        for place in places:
            yield Damaged(kind, writes[place][0].log_offset, damage(writes, place))
