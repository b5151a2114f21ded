"""What the log does not hold, but the caller of an audit may know."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from rebalance_audit.audit.broker_log.fact import BrokerFact
from rebalance_audit.audit.holes import Holes
from rebalance_audit.audit.lag.end_offsets import EndOffsetsOf, no_end_offsets
from rebalance_audit.audit.thresholds import DepartureRules, FindingRules
from rebalance_audit.audit.verdicts.cause import Verdict
from rebalance_audit.replay.partitions import TopicPartition
from rebalance_audit.wire.topic_names import TopicShape, topic_id_text


def knows_nothing(*_asked: object) -> None:
    """The default for a source that gives one answer: unknown."""


def has_nothing(*_asked: object) -> tuple[()]:
    """The default for a source that gives a list of answers: none."""
    return ()


@dataclass(slots=True, frozen=True)
class AuditOptions:
    """Names and times from outside the log."""

    topic_name: Callable[[bytes], str | None] = knows_nothing
    """Name of a topic id; None if unknown."""
    rules: DepartureRules = field(default_factory=DepartureRules)
    topic_deleted_at: Callable[[bytes], int | None] = knows_nothing
    """When a topic id was deleted (epoch ms); None if unknown or not deleted."""
    topic_lives: Callable[[str], Sequence[tuple[int | None, int | None]]] = has_nothing
    """(created, deleted) in epoch ms of every topic that had the name; None: unknown, or not deleted. (): no source."""
    topic_shapes: Callable[[str], Sequence[TopicShape]] = has_nothing
    """Every shape that topics of the name had, the oldest first. (): no source."""
    findings: FindingRules = field(default_factory=FindingRules)
    with_findings: bool = True
    log_end_ms: int | None = None
    """Latest record timestamp of the whole log (epoch ms): the end for what still goes on; None: the group's last."""
    broker_facts: Callable[[str, int], Sequence[BrokerFact]] = has_nothing
    """(group id, log partition) -> what the brokers logged about the group and its partition."""
    is_whole: Callable[[int], bool | None] = knows_nothing
    """Whether a log partition has a record at each offset from 0 to its last one; None if unknown."""
    holes: Callable[[int], Holes | None] = knows_nothing
    """Where a log partition has no record; None if unknown. Whoever gives this gives `is_whole`, too."""
    end_offsets: EndOffsetsOf = no_end_offsets
    """(topic, partition) -> samples of its end offsets, without which the cost of a rebalance is an estimate."""
    note_cause: Callable[[str, Verdict], None] = knows_nothing
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


_UNNAMED_LIMIT = 10_000
"""Number of unnamed topic ids kept, to bound memory; once full, every other id is treated as one of them."""

_Lives = Sequence[tuple[int | None, int | None]]


class ExternalFacts:
    """Asks the sources given in the options, and remembers the answers that could change later."""

    _unnamed: set[bytes]
    """Topic ids that had no name when one was needed."""
    _more_unnamed: bool
    _lives: dict[str, tuple[int, tuple[tuple[int | None, int | None], ...]]]
    """Topic -> (latest epoch ms asked about, the topic's lives up to then)."""
    _deletions: dict[bytes, tuple[int, int | None]]
    """Topic id -> (latest epoch ms asked about, its deletion if it was deleted by then)."""
    _shapes: dict[str, tuple[int, int]]
    """Topic -> (latest epoch ms asked about, number of its shapes up to then)."""

    def __init__(self, options: AuditOptions) -> None:
        self._options = options
        self._unnamed = set()
        self._more_unnamed = False
        self._lives = {}
        self._deletions = {}
        self._shapes = {}

    @property
    def unnamed(self) -> frozenset[bytes]:
        """Topic ids that had no name when one was needed; at most 10,000 of them."""
        return frozenset(self._unnamed)

    def topic_name(self, topic_id: bytes) -> str | None:
        """Name of a topic id; None if unknown."""
        name = self._options.topic_name(topic_id)
        if name is None and topic_id not in self._unnamed:
            if len(self._unnamed) < _UNNAMED_LIMIT:
                self._unnamed.add(topic_id)
            else:
                self._more_unnamed = True
        return name

    def topic_existed(self, topic: str, at_ms: int) -> bool:
        """Whether a topic of that name is known to have existed at `at_ms` (epoch ms)."""
        asked_ms = max(at_ms, self._lives.get(topic, (at_ms,))[0])
        lives = self._options.topic_lives(topic)
        self._lives[topic] = (asked_ms, _until(asked_ms, lives))
        return any(
            (made_ms is None or made_ms <= at_ms) and (gone_ms is None or gone_ms > at_ms)
            for made_ms, gone_ms in lives
        )

    def topic_deleted(self, topic_id: bytes, by_ms: int) -> bool:
        """Whether the topic is known to have been deleted by `by_ms` (epoch ms)."""
        asked_ms = max(by_ms, self._deletions.get(topic_id, (by_ms,))[0])
        deleted_ms = self._options.topic_deleted_at(topic_id)
        self._deletions[topic_id] = (asked_ms, _by(asked_ms, deleted_ms))
        return deleted_ms is not None and deleted_ms <= by_ms

    def topic_shapes(self, topic: str, by_ms: int) -> Sequence[TopicShape]:
        """The shapes of topics of that name up to `by_ms` (epoch ms), the oldest first."""
        asked_ms = max(by_ms, self._shapes.get(topic, (by_ms,))[0])
        shapes = self._options.topic_shapes(topic)
        self._shapes[topic] = (asked_ms, len(_shaped(asked_ms, shapes)))
        return _shaped(by_ms, shapes)

    def changes(self) -> str | None:
        """A sentence on what the sources would now answer differently; None if no answer has changed."""
        for topic_id in self._unnamed:
            if self._options.topic_name(topic_id) is not None:
                return f"topic {topic_id_text(topic_id)} has a name now"
        if self._more_unnamed:
            return "more topics had no name than are kept"
        for topic, (asked_ms, answer) in self._lives.items():
            if _until(asked_ms, self._options.topic_lives(topic)) != answer:
                return f"more is known of when topic {topic} existed"
        for topic_id, (asked_ms, deleted) in self._deletions.items():
            if _by(asked_ms, self._options.topic_deleted_at(topic_id)) != deleted:
                return f"more is known of the deletion of topic {topic_id_text(topic_id)}"
        for topic, (asked_ms, count) in self._shapes.items():
            if len(_shaped(asked_ms, self._options.topic_shapes(topic))) != count:
                return f"more is known of what topic {topic} was like"
        return None


def _shaped(asked_ms: int, shapes: Sequence[TopicShape]) -> Sequence[TopicShape]:
    return [shape for shape in shapes if shape.at_ms <= asked_ms]


def _until(asked_ms: int, lives: _Lives) -> tuple[tuple[int | None, int | None], ...]:
    """The lives up to `asked_ms`, which answer every question about a time up to then."""
    return tuple(
        (made_ms, _by(asked_ms, gone_ms))
        for made_ms, gone_ms in lives
        if made_ms is None or made_ms <= asked_ms
    )


def _by(asked_ms: int, at_ms: int | None) -> int | None:
    return at_ms if at_ms is not None and at_ms <= asked_ms else None
