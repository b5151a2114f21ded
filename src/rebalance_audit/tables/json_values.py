"""Values of rows as JSON has them, and the JSON that programs are given."""

import json
import re
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

import orjson

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


_OBEYED: Final = re.compile(
    rb"\x7f"  # DEL
    rb"|\xc2[\x80-\x9f\xad]"  # C1; soft hyphen
    rb"|\xd8\x9c"  # Arabic letter mark
    rb"|\xe1\xa0\x8e"  # Mongolian vowel separator
    rb"|\xe2\x80[\x8b-\x8f\xa8-\xae]"  # U+200B to U+200F, U+2028 to U+202E
    rb"|\xe2\x81[\xa0-\xaf]"  # U+2060 to U+206F
    rb"|\xef\xbb\xbf"  # byte order mark
    rb"|\xef\xbf[\xb9-\xbb]"  # interlinear annotations
    rb"|\xf3\xa0[\x80\x81][\x80-\xbf]"  # tags
)
"""UTF-8 of what a terminal obeys or nobody sees, and JSON allows as it is; in JSON it can stand in strings alone."""


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
    return _OBEYED.sub(_as_escape, text)


def _as_escape(found: re.Match[bytes]) -> bytes:
    units = found[0].decode().encode("utf-16-be").hex()
    return b"".join(b"\\u" + units[at : at + 4].encode() for at in range(0, len(units), 4))


def _with_surrogates(value: object, option: int) -> bytes:
    """As orjson would write it if it took lone surrogates, as paths of files and damaged texts may have."""
    indent = 2 if option & orjson.OPT_INDENT_2 else None
    separators = (",", ": " if indent else ":")
    text = json.dumps(value, ensure_ascii=False, indent=indent, separators=separators)
    end = "\n" if option & orjson.OPT_APPEND_NEWLINE else ""
    return (text + end).encode(errors="backslashreplace")
