"""What the log cleaner leaves leads to the same state; damage and disorder never stop lenient replay."""

import copy
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebalance_audit.replay.changes import Change, Position
from rebalance_audit.replay.groups import GroupSlot
from rebalance_audit.replay.playback import apply
from rebalance_audit.replay.step import Policy
from rebalance_audit.wire.records import Record
from tests.dsl import (
    GROUP_ID,
    anomalies,
    assert_derived_values_hold,
    records,
)
from tests.replay.log_model import EVENTS, PARTITIONS, LogModel
from tests.support.examples import examples

Log = list[tuple[int, Record]]
"""(log offset, record)."""

EVENT_LISTS = st.lists(
    st.tuples(st.sampled_from(sorted(EVENTS)), st.integers(0, PARTITIONS - 1)),
    min_size=1,
    max_size=50,
)


many = settings(max_examples=examples(100))
"""Examples are cheap here."""


def log_of(events: list[tuple[str, int]]) -> Log:
    """The log that a coordinator writes while these things happen."""
    return written(events)[0]


def written(events: list[tuple[str, int]]) -> tuple[Log, list[int]]:
    """The log, and the offsets at which a write begins or the log ends: a batch holds whole writes."""
    model = LogModel()
    boundaries = [0]
    for event, number in events:
        model.do(event, number)
        boundaries.append(len(model.log))
    return list(enumerate(records("; ".join(model.log)))), boundaries


def replay(log: Log, policy: Policy) -> tuple[GroupSlot, list[Change]]:
    """The slot after the log."""
    slot = GroupSlot(GROUP_ID)
    changes: list[Change] = []
    for log_offset, record in log:
        changes += apply(slot, record, Position(0, log_offset, 1000 + log_offset), policy)
        assert_derived_values_hold(slot, policy)
    return slot, changes


def last_per_key(log: Log) -> Log:
    """What the cleaner leaves of a stretch: the last record of each key at its offset, tombstones included."""
    last = {_key(record): log_offset for log_offset, record in log}
    return [(log_offset, record) for log_offset, record in log if last[_key(record)] == log_offset]


def _key(record: Record) -> tuple[object, ...]:
    """As the bytes are: keys of two record types may hold the same fields."""
    return (record.record_type, *record.key)


@many
@given(EVENT_LISTS)
def test_the_model_writes_logs_that_strict_replay_takes(events: list[tuple[str, int]]) -> None:
    """Neither of the two knows the other: a legal sequence is never refused."""
    assert anomalies(replay(log_of(events), Policy.STRICT)[1]) == []


@many
@given(EVENT_LISTS, st.data())
def test_a_log_cleaned_up_to_some_point_leads_to_the_same_state(
    events: list[tuple[str, int]], data: st.DataObject
) -> None:
    """The head holds the last record per key, the tail everything: groups, owners and offsets come out the same."""
    log = log_of(events)
    cleaned_to = data.draw(st.integers(0, len(log)), label="cleaned to")
    whole, _ = replay(log, Policy.STRICT)
    cleaned, _ = replay(last_per_key(log[:cleaned_to]) + log[cleaned_to:], Policy.LENIENT)
    assert (cleaned.group, cleaned.offsets) == (whole.group, whole.offsets)


@pytest.mark.parametrize(
    "lines",
    [
        "5 A; 3 4 h7; 7 A 0; 6 4 t=2000; 8 A 4/3 STABLE 0@4; 3 5 h0; 6 5 t=0",
        "5 A instance=i1; 3 4; 7 A 0; 6 4; 8 A 4/3 STABLE 0@4; 7 A 0-1",
    ],
    ids=["a hash or a time that the last records lack", "a target written after its epoch"],
)
def test_groups_are_compared_by_what_a_cleaned_log_can_show(lines: str) -> None:
    """A coordinator that loads the cleaned log has the state of the one that wrote it."""
    log = list(enumerate(records(lines)))
    whole, _ = replay(log, Policy.LENIENT)
    cleaned, _ = replay(last_per_key(log), Policy.LENIENT)
    assert cleaned.group == whole.group


@many
@given(EVENT_LISTS, st.data())
def test_tombstones_that_the_cleaner_removed_are_not_missed(
    events: list[tuple[str, int]], data: st.DataObject
) -> None:
    """A day after the cleaning the tombstones go as well; what they removed is gone already."""
    log, boundaries = written(events)
    cleaned_to = data.draw(st.sampled_from(boundaries), label="cleaned to")
    head = [row for row in last_per_key(log[:cleaned_to]) if row[1].value is not None]
    whole, _ = replay(log, Policy.STRICT)
    cleaned, _ = replay(head + log[cleaned_to:], Policy.LENIENT)
    assert (cleaned.group, cleaned.offsets) == (whole.group, whole.offsets)


@many
@given(EVENT_LISTS, st.data())
def test_a_log_cleaned_while_it_is_read_leads_to_the_same_state(
    events: list[tuple[str, int]], data: st.DataObject
) -> None:
    """A reader that was overtaken has read the start as it was and misses what was superseded further on.

    In between a partition may have two owners, a group two types; at the end all is as it should be.
    """
    log = log_of(events)
    read = data.draw(st.integers(0, len(log)), label="read before the cleaning")
    cleaned_to = data.draw(st.integers(read, len(log)), label="cleaned to")
    left = {log_offset for log_offset, _ in last_per_key(log[:cleaned_to])}
    seen = log[:read] + [row for row in log[read:cleaned_to] if row[0] in left] + log[cleaned_to:]
    whole, _ = replay(log, Policy.STRICT)
    overtaken, _ = replay(seen, Policy.LENIENT)
    assert (overtaken.group, overtaken.offsets) == (whole.group, whole.offsets)


@many
@given(EVENT_LISTS, st.randoms(use_true_random=False))
def test_disorder_never_stops_lenient_replay(events: list[tuple[str, int]], random: Random) -> None:
    """Records in any order: anomalies, but what is kept up record by record stays true to the members."""
    log = log_of(events)
    shuffled = [record for _, record in log]
    random.shuffle(shuffled)
    replay(list(enumerate(shuffled)), Policy.LENIENT)


@many
@given(EVENT_LISTS)
def test_a_log_read_again_from_its_start_changes_nothing(events: list[tuple[str, int]]) -> None:
    """Every record is reported as seen before, and the slot is as after the first reading."""
    log = log_of(events)
    slot, _ = replay(log, Policy.STRICT)
    before = copy.deepcopy(slot)
    for log_offset, record in log:
        changes = apply(slot, record, Position(0, log_offset, 5000))
        assert anomalies(changes) == ["offset_went_back"]
    assert slot == before
