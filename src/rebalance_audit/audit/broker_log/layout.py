"""The usual layouts of a broker's log: where the time, the coordinator's mark and the message are in a line.

Every line of a coordinator about groups has a mark: `[GroupCoordinator 1]: ` in the old coordinator,
`[GroupCoordinator id=1 topic=__consumer_offsets partition=2] ` in the new one. The line's time is the last one before
the mark, so a prefix from a container runtime or a log shipper does no harm.
"""

import re
from collections.abc import Mapping
from datetime import tzinfo
from typing import Final, NamedTuple

import orjson

from rebalance_audit.audit.broker_log.wall_clock import WallClock

MARKS: Final = ("[GroupCoordinator ", "[GroupMetadataManager ")
"""A line without this text is not looked at."""

_MARK: Final = re.compile(
    r"\[(?:GroupCoordinator|GroupMetadataManager) (?:id=|brokerId=)?(?P<broker>\d+)"
    r"(?: topic=\S+ partition=(?P<log_partition>\d+))?\]:? "
)
_TIME: Final = re.compile(
    r"(?P<wall>\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d)(?:[,.](?P<millis>\d{1,9}))?"
    r" ?(?P<zone>Z\b|[+-]\d\d:?\d\d\b)?"
)
_EPOCH: Final = re.compile(r"(?<!\d)1\d{12}(?!\d)")
_LEVEL: Final = re.compile(r"\b(?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL)\b")
_LOGGER: Final = re.compile(r" \((?:[a-z]\w*\.)*[A-Z][\w$]*(?::\d+)?\)(?: \[[^\]]*\])?\s*\Z")
"""`(kafka.coordinator.group.GroupCoordinator)`; some layouts add a line number or a thread."""
_HEAD_LENGTH: Final = 160
_TEXT_KEYS: Final = ("message", "msg", "log", "MESSAGE", "@message")
_TIME_KEYS: Final = ("@timestamp", "timestamp", "timeMillis", "time", "ts", "@time")


class LogLine(NamedTuple):
    """One event of a coordinator."""

    at_ms: int
    broker: str
    log_partition: int | None
    message: str


class EventReader:
    """Reads the events of one file in order."""

    def __init__(self, zone: tzinfo) -> None:
        """`zone` applies to times without a time zone."""
        self._clock = WallClock(zone)

    def begins(self, line: str) -> bool:
        """Whether the line begins an event; otherwise it continues the previous one."""
        head = line[:_HEAD_LENGTH]
        if head.startswith("{"):
            return True
        if not _LEVEL.search(head):
            return False
        return _TIME.search(head) is not None or _EPOCH.search(head) is not None

    def read(self, event: str) -> LogLine | None:
        """The coordinator's event in this text; None for any other event, and for one without a time."""
        if event.startswith("{"):
            return self._read_json(event)
        mark = _MARK.search(event)
        if mark is None:
            return None
        at_ms = self._time_before(event[: mark.start()])
        if at_ms is None:
            return None
        return _line(at_ms, mark, event)

    def _time_before(self, head: str) -> int | None:
        times = list(_TIME.finditer(head))
        if times:
            last = times[-1]
            return self._clock.epoch_ms(last["wall"], last["millis"], last["zone"])
        number = _EPOCH.search(head)
        return None if number is None else int(number[0])

    def _read_json(self, event: str) -> LogLine | None:
        try:
            fields = orjson.loads(event)
        except orjson.JSONDecodeError:
            return None
        if not isinstance(fields, dict):
            return None
        text = next((fields[key] for key in _TEXT_KEYS if isinstance(fields.get(key), str)), "")
        mark = _MARK.search(text)
        if mark is None:
            return None
        at_ms = self._time_before(text[: mark.start()]) if mark.start() else None
        if at_ms is None:
            at_ms = self._time_of(fields)
        return None if at_ms is None else _line(at_ms, mark, text)

    def _time_of(self, fields: Mapping[str, object]) -> int | None:
        instant = fields.get("instant")
        if isinstance(instant, dict) and isinstance(instant.get("epochSecond"), int):
            nanos = instant.get("nanoOfSecond", 0)
            return int(instant["epochSecond"]) * 1000 + int(nanos) // 1_000_000
        for key in _TIME_KEYS:
            value = fields.get(key)
            if isinstance(value, int | float):
                # Seconds or milliseconds: the size tells, as a log is from this century.
                return int(value if value > 10_000_000_000 else value * 1000)
            if isinstance(value, str):
                return self._time_before(value)
        return None


def _line(at_ms: int, mark: re.Match[str], event: str) -> LogLine:
    message = without_logger(event[mark.end() :])
    number = mark["log_partition"]
    return LogLine(at_ms, mark["broker"], None if number is None else int(number), message)


def without_logger(text: str) -> str:
    """The message without the logger's name, which most layouts append."""
    return _LOGGER.sub("", text).rstrip("\r\n")
