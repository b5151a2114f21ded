"""Values of rows as JSON has them, and the JSON that programs are given."""

import json
import re
from datetime import date, datetime
from decimal import Decimal
from math import isfinite
from typing import Any, Final
from uuid import UUID

import orjson

JSON_VERSION: Final = 1
"""`schema_version` of JSON output. Keys and columns may be added without another one."""


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
        case float() if not isfinite(value):
            return None  # JSON has no such numbers
        case None | bool() | int() | float() | str():
            return value
        case bytes():
            return value.hex()
        case date() | UUID():
            return str(value)
        case _:
            return str(value)


_OBEYED: Final = re.compile(
    "[\x7f-\x9f\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    "\ufeff\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U0001343f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\ufe00-\ufe0f\U000e0000-\U000e007f\U000e0100-\U000e01ef]"
)
"""DEL, C1, format characters (bidi controls, zero-width ones, tags), variation selectors, line separators.

JSON allows them as they are.
"""


def json_bytes(value: object, option: int = 0) -> bytes:
    """JSON in UTF-8 by orjson with its options: the same values, but nothing in them that a terminal would obey.

    C0 is escaped in all JSON; DEL, C1, bidi controls and invisible characters are here, too, and lone surrogates.
    Raises TypeError for what JSON does not have.
    """
    try:
        text = orjson.dumps(value, option=option)
    except orjson.JSONEncodeError:
        text = _with_surrogates(value, option)
    if text.isascii() and b"\x7f" not in text:
        return text
    return _OBEYED.sub(_as_escape, text.decode()).encode()


def _as_escape(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def _with_surrogates(value: object, option: int) -> bytes:
    """As orjson would write it if it took lone surrogates, as paths of files and damaged texts may have."""
    indent = 2 if option & orjson.OPT_INDENT_2 else None
    separators = (",", ": " if indent else ":")
    text = json.dumps(value, ensure_ascii=False, indent=indent, separators=separators)
    end = "\n" if option & orjson.OPT_APPEND_NEWLINE else ""
    return (text + end).encode(errors="backslashreplace")
