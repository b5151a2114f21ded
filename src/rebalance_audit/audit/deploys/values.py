"""Values in exports of other tools: whatever is not of the expected type is missing."""

from collections.abc import Iterator, Mapping
from ipaddress import ip_address
from typing import Any

from rebalance_audit.written_times import time_of


class ItemError(ValueError):
    """An item of a known kind lacks something that is needed; the message is a clause."""


def needed_time(item: Mapping[str, Any], name: str) -> int:
    """Epoch milliseconds of a field. Raises ItemError."""
    found = time_of(item.get(name))
    if found is None:
        raise ItemError(f"{name} is {quote_value(item.get(name))}, not a time of 2000 to 2099")
    return found


def needed_text(value: object, what: str, at_most: int) -> str:
    """A text that must be there. Raises ItemError."""
    found = text(value, at_most)
    if found is None:
        raise ItemError(f"{what} is {quote_value(value)}, not a text of 1 to {at_most} characters")
    return found


def quote_value(value: object) -> str:
    """A value in an error, its beginning."""
    return "missing" if value is None else repr(value)[:60]


def mapping(value: object) -> Mapping[str, Any]:
    """The object, empty if it is none."""
    return value if isinstance(value, Mapping) else {}


def items(value: object) -> Iterator[Mapping[str, Any]]:
    """The objects of a list."""
    if isinstance(value, list):
        yield from (each for each in value if isinstance(each, Mapping))


def text(value: object, at_most: int) -> str | None:
    """The text, None if it is none, empty, or longer."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        value = str(value) if abs(value) < 1 << 63 else ""
    if not isinstance(value, str):
        return None
    value = value.strip()
    return value if 0 < len(value) <= at_most else None


def cut(value: object, at_most: int) -> str | None:
    """The text, its beginning if it is longer."""
    return text(value[: at_most + 1][:at_most] if isinstance(value, str) else value, at_most)


def address(value: object) -> str | None:
    """An IP address in its canonical form, also as a broker writes it (`/10.1.2.3`, `/[::1]`); None if it is none."""
    if not isinstance(value, str) or len(value) > 64:
        return None
    written = value.rpartition("/")[2].partition("%")[0].strip("[]")
    try:
        return str(ip_address(written))
    except ValueError:
        return None
