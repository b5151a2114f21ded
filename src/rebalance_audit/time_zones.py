"""Time zones by name, for logs whose lines name none."""

import re
from datetime import UTC, timedelta, timezone, tzinfo
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

_OFFSET: Final = re.compile(r"(?P<sign>[+-])(?P<hours>\d\d):?(?P<minutes>\d\d)")
_PREFIX: Final = re.compile(r"(?:UTC|GMT)(?=[+-])", re.IGNORECASE)


def zone_of(name: str) -> tzinfo:
    """The zone of a name (`UTC`, `Europe/Berlin`) or an offset (`+02:00`). Raises ValueError with a sentence."""
    if name.upper() in {"UTC", "GMT", "Z"}:
        return UTC
    offset = fixed_zone(_PREFIX.sub("", name))
    if offset is not None:
        return offset
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        message = f"{name!r} is not a time zone: give a name such as Europe/Berlin or an offset such as +02:00"
        raise ValueError(message) from error


def fixed_zone(text: str) -> tzinfo | None:
    """The zone of `Z`, `+02:00` or `+0200`; None for anything else."""
    if text == "Z":
        return UTC
    found = _OFFSET.fullmatch(text)
    if found is None:
        return None
    shift = timedelta(hours=int(found["hours"]), minutes=int(found["minutes"]))
    if shift >= timedelta(days=1):
        return None
    return timezone(-shift if found["sign"] == "-" else shift)
