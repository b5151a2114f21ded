"""One wording: a line of Kafka's coordinator about groups, and the fact that it states."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import NamedTuple

from rebalance_audit.audit.broker_log.fact import FactKind


class Level(StrEnum):
    """The level at which Kafka logs a line."""

    DEBUG = "debug"
    INFO = "info"
    WARN = "warn"
    ERROR = "error"


class Wording(NamedTuple):
    """One row."""

    kind: FactKind | None
    releases: str
    level: Level
    logger: str
    """The class that logs it, without its package."""
    pattern: str


_Row = tuple[FactKind | None, str, Level, str]


def rows(by_logger: Mapping[str, Iterable[_Row]]) -> tuple[Wording, ...]:
    """Rows of the table. Where one pattern begins another, the longer one comes first."""
    return tuple(
        Wording(kind, releases, level, logger, pattern)
        for logger, own in by_logger.items()
        for kind, releases, level, pattern in own
    )
