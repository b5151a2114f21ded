"""JSON schema of what `verify --json` prints."""

from typing import Any

from workshop.json_shapes import BOOLEAN, INTEGER, TEXT, list_of, map_of, object_of, or_null


def verify() -> dict[str, Any]:
    """What the coordinator of a release does with each partition."""
    return {
        "release": TEXT,
        "coordinator": {"enum": ["classic", "new"]},
        "outcome": {"enum": ["loads", "fails", "unknown"]},
        "partitions": list_of(object_of(_partition())),
    }


def _partition() -> dict[str, Any]:
    notice = {
        "rule": TEXT,
        "offset": INTEGER,
        "record_type": or_null(INTEGER),
        "group_id": or_null(TEXT),
        "detail": TEXT,
        "source": TEXT,
    }
    offsets = map_of(
        "Topic -> partition -> the last committed offset", map_of("Partition", INTEGER)
    )
    group = {"group_id": TEXT, "type": TEXT, "members": INTEGER, "offsets": offsets}
    transaction = {
        "producer_id": INTEGER,
        "producer_epoch": or_null(INTEGER),
        "first_offset": INTEGER,
        "started_ms": INTEGER,
        "group_ids": list_of(TEXT),
        "commit_count": INTEGER,
    }
    damage = {
        "path": TEXT,
        "byte_position": INTEGER,
        "size_bytes": INTEGER,
        "base_offset": or_null(INTEGER),
        "reason": TEXT,
        "detail": TEXT,
    }
    return {
        "partition": INTEGER,
        "outcome": {"enum": ["loads", "fails", "unknown"]},
        "failure": or_null(object_of(notice)),
        "serves_nothing": BOOLEAN,
        "records": INTEGER,
        "skipped": INTEGER,
        "first_skipped": list_of(object_of(notice)),
        "tolerated": INTEGER,
        "first_tolerated": list_of(object_of(notice)),
        "lost_groups": list_of(object_of(group)),
        "open_transactions": list_of(object_of(transaction)),
        "damage": list_of(object_of(damage)),
    }
