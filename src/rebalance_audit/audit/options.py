"""What the log does not hold but the caller of an audit may know."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from rebalance_audit.audit.broker_log.fact import BrokerFact
from rebalance_audit.audit.causes.departures import DepartureRules
from rebalance_audit.audit.findings.rules import FindingRules


def unnamed(_topic_id: bytes) -> str | None:
    """The name of a topic where no source of names was given."""
    return None


def not_deleted(_topic_id: bytes) -> int | None:
    """The deletion of a topic where no source of deletions was given."""
    return None


def no_lives(_topic: str) -> Sequence[tuple[int | None, int | None]]:
    """When a topic existed where nobody says."""
    return ()


def nothing_logged(_group_id: str, _log_partition: int) -> Sequence[BrokerFact]:
    """What the brokers logged of a group where no broker's log was given."""
    return ()


@dataclass(slots=True, frozen=True)
class AuditOptions:
    """Names and times from outside the log."""

    topic_name: Callable[[bytes], str | None] = unnamed
    """Name of a topic id; None where it is unknown."""
    rules: DepartureRules = field(default_factory=DepartureRules)
    topic_deleted_at: Callable[[bytes], int | None] = not_deleted
    """Time of a topic id's deletion in epoch milliseconds; None where it is unknown or was not deleted."""
    topic_lives: Callable[[str], Sequence[tuple[int | None, int | None]]] = no_lives
    """(time made, time deleted) of every topic that had the name; None = not known, and not deleted. () = no source."""
    findings: FindingRules = field(default_factory=FindingRules)
    with_findings: bool = True
    """Whether rows of `findings` are handed out."""
    log_end_ms: int | None = None
    """Latest record time of the whole log: what still goes on has lasted until then. None: the group's last record."""
    broker_facts: Callable[[str, int], Sequence[BrokerFact]] = nothing_logged
    """(group id, log partition) -> what the brokers logged of the group and of its partition."""
