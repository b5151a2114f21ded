"""Commits of transactions in gold.progress: they count from their marker on, by Kafka's rule."""

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebalance_audit.audit.progress.group_progress import GroupProgress
from rebalance_audit.audit.progress.minutes import ProgressMinutes
from rebalance_audit.replay.changes import Change, OffsetCommitted, Position
from rebalance_audit.replay.shard import Shard
from rebalance_audit.wire.generated.messages import OffsetCommitKey, OffsetCommitValue, RecordType
from rebalance_audit.wire.records import Record, encode_key
from tests.support.transactions import BEGIN_MS, Step, steps_of

MINUTE_MS = 60_000
KEY = OffsetCommitKey("g", "foo", 0)

CASES = {
    "committed": ("40 7:90 C7", {0: 40, 2: 90}),
    "aborted": ("40 7:90 A7", {0: 40}),
    "open": ("40 7:90", {0: 40}),
    "next transaction of the producer": ("7:40 C7 7:90 A7", {1: 40}),
    "several commits in one transaction": ("7:40 7:90 C7", {2: 90}),
    "a plain commit in between": ("7:90 60 C7", {1: 60}),
    "two producers": ("7:40 8:50 C7 C8", {2: 40, 3: 50}),
    "the earlier commit decided last": ("7:40 8:50 C8 C7", {2: 50}),
    "the later commit aborted": ("7:40 8:50 A8 C7", {3: 40}),
    "a tombstone in between": ("40 7:90 t C7", {0: 40}),
    "a tombstone of a pending commit alone": ("7:90 t C7", {}),
    "a tombstone before": ("40 t 7:90 C7", {0: 40, 3: 90}),
    "a tombstone after the marker": ("7:90 C7 t", {1: 90}),
    "a tombstone drops one of two": ("7:40 t 8:50 C8 C7", {3: 50}),
}
"""Steps, one a minute, and the committed offset in each minute in which another one began to count."""


def columns(*rows: tuple[int, ...]) -> Any:
    """Rows of numbers as columns."""
    return np.array(rows, np.int64).T


def rows_of(
    steps: Sequence[Step], begin: int, end: int, every_ms: int, state: dict[str, Any] | None
) -> tuple[dict[int, tuple[int, int]], dict[str, Any]]:
    """Minute -> committed offset and whether it is transactional, of a part of the log; and the state after it."""
    progress, key = GroupProgress("g", 0, state), encode_key(KEY)
    pending: dict[int, list[tuple[int, int]]] = {}
    decided = []
    for offset, step in enumerate(steps[:end]):
        at_ms = BEGIN_MS + offset * every_ms
        if step.kind == "commit" and step.producer_id >= 0:
            pending.setdefault(step.producer_id, []).append((offset, step.committed))
        ended = pending.pop(step.producer_id, []) if step.kind in {"committed", "aborted"} else []
        if offset < begin:
            continue
        if step.kind == "committed":
            decided += [(found, at_ms, committed, offset) for found, committed in ended]
        elif step.kind == "commit" and step.producer_id < 0:
            progress.committed(key, columns((offset, at_ms, step.committed)))
        elif step.kind == "tombstone":
            progress.deleted(key, columns((offset, at_ms, -1)))
    if decided:
        progress.decided(key, columns(*decided))
    progress.settle(0)
    changes = ProgressMinutes([progress]).changes()
    # The minute of a tombstone has a row as well.
    rows = {
        (row["minute"] - BEGIN_MS) // MINUTE_MS: (row["committed_offset"], row["is_transactional"])
        for row in changes.rows()
        if row["commits"]
    }
    assert not progress.is_lost
    return rows, json.loads(json.dumps(progress.state()))


@pytest.mark.parametrize(("line", "expected"), CASES.values(), ids=CASES)
def test_a_commit_counts_from_its_marker_on(line: str, expected: dict[int, int]) -> None:
    """At once, and in two parts wherever the log is cut."""
    steps = steps_of(line)
    for cut in range(len(steps) + 1):
        first, state = rows_of(steps, 0, cut, MINUTE_MS, None)
        second, _ = rows_of(steps, cut, len(steps), MINUTE_MS, state)
        found = {minute: committed for minute, (committed, _) in (first | second).items()}
        assert found == expected, cut


STEPS = st.lists(
    st.one_of(
        st.builds(Step, st.just("commit"), st.sampled_from([-1, 7, 8, 9]), st.integers(0, 99)),
        st.builds(Step, st.sampled_from(["committed", "aborted"]), st.sampled_from([7, 8, 9])),
        st.just(Step("tombstone")),
    ),
    max_size=16,
)


@settings(max_examples=300, deadline=None)
@given(STEPS, st.sampled_from([1, 25_000, MINUTE_MS]), st.integers(0, 16))
def test_progress_follows_the_replay(steps: list[Step], every_ms: int, cut: int) -> None:
    """The last committed offset of each minute is the one that the replay of the same log reports."""
    first, state = rows_of(steps, 0, cut, every_ms, None)
    second, _ = rows_of(steps, min(cut, len(steps)), len(steps), every_ms, state)
    assert first | second == replayed(steps, every_ms)


def replayed(steps: Sequence[Step], every_ms: int) -> dict[int, tuple[int, bool]]:
    """What the changes of each minute say."""
    shard = Shard(0)
    found = {}
    for offset, step in enumerate(steps):
        position = Position(0, offset, BEGIN_MS + offset * every_ms, 0, step.producer_id)
        changes: Sequence[Change]
        if step.kind in {"committed", "aborted"}:
            ended = shard.apply_transaction_marker(
                step.producer_id, step.kind == "committed", position._replace(producer_id=-1)
            )
            changes = [change for _, of_group in ended for change in of_group]
        else:
            value = OffsetCommitValue(step.committed, "", 0)
            is_tombstone = step.kind == "tombstone"
            record = Record(RecordType.OFFSET_COMMIT, KEY, None if is_tombstone else value, None)
            changes = shard.apply(record, position)[1]
        for change in changes:
            if isinstance(change, OffsetCommitted):
                minute = (position.record_timestamp_ms - BEGIN_MS) // MINUTE_MS
                found[minute] = change.committed_offset, step.kind == "committed"
    return found
