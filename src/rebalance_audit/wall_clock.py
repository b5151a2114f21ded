"""Converts wall-clock times of a broker's log to epoch milliseconds."""

from datetime import datetime, timedelta, tzinfo
from typing import Final

_TURNED_BACK: Final = timedelta(minutes=20)
"""Lines of several threads may be slightly out of order; the end of summer time goes back half an hour or more."""


class WallClock:
    """Reads the times of one file in order, to separate the two passes of the hour that repeats in autumn."""

    def __init__(self, zone: tzinfo) -> None:
        """`zone` applies to times without a time zone."""
        self._zone = zone
        self._last: datetime | None = None
        self._fold = 0

    def epoch_ms(self, wall: datetime, zone: tzinfo | None) -> int:
        """Epoch ms of a time in whole seconds without a zone of its own; `zone` is None if the line names none."""
        if zone is not None:
            return _ms(wall.replace(tzinfo=zone))
        last, self._last = self._last, wall
        if last is not None and last - wall > _TURNED_BACK:
            self._fold = 1
        seconds = wall.replace(tzinfo=self._zone, fold=self._fold)
        if self._fold and seconds.utcoffset() == seconds.replace(fold=0).utcoffset():
            self._fold = 0
        return _ms(seconds)


def _ms(moment: datetime) -> int:
    return round(moment.timestamp()) * 1000
