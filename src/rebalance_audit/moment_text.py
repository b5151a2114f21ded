"""Moments as people write them: ISO 8601, epoch milliseconds, or relative to now."""

import re
import time
from datetime import UTC, datetime
from typing import Final, TypeAlias

from rebalance_audit.errors import BadRequest

MomentLike: TypeAlias = datetime | str | int
"""A `datetime` (UTC if it has no zone), a text as `parse_moment` takes it, or epoch milliseconds."""

_EPOCH_MS: Final = re.compile(r"\d{10,}")
_AGO: Final = re.compile(r"-(\d+)(ms|s|m|h|d|w)")
_UNIT_MS: Final = {
    "ms": 1,
    "s": 1000,
    "m": 60_000,
    "h": 3_600_000,
    "d": 86_400_000,
    "w": 604_800_000,
}


def moment_ms(moment: MomentLike | None) -> int | None:
    """Epoch milliseconds of a moment; None for None. Raises BadRequest for text that it cannot read."""
    if moment is None or isinstance(moment, int):
        return moment
    if isinstance(moment, str):
        return parse_moment(moment, time.time_ns() // 1_000_000)
    return _epoch_ms(moment)


def parse_moment(text: str, now_ms: int) -> int:
    """Epoch milliseconds of `text`. Raises BadRequest with the forms that are understood."""
    text = text.strip()
    if ago := _AGO.fullmatch(text):
        return now_ms - int(ago[1]) * _UNIT_MS[ago[2]]
    if _EPOCH_MS.fullmatch(text):
        return int(text)
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise BadRequest(
            f"{text!r} is not a time. Write 2026-11-21T03:12Z, 2026-11-21T04:12+01:00, "
            "1795230720000 (epoch milliseconds) or -15m (15 minutes ago)."
        ) from None
    return _epoch_ms(moment)


def _epoch_ms(moment: datetime) -> int:
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return round(moment.timestamp() * 1000)
