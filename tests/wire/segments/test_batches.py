from pathlib import Path

import pytest

from rebalance_audit.wire.segments.bad_bytes import BadBytes, BadBytesReason
from rebalance_audit.wire.segments.batches import TransactionMarker
from tests.support.batches import Batch, LogRecord, read_batches
from tests.wire.segments.hand_made import batch, commits, raw_batch, segment, varint

# Two records, written by Kafka's own classes: [3] of group g with epoch 10, and its tombstone 7 ms later.
PLAIN_RECORDS = "240000000a00030001670e00000000000a000016000e020a00030001670100"
VECTORS = {
    "none": (
        "000000000000006400000050000000050298355f1c0000000000010000018bcfe568000000018bcfe56807"
        "ffffffffffffffffffff000000000000000224"
        "0000000a00030001670e00000000000a000016000e020a00030001670100"
    ),
    "gzip": (
        "00000000000000640000005c00000005022731e39b0001000000010000018bcfe568000000018bcfe56807"
        "ffffffffffffffffffff0000000000000002"
        "1f8b08000000000000ff53616060e0626066604ce7636000b319c418f89820428c0c0036e4a75f1f000000"
    ),
    "snappy": (
        "000000000000006400000065000000050238b3c6d50002000000010000018bcfe568000000018bcfe56807"
        "ffffffffffffffffffff0000000000000002"
        "82534e41505059000000000100000001000000201f2c240000000a00030001670e000101380a000016000e02"
        "0a00030001670100"
    ),
    "lz4": (
        "00000000000000640000005f0000000502aaaf00880003000000010000018bcfe568000000018bcfe56807"
        "ffffffffffffffffffff0000000000000002"
        "04224d186040821f000080240000000a00030001670e00000000000a000016000e020a0003000167010000000000"
    ),
    "zstd": (
        "00000000000000640000005c0000000502f1db5aa50004000000010000018bcfe568000000018bcfe56807"
        "ffffffffffffffffffff0000000000000002"
        "28b52ffd0058f80000240000000a00030001670e00000000000a000016000e020a00030001670100010000"
    ),
}
AT_MS = 1_700_000_000_000
VECTOR_RECORDS = [
    LogRecord(100, AT_MS, bytes.fromhex("0003000167"), bytes.fromhex("00000000000a00")),
    LogRecord(101, AT_MS + 7, bytes.fromhex("0003000167"), None),
]


def one(tmp_path: Path, raw: bytes) -> Batch:
    """The only batch of a file with these bytes."""
    found = list(read_batches(segment(tmp_path, [raw])))
    assert len(found) == 1
    assert isinstance(found[0], Batch)
    return found[0]


@pytest.mark.parametrize("codec", VECTORS)
def test_vector_of_each_codec(tmp_path: Path, codec: str) -> None:
    """A batch that Kafka itself wrote gives its header and records, whatever the codec."""
    raw = bytes.fromhex(VECTORS[codec])
    found = one(tmp_path, raw)
    assert found.records() == VECTOR_RECORDS
    assert found.header._asdict() == {
        "base_offset": 100,
        "last_offset": 101,
        "leader_epoch": 5,
        "magic": 2,
        "codec": codec,
        "timestamp_type": "CreateTime",
        "is_transactional": False,
        "is_control": False,
        "delete_horizon_ms": None,
        "producer_id": -1,
        "producer_epoch": -1,
        "base_sequence": 0,
        "record_count": 2,
        "base_timestamp_ms": AT_MS,
        "max_timestamp_ms": AT_MS + 7,
        "byte_position": 0,
        "size_bytes": len(raw),
    }
    assert found.control_marker() is None


def test_transactional_batch(tmp_path: Path) -> None:
    """A batch inside a transaction says so and names its producer."""
    raw = (
        "000000000000006600000050000000050232caca020010000000010000018bcfe568000000018bcfe568070000000000000fa00001"
        "00000000000000022400" + PLAIN_RECORDS[4:]
    )
    header = one(tmp_path, bytes.fromhex(raw)).header
    assert (header.is_transactional, header.producer_id, header.producer_epoch) == (True, 4000, 1)
    assert not header.is_control


@pytest.mark.parametrize(
    ("head", "records", "marker"),
    [
        (
            "68000000420000000502eb94b5b00030000000000000018bcfe5680a0000018bcfe5680a0000000000000fa00001ffffffff",
            "000000012000000008000000010c00000000000300",
            TransactionMarker(committed=True, coordinator_epoch=3),
        ),
        (
            "690000004200000005024c37fc7b0030000000000000018bcfe5680b0000018bcfe5680b0000000000000fa00001ffffffff",
            "000000012000000008000000000c00000000000300",
            TransactionMarker(committed=False, coordinator_epoch=3),
        ),
    ],
)
def test_transaction_markers(
    tmp_path: Path, head: str, records: str, marker: TransactionMarker
) -> None:
    """Kafka's own COMMIT and ABORT markers stay distinct."""
    found = one(tmp_path, bytes(7) + bytes.fromhex(head + records))
    assert found.header.is_control
    assert found.control_marker() == marker


@pytest.mark.parametrize(
    ("key", "value", "expected"),
    [
        (b"\0\0\0\3", b"\0\0", None),
        (b"\0\5\0\1", b"\0\0\0\0\0\7", TransactionMarker(committed=True, coordinator_epoch=7)),
        (b"\0\0\0", b"\0\0\0\0\0\7", BadBytesReason.BAD_MARKER),
        (None, b"\0\0\0\0\0\7", BadBytesReason.BAD_MARKER),
        (b"\xff\xff\0\1", b"\0\0\0\0\0\7", BadBytesReason.BAD_MARKER),
        (b"\0\0\0\1", b"\0\0\0", BadBytesReason.BAD_MARKER),
        (b"\0\0\0\1", None, BadBytesReason.BAD_MARKER),
        (b"\0\0\0\1", b"\xff\xff\0\0\0\7", BadBytesReason.BAD_MARKER),
    ],
)
def test_odd_control_records(
    tmp_path: Path,
    key: bytes | None,
    value: bytes | None,
    expected: TransactionMarker | BadBytesReason | None,
) -> None:
    """Other control records are no markers, later versions are read, malformed ones are damage."""
    marker = one(tmp_path, batch([(0, 0, key, value)], attributes=0x30)).control_marker()
    assert (marker.reason if isinstance(marker, BadBytes) else marker) == expected


@pytest.mark.parametrize("codec", VECTORS)
def test_log_append_time(tmp_path: Path, codec: str) -> None:
    """With LogAppendTime every record has the batch's time, not its own."""
    found = one(tmp_path, batch(commits(3), codec, attributes=0x08, max_timestamp=77))
    records = found.records()
    assert isinstance(records, list)
    assert [record.record_timestamp_ms for record in records] == [77, 77, 77]
    assert found.header.timestamp_type == "LogAppendTime"


def test_delete_horizon(tmp_path: Path) -> None:
    """After compaction the base timestamp field is a delete horizon; record times stay right, even earlier ones."""
    found = one(tmp_path, batch([(0, 5000, b"k", b"v"), (1, 3000, b"k", None)], attributes=0x40))
    records = found.records()
    assert isinstance(records, list)
    assert [record.record_timestamp_ms for record in records] == [5000, 3000]
    assert (found.header.delete_horizon_ms, found.header.base_timestamp_ms) == (5000, None)


def test_empty_batch(tmp_path: Path) -> None:
    """Compaction keeps a batch without records for a producer's state; its offsets stay taken."""
    raw = batch([], producer=(9, 1), base_offset=40, last_offset_delta=3, base_timestamp=-1)
    found = one(tmp_path, raw)
    assert found.records() == []
    assert (found.header.record_count, found.header.last_offset) == (0, 43)


def test_offset_gaps(tmp_path: Path) -> None:
    """Compaction removes records from a batch: the others keep their offsets and the header its range."""
    kept = [record for record in commits(9) if record[0] in (2, 3, 7)]
    found = one(tmp_path, batch(kept, base_offset=2, last_offset_delta=6))
    assert found.records() == [LogRecord(*record) for record in kept]
    assert found.header.last_offset == 8


PLAIN = b"\0\0\0\x02k\x02v\0"  # attributes, no deltas, key k, value v, no headers


def record(body: bytes, length: int | None = None) -> bytes:
    """A record with its length, correct unless given."""
    return varint(len(body) if length is None else length) + body


@pytest.mark.parametrize(
    ("raw", "reason", "words"),
    [
        (raw_batch(record(PLAIN), 2), "bad_records", "do not fit"),
        (raw_batch(record(PLAIN) * 2, 1), "bad_records", "do not fit"),
        (raw_batch(b"", 1), "bad_records", "do not fit"),
        (raw_batch(record(PLAIN, 3), 1), "bad_records", "do not fit"),
        (raw_batch(record(PLAIN[:3] + varint(1000) + b"k"), 1), "bad_records", "do not fit"),
        (raw_batch(record(PLAIN[:3] + varint(2**62) + b"k"), 1), "bad_records", "do not fit"),
        (raw_batch(record(PLAIN[:3] + varint(2**63 - 1)), 1), "bad_records", "do not fit"),
        (raw_batch(b"\xff" * 40, 1), "bad_records", "do not fit"),
        (raw_batch(record(PLAIN[:-1] + varint(-1)), 1), "bad_records", "do not fit"),
        (raw_batch(record(PLAIN[:-1] + varint(2**40)), 1), "bad_records", "do not fit"),
        (raw_batch(record(PLAIN[:-1] + b"\x02\x02\xff\x01"), 1), "bad_records", "do not fit"),
        (raw_batch(record(b"\0\0" + varint(5) + PLAIN[3:]), 1), "bad_records", "outside"),
        (raw_batch(record(b"\0\0" + varint(-1) + PLAIN[3:]), 1), "bad_records", "outside"),
        (raw_batch(record(PLAIN), 1, attributes=5), "bad_compression", "codec 5"),
        (raw_batch(record(PLAIN), 1, attributes=7), "bad_compression", "codec 7"),
        (raw_batch(record(PLAIN), 1, attributes=1), "bad_compression", "gzip"),
        (raw_batch(record(PLAIN), 1, attributes=2), "bad_compression", "snappy"),
        (raw_batch(record(PLAIN), 1, attributes=3), "bad_compression", "lz4"),
        (raw_batch(record(PLAIN), 1, attributes=4), "bad_compression", "zstd"),
    ],
)
def test_nonsense_behind_a_good_checksum(
    tmp_path: Path, raw: bytes, reason: str, words: str
) -> None:
    """Records that contradict themselves become damage with a sentence that names file, byte and offset."""
    found = one(tmp_path, raw)
    damage = found.records()
    assert isinstance(damage, BadBytes)
    assert damage.reason == reason
    assert words in damage.detail
    assert f"byte 0 of {found.path} with base offset 0" in damage.detail
    assert (damage.byte_position, damage.size_bytes, damage.raw) == (0, len(raw), raw)
