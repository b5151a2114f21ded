"""The classic groups of one coordinator as they are now."""

from rebalance_audit.coordinator.classic.draft import (
    ClassicDraft,
    join_timer,
    session_timer,
    sync_timer,
)
from rebalance_audit.coordinator.classic.live_group import LiveGroup
from rebalance_audit.coordinator.classic.states import ClassicEvent
from rebalance_audit.coordinator.context import CoordinatorContext
from rebalance_audit.coordinator.handling import ErrorCode
from rebalance_audit.replay.groups import ModernGroup


class LiveGroups:
    """Group id -> soft state; created from hard state when first needed."""

    def __init__(self, context: CoordinatorContext) -> None:
        """Starts with what the shard holds, and no soft state."""
        self._context = context
        self._groups: dict[str, LiveGroup] = {}

    def get(self, group_id: str) -> LiveGroup | None:
        """The classic group of that id; None if the id is free or belongs to another protocol."""
        hard = self._context.group(group_id)
        if isinstance(hard, ModernGroup):
            self._groups.pop(group_id, None)
            return None
        live = self._groups.get(group_id)
        if live is None and hard is not None:
            live = self._groups[group_id] = LiveGroup.from_hard(hard)
        return live

    def create(self, group_id: str, now_ms: int) -> LiveGroup:
        """A new empty group in place of whatever the id was before."""
        live = self._groups[group_id] = LiveGroup(group_id, now_ms)
        return live

    def put(self, live: LiveGroup) -> None:
        """Take over a group that was made elsewhere."""
        self._groups[live.group_id] = live

    def forget(self, group_id: str, draft: ClassicDraft) -> None:
        """The group is no longer a classic group: its timers end, and parked requests get a retriable error."""
        live = self._groups.pop(group_id, None)
        if live is None:
            return
        for member_id in (*live.members, *live.pending_members):
            draft.turn_away(live, member_id, ErrorCode.REBALANCE_IN_PROGRESS, member_id)
            draft.cancel(session_timer(live, member_id))
        draft.cancel(join_timer(live))
        draft.cancel(sync_timer(live))
        live.move(ClassicEvent.GROUP_REMOVED, draft.now_ms)

    def unrecorded(self) -> list[str]:
        """Ids of groups that have no record yet."""
        return [group_id for group_id in self._groups if self._context.group(group_id) is None]
