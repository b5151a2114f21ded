"""What a consumer is configured with, when its library commits, and the traffic that it consumes."""

from dataclasses import dataclass
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


_PER_SECOND: Final = 10
_SLOW_MS: Final = 20_000
"""Time between two messages of a partition with little traffic."""
_ROUND_MS: Final = 60_000
_BURST_MS: Final = 15_000


class Traffic(Enum):
    """How messages come to the partitions of a group."""

    STEADY = "steady"
    """To all partitions, ten a second."""
    UNEVEN = "uneven"
    """To every third partition as many, to the next one hardly any, to the third none."""
    BURSTS = "bursts"
    """For a quarter of every minute; each partition at another time."""
    IDLE = "idle"
    """None."""

    def position(self, number: int, now_ms: int) -> int:
        """The next offset to consume of a partition, whose consumer keeps up."""
        if self is Traffic.IDLE or (self is Traffic.UNEVEN and number % 3 == 2):
            return number
        if self is Traffic.UNEVEN and number % 3 == 1:
            return now_ms // _SLOW_MS + number
        if self is Traffic.BURSTS:
            rounds, in_round_ms = divmod(now_ms + number * _BURST_MS, _ROUND_MS)
            now_ms = rounds * _BURST_MS + min(in_round_ms, _BURST_MS)
        return now_ms // 1_000 * _PER_SECOND + number


class Library(Enum):
    """Which library's behaviour a client has."""

    JAVA = "java"
    LIBRDKAFKA = "librdkafka"


class Committing(Enum):
    """What makes a client commit, if it commits at all."""

    AUTO = "auto"
    """The library, on an interval, when it gives partitions up and as it closes.

    The Java client commits all positions (ConsumerCoordinator, CommitRequestManager: `allConsumed`), librdkafka those
    that moved (rd_kafka_cgrp_assigned_offsets_commit). Neither does while the application does not poll.
    """
    MANUAL = "manual"
    """The application, now and then after work, what moved; not as it closes."""
    ON_WAKE_UP = "manual and on wake-up"
    """The application, after work, and once more when it is woken up to stop: `wakeup`, `commitSync`, `close`."""
    TRANSACTIONAL = "transactional"
    """The application's producer, in a transaction now and then, what moved (`sendOffsetsToTransaction`).

    The coordinator takes it from a member of the current generation alone. A process that dies leaves its transaction
    open until the transaction coordinator aborts it.
    """


@dataclass(slots=True)
class ClientConfig:
    """What a consumer is configured with; times in milliseconds."""

    name: str
    group_id: str
    topics: tuple[str, ...]
    instance_id: str | None = None
    session_timeout_ms: int = 10_000
    heartbeat_interval_ms: int = 3_000
    max_poll_interval_ms: int = 30_000
    """Also the rebalance timeout."""
    request_timeout_ms: int = 5_000
    commit_interval_ms: int = 5_000
    """Milliseconds between commits; 0 = no commits."""
    committing: Committing = Committing.AUTO
    habit: CommitHabit | None = None
    """What it commits and when, instead of what follows from the library and `committing`."""
    traffic: Traffic = Traffic.STEADY
    revoke_ms: int = 5
    """How long the application takes to give partitions up."""
    assign_ms: int = 1
    """How long after an assignment the application reads its partitions."""
    assignors: tuple[str, ...] = ("range",)
    """Classic: supported assignors, most preferred first."""
    assigns_for_ms: int = 0
    """Classic: how long the assignment takes when the member leads."""
    server_assignor: str | None = None
    regex: str | None = None
    """Consumer protocol: subscription by expression, in addition to or instead of the topics."""
    subscribes_after_ms: int = 0
    """Consumer protocol: how long after it joins without topics the member subscribes; 0: it joins with them."""
    client_assignor: str | None = None
    """Consumer protocol: the assignor that the member runs when it is chosen (KIP-848, release 3.7)."""
    library: Library = Library.JAVA
    makes_own_id: bool = True
    """Consumer protocol: whether the client generates the member id (KIP-1082); else the coordinator does."""
