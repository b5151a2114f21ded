"""State of classic groups: the last finished generation, as its record holds it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from rebalance_audit.replay.partitions import Partitions
from rebalance_audit.wire.consumer_protocol import Assignment, Subscription


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
    """How many partitions `assigned` has."""


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
