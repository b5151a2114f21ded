"""How long the Java client takes with either protocol, where a group's own log does not show it."""

from typing import Final, NamedTuple

from rebalance_audit.whatif.spread import Spread


class ProtocolTimes(NamedTuple):
    """Durations in milliseconds, measured on logs and callbacks of Kafka 4.3 clients."""

    latency_ms: int
    revoke_ms: Spread
    assign_ms: Spread


CLASSIC: Final = ProtocolTimes(5, Spread(5, 150, 30), Spread(5, 40, 10))
"""The application's thread talks to the coordinator itself, with its next poll."""
CONSUMER: Final = ProtocolTimes(5, Spread(100, 350, 200), Spread(50, 200, 95))
"""A background thread talks to the coordinator and hands each callback to the application's next poll."""


def times_of(protocol: str) -> ProtocolTimes:
    """The times of a protocol."""
    return CONSUMER if protocol == "consumer" else CLASSIC
