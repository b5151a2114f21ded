"""One coordinator's events in whatever carries lines: each layout gives the facts of the plain one."""

import csv
import io
import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from rebalance_audit.audit.broker_log.fact import BrokerFact
from rebalance_audit.audit.broker_log.read import LogReader
from rebalance_audit.time_zones import zone_of

MARK = "[GroupCoordinator id=1 topic=__consumer_offsets partition=0] "
LOGGER = "org.apache.kafka.coordinator.group.GroupMetadataManager"
JOINED = "Adding new member B with group instance id null; client reason: rebalance failed due to 'no' (AnException)"


class Event(NamedTuple):
    """One line of a coordinator."""

    at_ms: int
    text: str

    def wall(self, form: str = "%Y-%m-%d %H:%M:%S,%f") -> str:
        """Its time in UTC, with milliseconds."""
        moment = datetime.fromtimestamp(self.at_ms / 1000, UTC)
        return moment.strftime(form.replace("%f", f"{self.at_ms % 1000:03d}"))

    @property
    def iso(self) -> str:
        """Its time as ISO 8601 has it."""
        return self.wall("%Y-%m-%dT%H:%M:%S.%fZ")

    @property
    def line(self) -> str:
        """As Kafka writes it."""
        return f"[{self.wall()}] INFO {MARK}{self.text} ({LOGGER})"


EVENTS = [
    Event(
        1_786_627_805_002 + 1_000 * number,
        text,
    )
    for number, text in enumerate(
        (
            f"Preparing to rebalance group g in state PreparingRebalance with old generation 1 (reason: {JOINED}).",
            "Stabilized group g generation 2 with 2 members.",
            "[Group g] Member B has left group through explicit `LeaveGroup` request; client reason: not provided",
            'Member "q\\" in group größe has failed, removing it from the group.',
            "Group g removed dynamic members who haven't joined: [a-1, a-2]",
        )
    )
]


def each(form: Callable[[Event], str]) -> str:
    """A line for each event."""
    return "".join(f"{form(event)}\n" for event in EVENTS)


def objects(form: Callable[[Event], Any]) -> str:
    """A JSON object a line."""
    return each(lambda event: json.dumps(form(event)))


def hits() -> dict[str, Any]:
    """The answer of a search engine: the time is beside the text, other times are further away."""
    found = [
        {
            "_index": "kafka-1970.01.01",
            "_source": {
                "host": {"name": "h", "os": {"family": "x"}},
                "message": f"{MARK}{event.text}",
                "@timestamp": event.iso,
                "event": {"ingested": "2027-01-01T00:00:00Z"},
            },
        }
        for event in EVENTS
    ]
    return {"took": 3, "hits": {"total": {"value": 5}, "hits": found}}


def in_csv(rows: Sequence[Sequence[str]]) -> str:
    """A CSV file."""
    out = io.StringIO()
    csv.writer(out, quoting=csv.QUOTE_ALL).writerows(rows)
    return out.getvalue()


def logfmt(text: str) -> str:
    """A quoted value."""
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def parts(event: Event, size: int) -> str:
    """A line in parts, as a container runtime writes long ones."""
    pieces = [event.line[at : at + size] for at in range(0, len(event.line), size)]
    return "\n".join(
        f"2027-01-01T00:00:00.000000001Z stdout {'F' if piece is pieces[-1] else 'P'} {piece}"
        for piece in pieces
    )


LAYOUTS: dict[str, str] = {
    "plain": each(lambda event: event.line),
    "no level": each(lambda event: f"{event.iso} {MARK}{event.text}"),
    "lower-case level, pipe": each(lambda event: f"{event.iso} | info | {MARK}{event.text}"),
    "slashes": each(lambda event: f"{event.wall('%Y/%m/%d %H:%M:%S.%f')} info {MARK}{event.text}"),
    "dotted date": each(lambda event: f"{event.wall('%d.%m.%Y %H:%M:%S,%f')} {MARK}{event.text}"),
    "month by name": each(
        lambda event: f"{event.wall('%d %b %Y %H:%M:%S,%f')} INFO {MARK}{event.text}"
    ),
    "web server's": each(
        lambda event: f"[{event.wall('%d/%b/%Y:%H:%M:%S.%f')} +0000] {MARK}{event.text}"
    ),
    "12 hours": each(lambda event: f"{event.wall('%B %d, %Y 1:%M:%S.%f PM')} {MARK}{event.text}"),
    "compact": each(lambda event: f"{event.wall('%Y%m%dT%H%M%S.%fZ')} {MARK}{event.text}"),
    "microseconds": each(lambda event: f"{event.at_ms}000 {MARK}{event.text}"),
    "seconds": each(lambda event: f"{event.at_ms / 1000:.3f} {MARK}{event.text}"),
    "long prefix": each(lambda event: f"{'x' * 5_000} {event.line}"),
    "suffix": each(lambda event: f"{event.line} [thread-1] app=kafka, zone=a"),
    "grep": each(lambda event: f"/var/log/server.log.2026-08-13-13:12-{event.line}"),
    "colours": each(
        lambda event: (
            f"\x1b[36m[{event.wall()}]\x1b[0m \x1b[1;32mINFO\x1b[0m {MARK}{event.text}\x1b[0m"
        )
    ),
    "colours by syslog": each(
        lambda event: f"#033[36m[{event.wall()}]#033[0m INFO {MARK}{event.text}#033[0m"
    ),
    "time above": each(
        lambda event: f"{event.wall('%b %d, %Y @ %H:%M:%S.%f')}\nINFO {MARK}{event.text} ({LOGGER})"
    ),
    "parts": each(lambda event: parts(event, 40)),
    "JSON": objects(lambda event: {"timestamp": event.at_ms, "message": f"{MARK}{event.text}"}),
    "JSON in JSON": objects(
        lambda event: {
            "log": json.dumps({"ts": event.iso, "msg": f"{MARK}{event.text}"}) + "\n",
            "time": "x",
        }
    ),
    "JSON after a prefix": each(
        lambda event: (
            f"{event.iso} stdout F {json.dumps({'message': MARK + event.text, 'level': 'INFO'})}"
        )
    ),
    "JSON with nanoseconds": objects(
        lambda event: {
            "timeUnixNano": f"{event.at_ms}000000",
            "body": {"stringValue": f"{MARK}{event.text}"},
        }
    ),
    "JSON with seconds and nanoseconds": objects(
        lambda event: {
            "instant": {
                "epochSecond": event.at_ms // 1000,
                "nanoOfSecond": event.at_ms % 1000 * 1_000_000,
            },
            "message": f"{MARK}{event.text}",
        }
    ),
    "attributes": objects(
        lambda event: {
            "id": "1",
            "attributes": {
                "attributes": {"message": f"{MARK}{event.text}"},
                "timestamp": event.iso,
            },
        }
    ),
    "fields as arrays": objects(
        lambda event: {"fields": {"message": [f"{MARK}{event.text}"], "@timestamp": [event.iso]}}
    ),
    "raw": objects(
        lambda event: {
            "preview": False,
            "result": {"_raw": f"{MARK}{event.text}", "_time": event.iso},
        }
    ),
    "pretty": json.dumps(hits(), indent=2),
    "one line": json.dumps(hits()),
    "array": json.dumps([{"message": event.line} for event in EVENTS], indent=1),
    "array of texts": json.dumps([event.line for event in EVENTS]),
    "streams": json.dumps(
        {
            "data": {
                "result": [
                    {"values": [[f"{event.at_ms}000000", MARK + event.text] for event in EVENTS]}
                ]
            }
        }
    ),
    "logfmt": each(lambda event: f"ts={event.iso} level=info msg={logfmt(MARK + event.text)}"),
    "logfmt, time at the end": each(
        lambda event: f"level=info msg={logfmt(MARK + event.text)} time={logfmt(event.iso)}"
    ),
    "logfmt with JSON": each(
        lambda event: (
            f"level=info msg={logfmt(json.dumps({'t': event.iso, 'message': MARK + event.text}))}"
        )
    ),
    "CSV": in_csv([(event.iso, "host", f"{MARK}{event.text}") for event in EVENTS]),
    "CSV, time at the end": in_csv(
        [(f"{MARK}{event.text}", "host", event.iso) for event in EVENTS]
    ),
    "CSV with JSON": in_csv(
        [
            ("kafka", json.dumps({"time": event.iso, "log": f"{MARK}{event.text}"}))
            for event in EVENTS
        ]
    ),
}


def facts_of(text: str, tmp_path: Path) -> list[BrokerFact]:
    """What a file with this text says, without the places of its lines."""
    (tmp_path / "server.log").write_text(text, encoding="utf-8")
    facts = LogReader(zone_of("UTC")).facts([tmp_path / "server.log"])
    return [fact._replace(place="") for fact in facts]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_gives_the_same_facts(layout: str, tmp_path: Path) -> None:
    """Kind, time to the millisecond, ids and reasons."""
    found = facts_of(LAYOUTS[layout], tmp_path)
    expected = facts_of(LAYOUTS["plain"], tmp_path)
    assert len(expected) == len(EVENTS)
    assert found == expected
