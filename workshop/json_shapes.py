"""The parts that JSON schemas are made of."""

from typing import Any, Final

import pyarrow as pa

from rebalance_audit.tables.arrow_types import arrow_type
from rebalance_audit.tables.json_values import JSON_VERSION
from rebalance_audit.tables.schemas import table_schemas

TEXT: Final = {"type": "string"}
INTEGER: Final = {"type": "integer"}
NUMBER: Final = {"type": "number"}
BOOLEAN: Final = {"type": "boolean"}
VERSION: Final = {"const": JSON_VERSION}
MOMENT: Final = {
    "type": "string",
    "format": "date-time",
    "description": "ISO 8601 in UTC, milliseconds",
}


def row_of(table: str) -> dict[str, Any]:
    """A row with every column of the contract, and its meaning."""
    columns = {}
    for column in table_schemas()[table].columns:
        kind = _of_type(arrow_type(column.type))
        columns[column.name] = {
            **(or_null(kind) if column.nullable else kind),
            "description": column.meaning,
        }
    return object_of(columns)


def object_of(
    properties: dict[str, Any], *, optional: dict[str, Any] | None = None
) -> dict[str, Any]:
    """More keys may come, so that they are not forbidden."""
    return {
        "type": "object",
        "properties": {**properties, **(optional or {})},
        "required": list(properties),
    }


def list_of(items: dict[str, Any]) -> dict[str, Any]:
    """Any number of them."""
    return {"type": "array", "items": items}


def map_of(meaning: str, values: dict[str, Any]) -> dict[str, Any]:
    """An object whose keys are names, as `meaning` says."""
    return {"type": "object", "description": meaning, "additionalProperties": values}


def or_null(schema: dict[str, Any]) -> dict[str, Any]:
    """What may be unknown."""
    return {"anyOf": [schema, {"type": "null"}]}


def _of_type(kind: pa.DataType) -> dict[str, Any]:
    if pa.types.is_list(kind):
        element = _of_type(kind.value_type)
        # Columns that describe the same things in parallel have nulls for what is unknown.
        return list_of(element if pa.types.is_struct(kind.value_type) else or_null(element))
    if pa.types.is_struct(kind):
        return object_of({field.name: or_null(_of_type(field.type)) for field in kind})
    if pa.types.is_timestamp(kind):
        return dict(MOMENT)
    if pa.types.is_boolean(kind):
        return dict(BOOLEAN)
    if pa.types.is_floating(kind):
        return dict(NUMBER)
    return dict(INTEGER if pa.types.is_integer(kind) else TEXT)
