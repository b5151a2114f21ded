"""Runs of records whose batches agree, from the array that the compiled walk made of them."""

from typing import Any

from rebalance_audit.wire.segments.batches import (
    CONTROL,
    LOG_APPEND_TIME,
    TRANSACTIONAL,
    timestamp_type_of,
)
from rebalance_audit.wire.segments.columns import Run


def runs_of(rows: Any) -> list[Run]:
    """Rows with the columns EPOCH, PRODUCER_ID, PRODUCER_EPOCH, BITS, RUN_RECORDS of `places`."""
    return [
        Run(
            records,
            leader_epoch,
            producer_id,
            producer_epoch,
            bool(bits & TRANSACTIONAL),
            bool(bits & CONTROL),
            timestamp_type_of(2, bits & LOG_APPEND_TIME),
        )
        for leader_epoch, producer_id, producer_epoch, bits, records in rows.tolist()
    ]
