"""What the brokers of the captures logged."""

from collections.abc import Iterable

from rebalance_audit.audit.broker_log.broker_log import BrokerLog
from rebalance_audit.audit.broker_log.fact import BrokerFact
from rebalance_audit.audit.broker_log.read import LogReader
from rebalance_audit.time_zones import zone_of
from tests.wire.golden import capture

LOGGED = ("migration", "consumer-static", "broker-3.7", "share-streams")
"""Captures in the mixed log that have their broker's log."""


def facts_of(name: str) -> list[BrokerFact]:
    """What the broker of a capture logged."""
    return list(LogReader(zone_of("UTC")).facts([capture(name).segments.parent / "server.log.gz"]))


def broker_log(
    *names: str, shift_ms: int = 0, parts: Iterable[slice] = (slice(None),)
) -> BrokerLog:
    """What the brokers of captures logged, or parts of each, by a clock that is ahead."""
    facts = [fact for name in names for part in parts for fact in facts_of(name)[part]]
    return BrokerLog.of(fact._replace(at_ms=fact.at_ms + shift_ms) for fact in facts)
