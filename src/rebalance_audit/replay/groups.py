"""State of groups of all types, as records leave it.

Only `replay` writes to these objects. Of a classic group it is the last finished generation, as its record holds it. Of
consumer, share and streams groups, field meanings follow Kafka's ConsumerGroup, ConsumerGroupMember and their share and
streams counterparts; methods keep derived values (state, members not yet converged) up to date, so that reading them
never costs a pass over the members.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import repeat
from typing import NamedTuple, TypeAlias

from rebalance_audit.replay.changes import GroupType, Position
from rebalance_audit.replay.partitions import NOTHING, Partitions, Topic, TopicPartition
from rebalance_audit.wire.consumer_protocol import Assignment, Subscription
from rebalance_audit.wire.generated.messages import ConsumerGroupMemberMetadataAssignor


class ClassicMember(NamedTuple):
    """One member of a generation. The two byte fields are opaque unless the protocol type is `consumer`."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    """The session timeout if the record is too old to have it (value version 0)."""
    session_timeout_ms: int
    subscription_bytes: bytes
    assignment_bytes: bytes
    subscription: Subscription | None
    """None when the protocol type is not `consumer` or the bytes are malformed, as is `assignment`."""
    assignment: Assignment | None
    assigned: Partitions
    """Topic name -> partitions of `assignment`; empty when it is None."""
    partition_count: int


@dataclass(slots=True)
class ClassicGroup:
    """One classic group. In the log only Empty and Stable exist; the phases of a rebalance are in memory only."""

    group_id: str
    has_record: bool = False
    """False for a simple group, known only by its offset commits."""
    protocol_type: str = ""
    generation: int = 0
    protocol_name: str | None = None
    leader_member_id: str | None = None
    current_state_timestamp_ms: int = -1
    """When the group entered its last state; -1 when the record is too old to have it (value versions 0 and 1)."""
    members: Mapping[str, ClassicMember] = field(default_factory=dict)
    """By member id, in record order. Every record replaces the whole mapping, so a reference to it never changes."""

    def is_simple(self) -> bool:
        """Empty and without protocol type: any record of another group type replaces it (reference: isSimpleGroup)."""
        return not self.protocol_type and not self.members

    def group_state(self) -> str:
        """Empty or Stable."""
        return "Stable" if self.members else "Empty"


STABLE = "STABLE"
UNREVOKED = "UNREVOKED"
UNRELEASED = "UNRELEASED"
UNKNOWN = "UNKNOWN"

NOT_VALIDATED = -1
"""The validated topology epoch of a streams group whose topology is not valid."""
STATIC_LEAVE_EPOCH = -2
LEFT_EPOCH = -1


@dataclass(slots=True, frozen=True)
class ClassicMembership:
    """What a member of a consumer group that speaks the classic protocol sent in its JoinGroup."""

    session_timeout_ms: int
    supported_protocols: tuple[tuple[str, bytes], ...]
    """(protocol name, subscription bytes) in the member's order of preference."""


class ClientAssignorResult(NamedTuple):
    """What a client-side assignor said about one member (KIP-848; only the layouts of 3.7 have it)."""

    error: int
    """0 = none."""
    metadata_version: int
    metadata_bytes: bytes


class RegexResolution(NamedTuple):
    """How a regular expression was resolved to topics."""

    metadata_version: int
    """Version of the metadata image that was searched."""
    resolved_at_ms: int
    """Start of the search in epoch milliseconds, coordinator clock."""


class RecordedTopic(NamedTuple):
    """One topic of the last topic metadata record; two are equal if the topic kept its shape."""

    topic_id: bytes
    topic_name: str
    partition_count: int
    partition_racks: tuple[tuple[int, tuple[str, ...]], ...]
    """(partition number, racks); empty when no partition has a known rack."""


@dataclass(slots=True)
class ModernMember:
    """One member. In a compacted log it may be known only by its assignment record: `described` is False then."""

    member_id: str
    described: bool = False
    instance_id: str | None = None
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    subscribed_topic_names: tuple[str, ...] = ()
    subscribed_topic_regex: str = ""
    rebalance_timeout_ms: int = -1
    server_assignor: str | None = None
    classic: ClassicMembership | None = None
    client_assignors: tuple[ConsumerGroupMemberMetadataAssignor, ...] = ()
    """Layouts of 3.7 only."""
    topology_epoch: int = -1
    """Streams only, as are the next three."""
    process_id: str = ""
    user_endpoint: tuple[str, int] | None = None
    client_tags: tuple[tuple[str, str], ...] = ()
    member_epoch: int = 0
    previous_member_epoch: int = -1
    member_state: str = STABLE
    assigned: Partitions = field(default_factory=dict)
    """Partitions the member may use; a streams member's active tasks."""
    pending_revocation: Partitions = field(default_factory=dict)
    assignment_epochs: Mapping[TopicPartition, int] = field(default_factory=dict)
    """Assignment epoch per assigned or pending partition if the record has it (4.3+, KIP-1251); else empty."""
    target_member_epoch: int = -1
    """Layouts of 3.7 only, as are the next two: the epoch that the member moves to."""
    pending_assignment: Partitions = field(default_factory=dict)
    """Partitions that wait for their previous owners."""
    client_assignor_result: ClientAssignorResult | None = None
    standby: Partitions = field(default_factory=dict)
    """Streams only, as is warmup."""
    warmup: Partitions = field(default_factory=dict)

    def assignment_epoch_of(self, topic: Topic, number: int) -> int:
        """Epoch at which the member got the partition.

        If the record has none (before 4.3), the member's own epoch stands in for it, or 0 after a static leave.
        """
        return self.assignment_epochs.get((topic, number), max(self.member_epoch, 0))


@dataclass(slots=True)
class ModernGroup:
    """One consumer, share or streams group."""

    group_id: str
    group_type: GroupType
    group_epoch: int = 0
    """Implicit while `has_epoch_record` is False: releases from 4.3 start at 1, earlier ones at 0."""
    has_epoch_record: bool = False
    metadata_hash: int = 0
    records_hash: bool = field(default=False, compare=False)
    """Whether a record shows that the hash is one of 4.1 or later: up to 4.0, 0 means that none was recorded.

    No part of what groups are compared by: the record that showed it may be cleaned away.
    """
    assignment_epoch: int = 0
    """Implicit while `has_assignment_record` is False, like the group epoch; -1 after its tombstone."""
    has_assignment_record: bool = False
    assignment_timestamp_ms: int = 0
    members: dict[str, ModernMember] = field(default_factory=dict)
    targets: dict[str, Partitions] = field(default_factory=dict)
    """Target assignment by member id; the member need not exist."""
    target_results: dict[str, ClientAssignorResult] = field(default_factory=dict)
    """By member id; layouts of 3.7 only."""
    static_members: dict[str, str] = field(default_factory=dict)
    """Instance id -> member id."""
    regexes: dict[str, frozenset[str]] = field(default_factory=dict)
    regex_resolutions: dict[str, RegexResolution] = field(default_factory=dict)
    """Same keys as `regexes`."""
    recorded_topics: dict[str, int] | None = None
    """Topic name -> partition count of the last [4] value (releases 3.7 to 4.0); None if the log has none."""
    recorded_shapes: Mapping[str, RecordedTopic] = field(default_factory=dict)
    """Topic name -> topic in full of the last [4] value."""
    topology_epoch: int = -1
    """Streams only, as are the next two."""
    validated_topology_epoch: int | None = None
    """None where the group's last record does not say: 4.1 keeps it in memory only."""
    assigns_tasks: bool = False
    """Whether the target assignment, when it was computed, gave anyone a task."""
    owners: dict[TopicPartition, str] = field(default_factory=dict)
    """Partition -> member id that has it assigned or pending revocation; the last one to take it.

    Empty for share groups, where members share partitions.
    """
    disputed: bool = field(default=False, compare=False)
    """A member took a partition from another: from then on, a member's claim does not prove ownership."""
    _stable: dict[str, int] = field(default_factory=dict, init=False, repr=False, compare=False)
    """Member id -> the member epoch at which it is STABLE."""
    _stable_at: dict[int, int] = field(default_factory=dict, init=False, repr=False, compare=False)
    """Member epoch -> how many of them: to look through all members at each new assignment would be quadratic."""

    def __post_init__(self) -> None:
        for member in self.members.values():
            self.note_convergence(member)

    @property
    def shown_epochs(self) -> tuple[int | None, int | None]:
        """Group epoch and assignment epoch; None where no record shows them: compaction may have removed it."""
        has_begun = self.shows_epoch and bool(self.members)
        return (
            self.group_epoch if self.shows_epoch else None,
            self.assignment_epoch if has_begun or self.has_assignment_record else None,
        )

    @property
    def shows_epoch(self) -> bool:
        """Whether a record shows the group epoch: its own, or one of a member that proves that it began at 1."""
        return self.has_epoch_record or self.group_epoch != 0

    @property
    def unconverged(self) -> set[str]:
        """Members that are not STABLE at the assignment epoch; costs a look at each member."""
        at = self.assignment_epoch
        return {each for each in self.members if self._stable.get(each) != at}

    @property
    def unconverged_count(self) -> int:
        """How many they are."""
        return len(self.members) - self._stable_at.get(self.assignment_epoch, 0)

    def target_of(self, member_id: str) -> Partitions:
        """The member's target; empty if no record names one."""
        return self.targets.get(member_id, NOTHING)

    def group_state(self) -> str:
        """Empty, NotReady, Assigning, Reconciling or Stable, as Kafka's maybeUpdateGroupState derives it."""
        if not self.members:
            return "Empty"
        if self.group_type is GroupType.SHARE:
            return "Stable"
        if self.group_type is GroupType.STREAMS and not self._has_ready_topology():
            return "NotReady"
        if self.group_epoch > self.assignment_epoch:
            return "Assigning"
        stable = self._stable_at.get(self.assignment_epoch, 0)
        return "Stable" if stable == len(self.members) else "Reconciling"

    def _has_ready_topology(self) -> bool:
        """Whether the topology was validated; where no record says so, whether it was assigned.

        A topology that is not ready is assigned as one without tasks (streams.TargetAssignmentBuilder.build).
        """
        if self.validated_topology_epoch is None:
            return self.assigns_tasks
        return -1 != self.topology_epoch == self.validated_topology_epoch

    def note_convergence(self, member: ModernMember) -> None:
        """Bring what `unconverged` follows from up to date after this member changed or joined."""
        self.forget_convergence(member.member_id)
        if member.member_state == STABLE:
            self._stable[member.member_id] = member.member_epoch
            already = self._stable_at.get(member.member_epoch, 0)
            self._stable_at[member.member_epoch] = already + 1

    def forget_convergence(self, member_id: str) -> None:
        """The member is gone, or changes."""
        before = self._stable.pop(member_id, None)
        if before is not None:
            self._stable_at[before] -= 1
            if not self._stable_at[before]:
                del self._stable_at[before]

    def contested(
        self, member_id: str, partitions: Partitions, member_epoch: int
    ) -> list[TopicPartition]:
        """Which of the partitions another member holds at this epoch or a later one."""
        owners, members = self.owners, self.members
        found: list[TopicPartition] = []
        for topic, numbers in partitions.items():
            for partition in zip(repeat(topic), numbers):
                owner = owners.get(partition)
                if (
                    owner is not None
                    and owner != member_id
                    and members[owner].member_epoch >= member_epoch
                ):
                    found.append(partition)
        return found

    def release(self, member_id: str, partitions: Partitions) -> None:
        """The member no longer holds these; one that another member took meanwhile stays with that member."""
        owners = self.owners
        for topic, numbers in partitions.items():
            for partition in zip(repeat(topic), numbers):
                if owners.get(partition) == member_id:
                    del owners[partition]

    def take(self, member_id: str, partitions: Partitions) -> None:
        """The member holds these from now on."""
        owners = self.owners
        for topic, numbers in partitions.items():
            for partition in zip(repeat(topic), numbers):
                self.disputed |= owners.get(partition, member_id) != member_id
                owners[partition] = member_id


Group: TypeAlias = ClassicGroup | ModernGroup


def type_of(group: Group) -> GroupType:
    """Which kind of group this is."""
    return group.group_type if isinstance(group, ModernGroup) else GroupType.CLASSIC


class CommittedOffset(NamedTuple):
    """One committed offset."""

    committed_offset: int
    leader_epoch: int
    """-1 = none given."""
    commit_metadata: str
    commit_timestamp_ms: int
    expire_timestamp_ms: int
    """-1 = by retention."""
    topic_id: bytes | None
    log_offset: int
    """Log offset of its record: a transactional commit only replaces those of earlier records."""


class LostRecord(NamedTuple):
    """A record of a group that could not be decoded."""

    position: Position
    group_type: GroupType | None
    """Of the record's type; None if that is not known."""


@dataclass(slots=True)
class GroupSlot:
    """One group id of one log partition."""

    group_id: str
    group: Group | None = None
    last_log_offset: int = -1
    offsets: dict[tuple[str, int], CommittedOffset] = field(default_factory=dict)
    pending_offsets: dict[int, dict[tuple[str, int], CommittedOffset]] = field(default_factory=dict)
    """Producer id -> commits that wait for the transaction's marker."""
