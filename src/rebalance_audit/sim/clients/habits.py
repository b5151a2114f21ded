"""When client libraries and frameworks commit offsets, as measured on logs of real brokers."""

from enum import Enum
from typing import Final, NamedTuple


class CommitScope(Enum):
    """Which of its positions a client commits on an occasion."""

    NOTHING = "nothing"
    NEW = "new"
    """Those that moved since they were last committed."""
    ALL_IF_NEW = "all if any is new"
    ALL = "all"


class CommitHabit(NamedTuple):
    """What one kind of client commits, and when."""

    name: str
    interval_ms: int
    """Milliseconds between commits; 0 = none."""
    on_interval: CommitScope
    on_revoke: CommitScope
    on_close: CommitScope
    per_batch: bool = False
    """After batches of messages rather than on a timer: the interval varies."""
    restarts_timer: bool = False
    """Whether the interval begins again with each assignment."""
    static_leaves: bool = False
    """Whether static members leave for good when they close."""


_NO, _NEW, _ALL = CommitScope.NOTHING, CommitScope.NEW, CommitScope.ALL

COMMIT_HABITS: Final = (
    CommitHabit("Java, auto commit", 5_000, _ALL, _ALL, _ALL, restarts_timer=True),
    CommitHabit(
        "Java, commitSync per batch", 600, CommitScope.ALL_IF_NEW, _NO, _NO, per_batch=True
    ),
    CommitHabit(
        "Java, commitAsync on revocation", 2_000, CommitScope.ALL_IF_NEW, _ALL, _ALL, per_batch=True
    ),
    CommitHabit("Java, no commits", 0, _NO, _NO, _NO),
    CommitHabit("Spring Kafka", 600, _NEW, _NEW, _NO, per_batch=True),
    CommitHabit("reactor-kafka", 3_000, _NEW, _NEW, _NEW),
    CommitHabit("Pekko", 10_000, _NEW, _NEW, _NEW),
    CommitHabit("librdkafka, auto commit", 5_000, _NEW, _NEW, _NEW),
    CommitHabit("librdkafka, commit per batch", 1_000, _NEW, _NO, _NO, per_batch=True),
    CommitHabit("franz-go, auto commit", 5_000, _NEW, _NEW, _NEW),
    CommitHabit("franz-go, own callback", 3_000, _NEW, _NO, _NO, static_leaves=True),
    CommitHabit("sarama", 1_000, _NEW, _NEW, _NEW),
    CommitHabit("kafka-go", 3_000, _NEW, _NEW, _NEW),
    CommitHabit("@platformatic/kafka", 3_000, _NEW, _NEW, _NEW),
    CommitHabit("KafkaJS", 400, _NEW, _NO, _NO, per_batch=True),
    CommitHabit("aiokafka", 3_000, _ALL, _ALL, _ALL, restarts_timer=True),
    CommitHabit("kafka-python", 5_000, _ALL, _ALL, _ALL, restarts_timer=True),
)
"""Measured on one broker of release 4.3, with franz-go 1.22, sarama 1.61, kafka-go 0.4.51, KafkaJS 2.2.4, platformatic
1.35, aiokafka 0.14, spring-kafka 4.1, reactor-kafka 1.3.25, pekko-connectors-kafka 1.2 and rdkafka 0.39."""
