"""What the log does not hold, but the caller of an audit may know."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from rebalance_audit.audit.broker_log.fact import BrokerFact
from rebalance_audit.audit.departure_rules import DepartureRules
from rebalance_audit.audit.finding_rules import FindingRules
from rebalance_audit.audit.holes import Holes
from rebalance_audit.audit.lag.end_offsets import EndOffsetsOf, no_end_offsets
from rebalance_audit.audit.verdicts.cause import Verdict
from rebalance_audit.replay.partitions import TopicPartition
from rebalance_audit.wire.topic_names import TopicShape, topic_id_text


def unnamed(_topic_id: bytes) -> str | None:
    """The default for `topic_name`: no name is known."""
    return None


def not_deleted(_topic_id: bytes) -> int | None:
    """The default for `topic_deleted_at`: no deletion is known."""
    return None


def no_lives(_topic: str) -> Sequence[tuple[int | None, int | None]]:
    """The default for `topic_lives`: nothing is known about when a topic existed."""
    return ()


def no_shapes(_topic: str) -> Sequence[TopicShape]:
    """The default for `topic_shapes`: no metadata log was given."""
    return ()


def nothing_logged(_group_id: str, _log_partition: int) -> Sequence[BrokerFact]:
    """The default for `broker_facts`: no broker's log was given."""
    return ()


def unknown_completeness(_log_partition: int) -> bool | None:
    """The default for `is_whole`: nothing is known about the rest of the partition."""
    return None


def unknown_gaps(_log_partition: int) -> Holes | None:
    """The default for `holes`: where the partition lacks records is not known."""
    return None


def unnoted(_group_id: str, _verdict: Verdict) -> None:
    """The default for `note_cause`."""


@dataclass(slots=True, frozen=True)
class AuditOptions:
    """Names and times from outside the log."""

    topic_name: Callable[[bytes], str | None] = unnamed
    """Name of a topic id; None if unknown."""
    rules: DepartureRules = field(default_factory=DepartureRules)
    topic_deleted_at: Callable[[bytes], int | None] = not_deleted
    """When a topic id was deleted (epoch ms); None if unknown or not deleted."""
    topic_lives: Callable[[str], Sequence[tuple[int | None, int | None]]] = no_lives
    """(created, deleted) in epoch ms of every topic that had the name; None: unknown, or not deleted. (): no source."""
    topic_shapes: Callable[[str], Sequence[TopicShape]] = no_shapes
    """Every shape that topics of the name had, the oldest first. (): no source."""
    findings: FindingRules = field(default_factory=FindingRules)
    with_findings: bool = True
    """Whether the audit emits rows of `findings`."""
    log_end_ms: int | None = None
    """Latest record timestamp of the whole log (epoch ms): the end for what still goes on; None: the group's last."""
    broker_facts: Callable[[str, int], Sequence[BrokerFact]] = nothing_logged
    """(group id, log partition) -> what the brokers logged about the group and its partition."""
    is_whole: Callable[[int], bool | None] = unknown_completeness
    """Whether a log partition has a record at each offset from 0 to its last one; None if unknown."""
    holes: Callable[[int], Holes | None] = unknown_gaps
    """Where a log partition has no record; None if unknown. Whoever gives this gives `is_whole`, too."""
    end_offsets: EndOffsetsOf = no_end_offsets
    """(topic, partition) -> samples of its end offsets, without which the cost of a rebalance is an estimate."""
    note_cause: Callable[[str, Verdict], None] = unnoted
    """Called with the group id and each final cause, for those who measure how right causes are."""

    def topic_of(self, partition: TopicPartition) -> tuple[str | None, str | None]:
        """A partition's topic id and topic name, as far as they are known."""
        topic = partition[0]
        if isinstance(topic, str):
            return None, topic
        return topic_id_text(topic), self.topic_name(topic)

    def partition_name(self, partition: TopicPartition) -> str:
        """As in `orders-3`, with the topic's id where its name is unknown."""
        topic_id, topic = self.topic_of(partition)
        return f"{topic or topic_id}-{partition[1]}"
