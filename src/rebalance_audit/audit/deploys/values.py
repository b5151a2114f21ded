"""Values in exports of other tools: whatever is not of the expected type is missing."""

from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from ipaddress import ip_address
from typing import Any, Final

_FIRST_MS: Final = 946_684_800_000
"""The year 2000."""
_LAST_MS: Final = 4_102_444_800_000
"""The year 2100."""
_ZONE_NAMES: Final = (" UTC", " GMT")


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


def time_ms(value: object) -> int | None:
    """Epoch milliseconds of a time as RFC 3339, Helm and Go write it; None if it is none, or outside 2000 to 2100."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        return None
    if isinstance(value, int):
        return value if _FIRST_MS <= value < _LAST_MS else None
    if len(value) > 64:
        return None
    written = value.strip()
    if written.isascii() and written.isdigit():
        return time_ms(int(written))
    for name in _ZONE_NAMES:  # Go's format: 2026-11-21 09:14:05.123456789 +0000 UTC
        written = written.removesuffix(name)
    date, _, rest = written.partition(" ")
    if rest and "T" not in date:
        written = f"{date}T{rest.replace(' ', '')}"
    try:
        moment = datetime.fromisoformat(written)
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        found = round(moment.timestamp() * 1000)
    except (ValueError, OverflowError):
        return None
    return found if _FIRST_MS <= found < _LAST_MS else None


def address(value: object) -> str | None:
    """An IP address in its canonical form, also as a broker writes it (`/10.1.2.3`, `/[::1]`); None if it is none."""
    if not isinstance(value, str) or len(value) > 64:
        return None
    written = value.rpartition("/")[2].partition("%")[0].strip("[]")
    try:
        return str(ip_address(written))
    except ValueError:
        return None
