"""Rows of silver.group_records and silver.quarantine."""

import orjson

from rebalance_audit.audit.rows import Row
from rebalance_audit.replay.changes import Position
from rebalance_audit.wire.json_shape import key_data, value_data
from rebalance_audit.wire.records import Record, Undecodable


def record_row(group_id: str, record: Record, position: Position, write_offset: int | None) -> Row:
    """The row of a decoded record, without its producer; `write_offset` is that of the first record of its write."""
    tombstone = record.value is None
    return {
        "partition": position.log_partition,
        "offset": position.log_offset,
        "timestamp": position.record_timestamp_ms,
        "leader_epoch": position.leader_epoch,
        "record_type": int(record.record_type),
        "record_name": record.record_type.name,
        "group_id": group_id,
        "member_id": getattr(record.key, "member_id", None),
        "value_version": record.value_version,
        "layout": record.layout,
        "tombstone": tombstone,
        "key_json": orjson.dumps(key_data(record)).decode(),
        "value_json": None if tombstone else orjson.dumps(value_data(record)).decode(),
        "write_id": f"{position.log_partition}:{write_offset}",
    }


def quarantine_row(
    found: Undecodable, position: Position, key: bytes | None, value: bytes | None
) -> Row:
    """The row of a record that could not be decoded."""
    return {
        "partition": position.log_partition,
        "offset": position.log_offset,
        "timestamp": position.record_timestamp_ms,
        "key": key,
        "value": value,
        "reason": found.reason.value,
        "detail": found.detail,
        "record_type": found.record_type,
        "value_version": found.value_version,
    }
