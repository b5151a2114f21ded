"""docs/json: JSON schemas of what `--json` prints and what webhooks get, from `schemas/tables`."""

import json
import sys
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from rebalance_audit.audit.rows import GOLD_OF_LOG
from rebalance_audit.resources import checkout_root
from rebalance_audit.tables.arrow_types import arrow_type
from rebalance_audit.tables.json_values import JSON_VERSION
from rebalance_audit.tables.schemas import table_schemas
from tools import generated_files

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_TEXT: Final = {"type": "string"}
_INTEGER: Final = {"type": "integer"}
_NULL: Final = {"type": "null"}
_VERSION: Final = {"const": JSON_VERSION}
_MOMENT: Final = {
    "type": "string",
    "format": "date-time",
    "description": "ISO 8601 in UTC, milliseconds",
}
_PARTITIONS: Final = {
    "type": "object",
    "description": "Topic, or its id where no name is known -> partitions",
    "additionalProperties": {"type": "array", "items": _INTEGER},
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
    tables = {name: _list(_row(f"gold.{name}")) for name in GOLD_OF_LOG}
    section = _object({"title": _TEXT, "sentences": _list(_TEXT)})
    explained = _object(
        {"schema_version": _VERSION, "heading": _TEXT, "sections": _list(section)},
        optional={
            "epoch": _or_null(_row("gold.epochs")),
            "rebalance": _or_null(_row("gold.rebalances")),
            "rebalances": tables["rebalances"],
            "causes": tables["rebalance_causes"],
            "convergence": tables["convergence"],
            "findings": tables["findings"],
        },
    )
    error = _object({"kind": _TEXT, "exit_code": {"enum": [1, 2, 3, 4]}, "message": _TEXT})
    notice = {
        "schema_version": _VERSION,
        "sender": _TEXT,
        "event": {"const": "finding"},
        "finding": _row("gold.findings"),
    }
    return {
        "inspect": ("inspect --json", _object({}, optional=tables)),
        "watch": ("a line of watch --json", _watched()),
        "brief": ("inspect --json --brief", _brief()),
        "explain": ("explain --json", explained),
        "state": ("state", _state()),
        "error": (
            "stdout of a command with --json that failed",
            _object({"schema_version": _VERSION, "error": error}),
        ),
        "finding": ("what notify --format json sends", _object(notice)),
    }


def _watched() -> dict[str, Any]:
    """A rebalance, or the last line."""
    rebalance = {
        "schema_version": _VERSION,
        "event": {"const": "rebalance"},
        "times_told": {
            **_INTEGER,
            "description": "How often the rebalance was told of with other values before this line",
        },
        "may_change": {
            "type": "boolean",
            "description": "Whether a later record of the group may still show more of it",
        },
        "sentence": _TEXT,
        "rebalance": _row("gold.rebalances"),
        "causes": _list(_row("gold.rebalance_causes")),
    }
    end = {
        "schema_version": _VERSION,
        "event": {"const": "end"},
        "rebalances": _INTEGER,
        "going_on": _INTEGER,
    }
    return {"oneOf": [_object(rebalance), _object(end)]}


def _brief() -> dict[str, Any]:
    group = {
        "group_id": _TEXT,
        "protocols": _list(_TEXT),
        "group_state": _or_null(_TEXT),
        "members": _or_null(_INTEGER),
        "epochs": _INTEGER,
        "rebalances": _INTEGER,
        "rebalancing_since": _or_null(_MOMENT),
        "not_stable_min_ms": _INTEGER,
        "not_stable_max_ms": _or_null(_INTEGER),
        "not_stable_estimate_ms": _INTEGER,
        "unowned_partition_min_ms": _INTEGER,
        "unowned_partition_max_ms": _or_null(_INTEGER),
        "unowned_partition_estimate_ms": _INTEGER,
        "commonest_cause": _or_null(_TEXT),
        "most_often_last": _or_null(_TEXT),
    }
    whole = _row("gold.findings")["properties"]
    names = ("finding_id", "kind", "severity", "group_id", "from_at", "to_at", "detail")
    return _object(
        {
            "schema_version": _VERSION,
            "cluster": _TEXT,
            "groups_in_all": _INTEGER,
            "groups": _list(_object(group)),
            "findings_in_all": _INTEGER,
            "findings": _list(_object({name: whole[name] for name in names})),
        }
    )


def _state() -> dict[str, Any]:
    member = {
        "member_id": _TEXT,
        "instance_id": _or_null(_TEXT),
        "client_id": _or_null(_TEXT),
        "client_host": _or_null(_TEXT),
        "epoch": _or_null(_INTEGER),
        "assignment": _PARTITIONS,
        "target": _or_null(_PARTITIONS),
    }
    offset = {
        "offset": _INTEGER,
        "leader_epoch": _or_null(_INTEGER),
        "metadata": _or_null(_TEXT),
        "committed_at": _or_null(_MOMENT),
    }
    group = {
        "group_id": _TEXT,
        "type": _or_null(_TEXT),
        "state": _TEXT,
        "epoch": _or_null(_INTEGER),
        "assignment_epoch": _or_null(_INTEGER),
        "assignor": _or_null(_TEXT),
        "members": _list(_object(member)),
        "offsets": {
            "type": "object",
            "description": "Topic -> partition -> what was committed last",
            "additionalProperties": {"type": "object", "additionalProperties": _object(offset)},
        },
    }
    return _object(
        {"schema_version": _VERSION, "at": _or_null(_MOMENT), "groups": _list(_object(group))}
    )


def _row(table: str) -> dict[str, Any]:
    """A row with every column of the contract, and its meaning."""
    columns = {}
    for column in table_schemas()[table].columns:
        kind = _of_type(arrow_type(column.type))
        columns[column.name] = {
            **(_or_null(kind) if column.nullable else kind),
            "description": column.meaning,
        }
    return _object(columns)


def _of_type(kind: pa.DataType) -> dict[str, Any]:
    if pa.types.is_list(kind):
        return _list(_of_type(kind.value_type))
    if pa.types.is_struct(kind):
        return _object({field.name: _or_null(_of_type(field.type)) for field in kind})
    if pa.types.is_timestamp(kind):
        return dict(_MOMENT)
    if pa.types.is_boolean(kind):
        return {"type": "boolean"}
    return dict(_INTEGER if pa.types.is_integer(kind) else _TEXT)


def _object(
    properties: dict[str, Any], *, optional: dict[str, Any] | None = None
) -> dict[str, Any]:
    """More keys may come, so that they are not forbidden."""
    return {
        "type": "object",
        "properties": {**properties, **(optional or {})},
        "required": list(properties),
    }


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [schema, _NULL]}


if __name__ == "__main__":
    sys.exit(generated_files.main(due))
