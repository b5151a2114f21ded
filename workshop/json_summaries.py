"""JSON schemas of the summaries that `--json` and `--summary` give, and of a line of `decode`."""

from typing import Any, Final

from workshop.json_answers import predict, what_if
from workshop.json_shapes import (
    BOOLEAN,
    INTEGER,
    MOMENT,
    TEXT,
    VERSION,
    list_of,
    map_of,
    object_of,
    or_null,
)
from workshop.json_verify import verify

_COUNTS: Final = map_of("Full name of a table or view -> rows", INTEGER)
_DELTA_VERSIONS: Final = map_of("Full name of a table -> its Delta version", or_null(INTEGER))
_NUMBER: Final = {"type": "number"}


def summaries() -> dict[str, tuple[str, dict[str, Any]]]:
    """Name of the file -> title and schema."""
    made = {
        "demo": {
            "log": TEXT,
            "report": TEXT,
            "page": TEXT,
            "run": or_null(object_of(_run())),
        },
        "metrics": _metrics(),
        "run": _run(),
        "ingest": _ingest(),
        "maintain": _maintain(),
        "check": _check(),
        "predict": predict(),
        "verify": verify(),
        "anonymise": _anonymise(),
        "recover": _recover(),
        "jars": {"folder": TEXT, "jars": list_of(TEXT)},
    }
    counts = ("seed", "records", "partitions", "groups", "epochs", "simulated_seconds", "events")
    made["simulate"] = {"out": TEXT, **dict.fromkeys(counts, INTEGER)}
    summaries: dict[str, tuple[str, dict[str, Any]]] = {
        name: (f"{name} --json", object_of({"schema_version": VERSION, **keys}))
        for name, keys in made.items()
    }
    picture = object_of({"schema_version": VERSION, "group": TEXT, "out": TEXT})
    summaries["report"] = (
        "report --json; with --png the second form",
        {"oneOf": [object_of({"schema_version": VERSION, **_report()}), picture]},
    )
    summaries["export"] = ("export --json; with --perfetto the second form", _export())
    summaries["notify"] = ("notify --json; with --dry-run the second form", _notify())
    summaries["what-if"] = ("what-if --json", what_if())
    summaries["decode"] = ("a line of decode", _decode())
    return summaries


def _anonymise() -> dict[str, Any]:
    return {
        "out": TEXT,
        **dict.fromkeys(("records", "segments", "broker_log_lines", "offsets_partitions"), INTEGER),
        "offsets_partitions_known": BOOLEAN,
        "times_shifted": BOOLEAN,
        "replaced": map_of("Kind of names -> how many were replaced", INTEGER),
        "left_out": map_of("What was not copied -> how much of it", INTEGER),
        "still_visible": list_of(TEXT),
        "may_differ": map_of("Part of an audit -> why it may differ", TEXT),
    }


def _recover() -> dict[str, Any]:
    counts = dict.fromkeys(("groups", "certain", "uncertain", "left_out"), INTEGER)
    return {
        "out": or_null(TEXT),
        "release": TEXT,
        "partitions": list_of(INTEGER),
        **counts,
        "files": list_of(TEXT),
    }


def _export() -> dict[str, Any]:
    tables = {
        "schema_version": VERSION,
        "format": {"enum": ["csv", "duckdb", "parquet", "sqlite"]},
        "out": TEXT,
        "rows": _COUNTS,
    }
    counts = object_of(dict.fromkeys(("groups", "tracks", "events", "flows"), INTEGER))
    trace = {
        "schema_version": VERSION,
        "format": {"const": "perfetto"},
        "out": TEXT,
        "trace": counts,
    }
    return {"oneOf": [object_of(tables), object_of(trace)]}


def _metrics() -> dict[str, Any]:
    series = object_of({"labels": map_of("Label -> value", TEXT), "value": _NUMBER})
    return {
        "metrics": list_of(object_of({"name": TEXT, "meaning": TEXT, "series": list_of(series)}))
    }


def _run() -> dict[str, Any]:
    kinds = ("read", "decoded", "quarantined", "control", "passed_over")
    return {
        "run_id": TEXT,
        "source": TEXT,
        "lake": TEXT,
        "cluster": TEXT,
        "groups": INTEGER,
        "groups_resumed": INTEGER,
        "records": object_of(dict.fromkeys(kinds, INTEGER)),
        "damaged_stretches": INTEGER,
        "notes": list_of(TEXT),
        "rows_changed": _COUNTS,
        "table_versions": _DELTA_VERSIONS,
        "seconds": map_of("Step -> how long it took, seconds", _NUMBER),
    }


def _ingest() -> dict[str, Any]:
    return {
        "run_id": TEXT,
        "source": TEXT,
        "lake": TEXT,
        "cluster": TEXT,
        "records": object_of(dict.fromkeys(("new", "known", "differing"), INTEGER)),
        "damaged_stretches": INTEGER,
        "lost_stretches": INTEGER,
        "quarantine_rows": INTEGER,
        "late_from": map_of(
            "Partition -> first offset that lies in front of what was there", INTEGER
        ),
        "open_transactions_from": map_of(
            "Partition -> first offset of an open transaction", INTEGER
        ),
        "added_partitions": list_of(INTEGER),
        "table_versions": _DELTA_VERSIONS,
    }


def _maintain() -> dict[str, Any]:
    counts = (
        "rows_deleted",
        "files_before",
        "bytes_before",
        "files_added",
        "files_removed",
        "files_vacuumed",
        "vacuum_hours",
    )
    care = object_of({**dict.fromkeys(counts, INTEGER), "older_than": or_null(MOMENT)})
    return {
        "run_id": TEXT,
        "lake": TEXT,
        "dry_run": BOOLEAN,
        "tables": map_of("Full name of a table -> what was done to it, or would be", care),
        "notes": list_of(TEXT),
        "views": list_of(TEXT),
        "views_refused": or_null(TEXT),
        "table_versions": _DELTA_VERSIONS,
    }


def _check() -> dict[str, Any]:
    broken = {
        "expectation": TEXT,
        "table": TEXT,
        "kind": TEXT,
        "severity": TEXT,
        "rows_checked": or_null(INTEGER),
        "unexpected_count": or_null(INTEGER),
        "sample_keys": list_of(TEXT),
        "detail": or_null(TEXT),
        "table_version": or_null(INTEGER),
    }
    return {
        "check_id": TEXT,
        "lake": TEXT,
        "success": BOOLEAN,
        "expectations": object_of(dict.fromkeys(("held", "broken", "passed_over"), INTEGER)),
        "broken": list_of(object_of(broken)),
        "passed_over": list_of(object_of({"expectation": TEXT, "why": or_null(TEXT)})),
        "table_versions": _DELTA_VERSIONS,
    }


def _report() -> dict[str, Any]:
    bounds = {
        f"{stem}{end}": or_null(INTEGER)
        for stem in ("not_stable", "unowned_partition")
        for end in ("_ms", "_min_ms", "_max_ms", "_estimate_ms")
    }
    return {
        "source": TEXT,
        "cluster": or_null(TEXT),
        "from": or_null(MOMENT),
        "to": or_null(MOMENT),
        "out": TEXT,
        **dict.fromkeys(("bytes", "groups", "epochs", "rebalances", "findings"), INTEGER),
        **bounds,
        "groups_in_detail": list_of(TEXT),
    }


def _notify() -> dict[str, Any]:
    refused = object_of({"finding_id": TEXT, "why": TEXT})
    sent = {
        "schema_version": VERSION,
        "dry_run": {"const": False},
        "sent": list_of(TEXT),
        "refused": list_of(refused),
        "left": INTEGER,
    }
    bodies = list_of(
        {"type": "object", "description": "As --format says; json: finding.schema.json"}
    )
    ahead = {"schema_version": VERSION, "dry_run": {"const": True}, "bodies": bodies}
    return {"oneOf": [object_of(sent), object_of(ahead)]}


def _decode() -> dict[str, Any]:
    value = object_of({"version": INTEGER, "data": {"type": "object"}})
    key = object_of({"type": INTEGER}, optional={"data": {"type": "object"}})
    as_bytes = {**TEXT, "description": "base64 of what could not be decoded"}
    damage = {"file": TEXT, "position": INTEGER, "size": INTEGER, "raw": or_null(as_bytes)}
    return object_of(
        {"partition": INTEGER, "offset": INTEGER},
        optional={
            "timestamp": INTEGER,
            "leaderEpoch": INTEGER,
            "key": {"anyOf": [key, as_bytes, {"type": "null"}]},
            "value": {"anyOf": [value, as_bytes, {"type": "null"}]},
            "control": object_of({"type": {"enum": ["COMMIT", "ABORT", "UNKNOWN"]}}),
            "error": TEXT,
            **damage,
        },
    )
