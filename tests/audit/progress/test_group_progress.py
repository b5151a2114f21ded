"""Rows of gold.progress: beside what the events of each minute say one by one, at once and in parts."""

import json
from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rebalance_audit.audit.lag.end_offsets import EndOffset, PartitionSamples, lag_at
from rebalance_audit.audit.progress.group_progress import GroupProgress
from rebalance_audit.audit.progress.minutes import LAG_COLUMNS, ProgressMinutes
from rebalance_audit.audit.rows import Row
from rebalance_audit.wire.generated.messages import OffsetCommitKey
from rebalance_audit.wire.records import encode_key

MINUTE_MS = 60_000
BEGIN_MS = 1_700_000_000_000 // MINUTE_MS * MINUTE_MS
TOPIC = "orders"

COMMIT, SAMPLE, TAKE, RELEASE, DELETE, OTHER = (
    "commit",
    "sample",
    "take",
    "release",
    "delete",
    "other",
)
"""Kinds of events; `other`: a record of the group that says nothing here."""


class Event(NamedTuple):
    """One of them; samples have no log offset."""

    at_ms: int
    log_offset: int
    kind: str
    number: int
    value: int
    """The committed offset, the end offset or the number of the member."""


def events_of(steps: Sequence[tuple[int, str, int, int]], sampled: Collection[int]) -> list[Event]:
    """Steps of (pause in ms, kind, partition, by how much an offset grows, or which member) as a log and samples.

    Samples are stamped up to a minute ahead of the records' clock.
    """
    now_ms, log_offset, committed, end, stamped_ms = BEGIN_MS, 0, [0, 0], [100, 100], 0
    # A partition whose first sample comes later than its commits is counted anew.
    found = [Event(BEGIN_MS - 1, -1, SAMPLE, number, 100) for number in sampled]
    for pause_ms, kind, number, value in steps:
        now_ms += pause_ms
        if kind == SAMPLE:
            if number not in sampled:
                continue
            end[number] = max(end[number] + 10 * value, *committed)
            # bronze.end_offsets has one sample of a partition for each millisecond.
            stamped_ms = max(stamped_ms + 1, now_ms + 15_000 * (value % 4))
            found.append(Event(stamped_ms, -1, SAMPLE, number, end[number]))
            continue
        log_offset += 1
        if kind == COMMIT:
            committed[number] = max(0, committed[number] + 20 * value - 20)
        known = committed[number] if kind == COMMIT else value
        found.append(Event(now_ms, log_offset, kind, number, known))
    return found


class Part:
    """A log from one event to another, as GroupProgress gets it."""

    def __init__(self, events: Sequence[Event], begin: int, end: int) -> None:
        self.new = [each for each in events[begin:end] if each.kind != SAMPLE]
        self.samples = {
            (TOPIC, number): samples
            for number in (0, 1)
            if (samples := samples_of(events[:end], number)).samples
        }
        self.ownership = [
            row for row in ownership_of(events[:end]) if begin_of(row["to_offset"]) >= self._first
        ]
        records = [each for each in self.new if each.kind in {TAKE, RELEASE, OTHER}]
        commits = [each for each in self.new if each.kind in {COMMIT, DELETE}]
        self.settled = max(
            records[-1].log_offset if records else 0,
            commits[-1].log_offset + 1 if commits else 0,
        )

    @property
    def _first(self) -> int:
        return self.new[0].log_offset if self.new else 1 << 60

    def feed(self, state: dict[str, Any] | None) -> tuple[list[tuple[Row, bool]], dict[str, Any]]:
        """Rows, and the state after them."""
        progress = GroupProgress("g", 7, state, lambda *partition: self.samples.get(partition))
        for each in reversed(self.new):
            key = encode_key(OffsetCommitKey("g", TOPIC, each.number))
            columns = np.array([[each.log_offset], [each.at_ms], [each.value]], np.int64)
            if each.kind == COMMIT:
                progress.committed(key, columns, is_transactional=False)
            elif each.kind == DELETE:
                progress.deleted(key, columns)
        for row in self.ownership:
            progress.owned(row)
        progress.settle(self.settled)
        changes = ProgressMinutes([progress]).changes()
        rows = [(row, True) for row in (*changes.rows(), *(row for _, row in changes.bounded))]
        rows += [(key, False) for _, key in changes.gone]
        assert not progress.is_lost
        return rows, json.loads(json.dumps(progress.state()))


def begin_of(to_offset: int | None) -> int:
    """Where a stretch ends; that of an open one is later than everything."""
    return 1 << 61 if to_offset is None else to_offset


def samples_of(events: Sequence[Event], number: int) -> PartitionSamples:
    """The samples of a partition."""
    return PartitionSamples(
        EndOffset(each.at_ms, each.value // 4, each.value)
        for each in events
        if each.kind == SAMPLE and each.number == number
    )


def ownership_of(events: Sequence[Event]) -> list[Row]:
    """Rows of gold.ownership."""
    rows: list[Row] = []
    open_of: dict[int, Row] = {}
    for each in events:
        if each.kind not in {TAKE, RELEASE}:
            continue
        held = open_of.pop(each.number, None)
        if held is not None:
            held |= {"to_at": each.at_ms, "to_offset": each.log_offset}
        if each.kind == TAKE:
            row = {
                "topic": TOPIC,
                "topic_partition": each.number,
                "from_at": each.at_ms,
                "from_offset": each.log_offset,
                "to_at": None,
                "to_offset": None,
                "member_id": f"m{each.value}",
                "instance_id": None,
                "client_id": "app",
            }
            rows.append(row)
            open_of[each.number] = row
    return rows


def expected(events: Sequence[Event], settled: int) -> dict[tuple[int, int], Row]:
    """(Partition, minute) -> its row, by looking at all events for each minute."""
    found = {}
    for number in (0, 1):
        mine = [each for each in events if each.number == number and each.kind != OTHER]
        mine.sort(
            key=lambda each: (each.at_ms, each.log_offset if each.kind != SAMPLE else 1 << 60)
        )
        for minute in sorted({each.at_ms // MINUTE_MS for each in mine}):
            row = row_of(mine, minute, settled, samples_of(events, number))
            if row is not None:
                found[number, minute] = row
    return found


def row_of(
    mine: Sequence[Event], minute: int, settled: int, samples: PartitionSamples
) -> Row | None:
    """The row of one minute."""
    until = [each for each in mine if each.at_ms // MINUTE_MS <= minute]
    committed: Event | None = None
    is_deleted = is_deleted_now = False
    lag_of: tuple[int, int, int] | None = None
    moment = None
    commits = handovers = 0
    before: Event | None = None
    moved_from: Event | None = None
    owner = None
    for each in until:
        is_now = each.at_ms // MINUTE_MS == minute
        if each.kind == TAKE:
            owner = f"m{each.value}"
        elif each.kind == RELEASE:
            owner = None
        if each.kind == COMMIT:
            committed, is_deleted, is_deleted_now, moved_from = each, False, False, before
            if not is_now:
                before = each
            commits += is_now
        elif each.kind == DELETE:
            is_deleted_now |= is_now and committed is not None and not is_deleted
            is_deleted, before = True, None
        if committed is None or not is_now:
            continue
        if each.kind == TAKE and each.log_offset < settled:
            handovers += 1
            moment = (each, owner, is_deleted)
        elif each.kind == COMMIT:
            moment = (each, owner, False)
        elif each.kind == DELETE:
            moment = (each, owner, True)
        elif each.kind == SAMPLE:
            lag_of = None if is_deleted else (committed.value, committed.at_ms, each.at_ms)
            if not is_deleted:
                moment = (each, owner, False)
    if committed is None or moment is None:
        return None
    event, owner, was_deleted = moment
    if not commits and was_deleted and lag_of is None and not is_deleted_now:
        return None
    moved = None if moved_from is None or not commits else committed.value - moved_from.value
    took_ms = 0 if moved_from is None else committed.at_ms - moved_from.at_ms
    row: Row = {
        "committed_offset": committed.value,
        "last_commit_at": committed.at_ms,
        "commits": commits,
        "records_committed": moved,
        "committed_per_second": moved * 1000 / took_ms
        if moved is not None and moved >= 0 and took_ms
        else None,
        "handovers": handovers,
        "member_id": owner,
        "is_deleted": is_deleted,
        **dict.fromkeys(LAG_COLUMNS),
    }
    if samples.samples and not is_deleted:
        counted, made_ms, at_ms = lag_of or (committed.value, committed.at_ms, event.at_ms)
        lag = lag_at(samples, counted, made_ms, at_ms)
        records = (None, None) if lag.records is None else (lag.records.least, lag.records.most)
        values = (
            *(at_ms, *records, lag.least_ms, lag.most_ms),
            *(lag.start_offset, lag.lost, lag.beyond),
        )
        row |= dict(zip(LAG_COLUMNS, values, strict=True))
    return row


PAUSES = st.sampled_from([1, 400, 5_000, 21_000, 61_000, 700_000])
KINDS = st.sampled_from(
    [COMMIT, COMMIT, COMMIT, SAMPLE, SAMPLE, TAKE, TAKE, RELEASE, DELETE, OTHER]
)
STEPS = st.lists(st.tuples(PAUSES, KINDS, st.integers(0, 1), st.integers(0, 5)), max_size=40)


@settings(max_examples=300, deadline=None)
@example([(1, COMMIT, 0, 3), (1, TAKE, 0, 1), (61_000, COMMIT, 0, 3)], {0}, 2, 2)
@given(STEPS, st.sets(st.integers(0, 1)), st.integers(0, 40), st.integers(0, 40))
def test_rows_are_what_the_minutes_say(
    steps: list[tuple[int, str, int, int]], sampled: set[int], first: int, second: int
) -> None:
    """At once and in three parts, with samples that are newer than records which follow them."""
    events = events_of(steps, sampled)
    cuts = sorted([0, min(first, len(events)), min(second, len(events)), len(events)])
    rows, _ = Part(events, 0, len(events)).feed(None)
    settled = Part(events, 0, len(events)).settled
    whole = {(row["topic_partition"], row["minute"] // MINUTE_MS): row for row, _ in rows}
    assert len(whole) == len(rows)
    assert all(is_there for _, is_there in rows)
    wanted = expected(events, settled)
    assert {
        key: {name: row.get(name) for name in wanted.get(key, row)} for key, row in whole.items()
    } == wanted
    found: dict[tuple[int, int], Row] = {}
    state = None
    for begin, end in pairwise(cuts):
        rows, state = Part(events, begin, end).feed(state)
        for row, is_there in rows:
            key = (row["topic_partition"], row["minute"] // MINUTE_MS)
            if is_there:
                found[key] = row
            else:
                found.pop(key, None)
    assert found == whole
