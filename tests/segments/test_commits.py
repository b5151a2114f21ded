"""Offset commits taken out of a stretch of the log: nothing depends on where the log was cut."""

from collections.abc import Iterable
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebalance_audit.audit.commits.summary import CommitSummary, summary_from
from rebalance_audit.segments.columns import Columns
from rebalance_audit.segments.commits import set_apart
from rebalance_audit.wire.key_bytes import group_bytes
from rebalance_audit.wire.records import Record, encode_key
from rebalance_audit.wire.segments.columns import ColumnChunk, Run
from tests.dsl import log
from tests.support.examples import examples

STORY = list(
    log(
        (1_000, "5 A; 3 2; 7 A 0-5; 6 2; 8 A 2/0 0-5"),
        (5_000, "1 foo:0 7; 1 foo:1 7"),
        (9_000, "1 foo:0 9"),
        (9_500, "1t foo:1"),
        (11_000, "1 foo:0 9"),
        (12_000, "8t A; 7t A; 5t A; 3 3"),
        (13_000, "1 foo:0 9"),
    )
)


def value_of(record: Record) -> bytes:
    """A value of version 0, without metadata, of the first moment of 1970."""
    offset = getattr(record.value, "offset", None)
    return b"value" if offset is None else bytes(2) + offset.to_bytes(8) + bytes(10)


def chunk(begin: int, end: int, leader_epoch: int = 4) -> ColumnChunk:
    """A stretch of the story, by numbers of its records."""
    part = STORY[begin:end]
    run = Run(len(part), leader_epoch, -1, -1, False, False, "CreateTime")
    return ColumnChunk(
        [position.log_offset for _, position in part],
        [position.record_timestamp_ms for _, position in part],
        [encode_key(record.key) for record, _ in part],
        [None if record.value is None else value_of(record) for record, _ in part],
        [run] if part else [],
    )


def in_log_order(chunks: Iterable[ColumnChunk]) -> list[object]:
    """The records left, and the joined summaries of the commits between them, in log order."""
    order: list[object] = []
    for each in chunks:
        apart = set_apart(Columns.of(each))
        others, passed = apart.chunk, 0
        assert sum(run.record_count for run in others.runs) == len(others.log_offsets)
        for at in range(len(others.log_offsets) + 1):
            while passed < len(apart.commits) and apart.commits[passed][0] == at:
                before = order[-1] if order and isinstance(order[-1], dict) else None
                if before is None:
                    before = {}
                    order.append(before)
                for key, summary in apart.commits[passed][2].items():
                    before[key] = (
                        summary_from(before[key]).then(summary) if key in before else summary
                    )
                passed += 1
            if at < len(others.log_offsets):
                order.append(others.log_offsets[at])
    return order


def test_commits_between_two_records_of_the_group_become_a_few_numbers() -> None:
    """First, last, how many, the longest pause and what they commit; tombstones are no commits."""
    keys = [encode_key(STORY[at][0].key) for at in (5, 6)]
    offsets = [position.log_offset for _, position in STORY]
    order = in_log_order([chunk(0, len(STORY))])
    assert order[:5] == offsets[:5]
    assert order[5] == {
        keys[0]: CommitSummary(
            5_000, 11_000, offsets[5], offsets[9], 3, 4_000, 2_000, 4, False, 7, 9, 1
        ),
        keys[1]: CommitSummary(5_000, 5_000, offsets[6], offsets[6], 1, 0, None, 4, False, 7, 7, 0),
    }
    assert order[6:10] == offsets[10:14]
    assert order[10] == {
        keys[0]: CommitSummary(
            13_000, 13_000, offsets[14], offsets[14], 1, 0, None, 4, False, 9, 9, 0
        )
    }


@pytest.mark.parametrize("at", range(1, len(STORY)))
def test_a_cut_anywhere_changes_nothing(at: int) -> None:
    """Byte ranges, batches and runs cut the log anywhere."""
    cuts = pairwise([0, at, len(STORY)])
    assert in_log_order(chunk(*cut) for cut in cuts) == in_log_order([chunk(0, len(STORY))])


GROUPS = (b"\0\1a", b"\0\1b", b"\0\2\xc3\xbc", b"\0\x20a", b"")
ROW = st.tuples(
    st.sampled_from((0, 1, 1, 1, 3)),
    st.sampled_from(GROUPS),
    st.sampled_from((b"\0\1t\0\0\0\0", b"\0\1t\0\0\0\1")),
    st.integers(-2, 9),
    st.sampled_from((None, b"", bytes(2) + bytes(7) + b"\1", bytes(2) + bytes(7) + b"\2\0")),
)
RUNS = st.lists(
    st.tuples(
        st.lists(ROW, min_size=1, max_size=6), st.integers(0, 3), st.booleans(), st.booleans()
    ),
    max_size=5,
)


def before_records(chunks: Iterable[ColumnChunk]) -> list[object]:
    """Each record with what its group committed since the one before, and what groups committed after their last."""
    order: list[object] = []
    since: dict[bytes, dict[bytes, CommitSummary]] = {}
    for each in chunks:
        apart = set_apart(Columns.of(each))
        waiting = list(apart.commits)
        for at in range(len(apart.chunk.keys) + 1):
            while waiting and waiting[0][0] == at:
                _, group, summaries = waiting.pop(0)
                known = since.setdefault(group, {})
                for key, numbers in summaries.items():
                    assert group_bytes(key) == group
                    known[key] = known[key].then(numbers) if key in known else summary_from(numbers)
            if at < len(apart.chunk.keys):
                group = group_bytes(apart.chunk.keys[at]) or b""
                committed = list(since.pop(group, {}).items())
                order.append((apart.chunk.log_offsets[at], committed))
    return [*order, since]


@settings(max_examples=examples(60))
@given(RUNS)
def test_of_many_groups_what_is_between_two_records_depends_on_no_cut(
    made: list[tuple[list[tuple[int, bytes, bytes, int, bytes | None]], int, bool, bool]],
) -> None:
    """Keys of no group, clocks that go back, transactions, control records: one by one as all at once."""
    single, whole, offset = [], ColumnChunk([], [], [], [], []), 100
    for rows, leader_epoch, is_transactional, is_control in made:
        run = Run(1, leader_epoch, -1, -1, is_transactional, is_control, "CreateTime")
        whole.runs.append(run._replace(record_count=len(rows)))
        for record_type, group, topic, at_ms, value in rows:
            offset += 1
            key = record_type.to_bytes(2) + group + topic
            single.append(ColumnChunk([offset], [at_ms], [key], [value], [run]))
            whole.log_offsets.append(offset)
            whole.record_timestamps_ms.append(at_ms)
            whole.keys.append(key)
            whole.values.append(value)
    assert before_records([whole]) == before_records(single)


WHOLE = value_of(STORY[5][0])


@pytest.mark.parametrize(
    ("value", "commits"),
    [
        (WHOLE, 1),
        (WHOLE[:-1], 0),
        (WHOLE[:10], 0),
        (b"", 0),
        (b"\0\4" + WHOLE[2:], 1),
        (b"\0\5" + WHOLE[2:], 0),
        (b"\xff\xff" + WHOLE[2:], 0),
    ],
    ids=["whole", "cut by a byte", "offset alone", "empty", "newest", "unknown", "negative"],
)
def test_a_value_that_cannot_be_decoded_is_no_commit(value: bytes, commits: int) -> None:
    """As in a lake, where it is in silver.quarantine."""
    one = chunk(5, 6)._replace(values=[value])
    assert len(set_apart(Columns.of(one)).commits) == commits
