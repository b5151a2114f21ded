"""Positions of records that were read from a table: its columns, with nulls, as the replay takes them."""

from typing import Final

from rebalance_audit.moments import NO_TIMESTAMP_MS
from rebalance_audit.replay.changes import Position

NO_PRODUCER_ID: Final = -1
"""Kafka's value for a batch that no idempotent producer wrote (`RecordBatch.NO_PRODUCER_ID`)."""


def position_of(
    log_partition: int,
    log_offset: int,
    timestamp_us: int | None,
    leader_epoch: int | None,
    producer_id: int | None,
    is_transactional: bool | None,
) -> Position:
    """The position of a row of `bronze.records` or of records routed in Spark; `timestamp_us` is epoch microseconds.

    Null stands for what the source hides.
    """
    return Position(
        log_partition,
        log_offset,
        NO_TIMESTAMP_MS if timestamp_us is None else timestamp_us // 1000,
        leader_epoch,
        NO_PRODUCER_ID if producer_id is None else producer_id,
        bool(is_transactional),
    )
