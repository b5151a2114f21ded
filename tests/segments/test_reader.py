"""The compiled walk against the plain reader, which judges what is damaged."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebalance_audit.segments import reader
from rebalance_audit.segments.columns import Columns
from rebalance_audit.segments.reader import read_segment
from tests.segments.same_columns import assert_same
from tests.support.examples import examples
from tests.wire.golden import CAPTURE_NAMES, capture
from tests.wire.segments.hand_made import (
    CODEC_NUMBERS,
    Rec,
    batch,
    batches_of,
    commits,
    message_set,
    raw_batch,
    segment,
    varint,
)

MARKER = (b"\0\0\0\1", b"\0\0\0\0\0\1")


@pytest.mark.parametrize("name", CAPTURE_NAMES)
def test_real_segments(name: str) -> None:
    """Logs of real brokers: the same records."""
    for path in capture(name).segments.glob("*/*.log"):
        assert_same(path)


def group_record(offset: int, group: bytes, record_type: int = 3) -> Rec:
    """A record that may change who owns a partition."""
    key = record_type.to_bytes(2) + len(group).to_bytes(2) + group
    return offset, 1_700_000_000_000 + offset, key, b"\0\0" + offset.to_bytes(4)


def mixed(count: int) -> list[Rec]:
    """Commits of 50 groups, and now and then another record of one of them."""
    made = commits(count)
    for offset in range(5, count, 9):
        made[offset] = group_record(offset, f"g-{offset % 50:03d}"[:5].encode())
    return made


@pytest.mark.parametrize("codec", CODEC_NUMBERS)
def test_every_codec_is_walked(tmp_path: Path, codec: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Compressed batches are no work for the plain reader."""
    path = segment(tmp_path, batches_of(mixed(400), [7] * 40, codec))
    assert assert_same(path) == 400
    monkeypatch.delattr(reader, "read_columns")
    assert (
        sum(
            len(each.keys.there)
            for each in read_segment(path, compiled=True)
            if isinstance(each, Columns)
        )
        == 400
    )


def test_transactions_are_walked(tmp_path: Path) -> None:
    """Commits of a transaction are marked as such; markers are counted and are no records of a group."""
    records = mixed(60)
    parts = [
        batch(records[:20], producer=(7, 1), transactional=True),
        batch([(20, 1_700_000_000_020, *MARKER)], producer=(7, 1), attributes=0x30),
        batch(records[21:40], leader_epoch=4),
        batch(records[40:], attributes=0x08, max_timestamp=1_700_000_009_000),
    ]
    assert assert_same(segment(tmp_path, parts)) == 60


NONSENSE = raw_batch(varint(7) + b"\0\0\0\x02k\x02v\0", 1, base_offset=30)
HEADERS = raw_batch(varint(12) + b"\0\0\0\x02k\x02v\x02\x02h\x02x", 1, base_offset=30)
LONG_VARINT = raw_batch(b"\xff" * 10 + b"\x01" + b"\0" * 20, 1, base_offset=30)
FAR_LENGTH = raw_batch(varint(1 << 62) + b"\0" * 20, 1, base_offset=30)
BAD_MARKER = batch([(30, 0, b"\0\0\0", b"\0\0")], attributes=0x30)
ATTRIBUTES = raw_batch(varint(7) + b"\xf1\0\0\x02k\x02v\0", 1, base_offset=30)
FAR_TIME = batch([(30, (1 << 62) + 5, b"\0\3\0\1g", b"")])
OLD = message_set(commits(5, 30), 1, "gzip")


@pytest.mark.parametrize(
    ("odd", "records"),
    [
        pytest.param(NONSENSE, 0, id="nonsense"),
        pytest.param(HEADERS, 1, id="headers"),
        pytest.param(LONG_VARINT, 0, id="long varint"),
        pytest.param(FAR_LENGTH, 0, id="far length"),
        pytest.param(BAD_MARKER, 0, id="marker"),
        pytest.param(ATTRIBUTES, 0, id="attributes"),
        pytest.param(FAR_TIME, 1, id="far time"),
        pytest.param(OLD, 5, id="old"),
        pytest.param(b"\x07" * 50, 0, id="noise"),
    ],
)
def test_the_walk_goes_on_after_what_it_leaves_to_the_judge(
    tmp_path: Path, odd: bytes, records: int
) -> None:
    """Nothing of a batch counts that is damaged further on; what the walk does not know may be in order."""
    before, after = batches_of(mixed(30), [10] * 3), batches_of(commits(30, 40), [10] * 3)
    path = segment(tmp_path, [*before, odd, *after])
    assert assert_same(path) == 60 + records


def test_a_wrong_checksum(tmp_path: Path) -> None:
    """The commits of such a batch do not count."""
    good = batches_of(mixed(30), [10] * 3)
    good[1] = good[1][:-1] + bytes((good[1][-1] ^ 1,))
    assert assert_same(segment(tmp_path, good)) == 20


def test_a_file_that_ends_anywhere(tmp_path: Path) -> None:
    """In a batch as a crashed broker leaves it, or in reserved space."""
    whole = b"".join(batches_of(mixed(12), [4] * 3))
    for size in range(len(whole) - 150, len(whole) + 1, 7):
        assert_same(segment(tmp_path, [whole[:size]]))
    assert_same(segment(tmp_path, [whole, bytes(500)]))


@pytest.mark.parametrize("codec", ["none", "zstd"])
@pytest.mark.parametrize("end_offset", [0, 1, 15, 20, 40])
def test_offset_bounds(tmp_path: Path, codec: str, end_offset: int) -> None:
    """A segment ends where the next begins, in the middle of a batch if need be."""
    assert_same(segment(tmp_path, batches_of(mixed(40), [10] * 3, codec)), end_offset)


def test_windows_cut_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A batch that does not fit what is left of the window comes with the next; one larger than any, from the judge."""
    path = segment(tmp_path, batches_of(mixed(300), [3, 40, 7] * 20))
    for size in (300, 700, 5000):
        monkeypatch.setattr(reader, "WINDOW_BYTES", size)
        assert_same(path)


def test_a_key_that_is_no_key(tmp_path: Path) -> None:
    """Too short for a type or a group, or of no group at all."""
    keys = [
        None,
        b"",
        b"\0",
        b"\0\1",
        b"\0\1\0\0",
        b"\0\1\0\0x",
        b"\0\1\0\x09ab",
        b"\1\1far",
        b"\0\3",
    ]
    records = [(at, 5, key, b"\0\4") for at, key in enumerate(keys)]
    assert assert_same(segment(tmp_path, [batch(records)])) == len(keys)


RECORD = st.tuples(
    st.sampled_from((0, 1, 1, 1, 2, 3, 8)),
    st.sampled_from((b"a", b"b", "ü".encode())),
    st.sampled_from((b"t", b"u")),
    st.integers(-2, 60_000),
    st.sampled_from((None, b"", b"\0\3abc", b"\0\4" + bytes(13) + b"\1" + bytes(8) + b"\0")),
)


@settings(max_examples=examples(20))
@given(
    st.lists(
        st.tuples(
            st.lists(RECORD, min_size=1, max_size=8),
            st.sampled_from(list(CODEC_NUMBERS)),
            st.sampled_from((0, 0, 0x08, 0x10)),
        ),
        max_size=6,
    )
)
def test_any_commits_and_records(
    tmp_path_factory: pytest.TempPathFactory,
    made: list[tuple[list[tuple[int, bytes, bytes, int, bytes | None]], str, int]],
) -> None:
    """In any order, with clocks that go back, in any batches."""
    parts, offset = [], 0
    for drawn, codec, bits in made:
        records: list[Rec] = []
        for record_type, group, topic, at_ms, value in drawn:
            key = record_type.to_bytes(2) + len(group).to_bytes(2) + group
            key += len(topic).to_bytes(2) + topic + bytes(4)
            records.append((offset, at_ms, key, value))
            offset += 1 + len(topic)
        parts.append(batch(records, codec, attributes=bits))
    assert_same(segment(tmp_path_factory.getbasetemp() / "any", parts))
