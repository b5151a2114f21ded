"""Reads times: of an event in the text around it, and of a field or an option that is one, in every common form.

What a form leaves open is assumed and reported: a missing time zone, a missing year, the order of day and month.
"""

import math
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final, NamedTuple

from rebalance_audit.time_zones import fixed_zone

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


_MONTHS: Final = {
    name: number
    for number, name in enumerate(
        ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), 1
    )
}
_MONTH: Final = rf"(?P<month>{'|'.join(_MONTHS)})[a-z]{{0,6}}\.?"
_CLOCK: Final = (
    r"(?P<hour>\d{1,2}):(?P<minute>\d\d):(?P<second>\d\d)(?:[.,:](?P<fraction>\d{1,9}))?"
    r"(?: ?(?P<half>[ap])\.?m\.?(?![a-z]))?"
)
_ZONE: Final = r"(?: ?(?P<zone>Z|UTC|GMT|[+-]\d\d:?\d\d)(?![\w:]))?"
_ZONE_AT_END: Final = re.compile(
    r"(?<=\d) ?(?:(?:UTC|GMT)?(?P<offset>[+-]\d\d(?::?\d\d){0,2})|(?P<utc>Z|UTC|GMT))"
    # What follows an offset is its name: Go writes `+0100 CET`, `-0300 -03` and `+0530 +0530`, also with a clock
    # reading, Java `Z[UTC]`, JavaScript `GMT+0100 (Central European Standard Time)`.
    r"(?: (?:[A-Za-z]{1,8}|[+-]\d{2,6}))?(?: ?\([^()]{1,64}\)|\[[\w/+:-]{1,64}\])?(?: m=[+-][\d.]{1,32})?",
    re.IGNORECASE | re.ASCII,
)
_BETWEEN: Final = r"(?:[T_:]|,? {1,2}(?:@ |at )?)"


class Assumption(StrEnum):
    """What a time left open; the value is a clause about the lines of a file."""

    ZONE = "times without a zone are read as"
    YEAR = "dates without a year are read as the nearest to the records"
    MONTH_FIRST = "dates such as 08/13/2026 are read as month/day/year"
    YEAR_FIRST = "dates such as 26/08/13 are read as year/month/day"


class NoTime(StrEnum):
    """Why an event has no usable time; the value is a clause about the lines of a file."""

    NOTHING = "hold no time"
    CLOCK_ONLY = "hold a time of day and no date"
    NO_YEAR = "hold a date without a year"


class LineTime(NamedTuple):
    """A time that was found, or why there is none."""

    at_ms: int | None
    assumed: tuple[Assumption, ...] = ()
    missing: NoTime = NoTime.NOTHING


NO_MOMENT: Final = LineTime(None)

_FORMS: Final = tuple(
    re.compile(rf"(?<![\w.]){form}", re.IGNORECASE | re.ASCII)
    for form in (
        # 2026-08-13T13:30:05.000Z, 2026/08/13 13:30:05,000, 2026.08.13 13:30:05 UTC
        rf"(?P<year>\d{{4}})(?P<dash>[-/.])(?P<number>\d\d)(?P=dash)(?P<day>\d\d){_BETWEEN}{_CLOCK}{_ZONE}",
        # 13 Aug 2026 13:30:05,000, 13/Aug/2026:13:30:05 +0000, 13-Aug-2026 13:30:05
        rf"(?P<day>\d{{1,2}})[ /.-]{_MONTH}[ /.,-]{{1,2}}(?P<year>\d{{4}}){_BETWEEN}{_CLOCK}{_ZONE}",
        # Aug 13, 2026 @ 13:30:05.000, August 13, 2026 1:30:05 PM
        rf"{_MONTH} {{1,2}}(?P<day>\d{{1,2}}),? (?P<year>\d{{4}}){_BETWEEN}{_CLOCK}{_ZONE}",
        # Thu Aug 13 13:30:05 UTC 2026, Thu Aug 13 13:30:05.000 2026
        rf"{_MONTH} {{1,2}}(?P<day>\d{{1,2}}) {_CLOCK}{_ZONE} (?P<year>\d{{4}})(?!\d)",
        # 08/13/2026 13:30:05, 13.08.2026 13:30:05, 26/08/13 13:30:05
        rf"(?P<first>\d\d?)(?P<dash>[-/.])(?P<number>\d\d?)(?P=dash)(?P<last>\d{{4}}|\d\d){_BETWEEN}{_CLOCK}{_ZONE}",
        # 20260813T133005.000Z, 20260813 13:30:05
        (
            r"(?P<year>20\d\d)(?P<number>\d\d)(?P<day>\d\d)[T _-]?"
            rf"(?P<hour>\d\d):?(?P<minute>\d\d):?(?P<second>\d\d)(?:[.,](?P<fraction>\d{{1,9}}))?(?!\d){_ZONE}"
        ),
    )
)

_YEARLESS: Final = tuple(
    re.compile(rf"(?<![\w.]){form}", re.IGNORECASE | re.ASCII)
    for form in (
        # Aug 13 13:30:05 of syslog; I0813 13:30:05.000 of klog
        rf"{_MONTH} {{1,2}}(?P<day>\d{{1,2}}) {_CLOCK}{_ZONE}",
        rf"[IWEF](?P<number>\d\d)(?P<day>\d\d) {_CLOCK}{_ZONE}",
    )
)
_CLOCK_ONLY: Final = re.compile(r"(?<![\w.:])\d\d:\d\d:\d\d(?![\w:])", re.ASCII)
_EPOCH: Final = re.compile(
    r"(?<![\w.])(?:(?P<nanos>1\d{18})|(?P<micros>1\d{15})|(?P<millis>1\d{12})"
    r"|(?P<seconds>1\d{9})(?:[.,](?P<fraction>\d{1,9}))?)(?![\w])(?!\.\d)",
    re.ASCII,
)
TIMES: Final = (*_FORMS, *_YEARLESS, _EPOCH, _CLOCK_ONLY)
_UNITS: Final = ("nanos", "micros", "millis", "seconds")
_HEAD_CHARS_MAX: Final = 2_048
"""A time further before the event than this is not its own."""

_FIRST_MS: Final = 946_684_800_000
_LAST_MS: Final = 4_102_444_799_999
"""The years 2000 to 2099. In these, numbers of seconds, milliseconds, microseconds and nanoseconds do not overlap."""
_TEXT_MAX: Final = 128
_WEEKDAY: Final = re.compile(r"(?:mon|tue|wed|thu|fri|sat|sun)[a-z]{0,6},? ", re.IGNORECASE)
_NUMBER: Final = re.compile(r"\d{9,19}(?:[.,]\d{1,9})?", re.ASCII)
_CENTURY: Final = 2_000
_MONTHS_MAX: Final = 12
_YEAR_FIRST_FROM: Final = 20
"""Of two-digit numbers, the first that is read as a year rather than as a month."""

_KEYS: Final = (
    *(
        "instant",
        "atimestamp",
        "timestamp",
        "timemillis",
        "realtimetimestamp",
        "time",
        "ts",
        "date",
    ),
    *(
        "datetime",
        "asctime",
        "eventtime",
        "timeunixnano",
        "timenanos",
        "timegenerated",
        "t",
        "created",
    ),
    *("observedtimestamp", "receivetimestamp", "ingestiontime"),
)
"""Names of fields with the time of an event, letters and digits alone (`@` is `a`), the event's own first."""
_KEY_RANK: Final = {name: rank for rank, name in enumerate(_KEYS)}
_KEY_PART: Final = re.compile(r"time|date|stamp|instant|created")
_VALUE_DEPTH: Final = 3


def epoch_ms(number: float) -> int | None:
    """Epoch milliseconds of epoch seconds, milliseconds, microseconds or nanoseconds, decided by their size.

    None for a time outside of the years 2000 to 2099.
    """
    for per_second in (1, 1_000, 1_000_000, 1_000_000_000):
        if isinstance(number, int):
            at_ms = number * 1_000 // per_second
        elif math.isfinite(number * 1_000):
            at_ms = round(number * 1_000 / per_second)
        else:
            return None
        if _FIRST_MS <= at_ms <= _LAST_MS:
            return at_ms
    return None


def time_of(value: object) -> int | None:
    """Epoch milliseconds of a field of an export: a number, or a time as any program writes it; UTC without a zone.

    None for what is no time, for what can be read in two ways (08/07/2026, a zone's name alone), and for a time outside
    of the years 2000 to 2099.
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return epoch_ms(value)
    if not isinstance(value, str) or len(value) > _TEXT_MAX:
        return None
    at_ms = time_in(value)
    return at_ms if at_ms is not None and _FIRST_MS <= at_ms <= _LAST_MS else None


@lru_cache(maxsize=4_096)
def time_in(text: str) -> int | None:
    """The time in a text, in epoch milliseconds, of any year; None if it is no time."""
    text = _WEEKDAY.sub("", text.strip(), count=1)
    if _NUMBER.fullmatch(text):
        return epoch_ms(int(text) if text.isdigit() else float(text.replace(",", ".")))
    zone = next((each for each in _ZONE_AT_END.finditer(text) if each.end() == len(text)), None)
    # A date alone ends like an offset.
    if zone is not None and ":" in text[: zone.start()]:
        text = text[: zone.start()] + (zone["offset"] or "+00:00")
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        found = TimeReader(UTC).whole(text)
        is_open = {Assumption.MONTH_FIRST, Assumption.YEAR_FIRST} & {*found.assumed}
        return None if is_open else found.at_ms
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return round(moment.timestamp() * 1000)


class TimeReader:
    """Reads the times of one file, in order. `zone` is that of times without one."""

    def __init__(self, zone: tzinfo, near_ms: int | None = None) -> None:
        """`near_ms`: about when the log was written (epoch ms), for dates without a year; they are not read without."""
        self._clock = WallClock(zone)
        self._near_ms = near_ms

    def last_in(self, text: str) -> LineTime:
        """The last time in `text`; one with a date counts before one without."""
        return self._pick(text[-_HEAD_CHARS_MAX:], -1)

    def first_in(self, text: str) -> LineTime:
        """The first time in `text`."""
        return self._pick(text[:_HEAD_CHARS_MAX], 0)

    def whole(self, text: str) -> LineTime:
        """The time that `text` is, apart from brackets and spaces; none if it is anything more."""
        bare = text.strip(" \t\r\n[]()<>\"'")
        for form in (*_FORMS, *_YEARLESS, _EPOCH):
            found = form.fullmatch(bare)
            if found is not None:
                return self._moment(found)
        return NO_MOMENT

    def in_value(self, value: object, depth: int = 0) -> LineTime:
        """The time that a decoded JSON value holds: a number, a text, or an object with such a field."""
        if isinstance(value, bool):
            return NO_MOMENT
        if isinstance(value, int | float):
            return _of_number(value)
        if isinstance(value, str):
            return self.whole(value) if len(value) <= 64 else NO_MOMENT
        if depth == _VALUE_DEPTH:
            return NO_MOMENT
        if isinstance(value, list):
            scalars = [each for each in value[:4] if not isinstance(each, list | dict)]
            return self._first(scalars, depth)
        if isinstance(value, dict):
            return self._in_fields(value, depth)
        return NO_MOMENT

    def _in_fields(self, fields: Mapping[str, object], depth: int) -> LineTime:
        seconds = fields.get("epochSecond", fields.get("seconds"))
        if isinstance(seconds, int):
            nanos = fields.get("nanoOfSecond", fields.get("nanos", 0))
            whole = _of_number(seconds)
            if whole.at_ms is not None and isinstance(nanos, int):
                return LineTime(whole.at_ms + nanos // 1_000_000)
        ranked: list[tuple[int, object]] = []
        for key, value in fields.items():
            name = "".join(char for char in key.lower().replace("@", "a") if char.isalnum())
            rank = _KEY_RANK.get(name, len(_KEYS) if _KEY_PART.search(name) else None)
            if rank is not None:
                ranked.append((rank, value))
        found = self._first((value for _, value in sorted(ranked, key=lambda each: each[0])), depth)
        if found.at_ms is not None:
            return found
        nested = [value for value in fields.values() if isinstance(value, dict)]
        deeper = self._first(nested, depth)
        return deeper if deeper.at_ms is not None else found

    def _first(self, values: Iterable[object], depth: int) -> LineTime:
        why = NO_MOMENT
        for value in values:
            found = self.in_value(value, depth + 1)
            if found.at_ms is not None:
                return found
            if found.missing is not NoTime.NOTHING:
                why = found
        return why

    def _pick(self, text: str, place: int) -> LineTime:
        for forms in (_FORMS, (_EPOCH,), _YEARLESS):
            found = [match for form in forms for match in form.finditer(text)]
            # Forms overlap: of those that end, or begin, at one place the longest counts.
            found.sort(key=lambda match: (match.end(), match.end() - match.start()))
            if place == 0:
                found.sort(key=lambda match: (match.start(), match.start() - match.end()))
            for match in found if place == 0 else reversed(found):
                moment = self._moment(match)
                if moment.at_ms is not None or forms is _YEARLESS:
                    return moment
        if _CLOCK_ONLY.search(text):
            return LineTime(None, missing=NoTime.CLOCK_ONLY)
        return NO_MOMENT

    def _moment(self, match: re.Match[str]) -> LineTime:
        fields = match.groupdict()
        if "seconds" in fields:
            return _of_epoch(fields)
        dated = _date_of(fields)
        if dated is None:
            return NO_MOMENT
        year, month, day, assumed = dated
        hour = int(fields["hour"])
        if fields.get("half"):
            hour = hour % 12 + (12 if fields["half"].lower() == "p" else 0)
        if year is None:
            if self._near_ms is None:
                return LineTime(None, missing=NoTime.NO_YEAR)
            assumed = (*assumed, Assumption.YEAR)
            year = _nearest_year(self._near_ms, month, day)
        try:
            wall = datetime(year, month, day, hour, int(fields["minute"]), int(fields["second"]))  # noqa: DTZ001 - its zone follows
        except ValueError:
            return NO_MOMENT
        zone = _zone_of(fields.get("zone"))
        if zone is None and fields.get("zone"):
            return NO_MOMENT
        if zone is None:
            assumed = (*assumed, Assumption.ZONE)
        at_ms = self._clock.epoch_ms(wall, zone)
        if not _FIRST_MS <= at_ms <= _LAST_MS:
            return NO_MOMENT
        return LineTime(at_ms + _millis(fields.get("fraction")), assumed)


def _date_of(
    fields: Mapping[str, Any],
) -> tuple[int | None, int, int, tuple[Assumption, ...]] | None:
    """(year or None, month, day, what was assumed)."""
    if fields.get("first") is not None:
        return _by_position(fields)
    name = fields.get("month")
    month = _MONTHS[name.lower()] if name else int(fields["number"])
    year = fields.get("year")
    return None if year is None else int(year), month, int(fields["day"]), ()


def _by_position(
    fields: Mapping[str, Any],
) -> tuple[int | None, int, int, tuple[Assumption, ...]] | None:
    first, second, last = int(fields["first"]), int(fields["number"]), int(fields["last"])
    if len(fields["last"]) == 2:
        if fields["dash"] == "." or first < _YEAR_FIRST_FROM:
            last += _CENTURY
        else:
            return first + _CENTURY, second, last, (Assumption.YEAR_FIRST,)
    if fields["dash"] == ".":
        return last, second, first, ()
    if first > _MONTHS_MAX:
        return last, second, first, ()
    return last, first, second, () if second > _MONTHS_MAX else (Assumption.MONTH_FIRST,)


def _nearest_year(near_ms: int, month: int, day: int) -> int:
    near = datetime.fromtimestamp(near_ms / 1000, UTC)
    days = {
        year: abs((near - datetime(year, month, min(day, 28), tzinfo=UTC)).days)
        for year in (near.year - 1, near.year, near.year + 1)
        if 1 <= month <= _MONTHS_MAX
    }
    return min(days, key=lambda year: days[year], default=near.year)


def _zone_of(text: str | None) -> tzinfo | None:
    if not text:
        return None
    return UTC if text[0] not in "+-" else fixed_zone(text)


def _millis(fraction: str | None) -> int:
    return int((fraction or "0")[:3].ljust(3, "0"))


def _of_epoch(fields: Mapping[str, Any]) -> LineTime:
    number = next(int(fields[unit]) for unit in _UNITS if fields[unit] is not None)
    at_ms = epoch_ms(number)
    return NO_MOMENT if at_ms is None else LineTime(at_ms + _millis(fields["fraction"]))


def _of_number(value: float) -> LineTime:
    at_ms = epoch_ms(value)
    return NO_MOMENT if at_ms is None else LineTime(at_ms)
