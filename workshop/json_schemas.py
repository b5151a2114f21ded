"""docs/json: JSON schemas of what `--json` prints and what webhooks get, from `schemas/tables`."""

import json
import sys
from pathlib import Path
from typing import Any, Final

from rebalance_audit.audit.rows import GOLD_OF_LOG
from rebalance_audit.resources import checkout_root
from workshop import generated_files
from workshop.json_shapes import (
    INTEGER,
    MOMENT,
    TEXT,
    VERSION,
    list_of,
    object_of,
    or_null,
    row_of,
)
from workshop.json_summaries import summaries

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_PARTITIONS: Final = {
    "type": "object",
    "description": "Topic, or its id where no name is known -> partitions",
    "additionalProperties": {"type": "array", "items": INTEGER},
}


def due() -> dict[Path, str]:
    """Path -> text of every schema."""
    folder = checkout_root() / "docs" / "json"
    return {
        folder / f"{name}.schema.json": json.dumps(
            {"$schema": _DIALECT, "title": title, **schema}, indent=2, ensure_ascii=False
        )
        + "\n"
        for name, (title, schema) in _documents().items()
    }


def _documents() -> dict[str, tuple[str, dict[str, Any]]]:
    tables = {name: list_of(row_of(f"gold.{name}")) for name in GOLD_OF_LOG}
    section = object_of({"title": TEXT, "sentences": list_of(TEXT)})
    explained = object_of(
        {"schema_version": VERSION, "heading": TEXT, "sections": list_of(section)},
        optional={
            "epoch": or_null(row_of("gold.epochs")),
            "rebalance": or_null(row_of("gold.rebalances")),
            "rebalances": tables["rebalances"],
            "causes": tables["rebalance_causes"],
            "convergence": tables["convergence"],
            "findings": tables["findings"],
            "broker_logs": list_of(_broker_log_file()),
            "deploys": list_of(row_of("gold.deploys")),
        },
    )
    error = object_of({"kind": TEXT, "exit_code": {"enum": [1, 2, 3, 4]}, "message": TEXT})
    notice = {
        "schema_version": VERSION,
        "sender": TEXT,
        "event": {"const": "finding"},
        "finding": row_of("gold.findings"),
    }
    return {
        "inspect": (
            "inspect --json; schema_version with --versioned",
            object_of(
                {},
                optional={
                    "schema_version": VERSION,
                    "broker_logs": list_of(_broker_log_file()),
                    **tables,
                    "deploys": list_of(row_of("gold.deploys")),
                },
            ),
        ),
        "watch": ("a line of watch --json", _watched()),
        "brief": ("inspect --json --brief", _brief()),
        "explain": ("explain --json", explained),
        "state": ("state", _state()),
        "error": (
            "stdout of a command with --json that failed",
            object_of({"schema_version": VERSION, "error": error}),
        ),
        "finding": ("what notify --format json sends", object_of(notice)),
        **summaries(),
    }


def _broker_log_file() -> dict[str, Any]:
    """One file given with --broker-log; counts are lines."""
    return object_of(
        {
            "file": TEXT,
            "lines": INTEGER,
            "coordinator_lines": INTEGER,
            "understood": INTEGER,
            "not_understood": INTEGER,
            "first_not_understood": or_null(TEXT),
            "without_time": INTEGER,
            "first_at": or_null(MOMENT),
            "last_at": or_null(MOMENT),
            "of_known_groups": or_null(INTEGER),
            "is_useless": {
                "type": "boolean",
                "description": "Whether nothing in the file can settle anything",
            },
            "sentence": TEXT,
        }
    )


def _watched() -> dict[str, Any]:
    """A rebalance, the lag of groups, or the last line."""
    rebalance = {
        "schema_version": VERSION,
        "event": {"const": "rebalance"},
        "times_reported": {
            **INTEGER,
            "description": "How often the rebalance was reported with other values before this line",
        },
        "may_change": {
            "type": "boolean",
            "description": "Whether a later record of the group may still show more of it",
        },
        "sentence": TEXT,
        "rebalance": row_of("gold.rebalances"),
        "causes": list_of(row_of("gold.rebalance_causes")),
    }
    end = {
        "schema_version": VERSION,
        "event": {"const": "end"},
        "rebalances": INTEGER,
        "going_on": INTEGER,
        "unread_since": {
            **or_null(MOMENT),
            "description": "Since when the log could not be read any more; null if it could to the end",
        },
    }
    number = or_null({"type": "number"})
    lag = {
        "partitions": {**INTEGER, "description": "Partitions whose end offset was sampled"},
        "lag_records": {**INTEGER, "description": "Offsets to the ends at the newest samples"},
        "lag_min_ms": INTEGER,
        "lag_max_ms": or_null(INTEGER),
        "committed_per_second": number,
        "records_lost": {**INTEGER, "description": "Deleted before they were committed, at least"},
        "last_commit_at": or_null(MOMENT),
        "sampled_at": or_null(MOMENT),
    }
    owner = object_of({"member": TEXT, "client_id": TEXT, **lag})
    lags = {
        "schema_version": VERSION,
        "event": {"const": "lag"},
        "groups": list_of(object_of({"group_id": TEXT, **lag, "owners": list_of(owner)})),
    }
    return {"oneOf": [object_of(rebalance), object_of(lags), object_of(end)]}


def _brief() -> dict[str, Any]:
    group = {
        "group_id": TEXT,
        "protocols": list_of(TEXT),
        "group_state": or_null(TEXT),
        "members": or_null(INTEGER),
        "epochs": INTEGER,
        "rebalances": INTEGER,
        "rebalancing_since": or_null(MOMENT),
        "not_stable_min_ms": INTEGER,
        "not_stable_max_ms": or_null(INTEGER),
        "not_stable_estimate_ms": INTEGER,
        "unowned_partition_min_ms": INTEGER,
        "unowned_partition_max_ms": or_null(INTEGER),
        "unowned_partition_estimate_ms": INTEGER,
        "commonest_cause": or_null(TEXT),
        "held_up_by": or_null(TEXT),
    }
    whole = row_of("gold.findings")["properties"]
    names = ("finding_id", "kind", "severity", "group_id", "from_at", "to_at", "detail")
    return object_of(
        {
            "schema_version": VERSION,
            "cluster": TEXT,
            "groups_in_all": INTEGER,
            "groups": list_of(object_of(group)),
            "findings_in_all": INTEGER,
            "findings": list_of(object_of({name: whole[name] for name in names})),
        }
    )


def _state() -> dict[str, Any]:
    member = {
        "member_id": TEXT,
        "instance_id": or_null(TEXT),
        "client_id": or_null(TEXT),
        "client_host": or_null(TEXT),
        "epoch": or_null(INTEGER),
        "assignment": or_null(_PARTITIONS),
        "target": or_null(_PARTITIONS),
    }
    offset = {
        "offset": INTEGER,
        "leader_epoch": or_null(INTEGER),
        "metadata": or_null(TEXT),
        "committed_at": or_null(MOMENT),
    }
    group = {
        "group_id": TEXT,
        "type": or_null(TEXT),
        "state": TEXT,
        "epoch": or_null(INTEGER),
        "assignment_epoch": or_null(INTEGER),
        "assignor": or_null(TEXT),
        "members": or_null(list_of(object_of(member, optional={"work": or_null(list_of(TEXT))}))),
        "offsets": {
            "type": "object",
            "description": "Topic -> partition -> what was committed last",
            "additionalProperties": {"type": "object", "additionalProperties": object_of(offset)},
        },
    }
    return object_of(
        {
            "schema_version": VERSION,
            "at": or_null(MOMENT),
            "groups": list_of(
                object_of(
                    group,
                    optional={
                        "protocol_type": TEXT,
                        "unknown_since": object_of(
                            {"partition": INTEGER, "offset": INTEGER, "at": or_null(MOMENT)}
                        ),
                    },
                )
            ),
        }
    )


if __name__ == "__main__":
    sys.exit(generated_files.main(due))
