"""Numbers and times in words for people."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Final

from rebalance_audit.bounds import Bounds

NOTHING: Final = "–"
"""Shown where a value is unknown or does not apply."""
UNKNOWN_TIME: Final = "an unknown time"
_EPOCH: Final = datetime(1970, 1, 1)  # noqa: DTZ001 - written with its zone where a reader needs it

_SECOND_MS: Final = 1000
_LARGER_UNITS: Final = (
    # larger unit, how many of the smaller one it holds, smaller unit, its milliseconds, first count that is too many
    ("min", 60, "s", 1000, 60 * 60),
    ("h", 60, "min", 60_000, 24 * 60),
    ("d", 24, "h", 3_600_000, None),
)


def duration(milliseconds: int | None) -> str:
    """Two units at most: `0 ms`, `850 ms`, `1.2 s`, `3 min 20 s`, `2 h 5 min`, `4 d 3 h`."""
    if milliseconds is None:
        return NOTHING
    if milliseconds < 0:
        return f"-{duration(-milliseconds)}"
    if milliseconds < _SECOND_MS:
        return f"{milliseconds} ms"
    if round(milliseconds / _SECOND_MS, 1) < 60:
        return f"{milliseconds / _SECOND_MS:.1f} s"
    text = ""
    for larger, size, smaller, smaller_ms, too_many in _LARGER_UNITS:
        total = round(milliseconds / smaller_ms)
        whole, rest = divmod(total, size)
        text = f"{whole} {larger} {rest} {smaller}" if rest else f"{whole} {larger}"
        if too_many is None or total < too_many:
            break
    return text


def bounds(lasted: Bounds | None) -> str:
    """`31 ms – 14.1 s`; `14.1 s` where it is known, `up to 14.1 s`, `≥ 31 ms`, `unknown`."""
    if lasted is None:
        return NOTHING
    least, most = duration(lasted.least), duration(lasted.most)
    if lasted.most is None:
        return f"≥ {least}" if lasted.least else "unknown"
    if least == most:
        return least
    return f"{least} – {most}" if lasted.least else f"up to {most}"


def is_known(lasted: Bounds | None) -> bool:
    """Whether anything is known of how long it lasted."""
    return lasted is not None and (lasted.most is not None or lasted.least > 0)


def for_time(lasted: Bounds) -> str:
    """`for 31 ms – 14.1 s`, `for ≥ 31 ms`, `for an unknown time`."""
    return f"for {bounds(lasted) if is_known(lasted) else UNKNOWN_TIME}"


def has_estimate(lasted: Bounds) -> bool:
    """Whether an estimate says more than the bounds."""
    return lasted.likely > lasted.least


def bounds_in_sentence(lasted: Bounds | None) -> str:
    """`between 31 ms and 14.1 s (about 1.0 s)`, `14.1 s`, `up to 14.1 s`, `at least 31 ms`, `an unknown time`."""
    if lasted is None or not is_known(lasted):
        return UNKNOWN_TIME
    least, most = duration(lasted.least), duration(lasted.most)
    if lasted.most is None:
        return f"at least {least}"
    if least == most:
        return least
    about = f" (about {duration(lasted.estimate)})" if has_estimate(lasted) else ""
    return (f"between {least} and {most}" if lasted.least else f"up to {most}") + about


def likely(lasted: Bounds | None) -> str:
    """`about 43.2 s (1 ms – 1 min)`, `14.1 s`, `up to 14.1 s`, `at least 31 ms`, `an unknown time`."""
    if lasted is None or not has_estimate(lasted):
        return bounds_in_sentence(lasted)
    least = duration(lasted.least)
    known = f"at least {least}" if lasted.most is None else f"{least} – {duration(lasted.most)}"
    return f"about {duration(lasted.estimate)} ({known})"


def best_estimate(lasted: Bounds | None) -> str:
    """`43.2 s`: the best estimate alone; bounds where there is none; a dash for None, `unknown`."""
    if lasted is None:
        return NOTHING
    return duration(lasted.estimate) if has_estimate(lasted) else bounds(lasted)


def estimate_and_bounds(lasted: Bounds | None) -> tuple[str, str]:
    """`43.2 s` and `1 ms – 1 min`: the best estimate, and between what it lies where it is not exact, else no text."""
    text, between = best_estimate(lasted), bounds(lasted)
    is_exact = lasted is None or lasted.least == lasted.most
    return text, "" if is_exact or text in {between, "unknown"} else between


def counted(number: int, one: str, many: str = "") -> str:
    """`1 group`, `2 groups`, `4,012,345 records`; `many` where adding an s is wrong."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def severities(counts: Mapping[str, int]) -> str:
    """`2 critical findings, 8 warnings, 1 note`, from the number of findings of each severity."""
    nouns = {"critical": "critical finding", "warning": "warning", "info": "note"}
    return ", ".join(
        counted(counts[severity], noun) for severity, noun in nouns.items() if counts.get(severity)
    )


def number(value: int | None) -> str:
    """`4,012`; a dash for None."""
    return NOTHING if value is None else f"{value:,}"


def size(byte_count: int) -> str:
    """`512 B`, `13.4 kB`, `405 MB`: powers of ten, three digits or so."""
    value = float(byte_count)
    for unit in ("B", "kB", "MB", "GB", "TB"):
        if value < 999.5 or unit == "TB":
            return f"{value:.1f} {unit}" if unit != "B" and value < 99.95 else f"{value:.0f} {unit}"
        value /= 1000
    raise AssertionError(byte_count)


def share(part: int, whole: int) -> str:
    """`12 %`, `0.4 %`, `<0.1 %`."""
    if not whole:
        return NOTHING
    percent = 100 * part / whole
    if 0 < percent < 0.1:
        return "<0.1 %"
    return f"{percent:.0f} %" if percent >= 10 or percent == 0 else f"{percent:.1f} %"


def moment(timestamp_ms: int | None) -> str:
    """`2026-11-21 11:14:05.123` in UTC; the heading or the sentence around it names the zone."""
    return NOTHING if timestamp_ms is None else _written(timestamp_ms, " ")


def utc(timestamp_ms: int | None) -> str:
    """`2026-11-21 11:14:05.123 UTC`, for a sentence."""
    return (
        "a time that the log does not hold"
        if timestamp_ms is None
        else f"{moment(timestamp_ms)} UTC"
    )


def span(from_ms: int, to_ms: int | None, written: Callable[[int], str] = moment) -> str:
    """`11:14:05 to 11:15:00`, `since 11:14:05` for what has no end yet, one time for what took none."""
    if to_ms is None:
        return f"since {written(from_ms)}"
    if to_ms == from_ms:
        return written(from_ms)
    return f"{written(from_ms)} to {written(to_ms)}"


def day(timestamp_ms: int) -> str:
    """`2026-11-21` in UTC."""
    return moment(timestamp_ms)[:10]


def clock(timestamp_ms: int | None) -> str:
    """`11:14:05.123` in UTC: for tables whose heading has the day."""
    return moment(timestamp_ms).rpartition(" ")[2]


def ago(passed_ms: int) -> str:
    """`3 min 20 s ago`, in whole seconds."""
    return f"{duration(passed_ms // _SECOND_MS * _SECOND_MS)} ago"


def iso(timestamp_ms: int | None) -> str | None:
    """ISO 8601 in UTC with milliseconds, `2026-11-21T11:14:05.123Z`, for programs; None stays None."""
    return None if timestamp_ms is None else _written(timestamp_ms, "T", "Z")


def _written(timestamp_ms: int, between: str, zone: str = "") -> str:
    """The number itself for what no calendar holds: a corrupt record may contain any."""
    try:
        found = _EPOCH + timedelta(milliseconds=timestamp_ms)
    except OverflowError:
        return str(timestamp_ms)
    return found.isoformat(between, "milliseconds") + zone
