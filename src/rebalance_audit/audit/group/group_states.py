"""The group's state over time, as the coordinator derives it from the same records."""

from collections.abc import Callable
from dataclasses import dataclass

from rebalance_audit.audit.group.present import NO_PRESENT
from rebalance_audit.audit.rows import Row, completeness, duration_ms
from rebalance_audit.replay.changes import GroupType, Position
from rebalance_audit.replay.describe import UNKNOWN, shown_state
from rebalance_audit.replay.groups import ClassicGroup, Group


@dataclass(slots=True)
class _Stay:
    position: Position
    protocol: str
    group_state: str
    epoch: int | None
    assignment_epoch: int | None
    members: int | None
    gap: bool
    epoch_at_end: int | None
    members_at_end: int | None
    """This and `epoch_at_end` are as of the last write."""

    @property
    def is_lost(self) -> bool:
        """Whether it began with a record that could not be decoded."""
        return self.group_state == UNKNOWN and self.members is None


class GroupStates:
    """Merges equal neighbours; a state that begins and ends within one write was never observable and gets no row.

    Two generations of a classic group are never merged: the group rebalanced in between, and no record says when.
    """

    _stay: _Stay | None = None

    def __init__(self, group_id: str, emit_row: Callable[[Row], None]) -> None:
        self._group_id = group_id
        self._emit_row = emit_row

    @property
    def unknown_since_ms(self) -> int | None:
        """Since when (epoch ms) the state is unknown for a record that could not be decoded; None if it is not."""
        stay = self._stay
        if stay is None or not stay.is_lost:
            return None
        return stay.position.record_timestamp_ms

    def enter(
        self,
        position: Position,
        protocol: str,
        group: Group,
        incarnation: int,
        *,
        gap: bool,
    ) -> None:
        """Note the group's state after a write whose deciding record is at `position`."""
        stay, group_state, members = self._stay, shown_state(group), len(group.members)
        epoch, assignment_epoch = (
            (group.generation, None) if isinstance(group, ClassicGroup) else group.shown_epochs
        )
        if stay is not None:
            continues = protocol != GroupType.CLASSIC or stay.epoch == epoch
            if continues and (stay.protocol, stay.group_state) == (protocol, group_state):
                stay.epoch_at_end, stay.members_at_end = epoch, members
                return
            self._emit(stay, position, incarnation)
        self._stay = _Stay(
            position,
            protocol,
            group_state,
            epoch,
            assignment_epoch,
            members,
            gap or group_state == UNKNOWN,
            epoch,
            members,
        )

    def lose(self, position: Position, protocol: str, incarnation: int) -> None:
        """A record of the group, at `position`, could not be decoded: its effect is unknown."""
        stay = self._stay
        if stay is not None:
            if stay.is_lost:
                return
            stay.gap = True
            self._emit(stay, position, incarnation)
        self._stay = _Stay(position, protocol, UNKNOWN, None, None, None, True, None, None)

    def leave(
        self, position: Position | None, incarnation: int, present: Row | None = None
    ) -> None:
        """The group is gone at `position`, or the log ends (None) and leaves it as `present` says."""
        if self._stay is not None:
            is_known = self._stay.group_state != UNKNOWN
            self._emit(self._stay, position, incarnation, present if is_known else None)
            self._stay = None

    def _emit(
        self,
        stay: _Stay,
        end: Position | None,
        incarnation: int,
        present: Row | None = None,
    ) -> None:
        end_ms = end.record_timestamp_ms if end else None
        self._emit_row(
            {
                "group_id": self._group_id,
                "incarnation": incarnation,
                "from_offset": stay.position.log_offset,
                "protocol": stay.protocol,
                "group_state": stay.group_state,
                "from_at": stay.position.record_timestamp_ms,
                "to_at": end_ms,
                "to_offset": end.log_offset if end else None,
                "duration_ms": duration_ms(stay.position.record_timestamp_ms, end_ms),
                "epoch": stay.epoch,
                "assignment_epoch": stay.assignment_epoch,
                "members": stay.members,
                "is_current": end is None,
                "epoch_at_end": stay.epoch_at_end,
                "members_at_end": stay.members_at_end,
                **(present or NO_PRESENT),
                "log_partition": stay.position.log_partition,
                "completeness": completeness(stay.gap),
            }
        )
