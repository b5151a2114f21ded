"""Values of rows as JSON has them."""

from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

JSON_VERSION: Final = 1
"""`schema_version` of what programs are told. Keys and columns may be added without another one."""


def json_value(value: Any) -> Any:
    """A value with moments at any depth as ISO 8601 text in UTC with milliseconds."""
    match value:
        case datetime():
            return value.isoformat(timespec="milliseconds").replace("+00:00", "Z")
        case dict():
            return {str(name): json_value(inner) for name, inner in value.items()}
        case list() | tuple():
            return [json_value(inner) for inner in value]
        case Decimal():
            return float(value)
        case None | bool() | int() | float() | str():
            return value
        case bytes():
            return value.hex()
        case date() | UUID():
            return str(value)
        case _:
            return str(value)
