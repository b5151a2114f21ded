"""JSON schemas of what `what-if --json` and `predict --json` print."""

from typing import Any

from workshop.json_shapes import (
    BOOLEAN,
    INTEGER,
    MOMENT,
    NUMBER,
    TEXT,
    VERSION,
    list_of,
    map_of,
    object_of,
    or_null,
)


def what_if() -> dict[str, Any]:
    """An answer, or the sentence about a group that cannot be asked."""
    common = {"schema_version": VERSION, "group_id": TEXT}
    answer = {
        "refused": _said(or_null(TEXT), "Why there is no advice; null where there is some"),
        "from": MOMENT,
        "to": MOMENT,
        "settings": object_of(_settings()),
        "seeds": _said(INTEGER, "Runs of each simulation"),
        "share_played": _said(NUMBER, "Of the window's starts and ends, which each run played"),
        "tolerance": _said(NUMBER, "How far the control may miss the log, as a share"),
        "facts": or_null(_facts()),
        "as_logged": _logged(),
        "control": object_of(_outcomes()),
        "predicted": list_of(_prediction()),
        "records_delayed_unknown": _said(
            or_null(TEXT), "Why records_delayed is null; null where it is known"
        ),
        "assumptions": list_of(TEXT),
    }
    nothing = {"type": "null"}
    refusal = {
        "refused": TEXT,
        "facts": nothing,
        "as_logged": nothing,
        "control": nothing,
        "predicted": {**list_of({}), "maxItems": 0},
        "assumptions": list_of(TEXT),
    }
    return {"oneOf": [object_of({**common, **answer}), object_of({**common, **refusal})]}


def predict() -> dict[str, Any]:
    """What `predict` wrote."""
    group = {
        "group_id": TEXT,
        "refused": or_null(TEXT),
        "best": _said(or_null(TEXT), "The change with the least partition time without owner"),
    }
    return {
        "lake": TEXT,
        "cluster": TEXT,
        "groups": list_of(object_of(group)),
        "rows": _said(INTEGER, "Rows of gold.what_if that the answers have"),
        "rows_changed": INTEGER,
    }


def _said(schema: dict[str, Any], what: str) -> dict[str, Any]:
    return {**schema, "description": what}


def _settings() -> dict[str, Any]:
    times = ("session_timeout_ms", "rebalance_timeout_ms", "heartbeat_interval_ms")
    return {
        "protocol": {"enum": ["classic", "consumer"]},
        "assignor": TEXT,
        "static": BOOLEAN,
        **dict.fromkeys(times, INTEGER),
        "members": _said(INTEGER, "Instances of the application"),
    }


def _facts() -> dict[str, Any]:
    texts = ("protocols", "assignors", "server_assignors", "regexes", "findings", "sentences")
    counts = ("instances", "static_instances", "subscriptions", "restarts")
    times = ("session_timeouts_ms", "rebalance_timeouts_ms")
    return object_of(
        {
            **dict.fromkeys(texts, list_of(TEXT)),
            **dict.fromkeys(counts, INTEGER),
            **dict.fromkeys(times, list_of(INTEGER)),
        }
    )


def _logged() -> dict[str, Any]:
    bounds = object_of({"low": INTEGER, "high": INTEGER})
    delayed = {"estimate": INTEGER, "low": or_null(INTEGER), "high": or_null(INTEGER)}
    return object_of(
        {
            "rebalances": INTEGER,
            "partitions_moved": INTEGER,
            "unowned_ms": _said(or_null(bounds), "Bounds; null where there is no upper one"),
            "records_delayed": or_null(object_of(delayed)),
        }
    )


def _outcomes() -> dict[str, Any]:
    spread = object_of(dict.fromkeys(("median", "low", "high"), INTEGER))
    names = ("rebalances", "partitions_moved", "unowned_ms", "longest_stop_ms")
    return {
        **dict.fromkeys(names, spread),
        "records_delayed": or_null(spread),
        "unowned_ms_by_reason": map_of("What began the time -> partition-milliseconds", INTEGER),
    }


def _prediction() -> dict[str, Any]:
    return object_of(
        {
            "label": TEXT,
            "settings": object_of(_settings(), optional={"deploy": TEXT}),
            **_outcomes(),
            "because": list_of(TEXT),
            "costs": list_of(TEXT),
        }
    )
