"""One request or timer on one classic group, and the two phases of a rebalance.

Its methods change soft state and say what follows. Records are made of complete generations, and of groups that came to
be or became empty.
"""

from collections.abc import Iterable, Mapping

from rebalance_audit.coordinator.classic.live_group import NO_ASSIGNMENT, LiveGroup, LiveMember
from rebalance_audit.coordinator.classic.states import (
    ClassicEvent,
    ClassicState,
    can_rebalance,
)
from rebalance_audit.coordinator.context import CoordinatorContext, ResultDraft
from rebalance_audit.coordinator.handling import ErrorCode, RecordDraft, Timer, TimerKind
from rebalance_audit.coordinator.reasons import Bump, BumpReason, Departure, Meanwhile, Trigger
from rebalance_audit.coordinator.requests.classic import (
    UNKNOWN_MEMBER_ID,
    JoinGroupResponse,
    SyncGroupResponse,
)
from rebalance_audit.wire.generated.messages import (
    GroupMetadataKey,
    GroupMetadataMember,
    GroupMetadataValue,
)


class ClassicWork(ResultDraft):
    """What happens to a group at one moment, and the result in the making."""

    __slots__ = ("config", "ids", "join_timer", "live", "now_ms", "sync_timer")

    def __init__(self, context: CoordinatorContext, live: LiveGroup, now_ms: int) -> None:
        """Nothing happened yet at this moment."""
        super().__init__()
        self.config = context.config
        self.ids = context.ids
        self.live = live
        self.now_ms = now_ms
        self.join_timer = Timer(TimerKind.JOIN, live.group_id)
        """The end of the join phase."""
        self.sync_timer = Timer(TimerKind.SYNC, live.group_id)
        """The time that the members of a generation have to send SyncGroup."""

    # --- reasons -----------------------------------------------------------------------------------

    def begins(self, reasons: Iterable[BumpReason]) -> None:
        """Record why the group enters its next generation."""
        self.bump(Bump(self.live.group_id, self.live.generation + 1, tuple(reasons)))

    def happens(self, reasons: Iterable[BumpReason]) -> None:
        """Record what happens in the join phase of the next generation."""
        for reason in reasons:
            self.happen(Meanwhile(self.live.group_id, self.live.generation + 1, reason))

    def departed(self, reason: BumpReason) -> None:
        """Record why a member leaves."""
        self.depart(Departure(self.live.group_id, self.live.generation + 1, reason))

    # --- timers and answers ------------------------------------------------------------------------

    def session_timer(self, member_id: str) -> Timer:
        """The member's session, or the time that a pending member has to join."""
        kind = TimerKind.SESSION if member_id in self.live.members else TimerKind.PENDING_MEMBER
        return Timer(kind, self.live.group_id, member_id)

    def expect_heartbeat(self, member: LiveMember) -> None:
        """Give the member its session timeout from now."""
        self.expect_within(member.member_id, member.session_timeout_ms)

    def expect_within(self, member_id: str, within_ms: int) -> None:
        """Give a member this time to be heard from, or a pending one to join."""
        self.arm(self.session_timer(member_id), self.now_ms + within_ms)

    def expect_nothing(self, member_id: str) -> None:
        """A member or pending member is gone."""
        self.cancel(self.session_timer(member_id))

    def wait_for_joins(self) -> None:
        """Give the members the group's rebalance timeout to join."""
        self.arm(self.join_timer, self.now_ms + self.live.rebalance_timeout_ms())

    def answer_join(self, member_id: str, response: JoinGroupResponse) -> None:
        """Answer the member's parked JoinGroup, if there is one."""
        token = self.live.parked_joins.pop(member_id, None)
        if token is not None:
            self.reply(token, response)

    def answer_sync(self, member_id: str, response: SyncGroupResponse) -> bool:
        """Answer the member's parked SyncGroup; False when there is none."""
        token = self.live.parked_syncs.pop(member_id, None)
        if token is None:
            return False
        self.reply(token, response)
        return True

    def turn_away(self, member_id: str, error: ErrorCode, named_id: str) -> None:
        """Answer whatever the member has parked with an error; a JoinGroup gets this member id."""
        self.answer_join(member_id, JoinGroupResponse(error, named_id))
        self.answer_sync(member_id, SyncGroupResponse(error))

    # --- records -----------------------------------------------------------------------------------

    def record_creation(self) -> None:
        """Draft [2] of a group that came to be with its first JoinGroup: no type, no members, generation 0."""
        self._record(GroupMetadataValue("", 0, None, None, (), self.live.state_since_ms))

    def record_generation(self, assignments: Mapping[str, bytes]) -> None:
        """Draft [2] with each member's assignment; one that has none gets empty bytes.

        `currentStateTimestamp` is when the state before the write was entered: for a leader's SyncGroup the end of the
        join phase, for a static member's return the moment the group became stable.
        """
        live = self.live
        members = tuple(
            GroupMetadataMember(
                member_id=member.member_id,
                client_id=member.client_id,
                client_host=member.client_host,
                session_timeout=member.session_timeout_ms,
                subscription=member.metadata_for(live.protocol_name),
                assignment=assignments.get(member.member_id, NO_ASSIGNMENT),
                group_instance_id=member.instance_id,
                rebalance_timeout=member.rebalance_timeout_ms,
            )
            for member in live.in_order()
        )
        value = GroupMetadataValue(
            live.protocol_type or "",
            live.generation,
            live.protocol_name,
            live.leader_member_id,
            members,
            live.state_since_ms,
        )
        self._record(value)

    def _record(self, value: GroupMetadataValue) -> None:
        self.records.append(RecordDraft(GroupMetadataKey(self.live.group_id), value))

    # --- the phases --------------------------------------------------------------------------------

    def needed(self, *reasons: BumpReason) -> None:
        """Start a rebalance; if one is under way, see whether its join phase can end."""
        if can_rebalance(self.live.state):
            self.start(*reasons)
        else:
            self.happens(reasons)
            self.end_join_phase_if_complete(*reasons)

    def start(self, *reasons: BumpReason) -> None:
        """Enter the join phase. An empty group first waits for more members, the others for those they have."""
        live = self.live
        self.begins(reasons)
        if live.state is ClassicState.COMPLETING_REBALANCE:
            self._abort_sync()
        live.pending_sync.clear()
        self.cancel(self.sync_timer)
        initial = live.state is ClassicState.EMPTY
        live.move(ClassicEvent.REBALANCE_NEEDED, self.now_ms)
        if initial:
            live.delay_ms = self.config.group_initial_rebalance_delay_ms
            live.delay_left_ms = max(live.rebalance_timeout_ms() - live.delay_ms, 0)
            self.arm(self.join_timer, self.now_ms + live.delay_ms)
        elif live.all_joined():
            self.end_join_phase()
        else:
            self.wait_for_joins()

    def join_time_is_up(self) -> None:
        """The join timer fired: extend the initial delay once more, or go on without the missing members."""
        live = self.live
        if live.state is not ClassicState.PREPARING_REBALANCE:
            return
        if live.is_initial_rebalance() and live.new_member_added and live.delay_left_ms:
            live.new_member_added = False
            elapsed_ms = live.delay_ms
            live.delay_ms = min(self.config.group_initial_rebalance_delay_ms, live.delay_left_ms)
            live.delay_left_ms = max(live.delay_left_ms - elapsed_ms, 0)
            self.arm(self.join_timer, self.now_ms + live.delay_ms)
            return
        self.end_join_phase()

    def end_join_phase_if_complete(self, *reasons: BumpReason) -> None:
        """End the join phase if everybody has joined; an initial one still lasts for its whole delay."""
        live = self.live
        if (
            live.state is ClassicState.PREPARING_REBALANCE
            and not live.is_initial_rebalance()
            and live.all_joined()
        ):
            self.end_join_phase(*reasons)

    def end_join_phase(self, *reasons: BumpReason) -> None:
        """Go on with the members that joined: start the next generation, or record an empty group.

        `reasons` say who left just before, which starts a generation only if no member is left.
        Dynamic members that did not join are dropped. Static ones stay until their session ends; if no other member is
        left, the join phase goes on.
        """
        live = self.live
        self.cancel(self.join_timer)
        late = self._drop_late(
            [
                member
                for member in live.in_order()
                if member.member_id not in live.parked_joins and member.instance_id is None
            ]
        )
        live.new_member_added = False
        if not live.elect_joined_leader() and live.members:
            self.wait_for_joins()
            return
        if not live.members:
            self.begins([*reasons, *late, BumpReason(Trigger.GROUP_EMPTIED)])
        live.start_generation(self.now_ms)
        if live.state is ClassicState.EMPTY:
            self.record_generation({})
            return
        for member in live.in_order():
            self.answer_join(member.member_id, live.membership(member.member_id))
            self.expect_heartbeat(member)
            member.is_new = False
            live.pending_sync[member.member_id] = None
        self.arm(self.sync_timer, self.now_ms + live.rebalance_timeout_ms())

    def synced(self, member_id: str) -> None:
        """A member sent SyncGroup for the current generation."""
        self.live.pending_sync.pop(member_id, None)
        if not self.live.pending_sync:
            self.cancel(self.sync_timer)

    def sync_time_is_up(self) -> None:
        """The sync timer fired: who has not asked for its assignment is out, and the others join again."""
        live = self.live
        waiting = live.state in {ClassicState.COMPLETING_REBALANCE, ClassicState.STABLE}
        if waiting and live.pending_sync:
            late = [live.members[member_id] for member_id in live.pending_sync]
            self.start(*self._drop_late(late))

    def _drop_late(self, late: Iterable[LiveMember]) -> list[BumpReason]:
        """Drop members that did not join or sync in time."""
        reasons: list[BumpReason] = []
        for member in late:
            reason = _reason(Trigger.REBALANCE_TIMEOUT, member)
            self.expect_nothing(member.member_id)
            self.departed(reason)
            self.live.remove(member.member_id)
            reasons.append(reason)
        return reasons

    def member_gone(self, member_id: str, trigger: Trigger) -> BumpReason:
        """Drop a member; its parked requests end with UNKNOWN_MEMBER_ID. The caller says what follows."""
        reason = _reason(trigger, self.live.members[member_id])
        self.departed(reason)
        self.turn_away(member_id, ErrorCode.UNKNOWN_MEMBER_ID, UNKNOWN_MEMBER_ID)
        self.expect_nothing(member_id)
        self.live.remove(member_id)
        return reason

    def _abort_sync(self) -> None:
        """The generation is void before its assignment came: who waits for it has to join again."""
        for member in self.live.in_order():
            member.assignment = NO_ASSIGNMENT
            void = SyncGroupResponse(ErrorCode.REBALANCE_IN_PROGRESS)
            if self.answer_sync(member.member_id, void):
                self.expect_heartbeat(member)


def _reason(trigger: Trigger, member: LiveMember) -> BumpReason:
    return BumpReason(trigger, member.member_id, member.instance_id)
