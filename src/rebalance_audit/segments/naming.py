"""Which records of a stretch of the log may name a topic: 99 of 100 offset commits name one that is known."""

from collections.abc import Collection, Iterator
from typing import Final, TypeAlias

import numpy as np

from rebalance_audit.segments.columns import Columns, Flags
from rebalance_audit.wire.generated.messages import RecordType

TopicIdHalves: TypeAlias = tuple[int, int]
"""The 16 bytes that a value ends with, as two numbers: a topic's id where it has one."""

_TOPIC_LISTS: Final = (
    RecordType.CONSUMER_GROUP_PARTITION_METADATA,
    RecordType.SHARE_GROUP_PARTITION_METADATA,
    RecordType.SHARE_GROUP_STATE_PARTITION_METADATA,
    RecordType.STREAMS_GROUP_PARTITION_METADATA,
)
_VERSION_WITH_TOPIC_ID: Final = 4
_METADATA_SIZE_AT: Final = 14
_TIME_BYTES: Final = 8
_SHORT_MAX: Final = 127


def naming_records(
    found: Columns, known: Collection[TopicIdHalves]
) -> Iterator[tuple[TopicIdHalves | None, bytes, bytes, int]]:
    """(end of a commit's value or None, key, value, record timestamp in ms) of records that may name topics.

    In log order. Commits that end as one of `known` are left out; the caller may add to it meanwhile.
    """
    values = found.values
    has_value = values.there != 0
    lists = found.have_types(_TOPIC_LISTS) & has_value
    commits = found.have_commit_keys() & has_value & _may_have_id(found)
    rows = np.flatnonzero(commits | lists)
    if not len(rows):
        return
    ends = values.ends[rows + 1].astype(np.int64)
    high, low = values.numbers(ends - 16, ">i8"), values.numbers(ends - 8, ">i8")
    # Most commits end as the one before: they are looked at together.
    differs = np.r_[True, (np.diff(high) != 0) | (np.diff(low) != 0)] | lists[rows]
    begins = np.flatnonzero(differs)
    ids = zip(high[begins].tolist(), low[begins].tolist(), strict=True)
    for begin, end, topic_id in zip(begins, np.append(begins[1:], len(rows)), ids, strict=True):
        for row in rows[begin:end]:
            if not lists[row] and topic_id in known:
                break
            of_row = found.chosen(np.array([row]))
            key, value = of_row.keys[0], of_row.values[0]
            assert key is not None
            assert value is not None
            ms = of_row.record_timestamps_ms[0]
            yield None if lists[row] else topic_id, key, value, ms


def _may_have_id(found: Columns) -> Flags:
    """Which values are of a version with topic ids, and not certainly without one."""
    values, begins, sizes = found.values, found.values.begins, found.values.sizes
    has_version = (sizes >= 2) & (values.numbers(begins, ">u2") == _VERSION_WITH_TOPIC_ID)
    text_size = values.numbers(begins + _METADATA_SIZE_AT, "u1")  # with its own byte; 0 for null
    is_short = (text_size > 0) & (text_size <= _SHORT_MAX)
    tags_at = _METADATA_SIZE_AT + text_size + _TIME_BYTES
    has_none = (sizes == tags_at + 1) & (values.numbers(begins + tags_at, "u1") == 0)
    found_any: Flags = has_version & ~(is_short & has_none)
    return found_any
