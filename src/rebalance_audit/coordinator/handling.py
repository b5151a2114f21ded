"""What every handler takes and gives: the alphabet between the coordinator and whoever drives it.

A handler reads hard state (the groups, which only replay writes) and soft state (timers, parked requests, the join
phase of a classic group), and returns a `Result`. The driver appends the records, replays them, sends the replies and
arms the timers; a handler never touches a group. A timer that fires goes through a handler like a request does.
"""

from dataclasses import dataclass, field
from enum import Enum, IntEnum, StrEnum
from functools import lru_cache
from typing import NamedTuple, Protocol, TypeAlias

from rebalance_audit.coordinator.reasons import Bump, Departure, Meanwhile
from rebalance_audit.wire.generated.messages import Key, Value


class ErrorCode(IntEnum):
    """Error codes of the Kafka protocol that the coordinator answers with (org.apache.kafka.common.protocol.Errors)."""

    UNKNOWN_SERVER_ERROR = -1
    NONE = 0
    UNKNOWN_TOPIC_OR_PARTITION = 3
    OFFSET_METADATA_TOO_LARGE = 12
    COORDINATOR_LOAD_IN_PROGRESS = 14
    COORDINATOR_NOT_AVAILABLE = 15
    NOT_COORDINATOR = 16
    ILLEGAL_GENERATION = 22
    INCONSISTENT_GROUP_PROTOCOL = 23
    INVALID_GROUP_ID = 24
    UNKNOWN_MEMBER_ID = 25
    INVALID_SESSION_TIMEOUT = 26
    REBALANCE_IN_PROGRESS = 27
    UNSUPPORTED_VERSION = 35
    INVALID_REQUEST = 42
    NON_EMPTY_GROUP = 68
    GROUP_ID_NOT_FOUND = 69
    MEMBER_ID_REQUIRED = 79
    GROUP_MAX_SIZE_REACHED = 81
    FENCED_INSTANCE_ID = 82
    GROUP_SUBSCRIBED_TO_TOPIC = 86
    UNSTABLE_OFFSET_COMMIT = 88
    UNKNOWN_TOPIC_ID = 100
    FENCED_MEMBER_EPOCH = 110
    UNRELEASED_INSTANCE_ID = 111
    UNSUPPORTED_ASSIGNOR = 112
    STALE_MEMBER_EPOCH = 113
    INVALID_REGULAR_EXPRESSION = 128
    INVALID_ASSIGNMENT = 20_848
    """KIP-848 names it, but no Kafka release has it: the number is our own, far from Kafka's."""


class RecordDraft(NamedTuple):
    """A record that a handler wants written; `value` None makes it a tombstone."""

    key: Key
    value: Value | None


class TimerKind(StrEnum):
    """What a timer is for; together with group and member it is the timer's identity."""

    JOIN = "join"
    """Classic: end of the join phase (initial rebalance delay, then the group's rebalance timeout).

    With a member id: a classic member of a consumer group was asked to rejoin.
    """
    SYNC = "sync"
    """Classic: members that joined must sync (pending sync). With a member id: as above, that member must sync."""
    PENDING_MEMBER = "pending_member"
    """Classic: a member id was handed out and the second JoinGroup must follow."""
    SESSION = "session"
    REBALANCE = "rebalance"
    """Consumer and streams: a member must give up partitions."""
    CLIENT_ASSIGNOR = "client_assignor"
    """Consumer: the member chosen to run a client-side assignor must install within its rebalance timeout."""
    REGEX = "regex"
    """Consumer: resolve the group's regular expressions, away from the heartbeat."""
    SHARE_STATE = "share_state"
    """Share: the requested partitions are initialised."""
    INITIAL_DELAY = "initial_delay"
    """Streams: a group without members waits for more before it assigns."""
    EXPIRY = "expiry"
    """The periodic expiry of offsets and groups."""


class Timer(NamedTuple):
    """A timer's identity: arming it again moves its deadline."""

    kind: TimerKind
    group_id: str = ""
    member_id: str = ""


@lru_cache(1 << 15)
def session_of(group_id: str, member_id: str) -> Timer:
    """The session timer of a member, cached since every heartbeat names it."""
    return Timer(TimerKind.SESSION, group_id, member_id)


class TimerChange(NamedTuple):
    """Arm a timer for `deadline_ms`, or cancel it (None)."""

    timer: Timer
    deadline_ms: int | None


class Prolonged(NamedTuple):
    """All that a quiet heartbeat does: it restarts its member's session. The answer has no news."""

    session: Timer
    deadline_ms: int
    heartbeat_interval_ms: int
    """When the next one is due; 0 if the protocol does not say."""


class Reply(NamedTuple):
    """The answer to a request, possibly one that was parked before; sent once the records are appended."""

    token: int
    """The driver's name for the request."""
    response: tuple[object, ...]
    """One of the response NamedTuples."""


class TransactionWrite(NamedTuple):
    """What makes a write transactional: its records, or a marker that ends the producer's transaction."""

    producer_id: int
    producer_epoch: int
    committed: bool | None = None
    """None: the records belong to the open transaction. Else the write is a marker and has no records."""
    coordinator_epoch: int = 0
    """Of the transaction coordinator, for the marker."""


def answered(token: int, response: tuple[object, ...]) -> "Result":
    """What a request does that is only answered."""
    return Result(replies=(Reply(token, response),))


@dataclass(slots=True, frozen=True)
class Result:
    """What one request or one timer does: one write, its replies, its timers."""

    records: tuple[RecordDraft, ...] = ()
    replies: tuple[Reply, ...] = ()
    timers: tuple[TimerChange, ...] = ()
    atomic: bool = True
    """False for expiry, whose records may be split over several batches."""
    transaction: TransactionWrite | None = None
    """Set for writes of transactions, which share no batch with other writes."""
    bumps: tuple[Bump, ...] = ()
    """Why groups go on to other epochs or generations; for whoever watches."""
    departures: tuple[Departure, ...] = ()
    """Members that are none any more, as `bumps`."""
    meanwhile: tuple[Meanwhile, ...] = ()
    """What happens in join phases without beginning one, as `bumps`."""


NOTHING_TO_DO = Result()


class TopicDescription(NamedTuple):
    """One topic as the coordinator sees it."""

    topic_id: bytes
    name: str
    partition_racks: tuple[tuple[str, ...], ...]
    """Racks of each partition's replicas; its length is the partition count."""


class TopicImage(Protocol):
    """The cluster's topics at one moment, as the coordinator reads them from the metadata log."""

    metadata_version: int
    """Grows with every change to any topic."""

    def topic(self, name: str) -> TopicDescription | None:
        """The existing topic of that name."""

    def topic_by_id(self, topic_id: bytes) -> TopicDescription | None:
        """The existing topic of that id."""

    def names(self) -> tuple[str, ...]:
        """Names of all existing topics, sorted."""


class IdSource(Protocol):
    """The source of random ids: seeded in simulations."""

    def uuid_text(self) -> str:
        """A fresh id as Kafka prints one."""


class Dialect(StrEnum):
    """The release whose coordinator is imitated: layouts, first epochs, metadata records, order of records."""

    R3_7 = "3.7"
    R3_9 = "3.9"
    R4_0 = "4.0"
    R4_1 = "4.1"
    R4_3 = "4.3"
    R4_4 = "4.4"


class MigrationPolicy(Enum):
    """`group.consumer.migration.policy`."""

    DISABLED = "disabled"
    UPGRADE = "upgrade"
    DOWNGRADE = "downgrade"
    BIDIRECTIONAL = "bidirectional"


@dataclass(slots=True)
class CoordinatorConfig:
    """Broker and group settings that decide what the coordinator does; names and defaults are Kafka's."""

    dialect: Dialect = Dialect.R4_4
    group_initial_rebalance_delay_ms: int = 3_000
    group_min_session_timeout_ms: int = 6_000
    group_max_session_timeout_ms: int = 1_800_000
    group_max_size: int = 2_147_483_647
    consumer_session_timeout_ms: int = 45_000
    consumer_heartbeat_interval_ms: int = 5_000
    consumer_max_size: int = 2_147_483_647
    consumer_assignment_interval_ms: int = 1_000
    """Before release 4.3 it is 0, whatever is set."""
    consumer_regex_refresh_interval_ms: int = 600_000
    consumer_regex_resolution_ms: int = 0
    """How long the search for the topics of expressions takes; not a setting of Kafka's, but of its machine."""
    share_initialisation_ms: int = 50
    """How long the share coordinator takes to initialise partitions; not a setting of Kafka's either."""
    share_retry_interval_ms: int = 30_000
    """`group.share.initialize.retry.interval.ms`"""
    streams_initial_delay_ms: int = 3_000
    """`group.streams.initial.rebalance.delay.ms`; before 4.2 there is none, whatever is set."""
    streams_standby_replicas: int = 0
    server_assignors: tuple[str, ...] = ("uniform", "range")
    migration_policy: MigrationPolicy = MigrationPolicy.BIDIRECTIONAL
    offsets_retention_ms: int = 604_800_000
    offset_metadata_max_bytes: int = 4_096
    classic_creation_recorded: bool = True
    """False = as releases up to 3.9 by default: no record before a classic group's first generation is complete."""
    group_overrides: dict[str, dict[str, int]] = field(default_factory=dict)
    """Dynamic group configuration: group id -> setting -> value, e.g. `consumer.session.timeout.ms`."""

    def of_group(self, group_id: str, name: str, default: int) -> int:
        """A group's setting: its dynamic configuration, else the broker's."""
        return self.group_overrides.get(group_id, {}).get(name, default)


Response: TypeAlias = tuple[object, ...]


class RefusedError(Exception):
    """A request is answered with an error and leaves no trace; raised before anything is decided."""

    def __init__(self, error_code: ErrorCode, message: str) -> None:
        """`message` is for the client."""
        super().__init__(message)
        self.error_code = error_code
