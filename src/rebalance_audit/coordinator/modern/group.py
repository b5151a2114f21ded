"""State of consumer, share and streams groups as their records leave it.

Only `replay` writes to these objects. Field meanings follow Kafka's ConsumerGroup, ConsumerGroupMember and their share
and streams twins; derived values (state, members not yet converged) are kept up to date by the methods here so that
reading them never costs a pass over the members.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from rebalance_audit.coordinator.changes import GroupType
from rebalance_audit.coordinator.partitions import NOTHING, Partitions

STABLE = "STABLE"
UNREVOKED = "UNREVOKED"
UNRELEASED = "UNRELEASED"
UNKNOWN = "UNKNOWN"

STATIC_LEAVE_EPOCH = -2
LEFT_EPOCH = -1


@dataclass(slots=True, frozen=True)
class ClassicMembership:
    """What a member of a consumer group that speaks the classic protocol told in its JoinGroup."""

    session_timeout_ms: int
    supported_protocols: tuple[tuple[str, bytes], ...]
    """(protocol name, subscription bytes) in the member's order of preference."""


@dataclass(slots=True)
class ModernMember:
    """One member. A member can exist by its assignment record alone (compacted logs): `described` is False then."""

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
    assignment_epochs: Mapping[tuple[bytes | str, int], int] = field(default_factory=dict)
    """Assignment epoch per assigned partition where the record carries it (4.3+, KIP-1251); else empty."""
    standby: Partitions = field(default_factory=dict)
    """Streams only, as is warmup."""
    warmup: Partitions = field(default_factory=dict)


@dataclass(slots=True)
class ModernGroup:
    """One consumer, share or streams group."""

    group_id: str
    group_type: GroupType
    group_epoch: int = 0
    """0 while `has_epoch_record` is False: releases from 4.3 start at 1, earlier ones at 0."""
    has_epoch_record: bool = False
    metadata_hash: int = 0
    assignment_epoch: int = 0
    has_assignment_record: bool = False
    assignment_timestamp_ms: int = 0
    members: dict[str, ModernMember] = field(default_factory=dict)
    targets: dict[str, Partitions] = field(default_factory=dict)
    """Target assignment by member id; the member need not exist."""
    static_members: dict[str, str] = field(default_factory=dict)
    """Instance id -> member id."""
    regexes: dict[str, frozenset[str]] = field(default_factory=dict)
    """Resolved regular expressions: expression -> topic names."""
    recorded_topics: dict[str, int] | None = None
    """Topic name -> partition count of the last [4] value (releases 3.7 to 4.0); None where the log holds none."""
    topology_epoch: int = -1
    """Streams only, as is the validated one."""
    validated_topology_epoch: int = -1
    owners: dict[tuple[bytes | str, int], str] = field(default_factory=dict)
    """Partition -> member id that has it assigned or pending revocation; the last one to take it."""
    unconverged: set[str] = field(default_factory=set)
    """Members that are not STABLE at the assignment epoch."""

    def target_of(self, member_id: str) -> Partitions:
        """The member's target; nothing where no record says."""
        return self.targets.get(member_id, NOTHING)

    def group_state(self) -> str:
        """Empty, NotReady, Assigning, Reconciling or Stable, as Kafka derives it (ConsumerGroup.maybeUpdateGroupState)."""
        if not self.members:
            return "Empty"
        if self.group_type is GroupType.SHARE:
            return "Stable"
        if (
            self.group_type is GroupType.STREAMS
            and self.topology_epoch != self.validated_topology_epoch
        ):
            return "NotReady"
        if self.group_epoch > self.assignment_epoch:
            return "Assigning"
        return "Reconciling" if self.unconverged else "Stable"
