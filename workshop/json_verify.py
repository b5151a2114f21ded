"""JSON schema of what `verify --json` prints."""

from typing import Any

from workshop.json_shapes import (
    BOOLEAN,
    INTEGER,
    MOMENT,
    TEXT,
    list_of,
    map_of,
    object_of,
    or_null,
)

_OUTCOME = {"enum": ["loads", "fails", "unknown"]}


def verify() -> dict[str, Any]:
    """What the coordinator of a release does with each partition."""
    return {
        "release": TEXT,
        "coordinator": {"enum": ["classic", "new"]},
        "tested_on_brokers": _said(
            BOOLEAN, "Whether brokers of the release did what the rules say"
        ),
        "outcome": _said(_OUTCOME, "The worst of all partitions"),
        "loses": _said(BOOLEAN, "Whether a coordinator would lack anything that the log holds"),
        "unknown": _said(list_of(TEXT), "What the source cannot show"),
        "partitions": list_of(object_of(_partition())),
    }


def _partition() -> dict[str, Any]:
    transaction = {
        "producer_id": INTEGER,
        "producer_epoch": or_null(INTEGER),
        "first_offset": INTEGER,
        "started_at": or_null(MOMENT),
        "group_ids": list_of(TEXT),
        "commits": INTEGER,
    }
    damage = {
        "path": TEXT,
        "byte_position": INTEGER,
        "size_bytes": INTEGER,
        "base_offset": or_null(INTEGER),
        "reason": TEXT,
        "detail": TEXT,
    }
    crash = {
        "outcome": _OUTCOME,
        "failure": or_null(_notice()),
        "cut_bytes": _said(INTEGER, "What recovery cuts from the log"),
    }
    return {
        "partition": INTEGER,
        "outcome": _OUTCOME,
        "failure": or_null(_notice()),
        "serves_nothing": _said(
            BOOLEAN, "A classic coordinator that fails: it serves the partition without its groups"
        ),
        "skipped": _said(INTEGER, "Records that are skipped"),
        "first_skipped": list_of(_notice()),
        "tolerated": _said(INTEGER, "Records that are applied although that loses something"),
        "first_tolerated": list_of(_notice()),
        "lost_groups": list_of(_group()),
        "groups": _said(list_of(_group()), "All groups, with --partition"),
        "open_transactions": list_of(object_of(transaction)),
        "damage": list_of(object_of(damage)),
        "hidden_bytes": _said(INTEGER, "Bytes at the ends of segments that are never read"),
        "after_crash": or_null(object_of(crash)),
        "shape": or_null(object_of(_shape())),
    }


def _notice() -> dict[str, Any]:
    return object_of(
        {
            "rule": TEXT,
            "offset": or_null(INTEGER),
            "record_type": or_null(INTEGER),
            "group_id": or_null(TEXT),
            "detail": TEXT,
            "sentence": TEXT,
            "loses": or_null(TEXT),
            "source": _said(TEXT, "Class and method in Kafka"),
        }
    )


def _group() -> dict[str, Any]:
    offsets = map_of(
        "Topic -> partition -> the last committed offset", map_of("Partition", INTEGER)
    )
    return object_of({"group_id": TEXT, "type": TEXT, "members": INTEGER, "offsets": offsets})


def _shape() -> dict[str, Any]:
    growth = {
        "group_id": TEXT,
        "records": INTEGER,
        "bytes": INTEGER,
        "first_at": or_null(MOMENT),
        "last_at": or_null(MOMENT),
    }
    return {
        "records": INTEGER,
        "bytes": _said(INTEGER, "Of keys and values"),
        "first_at": or_null(MOMENT),
        "last_at": or_null(MOMENT),
        "records_by_type": map_of("Record type -> records", INTEGER),
        "keys": _said(or_null(INTEGER), "Null, as the next three, if there are too many to count"),
        "dead_keys": _said(or_null(INTEGER), "Keys whose last record is a tombstone"),
        "superseded": _said(or_null(INTEGER), "Records with a later one of the same key"),
        "superseded_bytes": or_null(INTEGER),
        "cleanable": _said(or_null(INTEGER), "Of these, outside the last segment; null if unknown"),
        "groups": INTEGER,
        "largest_groups": list_of(object_of(growth)),
        "load_ms_least": INTEGER,
        "load_ms_most": INTEGER,
    }


def _said(schema: dict[str, Any], what: str) -> dict[str, Any]:
    return {**schema, "description": what}
