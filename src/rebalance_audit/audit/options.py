"""What the log does not hold but the caller of an audit may know."""

from collections.abc import Callable
from dataclasses import dataclass, field

from rebalance_audit.audit.departures import DepartureRules


def unnamed(_topic_id: bytes) -> str | None:
    """The name of a topic where no source of names was given."""
    return None


@dataclass(slots=True, frozen=True)
class AuditOptions:
    """Names and times from outside the log."""

    topic_name: Callable[[bytes], str | None] = unnamed
    """Name of a topic id; None where it is unknown."""
    rules: DepartureRules = field(default_factory=DepartureRules)
