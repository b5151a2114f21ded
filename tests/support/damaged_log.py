"""A copy of a log with an offset commit of a value version that no release knows: no coordinator loads it."""

import shutil
from pathlib import Path

from rebalance_audit.sim.brokers.batch_writer import LoggedRecord, Producer, encode_batch
from rebalance_audit.wire.key_bytes import OFFSET_COMMIT_PREFIXES
from rebalance_audit.wire.segments.folder import OFFSETS_TOPIC
from tests.support.batches import Batch, read_batches

FUTURE: int = 9
"""Kafka 4.4 knows the versions 0 to 4."""


def damaged_copy(source: Path, target: Path, log_partition: int, share: float) -> int:
    """Copy a log of one segment a partition; the commit at that share of the partition's batches is damaged.

    Returns the offset of the damaged record.
    """
    shutil.copytree(source, target)
    (segment,) = (target / f"{OFFSETS_TOPIC}-{log_partition}").glob("*.log")
    batches = [batch for batch in read_batches(segment) if isinstance(batch, Batch)]
    for batch in batches[int(share * len(batches)) :]:
        records = batch.records()
        assert isinstance(records, list), records
        held = [LoggedRecord(*each) for each in records]
        place = next((at for at, each in enumerate(held) if _is_commit(each)), None)
        if place is None:
            continue
        value = held[place].value or b""
        held[place] = held[place]._replace(value=FUTURE.to_bytes(2) + value[2:])
        header = batch.header
        data = segment.read_bytes()
        end = header.byte_position + header.size_bytes
        written = encode_batch(
            held,
            header.leader_epoch or 0,
            producer=Producer(header.producer_id, header.producer_epoch),
        )
        segment.write_bytes(data[: header.byte_position] + written + data[end:])
        return held[place].log_offset
    raise AssertionError(f"no commit in the rest of partition {log_partition}")


def _is_commit(record: LoggedRecord) -> bool:
    return record.value is not None and (record.key or b"").startswith(OFFSET_COMMIT_PREFIXES)
