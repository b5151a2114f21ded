"""Converts wall-clock times of a broker's log to epoch milliseconds."""

from datetime import datetime, timedelta, tzinfo
from functools import lru_cache
from typing import Final

from rebalance_audit.time_zones import fixed_zone

_TURNED_BACK: Final = timedelta(minutes=20)
"""Lines of several threads may be slightly out of order; the end of summer time goes back half an hour or more."""


class WallClock:
    """Reads the times of one file in order, to tell apart the two passes of the hour that repeats in autumn."""

    def __init__(self, zone: tzinfo) -> None:
        """`zone` applies to times without a time zone."""
        self._zone = zone
        self._last: datetime | None = None
        self._fold = 0

    def epoch_ms(self, wall: str, fraction: str | None, zone: str | None) -> int | None:
        """Epoch ms of a time such as `2024-05-01 12:00:00` and its fraction digits; None if it is not a date."""
        moment = _moment(wall.replace("T", " "))
        if moment is None:
            return None
        millis = int((fraction or "0")[:3].ljust(3, "0"))
        if zone:
            given = fixed_zone(zone)
            return None if given is None else _ms(moment.replace(tzinfo=given)) + millis
        last, self._last = self._last, moment
        if last is not None and last - moment > _TURNED_BACK:
            self._fold = 1
        seconds = moment.replace(tzinfo=self._zone, fold=self._fold)
        if self._fold and seconds.utcoffset() == seconds.replace(fold=0).utcoffset():
            self._fold = 0
        return _ms(seconds) + millis


def _ms(moment: datetime) -> int:
    return round(moment.timestamp()) * 1000


@lru_cache(maxsize=1024)
def _moment(wall: str) -> datetime | None:
    try:
        return datetime.strptime(wall, "%Y-%m-%d %H:%M:%S")  # noqa: DTZ007 - the zone is the caller's
    except ValueError:
        return None
