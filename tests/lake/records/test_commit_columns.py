"""Offset commits by the column against the codec of `wire`, record by record."""

import random
import struct

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_audit.lake.records import commit_columns
from rebalance_audit.lake.records.commit_columns import ALL_FIELDS, decode_commits
from rebalance_audit.moments import micros_of
from rebalance_audit.tables.arrow_types import column_of
from rebalance_audit.wire.generated.messages import (
    LegacyOffsetCommitKey,
    LegacyOffsetCommitValue,
    OffsetCommitKey,
    OffsetCommitValue,
)
from rebalance_audit.wire.records import (
    Record,
    Undecodable,
    decode_record,
    encode_key,
    encode_value,
)
from rebalance_audit.wire.segments.folder import open_log_folder
from rebalance_audit.wire.topic_names import topic_id_text
from tests.support.log_entries import PositionedRecord, log_entries
from tests.wire.golden import CAPTURE_NAMES, capture
from tests.wire.mutation import mutated

TOPIC_ID = bytes(range(16))
COMMIT_PREFIXES = (b"\0\0", b"\0\1")

Pair = tuple[bytes, bytes | None]


def decoded(pairs: list[Pair]) -> list[dict[str, object]]:
    """The columns of some commits, row by row."""
    keys, values = ([pair[at] for pair in pairs] for at in (0, 1))
    found = decode_commits(pa.array(keys, pa.binary()), pa.array(values, pa.binary()))
    rows: list[dict[str, object]] = found.to_pylist()
    return rows


def expected(pairs: list[Pair]) -> list[dict[str, object]]:
    """The same from `decode_record` alone."""
    rows = [_expected_row(*pair) for pair in pairs]
    columns = {
        name: column_of(kind, [row.get(name) for row in rows]) for name, kind in ALL_FIELDS.items()
    }
    table: list[dict[str, object]] = pa.table(columns).to_pylist()
    return table


def _expected_row(key: bytes, value: bytes | None) -> dict[str, object]:
    found = decode_record(key, value)
    if isinstance(found, Undecodable):
        return {
            "reason": found.reason.value,
            "detail": found.detail,
            "record_type": found.record_type,
            "undecodable_version": found.value_version,
        }
    assert isinstance(found, Record)
    assert isinstance(found.key, OffsetCommitKey | LegacyOffsetCommitKey)
    row: dict[str, object] = {
        "group_id": found.key.group,
        "topic": found.key.topic,
        "topic_partition": found.key.partition,
        "value_version": found.value_version,
    }
    if found.value is None:
        return row
    assert isinstance(found.value, OffsetCommitValue | LegacyOffsetCommitValue)
    row |= {
        "committed_offset": found.value.offset,
        "metadata": found.value.metadata,
        "committed_at": found.value.commit_timestamp,
    }
    if isinstance(found.value, OffsetCommitValue):
        topic_id, leader_epoch = found.value.topic_id, found.value.leader_epoch
        row["committed_leader_epoch"] = None if leader_epoch == -1 else leader_epoch
        row["expires_at"] = found.value.expire_timestamp
        row["topic_id"] = topic_id_text(topic_id) if any(topic_id) else None
    return row


def real_commits() -> list[Pair]:
    """Every offset commit of the golden captures."""
    return [
        (entry.key, entry.value)
        for name in CAPTURE_NAMES
        for entry in log_entries(open_log_folder(capture(name).segments))
        if isinstance(entry, PositionedRecord)
        and entry.key is not None
        and entry.key.startswith(COMMIT_PREFIXES)
    ]


def test_real_commits_read_as_the_codec_reads_them() -> None:
    """All commits and tombstones that real brokers wrote, in versions 3 and 4, one batch."""
    pairs = real_commits()
    assert len(pairs) > 5_000
    assert decoded(pairs) == expected(pairs)


def test_damaged_commits_read_as_the_codec_reads_them() -> None:
    """Keys and values with bytes flipped, lost and added: the same rows, the same reasons."""
    chance = random.Random(20_211)
    real = real_commits()
    pairs: list[Pair] = []
    for _ in range(8_000):
        key, value = chance.choice(real)
        if chance.random() < 0.5:
            key = chance.choice(COMMIT_PREFIXES) + mutated(key, chance)[2:]
        if value is not None and chance.random() < 0.7:
            value = mutated(value, chance)
        pairs.append((key, value))
    wanted = expected(pairs)
    assert 800 < sum(row["reason"] is not None for row in wanted) < 7_200
    assert decoded(pairs) == wanted


TEXTS = st.text(max_size=140)
INT64S = st.integers(-(2**63), 2**63 - 1)
INT32S = st.integers(-(2**31), 2**31 - 1)
VALUES = st.builds(
    OffsetCommitValue,
    offset=INT64S,
    metadata=TEXTS,
    commit_timestamp=INT64S,
    leader_epoch=INT32S,
    expire_timestamp=INT64S,
    topic_id=st.sampled_from((bytes(16), TOPIC_ID)),
)


@st.composite
def commits(draw: st.DrawFn) -> Pair:
    """A commit of any version, or a tombstone."""
    key = OffsetCommitKey(draw(TEXTS), draw(TEXTS), draw(INT32S))
    version = draw(st.integers(-1, 4))
    if version < 0:
        return encode_key(key), None
    value = draw(VALUES)
    # What a version has no field for it cannot hold.
    if version != 1:
        value = value._replace(expire_timestamp=-1)
    if version < 3:
        value = value._replace(leader_epoch=-1)
    if version < 4:
        value = value._replace(topic_id=bytes(16))
    return encode_key(key), encode_value(value, version)


@given(st.lists(commits(), max_size=8))
def test_every_version_reads_as_the_codec_reads_it(pairs: list[Pair]) -> None:
    """Any group, topic, metadata text (also long and beyond ASCII), offset, epoch, time and topic id."""
    assert decoded(pairs) == expected(pairs)


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        (b"\0\1", None, "key_truncated"),
        (b"\0\1\xff\xff\0\0\0\0\0\0", None, "key_corrupt"),
        (b"\0\1\0\1\xff\0\1t\0\0\0\3", None, "key_corrupt"),
        (b"\0\1\0\1g\0\1t\0\0\0\3", b"", "value_truncated"),
        (b"\0\1\0\1g\0\1t\0\0\0\3", b"\0\5" + bytes(20), "unknown_value_version"),
        (b"\0\0\0\1g\0\1t\0\0\0\3", b"\0\1" + bytes(18), "unknown_value_version"),
    ],
)
def test_what_cannot_be_decoded_says_why(key: bytes, value: bytes | None, reason: str) -> None:
    """The row has a reason and none of a commit's fields."""
    (row,) = decoded([(key, value)])
    assert row["reason"] == reason
    assert row["group_id"] is None
    assert row["topic"] is None


def test_oldest_key_type() -> None:
    """Records of type 0, which no release that is still run writes."""
    key = encode_key(LegacyOffsetCommitKey("g", "t", 3))
    value = encode_value(LegacyOffsetCommitValue(5, "m", 7), 0)
    assert decoded([(key, value)]) == expected([(key, value)])
    assert decoded([(key, value)])[0]["committed_offset"] == 5


def test_absurd_times_are_no_times() -> None:
    """A commit time that no calendar holds becomes null, the rest of the row stays."""
    key = encode_key(OffsetCommitKey("g", "t", 3))
    value = b"\0\3" + struct.pack(">qiHq", 9, 1, 0, 2**62)
    (row,) = decoded([(key, value)])
    assert row["committed_at"] is None
    assert row["committed_offset"] == 9
    assert micros_of(2**62) is None


def test_columns_that_begin_inside_a_buffer() -> None:
    """A slice of a batch reads as the batch does: Arrow hands out columns that share buffers."""
    pairs = real_commits()[:100]
    keys = pa.array([key for key, _ in pairs], pa.binary())
    values = pa.array([value for _, value in pairs], pa.binary())
    whole = decode_commits(keys, values)
    assert decode_commits(keys[30:70], values[30:70]).equals(whole[30:70])


def test_only_odd_records_take_the_slow_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """What brokers write never reaches the record-by-record codec."""

    def refuse(key: bytes, value: bytes) -> None:
        raise AssertionError(f"{key!r} {value!r}")

    monkeypatch.setattr(commit_columns, "decode_record", refuse)
    assert len(decoded(real_commits())) > 5_000
