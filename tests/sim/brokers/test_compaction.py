"""The log cleaner: what remains of closed segments, and when tombstones are removed."""

from rebalance_audit.sim.brokers.batch_writer import LoggedRecord
from rebalance_audit.sim.brokers.compaction import Cleaner
from rebalance_audit.sim.brokers.partition_log import LoggedBatch, PartitionLog

VALUE = b"value"
RETENTION_MS = 1_000


def log_of(*batches: str) -> PartitionLog:
    """Each batch is a segment of its own; a key in upper case has a value, one in lower case is its tombstone."""
    log = PartitionLog(0, segment_bytes=1)
    for keys in batches:
        first = log.next_offset
        records = [
            LoggedRecord(first + place, 0, key.lower().encode(), VALUE if key.isupper() else None)
            for place, key in enumerate(keys)
        ]
        log.append(LoggedBatch(first, first + len(keys) - 1, 0, records, 0))
    return log


def kept(log: PartitionLog) -> list[str]:
    """The remaining batches, in the form that `log_of` takes."""
    return [
        "".join(
            key.decode().upper() if value is not None else key.decode()
            for _, _, key, value in batch.records
            if key is not None
        )
        for batch in log.batches()
    ]


def test_the_last_record_of_every_key_stays_below_the_active_segment() -> None:
    """Batches keep their ends, an empty one is removed, and the active segment stays as it is."""
    log = log_of("ABC", "BC", "CAA")
    assert Cleaner(log).clean(0) == 2
    assert kept(log) == ["A", "BC", "CAA"]
    assert next((each.base_offset, each.last_offset) for each in log.batches()) == (0, 2)
    assert log.was_cleaned


def test_a_tombstone_stays_until_the_horizon_that_its_first_cleaning_set() -> None:
    """The batch carries the horizon from then on; a reader that comes after it may miss the tombstone."""
    log = log_of("AB", "aC", "D")
    cleaner = Cleaner(log, RETENTION_MS)
    cleaner.clean(500)
    assert kept(log) == ["B", "aC", "D"]
    assert [batch.delete_horizon_ms for batch in log.batches()] == [None, 500 + RETENTION_MS, None]
    cleaner.clean(500 + RETENTION_MS - 1)
    assert kept(log) == ["B", "aC", "D"]
    cleaner.clean(500 + RETENTION_MS)
    assert kept(log) == ["B", "C", "D"]
