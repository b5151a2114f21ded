"""Everything the log says about one group id: its current group and the committed offsets."""

from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from rebalance_audit.replay.changes import GroupType, Position
from rebalance_audit.replay.groups.classic_group import ClassicGroup
from rebalance_audit.replay.groups.modern_group import ModernGroup

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
