"""The two phases of a classic rebalance: from the need for one to the generation that awaits its assignment.

The methods change soft state and say what follows; the only record that they make is that of a group that became empty.
"""

from rebalance_audit.coordinator.classic.draft import (
    ClassicDraft,
    join_timer,
    membership,
    session_timer,
    sync_timer,
)
from rebalance_audit.coordinator.classic.live_group import NO_ASSIGNMENT, LiveGroup, LiveMember
from rebalance_audit.coordinator.classic.records import generation_record
from rebalance_audit.coordinator.classic.states import (
    ClassicEvent,
    ClassicState,
    can_rebalance,
)
from rebalance_audit.coordinator.handling import CoordinatorConfig, ErrorCode
from rebalance_audit.coordinator.reasons import BumpReason, Trigger
from rebalance_audit.coordinator.requests.classic import UNKNOWN_MEMBER_ID, SyncGroupResponse


class RebalancePhases:
    """The phases, for all groups of one coordinator."""

    def __init__(self, config: CoordinatorConfig) -> None:
        """Of the settings only the initial delay matters here."""
        self._config = config

    def needed(self, live: LiveGroup, draft: ClassicDraft, *reasons: BumpReason) -> None:
        """Start a rebalance; if one is under way, see whether its join phase can end."""
        if can_rebalance(live.state):
            self.start(live, draft, *reasons)
        else:
            draft.happens(live, reasons)
            self.end_join_phase_if_complete(live, draft, *reasons)

    def start(self, live: LiveGroup, draft: ClassicDraft, *reasons: BumpReason) -> None:
        """Enter the join phase. An empty group first waits for more members, the others for those they have."""
        draft.begins(live, reasons)
        if live.state is ClassicState.COMPLETING_REBALANCE:
            self._abort_sync(live, draft)
        live.pending_sync.clear()
        draft.cancel(sync_timer(live))
        initial = live.state is ClassicState.EMPTY
        live.move(ClassicEvent.REBALANCE_NEEDED, draft.now_ms)
        if initial:
            live.delay_ms = self._config.group_initial_rebalance_delay_ms
            live.delay_left_ms = max(live.rebalance_timeout_ms() - live.delay_ms, 0)
            draft.arm(join_timer(live), draft.now_ms + live.delay_ms)
        elif live.all_joined():
            self.end_join_phase(live, draft)
        else:
            draft.arm(join_timer(live), draft.now_ms + live.rebalance_timeout_ms())

    def join_time_is_up(self, live: LiveGroup, draft: ClassicDraft) -> None:
        """The join timer fired: extend the initial delay once more, or go on without the missing members."""
        if live.state is not ClassicState.PREPARING_REBALANCE:
            return
        if live.is_initial_rebalance() and live.new_member_added and live.delay_left_ms:
            live.new_member_added = False
            elapsed_ms = live.delay_ms
            live.delay_ms = min(self._config.group_initial_rebalance_delay_ms, live.delay_left_ms)
            live.delay_left_ms = max(live.delay_left_ms - elapsed_ms, 0)
            draft.arm(join_timer(live), draft.now_ms + live.delay_ms)
            return
        self.end_join_phase(live, draft)

    def end_join_phase_if_complete(
        self, live: LiveGroup, draft: ClassicDraft, *reasons: BumpReason
    ) -> None:
        """End the join phase if everybody has joined; an initial one still lasts for its whole delay."""
        if (
            live.state is ClassicState.PREPARING_REBALANCE
            and not live.is_initial_rebalance()
            and live.all_joined()
        ):
            self.end_join_phase(live, draft, *reasons)

    def end_join_phase(self, live: LiveGroup, draft: ClassicDraft, *reasons: BumpReason) -> None:
        """Go on with the members that joined: start the next generation, or record an empty group.

        `reasons` say who left just before, which starts a generation only if no member is left.
        Dynamic members that did not join are dropped. Static ones stay until their session ends; if no other member is
        left, the join phase goes on.
        """
        draft.cancel(join_timer(live))
        missing = [
            member
            for member in live.in_order()
            if member.member_id not in live.parked_joins and member.instance_id is None
        ]
        late = [_late(member) for member in missing]
        for member, reason in zip(missing, late, strict=True):
            draft.expect_nothing(live, member.member_id)
            draft.departed(live, reason)
            live.remove(member.member_id)
        live.new_member_added = False
        if not live.elect_joined_leader() and live.members:
            draft.arm(join_timer(live), draft.now_ms + live.rebalance_timeout_ms())
            return
        if not live.members:
            draft.begins(live, [*reasons, *late, BumpReason(Trigger.GROUP_EMPTIED)])
        live.start_generation(draft.now_ms)
        if live.state is ClassicState.EMPTY:
            draft.records.append(generation_record(live, {}))
            return
        for member in live.in_order():
            member_id = member.member_id
            response = membership(live, member_id, with_members=live.is_leader(member_id))
            draft.answer_join(live, member_id, response)
            draft.expect_heartbeat(live, member)
            member.is_new = False
            live.pending_sync[member_id] = None
        draft.arm(sync_timer(live), draft.now_ms + live.rebalance_timeout_ms())

    def synced(self, live: LiveGroup, member_id: str, draft: ClassicDraft) -> None:
        """A member sent SyncGroup for the current generation."""
        live.pending_sync.pop(member_id, None)
        if not live.pending_sync:
            draft.cancel(sync_timer(live))

    def sync_time_is_up(self, live: LiveGroup, draft: ClassicDraft) -> None:
        """The sync timer fired: who has not asked for its assignment is out, and the others join again."""
        waiting = live.state in {ClassicState.COMPLETING_REBALANCE, ClassicState.STABLE}
        if not waiting or not live.pending_sync:
            return
        late = [_late(live.members[member_id]) for member_id in live.pending_sync]
        for member_id, reason in zip(list(live.pending_sync), late, strict=True):
            draft.expect_nothing(live, member_id)
            draft.departed(live, reason)
            live.remove(member_id)
        self.start(live, draft, *late)

    def member_gone(
        self, live: LiveGroup, member_id: str, trigger: Trigger, draft: ClassicDraft
    ) -> BumpReason:
        """Drop a member; its parked requests end with UNKNOWN_MEMBER_ID. The caller says what follows."""
        reason = BumpReason(trigger, member_id, live.members[member_id].instance_id)
        draft.departed(live, reason)
        draft.turn_away(live, member_id, ErrorCode.UNKNOWN_MEMBER_ID, UNKNOWN_MEMBER_ID)
        draft.cancel(session_timer(live, member_id))
        live.remove(member_id)
        return reason

    def _abort_sync(self, live: LiveGroup, draft: ClassicDraft) -> None:
        """The generation is void before its assignment came: who waits for it has to join again."""
        for member in live.in_order():
            member.assignment = NO_ASSIGNMENT
            void = SyncGroupResponse(ErrorCode.REBALANCE_IN_PROGRESS)
            if draft.answer_sync(live, member.member_id, void):
                draft.expect_heartbeat(live, member)


def _late(member: LiveMember) -> BumpReason:
    """It did not join or sync in time."""
    return BumpReason(Trigger.REBALANCE_TIMEOUT, member.member_id, member.instance_id)
