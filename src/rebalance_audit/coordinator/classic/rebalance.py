"""The two phases of a classic rebalance: from the need for one to the generation that awaits its assignment.

The methods change soft state and say what follows; the only record that they make is that of a group that became empty.
"""

from rebalance_audit.coordinator.classic.live_group import NO_ASSIGNMENT, LiveGroup
from rebalance_audit.coordinator.classic.records import generation_record
from rebalance_audit.coordinator.classic.states import (
    ClassicEvent,
    ClassicState,
    can_rebalance,
)
from rebalance_audit.coordinator.classic.turn import (
    Turn,
    join_timer,
    membership,
    session_timer,
    sync_timer,
)
from rebalance_audit.coordinator.handling import CoordinatorConfig, ErrorCode
from rebalance_audit.coordinator.requests.classic import UNKNOWN_MEMBER_ID, SyncGroupResponse


class RebalancePhases:
    """The phases, for all groups of one coordinator."""

    def __init__(self, config: CoordinatorConfig) -> None:
        """Of the settings only the initial delay matters here."""
        self._config = config

    def needed(self, live: LiveGroup, turn: Turn) -> None:
        """Start a rebalance; where one is under way, see whether its join phase can end."""
        if can_rebalance(live.state):
            self.start(live, turn)
        else:
            self.end_join_phase_if_complete(live, turn)

    def start(self, live: LiveGroup, turn: Turn) -> None:
        """Enter the join phase. An empty group first waits for more members, the others for those they have."""
        if live.state is ClassicState.COMPLETING_REBALANCE:
            self._abort_sync(live, turn)
        live.pending_sync.clear()
        turn.cancel(sync_timer(live))
        initial = live.state is ClassicState.EMPTY
        live.move(ClassicEvent.REBALANCE_NEEDED, turn.now_ms)
        if initial:
            live.delay_ms = self._config.group_initial_rebalance_delay_ms
            live.delay_left_ms = max(live.rebalance_timeout_ms() - live.delay_ms, 0)
            turn.arm(join_timer(live), turn.now_ms + live.delay_ms)
        elif live.all_joined():
            self.end_join_phase(live, turn)
        else:
            turn.arm(join_timer(live), turn.now_ms + live.rebalance_timeout_ms())

    def join_time_is_up(self, live: LiveGroup, turn: Turn) -> None:
        """The join timer fired: extend the initial delay once more, or go on without who is missing."""
        if live.state is not ClassicState.PREPARING_REBALANCE:
            return
        if live.is_initial_rebalance() and live.new_member_added and live.delay_left_ms:
            live.new_member_added = False
            elapsed_ms = live.delay_ms
            live.delay_ms = min(self._config.group_initial_rebalance_delay_ms, live.delay_left_ms)
            live.delay_left_ms = max(live.delay_left_ms - elapsed_ms, 0)
            turn.arm(join_timer(live), turn.now_ms + live.delay_ms)
            return
        self.end_join_phase(live, turn)

    def end_join_phase_if_complete(self, live: LiveGroup, turn: Turn) -> None:
        """End the join phase when everybody joined; an initial one lasts as long as its delay all the same."""
        if (
            live.state is ClassicState.PREPARING_REBALANCE
            and not live.is_initial_rebalance()
            and live.all_joined()
        ):
            self.end_join_phase(live, turn)

    def end_join_phase(self, live: LiveGroup, turn: Turn) -> None:
        """Go on with who joined: the next generation, counted, or an empty group, recorded.

        Dynamic members that did not join are out. Static ones stay until their session ends; where nobody but them is
        left, the join phase goes on.
        """
        turn.cancel(join_timer(live))
        missing = [
            member
            for member in live.in_order()
            if member.member_id not in live.parked_joins and member.instance_id is None
        ]
        for member in missing:
            turn.expect_nothing(live, member.member_id)
            live.remove(member.member_id)
        live.new_member_added = False
        if not live.elect_joined_leader() and live.members:
            turn.arm(join_timer(live), turn.now_ms + live.rebalance_timeout_ms())
            return
        live.start_generation(turn.now_ms)
        if live.state is ClassicState.EMPTY:
            turn.records.append(generation_record(live, {}))
            return
        for member in live.in_order():
            member_id = member.member_id
            response = membership(live, member_id, with_members=live.is_leader(member_id))
            turn.answer_join(live, member_id, response)
            turn.expect_heartbeat(live, member)
            member.is_new = False
            live.pending_sync[member_id] = None
        turn.arm(sync_timer(live), turn.now_ms + live.rebalance_timeout_ms())

    def synced(self, live: LiveGroup, member_id: str, turn: Turn) -> None:
        """A member sent SyncGroup for the current generation."""
        live.pending_sync.pop(member_id, None)
        if not live.pending_sync:
            turn.cancel(sync_timer(live))

    def sync_time_is_up(self, live: LiveGroup, turn: Turn) -> None:
        """The sync timer fired: who has not asked for its assignment is out, and the others join again."""
        waiting = live.state in {ClassicState.COMPLETING_REBALANCE, ClassicState.STABLE}
        if not waiting or not live.pending_sync:
            return
        for member_id in list(live.pending_sync):
            turn.expect_nothing(live, member_id)
            live.remove(member_id)
        self.start(live, turn)

    def member_gone(self, live: LiveGroup, member_id: str, turn: Turn) -> None:
        """Drop a member; its parked requests tell it that it is unknown. The caller says what follows."""
        turn.turn_away(live, member_id, ErrorCode.UNKNOWN_MEMBER_ID, UNKNOWN_MEMBER_ID)
        turn.cancel(session_timer(live, member_id))
        live.remove(member_id)

    def _abort_sync(self, live: LiveGroup, turn: Turn) -> None:
        """The generation is void before its assignment came: who waits for it has to join again."""
        for member in live.in_order():
            member.assignment = NO_ASSIGNMENT
            void = SyncGroupResponse(ErrorCode.REBALANCE_IN_PROGRESS)
            if turn.answer_sync(live, member.member_id, void):
                turn.expect_heartbeat(live, member)
