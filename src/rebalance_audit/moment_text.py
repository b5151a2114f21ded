"""Moments as people write them: ISO 8601, a Unix time, or relative to now."""

import re
import time
from datetime import UTC, datetime
from typing import Final, TypeAlias

from rebalance_audit.errors import BadRequest
from rebalance_audit.written_times import epoch_ms, time_in

MomentLike: TypeAlias = datetime | str | int
"""A `datetime` (UTC if it has no zone), a text as `parse_moment` takes it, or epoch seconds or milliseconds."""

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
    """Epoch milliseconds of a moment; None for None. Raises BadRequest for what is no moment."""
    if moment is None:
        return None
    if isinstance(moment, datetime):
        return round((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)
    if isinstance(moment, str):
        return parse_moment(moment, time.time_ns() // 1_000_000)
    return _known(epoch_ms(moment), moment)


def parse_moment(text: str, now_ms: int) -> int:
    """Epoch milliseconds of `text`. Raises BadRequest with the forms that are understood."""
    if ago := _AGO.fullmatch(text.strip()):
        return now_ms - int(ago[1]) * _UNIT_MS[ago[2]]
    return _known(time_in(text), text)


def _known(found_ms: int | None, given: str | int) -> int:
    if found_ms is None:
        raise BadRequest(
            f"{given!r} is not a time. Write 2026-11-21T03:12Z, 2026-11-21T04:12+01:00, "
            "1795230720 or 1795230720000 (Unix time in seconds or milliseconds) or -15m (15 minutes ago)."
        )
    return found_ms
