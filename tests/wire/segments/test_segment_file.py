from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rebalance_audit.wire.segments import walk as segment_walk
from rebalance_audit.wire.segments.bad_bytes import RAW_BYTES_MAX, BadBytes, TailNote
from rebalance_audit.wire.segments.walk import split_points
from tests.support.batches import Batch, read_batches
from tests.support.examples import examples
from tests.wire.golden import capture
from tests.wire.segments.hand_made import batch, batches_of, commits, message, message_set, segment

Seen: TypeAlias = tuple[object, ...]

GOOD = [batch(commits(3, first_offset=10 * n)) for n in range(4)]
SIZE = len(GOOD[0])


def flip(raw: bytes, at: int, mask: int = 0x01) -> bytes:
    """The bytes with some bits of one byte flipped."""
    return raw[:at] + bytes((raw[at] ^ mask,)) + raw[at + 1 :]


def seen(found: Batch | BadBytes | TailNote) -> Seen:
    """What a reader returned, in comparable form."""
    if isinstance(found, Batch):
        return ("batch", *found.header, found.records())
    return found


def read(path: Path, start: int = 0, end: int | None = None) -> list[Seen]:
    """Everything in a part of a file."""
    return [seen(found) for found in read_batches(path, start, end)]


def outline(path: Path) -> list[tuple[str, int, int]]:
    """(batch offset, reason or tail kind; position; size) of everything in a file."""
    spans = []
    for found in read_batches(path):
        if isinstance(found, Batch):
            header = found.header
            spans.append((str(header.base_offset), header.byte_position, header.size_bytes))
        elif isinstance(found, BadBytes):
            spans.append((str(found.reason), found.byte_position, found.size_bytes))
        else:
            spans.append((str(found.kind), found.byte_position, found.size_bytes))
    return spans


OFFSET_AT, LENGTH_AT, LEADER_EPOCH_AT, MAGIC_AT, CRC_AT, COUNT_AT = 0, 8, 12, 16, 17, 57

DAMAGE = {
    "healthy": (GOOD, "0 10 20 30"),
    "empty file": ([], ""),
    "a flipped bit in a record": ([GOOD[0], flip(GOOD[1], 90), *GOOD[2:]], "0 crc_mismatch 20 30"),
    "a flipped bit in the checksum": ([GOOD[0], flip(GOOD[1], CRC_AT), *GOOD[2:]], "0 crc_mismatch 20 30"),
    "two bad batches in a row": ([flip(GOOD[0], 90), flip(GOOD[1], 90), GOOD[2]], "crc_mismatch crc_mismatch 20"),
    "a length too small": ([GOOD[0], flip(GOOD[1], LENGTH_AT + 3, 0x10), *GOOD[2:]], "0 crc_mismatch 20 30"),
    "a length beyond the file": ([GOOD[0], flip(GOOD[1], LENGTH_AT + 1), *GOOD[2:]], "0 not_a_batch 20 30"),
    "a negative length": ([GOOD[0], flip(GOOD[1], LENGTH_AT, 0x80), *GOOD[2:]], "0 not_a_batch 20 30"),
    "a negative offset": ([GOOD[0], flip(GOOD[1], OFFSET_AT, 0x80), *GOOD[2:]], "0 not_a_batch 20 30"),
    "a leader epoch, which no checksum covers": (
        [GOOD[0], flip(GOOD[1], LEADER_EPOCH_AT, 0x80), GOOD[2]],
        "0 10 20",
    ),
    "a format of the future": ([GOOD[0], flip(GOOD[1], MAGIC_AT, 0x01), *GOOD[2:]], "0 not_a_batch 20 30"),
    "a count above the offsets": ([GOOD[0], flip(GOOD[1], COUNT_AT, 0x40), *GOOD[2:]], "0 not_a_batch 20 30"),
    "garbage between": ([GOOD[0], b"\x07garbage" * 40, *GOOD[1:]], "0 not_a_batch 10 20 30"),
    "zeros between": ([GOOD[0], bytes(300), *GOOD[1:]], "0 not_a_batch 10 20 30"),
    "bytes lost": ([GOOD[0], GOOD[1][:-20], *GOOD[2:]], "0 crc_mismatch 20 30"),
    "a begin cut off": ([GOOD[0][30:], *GOOD[1:]], "not_a_batch 10 20 30"),
    "garbage at the end": ([*GOOD, b"\x07garbage" * 40], "0 10 20 30 not_a_batch"),
    "a bad last batch": ([*GOOD[:3], flip(GOOD[3], 90)], "0 10 20 crc_mismatch"),
    "a bad last batch, then reserved space": (
        [*GOOD[:3], flip(GOOD[3], 90), bytes(999)],
        "0 10 20 crc_mismatch preallocated",
    ),
    "reserved space": ([*GOOD, bytes(5000)], "0 10 20 30 preallocated"),
    "reserved space only": ([bytes(5000)], "preallocated"),
    "a torn last batch": ([*GOOD[:3], GOOD[3][:-1]], "0 10 20 torn"),
    "a torn header": ([*GOOD[:3], GOOD[3][:40]], "0 10 20 torn"),
    "a torn header's first bytes": ([*GOOD[:3], GOOD[3][:13]], "0 10 20 torn"),
    "one byte": ([b"\x01"], "torn"),
    "a torn old message": ([message(0, 1, b"v"), message(1, 1, b"v" * 90)[:-1]], "0 torn"),
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGE)
def test_damage_and_tails(tmp_path: Path, name: str) -> None:
    """Damage is kept and named, reading continues at the next batch, unfinished ends are no damage, no byte is lost."""
    parts, expected = DAMAGE[name]
    path = segment(tmp_path, parts)
    spans = outline(path)
    assert " ".join(what for what, *_ in spans) == expected
    position = 0
    for _, begin, size in spans:
        assert begin == position
        position += size
    assert position == path.stat().st_size
    content = path.read_bytes()
    for found in read_batches(path):
        if isinstance(found, BadBytes):
            assert found.raw == content[found.byte_position :][: found.size_bytes]
            assert f"byte {found.byte_position} of {path}" in found.detail


def test_offset_of_damage(tmp_path: Path) -> None:
    """Damage has the base offset of its header where there is one, else none."""
    path = segment(tmp_path, [flip(GOOD[1], 90), GOOD[2], b"\x07garbage" * 40])
    damage = [found for found in read_batches(path) if isinstance(found, BadBytes)]
    assert [found.base_offset for found in damage] == [10, None]


def test_large_damage_is_kept_up_to_a_limit(tmp_path: Path) -> None:
    """A long damaged stretch is one value with its true size and the first bytes of it."""
    path = segment(tmp_path, [b"\xaa" * (RAW_BYTES_MAX + 5), GOOD[0]])
    damage = next(read_batches(path))
    assert isinstance(damage, BadBytes)
    assert (damage.size_bytes, len(damage.raw)) == (RAW_BYTES_MAX + 5, RAW_BYTES_MAX)


def test_false_headers_do_not_make_the_search_endless(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Among headers that all claim the rest of the file the search stops after a bounded effort."""
    head = flip(batch(commits(1)), LENGTH_AT + 1)[:61]
    path = segment(tmp_path, [b"\x07", head * 200, bytes(1 << 17), GOOD[0]])
    assert [what for what, *_ in outline(path)] == ["not_a_batch", "0"]
    monkeypatch.setattr(segment_walk, "SEARCH_CRC_BYTES_MAX", 1 << 20)
    (damage,) = read_batches(path)
    assert isinstance(damage, BadBytes)
    assert damage.size_bytes == path.stat().st_size


MIXED = (
    message_set(commits(3), 0)
    + message_set(commits(4, 3), 1, "gzip")
    + b"".join(batches_of(commits(60, 7), (1, 2, 3, 5, 8, 13), "none"))
    + b"".join(batches_of(commits(20, 67), (6, 7), "zstd"))
    + batch([], base_offset=90, last_offset_delta=4)
    + b"".join(batches_of(commits(20, 95), (6, 7), "lz4"))
)


def assert_parts_equal_whole(path: Path, sizes: Iterable[int], whole: list[Seen]) -> None:
    """Reading the parts between the split points one after another gives what one reader gives.

    Parts of many sizes end at the same points: each way to split the file is read once.
    """
    for points in {tuple(split_points(path, target_bytes)) for target_bytes in sizes}:
        assert points[0] == 0
        assert points[-1] == path.stat().st_size
        assert points == tuple(sorted(set(points))) or points == (0, 0)
        parts = [found for start, end in pairwise(points) for found in read(path, start, end)]
        assert parts == whole


@pytest.mark.parametrize("tail", [b"", bytes(100), GOOD[0][:-3]], ids=["whole", "reserved", "torn"])
def test_every_split_of_a_mixed_file(tmp_path: Path, tail: bytes) -> None:
    """Whatever the size of the parts, they hold the same records as the whole."""
    path = segment(tmp_path, [MIXED, tail])
    whole = read(path)
    assert len(whole) == 18 + bool(tail)
    assert_parts_equal_whole(path, range(1, len(MIXED) + len(tail) + 2, 7), whole)


@pytest.mark.parametrize("name", ["offsets", "oddities", "compacted"])
def test_splits_of_real_segments(name: str) -> None:
    """Real segments give the same records in parts of any size."""
    for path in capture(name).segments.glob("__consumer_offsets-*/*.log"):
        whole = read(path)
        assert_parts_equal_whole(path, (1, 100, 777, 4096, 1 << 20), whole)


def test_split_sizes() -> None:
    """Parts are as large as asked for, or larger by less than a batch; the last may be any size."""
    path = capture("consumer-protocol").segments / "__consumer_offsets-0" / f"{0:020d}.log"
    largest = max(
        found.header.size_bytes for found in read_batches(path) if isinstance(found, Batch)
    )
    sizes = [end - start for start, end in pairwise(split_points(path, 4000))]
    assert len(sizes) > 5
    assert all(4000 <= size < 4000 + largest for size in sizes[:-1])


@pytest.mark.parametrize("target_bytes", [0, -1])
def test_split_needs_a_size(tmp_path: Path, target_bytes: int) -> None:
    """A part of no bytes is the caller's error."""
    with pytest.raises(ValueError, match="target_bytes"):
        split_points(segment(tmp_path, GOOD), target_bytes)


PIECES = [
    *GOOD,
    batch(commits(40, 50), "snappy"),
    message_set(commits(2, 100), 1),
    message_set(commits(5, 110), 1, "lz4"),
    flip(GOOD[2], 90),
    flip(GOOD[2], LENGTH_AT + 3, 0x10),
    flip(GOOD[2], LENGTH_AT + 1),
    flip(GOOD[2], MAGIC_AT),
    GOOD[3][:70],
    GOOD[3][25:],
    bytes(33),
    bytes(200),
    b"\x00\x00\x01\x02garbage",
    b"\xff" * 90,
]


@settings(
    max_examples=examples(100),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    order=st.lists(st.integers(0, len(PIECES) - 1), max_size=12),
    cut=st.integers(0, 60),
    target_bytes=st.integers(1, 2000),
)
def test_any_mixture(
    tmp_path_factory: pytest.TempPathFactory, order: list[int], cut: int, target_bytes: int
) -> None:
    """However damage and batches follow each other, the spans cover the file and every split gives the same."""
    raw = b"".join(PIECES[index] for index in order)
    path = segment(tmp_path_factory.mktemp("mixture"), [raw[: max(len(raw) - cut, 0)]])
    spans = outline(path)
    assert sum(size for *_, size in spans) == path.stat().st_size
    assert [begin for _, begin, _ in spans] == [
        sum(size for *_, size in spans[:at]) for at in range(len(spans))
    ]
    assert_parts_equal_whole(path, (target_bytes,), read(path))


@pytest.mark.parametrize("window_bytes", [64, 200, 1000])
@pytest.mark.parametrize("name", DAMAGE)
def test_small_windows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, window_bytes: int
) -> None:
    """The amount of a file in memory at a time does not change what is read."""
    path = segment(tmp_path, [*DAMAGE[name][0]])
    whole = read(path)
    monkeypatch.setattr(segment_walk, "WINDOW_BYTES", window_bytes)
    assert read(path) == whole
    assert_parts_equal_whole(path, (1,), whole)


@pytest.mark.parametrize("window_bytes", [64, 200, 1000])
@pytest.mark.parametrize("damaged", [False, True])
def test_file_that_shrinks_while_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, window_bytes: int, damaged: bool
) -> None:
    """A broker may truncate the file while it is read: the read ends about where the file does."""
    monkeypatch.setattr(segment_walk, "WINDOW_BYTES", window_bytes)
    second = flip(GOOD[1], LENGTH_AT + 1) if damaged else GOOD[1]
    for size in range(0, 5 * SIZE, 37):
        path = segment(tmp_path, [GOOD[0], second, *GOOD * 3])
        reader = read_batches(path)
        assert isinstance(next(reader), Batch)
        with path.open("r+b") as file:
            file.truncate(size)
        for found in reader:
            span = found.header if isinstance(found, Batch) else found
            assert span.byte_position < max(size, window_bytes + 2 * SIZE)


@pytest.mark.parametrize("kind", ["missing", "folder"])
def test_unreadable_file(tmp_path: Path, kind: str) -> None:
    """A file that cannot be read is an OSError that names it."""
    path = tmp_path / "00000000000000000000.log"
    if kind == "folder":
        path.mkdir()
    with pytest.raises(OSError, match=path.name):
        list(read_batches(path))
