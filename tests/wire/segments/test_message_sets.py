import struct
from pathlib import Path

import pytest
from aiokafka.codec import gzip_encode, lz4_encode

from rebalance_audit.wire.segments.bad_bytes import BadBytes
from tests.support.batches import Batch, LogRecord, read_batches
from tests.wire.segments.hand_made import batch, commits, message, message_set, segment


def batches(tmp_path: Path, *parts: bytes) -> list[Batch]:
    """The batches of a file with these parts, all of them healthy."""
    found = list(read_batches(segment(tmp_path, parts)))
    assert all(isinstance(item, Batch) for item in found), found
    return [item for item in found if isinstance(item, Batch)]


def records(tmp_path: Path, *parts: bytes) -> list[LogRecord]:
    """All records of such a file."""
    flat: list[LogRecord] = []
    for item in batches(tmp_path, *parts):
        found = item.records()
        assert isinstance(found, list), found
        flat += found
    return flat


@pytest.mark.parametrize("magic", [0, 1])
def test_plain_messages(tmp_path: Path, magic: int) -> None:
    """Each plain message is a batch of one record; the oldest format has no timestamps."""
    made = commits(5, first_offset=70)
    found = batches(tmp_path, message_set(made, magic))
    assert [item.records() for item in found] == [
        [LogRecord(offset, timestamp_ms if magic else -1, key, value)]
        for offset, timestamp_ms, key, value in made
    ]
    header = found[2].header
    assert (header.magic, header.codec, header.record_count) == (magic, "none", 1)
    assert (header.base_offset, header.last_offset, header.leader_epoch) == (72, 72, None)
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (-1, -1, -1)
    assert header.timestamp_type == ("CreateTime" if magic else "none")
    assert not header.is_control
    assert found[2].control_marker() is None


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4"])
def test_wrapper_with_relative_offsets(tmp_path: Path, codec: str) -> None:
    """Inside a wrapper of magic 1 offsets count from the start of the set; the wrapper has the last record's."""
    made = commits(9, first_offset=1000)
    found = batches(tmp_path, message_set(made, 1, codec))
    assert found[0].records() == [LogRecord(*record) for record in made]
    header = found[0].header
    assert (header.codec, header.last_offset, header.record_count) == (codec, 1008, None)


def test_compacted_wrapper(tmp_path: Path) -> None:
    """Relative offsets keep their gaps after compaction."""
    inner = (
        message(0, 1, b"a", at_ms=5) + message(3, 1, b"b", at_ms=6) + message(4, 1, None, key=b"c")
    )
    outer = message(104, 1, gzip_encode(inner), attributes=1, at_ms=6)
    assert records(tmp_path, outer) == [
        LogRecord(100, 5, None, b"a"),
        LogRecord(103, 6, None, b"b"),
        LogRecord(104, 0, b"c", None),
    ]


def test_wrapper_with_log_append_time(tmp_path: Path) -> None:
    """With LogAppendTime the wrapper's time is every record's."""
    inner = message(0, 1, b"a", at_ms=5) + message(1, 1, b"b", at_ms=6)
    outer = message(8, 1, gzip_encode(inner), attributes=0x09, at_ms=99)
    found = batches(tmp_path, outer)[0]
    assert found.records() == [LogRecord(7, 99, None, b"a"), LogRecord(8, 99, None, b"b")]
    assert found.header.timestamp_type == "LogAppendTime"


def test_wrapper_with_absolute_offsets(tmp_path: Path) -> None:
    """Inside a wrapper of magic 0 offsets are absolute, whatever the wrapper's own offset."""
    inner = message(40, 0, b"a") + message(42, 0, b"b")
    assert records(tmp_path, message(50, 0, gzip_encode(inner), attributes=1)) == [
        LogRecord(40, -1, None, b"a"),
        LogRecord(42, -1, None, b"b"),
    ]


def test_lz4_wrapper_of_the_oldest_format(tmp_path: Path) -> None:
    """Brokers before 0.10 wrote LZ4 frames with a header checksum of their own."""
    frame = lz4_encode(message(3, 0, b"a"))
    old = frame[:6] + bytes((frame[6] ^ 0xFF,)) + frame[7:]
    assert records(tmp_path, message(3, 0, old, attributes=3)) == [LogRecord(3, -1, None, b"a")]


def test_formats_in_one_segment(tmp_path: Path) -> None:
    """A log that outlived upgrades holds all three formats; each is read by its own rules."""
    made = commits(30)
    parts = (
        message_set(made[:10], 0),
        message_set(made[10:20], 1, "gzip"),
        batch(made[20:25]),
        message_set(made[25:], 1),
    )
    assert records(tmp_path, *parts) == [
        LogRecord(offset, -1 if offset < 10 else timestamp_ms, key, value)
        for offset, timestamp_ms, key, value in made
    ]


def wrapped(inner: bytes, magic: int = 1, offset: int = 9) -> bytes:
    """A wrapper around any bytes."""
    return message(offset, magic, gzip_encode(inner), attributes=1)


SOUND = message(0, 1, b"a")
LENGTH_AT, KEY_LENGTH_AT = 8, 26


def patched(raw: bytes, at: int, value: int) -> bytes:
    """The bytes with a 32-bit number in them replaced."""
    return raw[:at] + struct.pack(">i", value) + raw[at + 4 :]


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        (message(9, 1, None, attributes=1), "no value"),
        (message(9, 1, b"not gzip", attributes=1), "does not decompress with gzip"),
        (wrapped(b""), "holds no message"),
        (wrapped(SOUND[:-1]), "an inner message of 23 bytes"),
        (wrapped(SOUND + b"\0"), "ends inside"),
        (wrapped(patched(SOUND, LENGTH_AT, -12)), "of -12 bytes"),
        (wrapped(patched(SOUND, LENGTH_AT, -(2**31))), "bytes, which does not fit"),
        (wrapped(patched(SOUND, KEY_LENGTH_AT, -2)), "a key of -2 bytes"),
        (wrapped(patched(SOUND, KEY_LENGTH_AT, 2**31 - 1)), "a key of 2147483647 bytes"),
        (wrapped(patched(SOUND, KEY_LENGTH_AT + 4, 2)), "a value of 2 bytes"),
        (wrapped(patched(SOUND, KEY_LENGTH_AT + 4, 0)), "1 bytes after its value"),
        (wrapped(patched(SOUND, KEY_LENGTH_AT, 3)), "before the length of its value"),
        (wrapped(message(0, 0, b"a")), "no uncompressed message of its format"),
        (wrapped(wrapped(SOUND)), "no uncompressed message of its format"),
        (wrapped(message(-5, 1, b"a")), "no uncompressed message"),
        (wrapped(message(7, 1, b"a"), offset=6), "below the relative offset"),
    ],
    # gzip writes the time into its header, so the bytes would give the same case another name in every process.
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_nonsense_in_a_wrapper(tmp_path: Path, raw: bytes, words: str) -> None:
    """A set that contradicts itself but has a valid checksum is damage with a sentence, never an endless loop."""
    damage = batches(tmp_path, raw)[0].records()
    assert isinstance(damage, BadBytes)
    assert damage.reason == "bad_records"
    assert words in damage.detail
    assert damage.raw == raw


@pytest.mark.parametrize("magic", [0, 1])
def test_wrong_checksum(tmp_path: Path, magic: int) -> None:
    """A message whose CRC-32 is wrong is damage; its neighbours are read."""
    parts = [message(offset, magic, b"value") for offset in range(3)]
    parts[1] = parts[1][:-1] + b"X"
    found = list(read_batches(segment(tmp_path, parts)))
    damage = found[1]
    assert isinstance(damage, BadBytes)
    assert (damage.reason, damage.base_offset, damage.raw) == ("crc_mismatch", 1, parts[1])
    assert isinstance(found[0], Batch)
    assert isinstance(found[2], Batch)
