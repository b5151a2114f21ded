"""Batches that the simulator writes, compared with bytes that Kafka's own classes wrote."""

from pathlib import Path

import pytest

from rebalance_audit.sim.brokers.batch_writer import (
    Codec,
    LoggedRecord,
    Producer,
    encode_batch,
    encode_empty_batch,
    encode_marker,
)
from tests.support.batches import Batch, LogRecord, read_batches

AT_MS = 1_700_000_000_000
KEY = bytes.fromhex("0003000167")
EPOCH_10 = bytes.fromhex("00000000000a00")


def two_records(base_offset: int) -> list[LoggedRecord]:
    """Group g at epoch 10, and its tombstone 7 ms later."""
    return [
        LoggedRecord(base_offset, AT_MS, KEY, EPOCH_10),
        LoggedRecord(base_offset + 1, AT_MS + 7, KEY, None),
    ]


def test_a_batch_has_the_bytes_that_kafka_writes() -> None:
    """Header, checksum and records."""
    assert encode_batch(two_records(100), leader_epoch=5).hex() == (
        "000000000000006400000050000000050298355f1c0000000000010000018bcfe568000000018bcfe56807"
        "ffffffffffffffffffff00000000000000022"
        "40000000a00030001670e00000000000a000016000e020a00030001670100"
    )


@pytest.mark.parametrize("codec", list(Codec))
def test_what_is_written_with_any_codec_is_read_back(codec: Codec, tmp_path: Path) -> None:
    """Including batches from which a cleaner removed records at both ends, and those where no record is left."""
    records = [LoggedRecord(100 + n, AT_MS + n, KEY, EPOCH_10 * n or None) for n in range(50)]
    kept = records[3:5]
    file = tmp_path / f"{100:020d}.log"
    file.write_bytes(
        encode_batch(records, 5, codec)
        + encode_batch(kept, 6, codec, base_offset=100, last_offset=149)
        + encode_empty_batch(150, 160, 6, Producer(7, 1), AT_MS)
        + encode_batch(kept, 6, codec, append_time_ms=AT_MS + 99)
    )
    whole, cleaned, empty, stamped = (
        batch for batch in read_batches(file) if isinstance(batch, Batch)
    )
    assert whole.header.codec == codec.name.lower()
    assert whole.records() == [LogRecord(*record) for record in records]
    assert (cleaned.header.base_offset, cleaned.header.last_offset) == (100, 149)
    assert cleaned.records() == [LogRecord(*record) for record in kept]
    assert (empty.header.last_offset, empty.records()) == (160, [])
    assert stamped.header.timestamp_type == "LogAppendTime"
    assert stamped.records() == [
        LogRecord(record.log_offset, AT_MS + 99, record.key, record.value) for record in kept
    ]


@pytest.mark.parametrize("codec", list(Codec))
def test_a_delete_horizon_takes_the_place_of_the_first_timestamp(
    codec: Codec, tmp_path: Path
) -> None:
    """Records keep their times, which lie before it; a marker has one when its transaction's data is gone."""
    records = [LoggedRecord(100 + n, AT_MS + n, KEY, EPOCH_10 * n or None) for n in range(50)]
    horizon_ms = AT_MS + 86_400_000
    file = tmp_path / f"{100:020d}.log"
    file.write_bytes(
        encode_batch(records, 5, codec, last_offset=160, delete_horizon_ms=horizon_ms)
        + encode_marker(
            161, AT_MS + 99, 5, Producer(7, 1), 3, committed=True, delete_horizon_ms=horizon_ms
        )
    )
    cleaned, marker = (batch for batch in read_batches(file) if isinstance(batch, Batch))
    assert (cleaned.header.delete_horizon_ms, marker.header.delete_horizon_ms) == (horizon_ms,) * 2
    assert cleaned.header.last_offset == 160
    assert cleaned.records() == [LogRecord(*record) for record in records]
    of_marker = marker.records()
    assert isinstance(of_marker, list)
    assert [(record.log_offset, record.record_timestamp_ms) for record in of_marker] == [
        (161, AT_MS + 99)
    ]


def test_a_compressed_batch_hides_when_it_was_written() -> None:
    """The time in the gzip header is 0: the same seed writes the same bytes at any time."""
    batch = encode_batch(two_records(100), 5, Codec.GZIP)
    magic, moment = batch[61:63], batch[65:69]
    assert (magic, moment) == (b"\x1f\x8b", bytes(4))


def test_a_transactional_batch_and_its_markers_have_the_bytes_that_kafka_writes() -> None:
    """Data of producer 4000, a COMMIT and an ABORT marker."""
    producer = Producer(4000, 1)
    data = encode_batch(two_records(102), leader_epoch=5, producer=producer)
    commit = encode_marker(104, AT_MS + 10, 5, producer, 3, committed=True)
    abort = encode_marker(105, AT_MS + 11, 5, producer, 3, committed=False)
    assert data.hex() == (
        "000000000000006600000050000000050232caca020010000000010000018bcfe568000000018bcfe56807"
        "0000000000000fa00001000000000000000224"
        "0000000a00030001670e00000000000a000016000e020a00030001670100"
    )
    assert commit.hex() == (
        "0000000000000068000000420000000502eb94b5b00030000000000000018bcfe5680a0000018bcfe5680a"
        "0000000000000fa00001ffffffff000000012000000008000000010c00000000000300"
    )
    assert abort.hex() == (
        "00000000000000690000004200000005024c37fc7b0030000000000000018bcfe5680b0000018bcfe5680b"
        "0000000000000fa00001ffffffff000000012000000008000000000c00000000000300"
    )
