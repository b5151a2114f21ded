"""What replay reports: the second alphabet of the coordinator.

Records go in, changes come out. A change is a frozen value that says what one record did to one group; it carries the
position of the record that caused it. A record that changes nothing still reports what it rewrote if that is evidence
(a repeated current assignment, a regex resolved again to the same topics).
"""

from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from rebalance_audit.moments import NO_TIMESTAMP_MS
from rebalance_audit.replay.partitions import Partitions

if TYPE_CHECKING:
    from rebalance_audit.wire.segments.columns import Run


class Position(NamedTuple):
    """Where and when the log holds a record."""

    log_partition: int
    log_offset: int
    record_timestamp_ms: int
    leader_epoch: int | None = None
    """Leader epoch of the batch; None if the source hides it (Spark's Kafka source, old message formats)."""
    producer_id: int = -1
    is_transactional: bool = False

    @classmethod
    def in_run(cls, log_partition: int, run: "Run", log_offset: int, at_ms: int) -> "Position":
        """Of a record in a run of a segment."""
        epoch, producer_id = run.leader_epoch, run.producer_id
        return cls(log_partition, log_offset, at_ms, epoch, producer_id, run.is_transactional)


class GroupType(StrEnum):
    """Kinds of group that share one id space, as in the `protocol` column."""

    CLASSIC = "classic"
    CONSUMER = "consumer"
    SHARE = "share"
    STREAMS = "streams"


class AnomalyKind(StrEnum):
    """Records that the strict rules refuse. Kafka's own loader fails on the ones marked *fatal* there."""

    WRONG_GROUP_TYPE = "wrong_group_type"
    """A record of one group type for a living group of another type (fatal in Kafka).

    A consumer group's record for a classic group was applied: the tombstone of the classic one is missing.
    """
    GROUP_NOT_EMPTY = "group_not_empty"
    """A group's tombstone while members, targets or an assignment epoch remain (fatal in Kafka)."""
    MEMBER_NOT_RELEASED = "member_not_released"
    """A member's tombstone before its assignment's or target's tombstone (fatal in Kafka)."""
    TARGETS_REMAIN = "targets_remain"
    """The target metadata's tombstone while a member's target remains (fatal in Kafka)."""
    TOMBSTONE_OF_UNKNOWN = "tombstone_of_unknown"
    """A tombstone of a group or member that the log does not hold; Kafka ignores it."""
    PARTITION_OWNED_TWICE = "partition_owned_twice"
    """A member takes a partition that another member holds at the same or a later epoch."""
    EPOCH_WENT_BACK = "epoch_went_back"
    """A group epoch, assignment epoch or generation that is lower than before."""
    EPOCH_SKIPPED = "epoch_skipped"
    """A group epoch more than one above the previous one: records in between are missing."""
    MEMBER_ABOVE_ASSIGNMENT = "member_above_assignment"
    """A member epoch above the assignment epoch."""
    OFFSET_WENT_BACK = "offset_went_back"
    """A record at a log offset that is not above the previous one; it was not applied."""
    BAD_VALUE = "bad_value"
    """A field with a value that the protocol does not allow (a negative assignment timestamp, an epoch below -1)."""


class GroupCreated(NamedTuple):
    """A group object came to be: by its own record, or by an offset commit of an unknown group (`simple`)."""

    position: Position
    group_type: GroupType
    simple: bool
    replaced: GroupType | None
    """Type of the group that it replaced: a simple classic one, or any type for a classic group's record."""


class GroupRemoved(NamedTuple):
    """The group's own tombstone was applied."""

    position: Position
    group_type: GroupType


class GroupStateChanged(NamedTuple):
    """The derived state of the group changed; names as Kafka's describe commands print them."""

    position: Position
    old: str | None
    new: str | None
    """None when the group is gone."""


class GroupEpochBumped(NamedTuple):
    """A group epoch record ([3], [11], [17]), even one that repeats the same epoch."""

    position: Position
    group_type: GroupType
    old_epoch: int | None
    """None when the log holds no earlier epoch record of this group object."""
    new_epoch: int
    old_metadata_hash: int | None
    """None when no earlier record shows that the group's coordinator records a hash (from 4.1 on)."""
    new_metadata_hash: int


class MemberSubscribed(NamedTuple):
    """A member metadata record ([5], [10], [19]): a new member, or new metadata of a known one."""

    position: Position
    member_id: str
    instance_id: str | None
    joined: bool
    """True when the group did not know this member id."""
    changed: tuple[str, ...]
    """Names of the member's fields whose value differs from before, in the order of the member class.

    () for a new member, and for one known only by its current assignment: its earlier values are unknown.
    """


class MemberUnsubscribed(NamedTuple):
    """A member's metadata tombstone: the member is gone."""

    position: Position
    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str


class MemberAssigned(NamedTuple):
    """A current assignment record ([8], [14], [22]) or its tombstone (`released`)."""

    position: Position
    member_id: str
    released: bool
    old_member_epoch: int
    new_member_epoch: int
    old_state: str
    new_state: str
    old_assigned: Partitions
    new_assigned: Partitions
    old_pending: Partitions
    """Partitions pending revocation before the record."""
    new_pending: Partitions


class MemberTargeted(NamedTuple):
    """A member's target assignment record ([7], [13], [21]) or its tombstone (`new` is None)."""

    position: Position
    member_id: str
    old: Partitions | None
    new: Partitions | None


class TargetInstalled(NamedTuple):
    """A target assignment metadata record ([6], [12], [20]); the tombstone sets the epoch to -1."""

    position: Position
    old_assignment_epoch: int
    new_assignment_epoch: int
    assignment_timestamp_ms: int
    """0 = the log does not say (release below 4.3, or a group that became empty)."""


class RegexResolved(NamedTuple):
    """A resolved regular expression ([16]); `new` is None for its tombstone, `old` for a first resolution."""

    position: Position
    regular_expression: str
    old: frozenset[str] | None
    new: frozenset[str] | None


class TopicMetadataRecorded(NamedTuple):
    """A partition metadata record ([4], releases 3.7 to 4.0; [9], [18]) or its tombstone."""

    position: Position
    topics: tuple[str, ...] | None
    """Topics whose shape differs from the previous record (all of them for a first one); None for the tombstone."""
    is_first: bool = False
    """The group had no such record before: what is compared with nothing has not changed."""


class GenerationCompleted(NamedTuple):
    """A classic group's snapshot ([2] with a value). Compare `old` and `new` of the group for the difference."""

    position: Position
    old_generation: int | None
    """None when the group was not known as a classic group with a record of its own."""
    new_generation: int


class TopologyChanged(NamedTuple):
    """A streams group's topology record ([23]); -1 for its tombstone."""

    position: Position
    topology_epoch: int


class SharePartitionsRecorded(NamedTuple):
    """The share group's list of initialised partitions ([15]); purely informative."""

    position: Position


class OffsetCommitted(NamedTuple):
    """An offset commit became the committed one (at once, or when its transaction committed)."""

    position: Position
    topic: str
    topic_partition: int
    committed_offset: int


class OffsetPending(NamedTuple):
    """A transactional offset commit waits for its marker."""

    position: Position
    topic: str
    topic_partition: int
    producer_id: int


class OffsetRemoved(NamedTuple):
    """A commit's tombstone."""

    position: Position
    topic: str
    topic_partition: int


class TransactionEnded(NamedTuple):
    """A transaction marker reached pending commits of this group."""

    position: Position
    producer_id: int
    committed: bool
    offsets: int
    """How many pending commits it committed or dropped."""


class Anomaly(NamedTuple):
    """A record that the strict rules refuse.

    It was applied as Kafka's own loader would, or left out if that loader would stop. Two owners of a partition are the
    exception: the loader stops, but the newer owner's record is the truth and was applied.
    """

    position: Position
    kind: AnomalyKind
    detail: str


Change: TypeAlias = (
    GroupCreated
    | GroupRemoved
    | GroupStateChanged
    | GroupEpochBumped
    | MemberSubscribed
    | MemberUnsubscribed
    | MemberAssigned
    | MemberTargeted
    | TargetInstalled
    | RegexResolved
    | TopicMetadataRecorded
    | GenerationCompleted
    | TopologyChanged
    | SharePartitionsRecorded
    | OffsetCommitted
    | OffsetPending
    | OffsetRemoved
    | TransactionEnded
    | Anomaly
)


OFFSET_COMMIT_NUMBERS: Final = frozenset({0, 1})
"""Record types of offset commits, which change no group."""
_NUMBERS: Final = {
    GroupType.CLASSIC: frozenset({2}),
    GroupType.CONSUMER: frozenset({*range(3, 9), 16}),
    GroupType.SHARE: frozenset(range(9, 16)),
    GroupType.STREAMS: frozenset(range(17, 25)),
}


def group_type_of(record_type: int | None) -> GroupType | None:
    """The type of group whose records have this number; None for offset commits and numbers that are not known."""
    return next((kind for kind, numbers in _NUMBERS.items() if record_type in numbers), None)


NO_PRODUCER_ID: Final = -1
"""Kafka's value for a batch that no idempotent producer wrote (`RecordBatch.NO_PRODUCER_ID`)."""


def position_of(
    log_partition: int,
    log_offset: int,
    timestamp_us: int | None,
    leader_epoch: int | None,
    producer_id: int | None,
    is_transactional: bool | None,
) -> Position:
    """The position of a row of `bronze.records` or of records routed in Spark; `timestamp_us` is epoch microseconds.

    Null where the source does not expose the value.
    """
    return Position(
        log_partition,
        log_offset,
        NO_TIMESTAMP_MS if timestamp_us is None else timestamp_us // 1000,
        leader_epoch,
        NO_PRODUCER_ID if producer_id is None else producer_id,
        bool(is_transactional),
    )
