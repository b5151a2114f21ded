"""One request or one timer on its way through the classic handlers."""

from collections.abc import Sequence

from rebalance_audit.coordinator.classic.live_group import LiveGroup, LiveMember
from rebalance_audit.coordinator.context import ResultDraft
from rebalance_audit.coordinator.handling import ErrorCode, Timer, TimerKind
from rebalance_audit.coordinator.reasons import Bump, BumpReason, Departure, Meanwhile
from rebalance_audit.coordinator.requests.classic import (
    UNKNOWN_MEMBER_ID,
    JoinGroupResponse,
    SyncGroupResponse,
)


class ClassicDraft(ResultDraft):
    """What happens at one moment: the outcome in the making, with the answers and timers of the classic protocol."""

    __slots__ = ("now_ms",)

    def __init__(self, now_ms: int) -> None:
        """Nothing happened yet at this moment."""
        super().__init__()
        self.now_ms = now_ms

    # --- reasons -----------------------------------------------------------------------------------

    def begins(self, live: LiveGroup, reasons: Sequence[BumpReason]) -> None:
        """Record why the group enters its next generation."""
        self.bump(Bump(live.group_id, live.generation + 1, tuple(reasons)))

    def happens(self, live: LiveGroup, reasons: Sequence[BumpReason]) -> None:
        """Record what happens in the join phase of the next generation."""
        for reason in reasons:
            self.happen(Meanwhile(live.group_id, live.generation + 1, reason))

    def departed(self, live: LiveGroup, reason: BumpReason) -> None:
        """Record why a member leaves."""
        self.depart(Departure(live.group_id, live.generation + 1, reason))

    # --- timers ------------------------------------------------------------------------------------

    def expect_heartbeat(
        self, live: LiveGroup, member: LiveMember, within_ms: int | None = None
    ) -> None:
        """Give the member its session timeout from now, or another time."""
        timeout_ms = member.session_timeout_ms if within_ms is None else within_ms
        self.arm(session_timer(live, member.member_id), self.now_ms + timeout_ms)

    def expect_pending(self, live: LiveGroup, member_id: str, within_ms: int) -> None:
        """Give a pending member this time to join."""
        self.arm(session_timer(live, member_id), self.now_ms + within_ms)

    def expect_nothing(self, live: LiveGroup, member_id: str) -> None:
        """A member or pending member is gone."""
        self.cancel(session_timer(live, member_id))

    # --- answers -----------------------------------------------------------------------------------

    def answer_join(self, live: LiveGroup, member_id: str, response: JoinGroupResponse) -> None:
        """Answer the member's parked JoinGroup, if there is one."""
        token = live.parked_joins.pop(member_id, None)
        if token is not None:
            self.reply(token, response)

    def answer_sync(self, live: LiveGroup, member_id: str, response: SyncGroupResponse) -> bool:
        """Answer the member's parked SyncGroup; False when there is none."""
        token = live.parked_syncs.pop(member_id, None)
        if token is None:
            return False
        self.reply(token, response)
        return True

    def turn_away(self, live: LiveGroup, member_id: str, error: ErrorCode, named_id: str) -> None:
        """Answer whatever the member has parked with an error; a JoinGroup gets this member id."""
        self.answer_join(live, member_id, JoinGroupResponse(error, named_id))
        self.answer_sync(live, member_id, SyncGroupResponse(error))


def session_timer(live: LiveGroup, member_id: str) -> Timer:
    """The member's session, or the time that a pending member has to join."""
    kind = TimerKind.SESSION if member_id in live.members else TimerKind.PENDING_MEMBER
    return Timer(kind, live.group_id, member_id)


def join_timer(live: LiveGroup) -> Timer:
    """The end of the join phase."""
    return Timer(TimerKind.JOIN, live.group_id)


def sync_timer(live: LiveGroup) -> Timer:
    """The time that the members of a generation have to send SyncGroup."""
    return Timer(TimerKind.SYNC, live.group_id)


def membership(live: LiveGroup, member_id: str, *, with_members: bool) -> JoinGroupResponse:
    """The current generation as reported to one member."""
    return JoinGroupResponse(
        ErrorCode.NONE,
        member_id,
        live.generation,
        live.protocol_type,
        live.protocol_name,
        live.leader_member_id or UNKNOWN_MEMBER_ID,
        members=live.seen_by_leader() if with_members else (),
    )
