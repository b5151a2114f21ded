"""Splits a group's records into writes: the records of one request or one timer.

All records of a write have the same timestamp and contiguous offsets (Kafka's `CoordinatorRuntime` appends them in one
batch). The reverse does not hold: two requests for one group in the same millisecond, or any two in a LogAppendTime
batch, look contiguous too. The order of records within a write is fixed (`causes.bump_rules.WRITE_ORDERS`), so a record
that cannot follow the previous one begins a new write.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Any, NamedTuple

from rebalance_audit.replay.changes import Change, Position
from rebalance_audit.wire.generated.messages import RecordType
from rebalance_audit.wire.records import Record


class Role(Enum):
    """The role of a record type in its group, the same for consumer, share and streams groups."""

    __hash__ = object.__hash__  # Enum's own is in Python, and each record looks up its role

    CLASSIC = auto()
    GROUP = auto()
    TOPICS = auto()
    MEMBER = auto()
    TARGET_METADATA = auto()
    TARGET = auto()
    CURRENT = auto()
    REGEX = auto()
    OTHER = auto()


_MODERN_ROLES: Mapping[str, Role] = {
    "METADATA": Role.GROUP,
    "PARTITION_METADATA": Role.TOPICS,
    "MEMBER_METADATA": Role.MEMBER,
    "TARGET_ASSIGNMENT_METADATA": Role.TARGET_METADATA,
    "TARGET_ASSIGNMENT_MEMBER": Role.TARGET,
    "CURRENT_MEMBER_ASSIGNMENT": Role.CURRENT,
    "REGULAR_EXPRESSION": Role.REGEX,
}
"""What follows the kind of group in the name of a record type, as in SHARE_GROUP_METADATA -> its role."""
ROLES: Mapping[int, Role] = {
    **{
        each: _MODERN_ROLES.get(each.name.partition("_GROUP_")[2], Role.OTHER)
        for each in RecordType
    },
    RecordType.GROUP_METADATA: Role.CLASSIC,
}


def role_of(record: Record) -> Role:
    """The role of the record's type."""
    return ROLES.get(record.record_type, Role.OTHER)


@dataclass(slots=True)
class Write:
    """The applied records of one write, and what they changed, in order."""

    first: Position
    last: Position
    role: Role
    """Of its first record."""
    tombstone: bool
    """Whether that record is one."""
    changes: list[Change] = field(default_factory=list)
    members_at_bump: int = 0
    """Number of members right after the record of a new group epoch."""
    is_contradicted: bool = False
    """Whether a record of another type than a classic group's own was out of place."""

    def by_kind(self) -> Mapping[type, Sequence[Any]]:
        """The changes by their type, in order."""
        kinds: dict[type, list[Change]] = {}
        for change in self.changes:
            kinds.setdefault(type(change), []).append(change)
        return kinds


class _Mark(NamedTuple):
    """A record's place in the order of a write: its role, and whether it is a tombstone."""

    role: Role
    tombstone: bool


_MARKS: Mapping[Role, tuple[_Mark, _Mark]] = {
    role: (_Mark(role, tombstone=False), _Mark(role, tombstone=True)) for role in Role
}


def _mark_of(record: Record) -> _Mark:
    return _MARKS[ROLES.get(record.record_type, Role.OTHER)][record.value is None]


def _marks(*roles: Role, tombstone: bool) -> frozenset[_Mark]:
    return frozenset(_MARKS[role][tombstone] for role in roles)


_STARTS_AFTER_EPOCH = _marks(
    *(Role.CLASSIC, Role.GROUP, Role.MEMBER, Role.REGEX), tombstone=False
) | _marks(
    *(Role.CLASSIC, Role.GROUP, Role.MEMBER, Role.REGEX),
    *(Role.TARGET, Role.TARGET_METADATA, Role.CURRENT),
    tombstone=True,
)
"""After a group epoch record, only targets, their metadata, assignments and [4] tombstones belong to its write."""

_FOLLOWS_CLASSIC_TOMBSTONE = _marks(
    *(Role.MEMBER, Role.OTHER, Role.TOPICS, Role.GROUP), tombstone=False
) | _marks(Role.MEMBER, Role.OTHER, tombstone=True)
"""How another protocol begins in place of a classic group without members: with its topics and its epoch."""

_FOLLOWS_RESOLUTION = _marks(Role.REGEX, Role.TOPICS, Role.GROUP, tombstone=False)
"""What can follow a resolved expression: other ones, and the epoch that they cause."""

_REMOVALS = frozenset({Role.CURRENT, Role.TARGET, Role.MEMBER})
"""Roles whose tombstones remove a member; a member that joins or changes removes only the one that it replaces."""

_CONVERSION_TAIL = frozenset({Role.GROUP, Role.TOPICS, Role.TARGET_METADATA, Role.REGEX})
"""Roles whose tombstones come right before the classic record when a modern group is downgraded."""


def adjoins(before: Position | None, position: Position) -> bool:
    """Whether two records may be of one write: adjacent offsets, the same timestamp, the same coordinator."""
    return (
        before is not None
        and position.log_offset == before.log_offset + 1
        and position.record_timestamp_ms == before.record_timestamp_ms
        and position.leader_epoch == before.leader_epoch
    )


def is_other_coordinator(one: Position, other: Position) -> bool:
    """Whether two coordinators are known to have written the records; their clocks may differ by seconds."""
    epochs = (one.leader_epoch, other.leader_epoch)
    return None not in epochs and epochs[0] != epochs[1]


@dataclass(slots=True)
class WriteSplitter:
    """Decides for each record whether it begins a new write."""

    _position: Position | None = None
    _last: _Mark | None = None
    _after_epoch: bool = False
    _after_target: bool = False
    _after_current: bool = False
    _after_resolution: bool = False
    _after_removal: bool = False
    """A member was removed: the next one may replace it."""
    _converts: bool = False
    """The write begins with a classic group's tombstone, so that all its members come over at once."""
    _member_id: str | None = None
    """The last member that has its own record in the write."""

    def _forget(self) -> None:
        self._after_epoch = self._after_target = self._after_current = False
        self._after_resolution = self._after_removal = self._converts = False
        self._member_id = None

    def begins(self, record: Record, position: Position) -> bool:
        """Whether the record at `position` cannot belong to the write of the previous record."""
        mark = _mark_of(record)
        begins = not adjoins(self._position, position) or self._breaks_order(mark, record)
        if begins:
            self._forget()
            self._converts = mark.role is Role.CLASSIC and mark.tombstone
        self._take(record, position, mark)
        return begins

    def is_tombstone_after_bump(self, record: Record, position: Position) -> bool:
        """Whether this tombstone comes right after a group epoch record, where it would begin a new write."""
        return record.value is None and self._after_epoch and adjoins(self._position, position)

    def go_on(self, record: Record, position: Position) -> None:
        """Take the record as part of the previous record's write, whatever their order."""
        self._take(record, position, _mark_of(record))

    def _take(self, record: Record, position: Position, mark: _Mark) -> None:
        role = mark.role
        if mark.tombstone:
            self._after_removal |= role is Role.MEMBER
        else:
            if role is Role.MEMBER:
                self._member_id = getattr(record.key, "member_id", None)
            self._after_resolution |= role is Role.REGEX
            self._after_epoch |= role is Role.GROUP
            self._after_target |= role is Role.TARGET_METADATA
            # The copy of a replaced static member has epoch 0, and the rest of its write follows.
            self._after_current = (
                role is Role.CURRENT and getattr(record.value, "member_epoch", 1) != 0
            )
        self._position, self._last = position, mark

    def _breaks_order(self, mark: _Mark, record: Record) -> bool:
        last = self._last
        if last is None:
            return True
        role, tombstone = mark
        if last.role is Role.CLASSIC:
            return not last.tombstone or mark not in _FOLLOWS_CLASSIC_TOMBSTONE
        if role is Role.CLASSIC and not tombstone:
            return not (last.tombstone and last.role in _CONVERSION_TAIL)
        if self._after_epoch and mark in _STARTS_AFTER_EPOCH:
            return True
        if self._after_resolution and not self._after_epoch and mark not in _FOLLOWS_RESOLUTION:
            return True
        if self._member_id is not None and self._breaks_membership(mark, record):
            return True
        return (
            (self._after_current or self._after_target)
            and role is not Role.OTHER
            and not (role is Role.CURRENT and not tombstone)
        )

    def _breaks_membership(self, mark: _Mark, record: Record) -> bool:
        """Whether a second member appears: one request concerns one member, and the one that it replaces."""
        role, tombstone = mark
        if role is Role.REGEX:
            return not tombstone
        if tombstone:
            return role in _REMOVALS and not self._after_removal
        return (
            role is Role.MEMBER
            and not self._converts
            and getattr(record.key, "member_id", None) != self._member_id
        )
