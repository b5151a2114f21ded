"""The log cleaner: keeps the last record of every key below the active segment."""

from collections.abc import Iterator
from typing import Final

from rebalance_audit.sim.brokers.partition_log import LoggedBatch, LogSegment, PartitionLog

DELETE_RETENTION_MS: Final = 86_400_000
"""`delete.retention.ms`: how long tombstones stay after their first cleaning."""


class Cleaner:
    """Cleans one partition repeatedly.

    A batch in which it first meets tombstones, or a marker whose transaction has no data left, gets a delete horizon
    (KAFKA-8522): the time from which they may be removed.
    """

    def __init__(self, log: PartitionLog, delete_retention_ms: int = DELETE_RETENTION_MS) -> None:
        """Nothing is clean yet."""
        self._log = log
        self._delete_retention_ms = delete_retention_ms

    def clean(self, now_ms: int) -> int:
        """Clean once; how many records were removed. The active segment and what an open transaction holds stay."""
        log = self._log
        if len(log.segments) == 1:
            return 0
        first_unstable = _first_unstable_offset(log)
        closed = [segment for segment in log.segments[:-1] if segment.last_offset < first_unstable]
        aborted, with_data, last_of_producer = _transactions(log)
        latest = _latest(closed, aborted)
        removed = 0

        def cleaned(segment: LogSegment) -> Iterator[LoggedBatch]:
            nonlocal removed
            for batch in segment.read(with_bytes=True):
                before = batch.record_count() if batch.marker is None else 0
                stays = (
                    self._clean_batch(
                        batch, batch.base_offset in aborted, latest, with_data, now_ms
                    )
                    or batch.base_offset in last_of_producer
                )
                removed += before - len(batch.records) + (batch.marker is not None and not stays)
                if stays:
                    yield batch

        for segment in closed:
            segment.rewrite(cleaned(segment))
        log.was_cleaned |= removed > 0
        return removed

    def _clean_batch(
        self,
        batch: LoggedBatch,
        is_aborted: bool,
        latest: dict[bytes, int],
        with_data: set[int],
        now_ms: int,
    ) -> bool:
        """Remove from the batch what later records replace; returns whether the batch stays.

        A batch that loses nothing keeps its bytes. Any other batch is rewritten, and a record of a topic with
        LogAppendTime then has no time but its batch's (MemoryRecords.filterTo).
        """
        count, horizon_ms = batch.record_count(), batch.delete_horizon_ms
        expired = batch.delete_horizon_ms is not None and now_ms >= batch.delete_horizon_ms
        if batch.marker is not None:
            if batch.base_offset in with_data:
                return True
            self._set_horizon(batch, now_ms)
            if batch.delete_horizon_ms != horizon_ms:
                batch.packed = None
            return not expired
        batch.records = [
            record
            for record in batch.records
            if not is_aborted
            and record.key is not None
            and latest[record.key] == record.log_offset
            and (record.value is not None or not expired)
        ]
        if any(record.value is None for record in batch.records):
            self._set_horizon(batch, now_ms)
        if len(batch.records) < count or batch.delete_horizon_ms != horizon_ms:
            batch.packed = None
            if batch.append_time_ms is not None:
                batch.records = [
                    record._replace(record_timestamp_ms=batch.append_time_ms)
                    for record in batch.records
                ]
        return bool(batch.records)

    def _set_horizon(self, batch: LoggedBatch, now_ms: int) -> None:
        if batch.delete_horizon_ms is None:
            batch.delete_horizon_ms = now_ms + self._delete_retention_ms


def _batches(segments: list[LogSegment]) -> Iterator[LoggedBatch]:
    for segment in segments:
        yield from segment.read()


def _latest(segments: list[LogSegment], aborted: set[int]) -> dict[bytes, int]:
    """Key -> offset of the record that stays."""
    latest: dict[bytes, int] = {}
    for batch in _batches(segments):
        if batch.base_offset not in aborted:
            latest.update((each.key, each.log_offset) for each in batch.records if each.key)
    return latest


def _first_unstable_offset(log: PartitionLog) -> int:
    """Offset at which the oldest open transaction begins; the end of the log when none is open."""
    opened: dict[int, int] = {}
    for batch in log.batches():
        producer_id = batch.producer.producer_id
        if batch.marker is not None:
            opened.pop(producer_id, None)
        elif producer_id >= 0:
            opened.setdefault(producer_id, batch.base_offset)
    return min(opened.values(), default=log.next_offset)


def _transactions(log: PartitionLog) -> tuple[set[int], set[int], set[int]]:
    """Base offsets: batches of aborted transactions, markers whose transaction has batches, producers' last batches.

    The last batch of a producer stays, emptied, so that brokers remember the producer.
    """
    open_batches: dict[int, list[int]] = {}
    aborted: set[int] = set()
    with_data: set[int] = set()
    last_of_producer: dict[int, int] = {}
    for batch in log.batches():
        producer_id = batch.producer.producer_id
        if batch.marker is not None:
            data = open_batches.pop(producer_id, [])
            if not batch.marker.committed:
                aborted.update(data)
            if data:
                with_data.add(batch.base_offset)
        elif producer_id >= 0:
            open_batches.setdefault(producer_id, []).append(batch.base_offset)
            last_of_producer[producer_id] = batch.base_offset
    return aborted, with_data, set(last_of_producer.values())
