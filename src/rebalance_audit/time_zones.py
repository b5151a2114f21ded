"""Time zones by name, for logs that bear none."""

import re
from datetime import UTC, tzinfo
from typing import Final
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from rebalance_audit.audit.broker_log.wall_clock import offset_of

_PREFIX: Final = re.compile(r"(?:UTC|GMT)(?=[+-])", re.IGNORECASE)


def zone_of(name: str) -> tzinfo:
    """The zone of a name (`UTC`, `Europe/Berlin`) or an offset (`+02:00`). Raises ValueError with a sentence."""
    if name.upper() in {"UTC", "GMT", "Z"}:
        return UTC
    offset = offset_of(_PREFIX.sub("", name))
    if offset is not None:
        return offset
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        message = f"{name!r} is no time zone: give a name as Europe/Berlin, or an offset as +02:00"
        raise ValueError(message) from error
