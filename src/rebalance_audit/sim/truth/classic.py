"""The real causes of classic generations: they happen in the coordinator's memory, before any record."""

from collections.abc import Collection
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final

from rebalance_audit.audit.causes.cause import RebalanceCause
from rebalance_audit.coordinator.classic.live_group import LiveGroup
from rebalance_audit.coordinator.classic.states import ClassicState
from rebalance_audit.coordinator.group_coordinator import GroupCoordinator
from rebalance_audit.coordinator.handling import TimerKind
from rebalance_audit.coordinator.requests.classic import (
    JoinGroupProtocol,
    JoinGroupRequest,
    LeaveGroupRequest,
)
from rebalance_audit.replay.classic.group import ClassicGroup
from rebalance_audit.sim.brokers.broker import Happening
from rebalance_audit.sim.brokers.roster import Roster
from rebalance_audit.sim.truth.causes import Reason
from rebalance_audit.wire.consumer_protocol import decode_subscription

WATCHED_TIMERS: Final = frozenset(
    {TimerKind.JOIN, TimerKind.SYNC, TimerKind.SESSION, TimerKind.PENDING_MEMBER}
)
TIMER_CAUSES: Final = {
    TimerKind.JOIN: RebalanceCause.MEMBER_REBALANCE_TIMEOUT,
    TimerKind.SYNC: RebalanceCause.MEMBER_REBALANCE_TIMEOUT,
    TimerKind.SESSION: RebalanceCause.MEMBER_SESSION_EXPIRED,
    TimerKind.PENDING_MEMBER: RebalanceCause.MEMBER_SESSION_EXPIRED,
}


@dataclass(slots=True)
class _GroupWatch:
    """What a group looked like after the last event, and what happened since its last record."""

    roster: Roster = field(default_factory=Roster)
    topics: dict[str, frozenset[str]] = field(default_factory=dict)
    """Member id -> topics that it subscribes to."""
    state: ClassicState = ClassicState.EMPTY
    generation: int = 0
    leader: str | None = None
    reasons: list[Reason] = field(default_factory=list)
    join_started_ms: int | None = None


class ClassicWatch:
    """Follows the classic groups of one coordinator from event to event."""

    def __init__(self) -> None:
        """Nothing seen yet."""
        self._groups: dict[str, _GroupWatch] = {}

    def moved(self, coordinator: GroupCoordinator, happening: Happening, now_ms: int) -> None:
        """Look at the group that a request or timer concerned."""
        request, timer = happening.request, happening.timer
        if isinstance(request, JoinGroupRequest | LeaveGroupRequest):
            group_id = request.group_id
        elif timer is not None and timer.kind in WATCHED_TIMERS:
            group_id = timer.group_id
        elif request is None and timer is None:
            self._look_at_all(coordinator)
            return
        else:
            return
        live = coordinator.live_group(group_id)
        if live is None:
            self._groups.pop(group_id, None)
            return
        watch = self._groups.get(group_id)
        if watch is None:
            watch = self._groups[group_id] = _GroupWatch()
        self._compare(watch, live, happening, now_ms)

    def converted(self, live: LiveGroup, now_ms: int) -> None:
        """A consumer group became this classic one, which may have to rebalance for it."""
        watch = self._groups[live.group_id] = _GroupWatch()
        _take_over(watch, live, live.members)
        if live.state is ClassicState.PREPARING_REBALANCE:
            watch.join_started_ms = now_ms
            watch.reasons.append(Reason(RebalanceCause.PROTOCOL_DOWNGRADED, now_ms))

    def generation_recorded(self, group: ClassicGroup) -> tuple[list[Reason], int | None]:
        """The reasons of a generation that was just recorded, and when its join phase began."""
        watch = self._groups.get(group.group_id)
        if watch is None:
            return [], None
        reasons, watch.reasons = watch.reasons, []
        if not group.members:
            at_ms = reasons[-1].at_ms if reasons else group.current_state_timestamp_ms
            reasons = [*reasons, Reason(RebalanceCause.GROUP_EMPTIED, at_ms)]
        return reasons, watch.join_started_ms

    def is_under_way(self, group_id: str) -> bool:
        """Whether it is a classic group that has members, or a join phase going on."""
        watch = self._groups.get(group_id)
        return watch is not None and watch.state is not ClassicState.EMPTY

    def taken_away(self, group_id: str) -> list[Reason]:
        """What happened since the last record of a classic group that is none any more."""
        watch = self._groups.pop(group_id, None)
        return [] if watch is None else watch.reasons

    def _look_at_all(self, coordinator: GroupCoordinator) -> None:
        """After a load: what is there now is where watching starts."""
        for slot in coordinator.context.shard.groups():
            live = coordinator.live_group(slot.group_id)
            if live is not None and slot.group_id not in self._groups:
                watch = self._groups[slot.group_id] = _GroupWatch()
                _take_over(watch, live, live.members)

    def _compare(
        self, watch: _GroupWatch, live: LiveGroup, happening: Happening, now_ms: int
    ) -> None:
        touched = watch.roster.touched(live, happening)
        found = _differences(watch, live, happening, touched, now_ms)
        starts = _has_started(watch, live)
        if starts:
            watch.join_started_ms = now_ms
            found += [] if found else _pending_leave(happening, now_ms)
            known = {reason.cause for reason in found}
            rejoin = _rejoin_reason(watch, happening, now_ms)
            if rejoin is not None and rejoin.cause not in known:
                found.append(rejoin)
            if rejoin is not None:
                # Whatever made it, this is what the coordinator sees of it.
                leads = rejoin.member_id == watch.leader
                seen = RebalanceCause.LEADER_REJOINED
                if not leads:
                    seen = RebalanceCause.SUBSCRIPTION_CHANGED
                if seen not in known | {rejoin.cause}:
                    found.append(rejoin._replace(cause=seen))
        watch.reasons += found
        _take_over(watch, live, touched)


def _take_over(watch: _GroupWatch, live: LiveGroup, touched: Collection[str]) -> None:
    watch.roster.follow(live, touched)
    for member_id in touched:
        member = live.members.get(member_id)
        if member is None:
            watch.topics.pop(member_id, None)
        else:
            watch.topics[member_id] = _topics_of(member.protocols)
    watch.state = live.state
    watch.generation = live.generation
    watch.leader = live.leader_member_id


def _has_started(watch: _GroupWatch, live: LiveGroup) -> bool:
    """Whether a join phase began by this event; it is over at once when nobody is left who has not joined."""
    if live.state is ClassicState.PREPARING_REBALANCE:
        return watch.state is not ClassicState.PREPARING_REBALANCE
    return (
        live.state in {ClassicState.COMPLETING_REBALANCE, ClassicState.EMPTY}
        and watch.state is not ClassicState.PREPARING_REBALANCE
        and live.generation > watch.generation
    )


def _differences(
    watch: _GroupWatch, live: LiveGroup, happening: Happening, touched: Collection[str], now_ms: int
) -> list[Reason]:
    """Who came and who went by this event."""
    gone = watch.roster.gone(live, touched)
    held = {instance_id: member_id for member_id, instance_id in gone.items() if instance_id}
    found: list[Reason] = []
    for member_id, instance_id in watch.roster.came(live, touched).items():
        if instance_id is not None and instance_id in held:
            gone.pop(held[instance_id])
            cause = RebalanceCause.STATIC_MEMBER_REPLACED
        elif instance_id is not None:
            cause = RebalanceCause.STATIC_MEMBER_JOINED
        else:
            cause = RebalanceCause.MEMBER_JOINED
        found.append(Reason(cause, now_ms, member_id, instance_id))
    timer = happening.timer
    cause = (
        TIMER_CAUSES[timer.kind]
        if timer is not None
        else happening.intent or RebalanceCause.MEMBER_LEFT
    )
    found += [
        Reason(cause, now_ms, member_id, instance_id) for member_id, instance_id in gone.items()
    ]
    request = happening.request
    if isinstance(request, JoinGroupRequest) and request.member_id in watch.roster.members:
        topics = _topics_of(request.protocols)
        if request.member_id in live.members and topics != watch.topics[request.member_id]:
            instance_id = request.group_instance_id
            cause = RebalanceCause.SUBSCRIPTION_CHANGED
            found.append(Reason(cause, now_ms, request.member_id, instance_id))
    return found


def _pending_leave(happening: Happening, now_ms: int) -> list[Reason]:
    """Whoever left with an id that had joined nothing yet: nobody is gone, and Kafka rebalances all the same."""
    if not isinstance(happening.request, LeaveGroupRequest):
        return []
    cause = happening.intent or RebalanceCause.MEMBER_LEFT
    return [
        Reason(cause, now_ms, each.member_id, each.group_instance_id)
        for each in happening.request.members
    ]


def _topics_of(protocols: tuple[JoinGroupProtocol, ...]) -> frozenset[str]:
    return _subscribed_topics(protocols[0].metadata) if protocols else frozenset()


@lru_cache(1 << 12)
def _subscribed_topics(metadata: bytes) -> frozenset[str]:
    subscription = decode_subscription(metadata)
    return frozenset() if subscription is None else frozenset(subscription.topics)


def _rejoin_reason(watch: _GroupWatch, happening: Happening, now_ms: int) -> Reason | None:
    """Why a known member joined again and so set off a rebalance; None where something else did."""
    request = happening.request
    if not isinstance(request, JoinGroupRequest) or request.member_id not in watch.roster.members:
        return None
    instance_id = request.group_instance_id
    cause = happening.intent
    if cause is None:
        # A follower is heard only when its metadata changed: with the same topics, what it owns.
        is_leader = request.member_id == watch.leader
        cause = RebalanceCause.SUBSCRIPTION_CHANGED
        if is_leader:
            cause = RebalanceCause.LEADER_REJOINED
    return Reason(cause, now_ms, request.member_id, instance_id)
