"""What `make bench` compares: each stage beside a peer over the same log, the ratio to reach, and what limits it."""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from rich.table import Table

LOAD: Final = "broker: load"
DUMP: Final = "kafka-dump-log --offsets-decoder"
DESCRIBE: Final = "kafka-consumer-groups --describe"
RUST: Final = "krabka-log: read every record"
SCAN: Final = "Spark: bare scan of bronze"
CORE: Final = "one record a second and core"
INGEST: Final = "segments to bronze"
GOLD: Final = "gold from bronze"
GOLD_OF_SEGMENTS: Final = "gold from segments"
SILVER: Final = "silver and gold from bronze"
INSPECT: Final = "inspect --json"
DECODE: Final = "decode"
STATE: Final = "state"
WALK: Final = "compiled walk"
CONSUMER: Final = "reducer: consumer, to rows"
CONSUMER_SILVER: Final = "reducer: consumer, with Arrow and silver"
CLASSIC: Final = "reducer: classic, to rows"
CLASSIC_SILVER: Final = "reducer: classic, with Arrow and silver"

JUDGING: Final = "Python that judges group records and makes rows"


class Wish(NamedTuple):
    """A stage beside its peer."""

    stage: str
    peer: str
    ratio: float
    """Of the stage's speed to its peer's, at least."""
    limited_by: str


WISHES: Final = (
    Wish(WALK, RUST, 1.0, "one thread, a record at a time; group records become objects"),
    Wish(DECODE, DUMP, 6.0, "writing the lines"),
    Wish(STATE, DESCRIBE, 1.0, "start-up, and reading the log that the broker has in memory"),
    Wish(INSPECT, LOAD, 0.45, JUDGING),
    Wish(INGEST, LOAD, 0.6, "rows from Python to the JVM; writing Parquet"),
    Wish(GOLD, LOAD, 0.3, JUDGING),
    Wish(GOLD, SCAN, 0.5, JUDGING),
    Wish(GOLD_OF_SEGMENTS, LOAD, 0.28, "the same, and two scans of the segments"),
    Wish(SILVER, LOAD, 0.17, "the same, rows of progress, writing the commits"),
    Wish(CONSUMER, CORE, 45_000, "flat profile: no function above 5 %"),
    Wish(CONSUMER_SILVER, CORE, 30_000, "the same, and 20 us a row"),
    Wish(CLASSIC, CORE, 9_000, "flat profile: findings 19 %, causes 13 %"),
    Wish(CLASSIC_SILVER, CORE, 6_000, "the same, and 20 us a row"),
)

BY_SECONDS: Final = frozenset({STATE, DESCRIBE})
"""Compared by their seconds for the larger log: a broker describes what it has loaded, whatever the log held.

All others are compared by their further records a second.
"""
NUMBERS: Final = frozenset({"speed", "peer's", "ratio", "wish"})


class Compared(NamedTuple):
    """A wish and what was measured."""

    wish: Wish
    speed: float
    peer_speed: float

    @property
    def ratio(self) -> float:
        """Of the stage's speed to its peer's."""
        return self.speed / self.peer_speed

    @property
    def is_met(self) -> bool:
        """Whether the stage is as fast as wished."""
        return self.ratio >= self.wish.ratio


def compared(speeds: Mapping[str, float]) -> Iterator[Compared]:
    """The wishes whose stage and peer were measured; `speeds` is keyed by their names, larger is faster."""
    known = {**speeds, CORE: 1.0}
    for wish in WISHES:
        if wish.stage in known and wish.peer in known:
            yield Compared(wish, known[wish.stage], known[wish.peer])


def comparison(speeds: Mapping[str, float]) -> Table:
    """The wishes for people."""
    table = Table(title="Speed beside peers: further records/s, state: 1/s of the larger log")
    for heading in ("stage", "peer", "speed", "peer's", "ratio", "wish", "", "limited by"):
        table.add_column(heading, justify="right" if heading in NUMBERS else "left")
    for each in compared(speeds):
        wish = each.wish
        numbers = (each.speed, each.peer_speed, each.ratio, wish.ratio)
        met = "met" if each.is_met else "missed"
        table.add_row(wish.stage, wish.peer, *map(_number, numbers), met, wish.limited_by)
    return table


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.2f}"
