"""Where and when of a record: from the columns of the log's tables to the core's words."""

from typing import Final

from rebalance_audit.lake.storage.arrow_types import NO_TIMESTAMP_MS
from rebalance_audit.replay.changes import Position

NO_PRODUCER_ID: Final = -1
"""Kafka's word for a batch that no idempotent producer wrote."""


def position_of(
    log_partition: int,
    log_offset: int,
    timestamp_us: int | None,
    leader_epoch: int | None,
    producer_id: int | None,
    is_transactional: bool | None,
) -> Position:
    """The position of a row; null stands for what a source hides."""
    return Position(
        log_partition,
        log_offset,
        NO_TIMESTAMP_MS if timestamp_us is None else timestamp_us // 1000,
        leader_epoch,
        NO_PRODUCER_ID if producer_id is None else producer_id,
        bool(is_transactional),
    )
