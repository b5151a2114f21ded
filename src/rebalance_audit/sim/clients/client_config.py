"""What a consumer is configured with."""

from dataclasses import dataclass
from enum import Enum

from rebalance_audit.sim.clients.habits import CommitHabit
from rebalance_audit.sim.clients.traffic import Traffic


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
