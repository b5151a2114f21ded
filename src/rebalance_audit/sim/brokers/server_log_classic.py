"""Lines about classic groups. They alone show what a coordinator does in memory, long before any record."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

from rebalance_audit.coordinator.classic.live_group import LiveGroup
from rebalance_audit.coordinator.classic.states import ClassicState
from rebalance_audit.coordinator.group_coordinator import GroupCoordinator
from rebalance_audit.coordinator.handling import Dialect, Timer, TimerKind
from rebalance_audit.coordinator.requests.classic import (
    JoinGroupRequest,
    LeaveGroupRequest,
    SyncGroupRequest,
)
from rebalance_audit.replay.changes import (
    Change,
    GenerationCompleted,
    GroupRemoved,
    GroupType,
    MemberUnsubscribed,
)
from rebalance_audit.replay.groups import GroupSlot
from rebalance_audit.sim.brokers.broker import Happening


@dataclass(slots=True)
class Roster:
    """The members as they were after the last event."""

    members: dict[str, str | None] = field(default_factory=dict)
    """Member id -> instance id, in the order in which they came."""
    holders: dict[str, str] = field(default_factory=dict)
    """Instance id -> member id."""

    @classmethod
    def of(cls, live: LiveGroup) -> "Roster":
        """The current members."""
        roster = cls()
        roster.follow(live, live.members)
        return roster

    def touched(self, live: LiveGroup, happening: Happening) -> list[str]:
        """Ids of members that this event may have added, removed or changed; those present before come first.

        An event affects the members that it names. If it removed others too, the number of members does not match.
        """
        named = list(dict.fromkeys(self._named(live, happening)))
        came = sum(each in live.members and each not in self.members for each in named)
        went = sum(each in self.members and each not in live.members for each in named)
        if came - went != len(live.members) - len(self.members):
            return list(dict.fromkeys((*self.members, *live.members)))
        if isinstance(happening.request, LeaveGroupRequest) and len(named) > 1:
            return [each for each in self.members if each in named]
        return [*(each for each in named if each in self.members), *self._new(named)]

    def _new(self, named: Iterable[str]) -> Iterator[str]:
        return (each for each in named if each not in self.members)

    def _named(self, live: LiveGroup, happening: Happening) -> Iterator[str]:
        request, timer = happening.request, happening.timer
        if isinstance(request, JoinGroupRequest):
            instance_id = request.group_instance_id
            if instance_id is not None:
                yield from filter(None, (self.holders.get(instance_id),))
                yield from filter(None, (live.static_members.get(instance_id),))
            if request.member_id:
                yield request.member_id
            elif instance_id is None:
                yield from self._new([*islice(reversed(live.members), 1)])  # the last to come
        elif isinstance(request, LeaveGroupRequest):
            for identity in request.members:
                holder = self.holders.get(identity.group_instance_id or "", "")
                yield identity.member_id or holder
        elif timer is not None and timer.member_id:
            yield timer.member_id

    def gone(self, live: LiveGroup, touched: Iterable[str]) -> dict[str, str | None]:
        """Those of these members that are gone: member id -> instance id."""
        members = self.members
        return {
            each: members[each] for each in touched if each in members and each not in live.members
        }

    def came(self, live: LiveGroup, touched: Iterable[str]) -> dict[str, str | None]:
        """Those of these members that are new: member id -> instance id."""
        return {
            each: live.members[each].instance_id
            for each in touched
            if each in live.members and each not in self.members
        }

    def follow(self, live: LiveGroup, touched: Iterable[str]) -> None:
        """The event is over: remember these members."""
        for member_id in touched:
            member = live.members.get(member_id)
            if member is not None:
                self.members[member_id] = member.instance_id
                if member.instance_id is not None:
                    self.holders[member.instance_id] = member_id
                continue
            instance_id = self.members.pop(member_id, None)
            if instance_id is not None and self.holders.get(instance_id) == member_id:
                del self.holders[instance_id]


TIMERS: Final = frozenset(
    {TimerKind.JOIN, TimerKind.SYNC, TimerKind.SESSION, TimerKind.PENDING_MEMBER}
)
NO_REASON: Final = "not provided"
LOGS_PENDING_JOINS: Final = frozenset(Dialect) - {Dialect.R3_7}
"""Releases that log when a member comes with the id that it was given; 3.7 does so at debug level."""


@dataclass(slots=True)
class _Before:
    """A group as it was after the last event."""

    state: ClassicState = ClassicState.EMPTY
    generation: int = 0
    leader: str | None = None
    roster: Roster = field(default_factory=Roster)
    pending: set[str] = field(default_factory=set)
    touched: list[str] = field(default_factory=list)
    """Members that this event may have added, removed or changed."""

    @classmethod
    def of(cls, live: LiveGroup) -> "_Before":
        """The group as it is now."""
        before = cls()
        before.follow(live, live.members)
        return before

    def given(self, live: LiveGroup) -> str | None:
        """The member id that this event handed out, if it did."""
        newest = next(reversed(live.pending_members), None)
        return None if newest in self.pending else newest

    def follow(self, live: LiveGroup, touched: Iterable[str]) -> None:
        """The event is over."""
        given = self.given(live)
        self.pending.difference_update(touched)
        if given is not None:
            self.pending.add(given)
        if len(self.pending) != len(live.pending_members):
            self.pending = set(live.pending_members)
        self.roster.follow(live, touched)
        self.state, self.generation = live.state, live.generation
        self.leader = live.leader_member_id


class ClassicLines:
    """Follows the classic groups of one coordinator."""

    def __init__(self, dialect: Dialect) -> None:
        """Nothing seen yet."""
        self._dialect = dialect
        self._groups: dict[str, _Before] = {}

    def lines(
        self,
        coordinator: GroupCoordinator,
        happening: Happening,
        changed: Iterable[tuple[GroupSlot, list[Change]]],
    ) -> Iterator[str]:
        """What the coordinator logs of this event."""
        converted = []
        for slot, changes in changed:
            if not any(
                isinstance(each, GroupRemoved) and each.group_type is GroupType.CONSUMER
                for each in changes
            ):
                continue
            if any(isinstance(each, MemberUnsubscribed) for each in changes):
                converted.append(slot.group_id)
                yield from self._conversion(slot.group_id, coordinator.live_group(slot.group_id))
            else:
                # It had no members: it is deleted, and a JoinGroup finds no group.
                self._groups.pop(slot.group_id, None)
        group_id = _group_of(happening)
        if group_id is None or group_id in converted:
            if happening.request is None and happening.timer is None:
                self._look_at_all(coordinator)
            return
        live = coordinator.live_group(group_id)
        if live is None:
            self._groups.pop(group_id, None)
            return
        before = self._groups.setdefault(group_id, _Before())
        before.touched = before.roster.touched(live, happening)
        yield from self._event(before, live, happening)
        if any(
            isinstance(each, GenerationCompleted) and live.state is ClassicState.STABLE
            for slot, changes in changed
            if slot.group_id == group_id
            for each in changes
        ) and isinstance(happening.request, SyncGroupRequest):
            yield _assignment(live, happening.request)
        before.follow(live, before.touched)

    def _look_at_all(self, coordinator: GroupCoordinator) -> None:
        """After a load: watching starts from the current state."""
        for slot in coordinator.context.shard.groups():
            live = coordinator.live_group(slot.group_id)
            if live is not None and slot.group_id not in self._groups:
                self._groups[slot.group_id] = _Before.of(live)

    def _conversion(self, group_id: str, live: LiveGroup | None) -> Iterator[str]:
        if live is None:
            return
        if live.state is ClassicState.PREPARING_REBALANCE:
            reason = f"Downgrade group {group_id} from consumer to classic for member leaving."
            yield _preparing(live, live.generation, reason)
        self._groups[group_id] = _Before.of(live)

    def _event(self, before: _Before, live: LiveGroup, happening: Happening) -> Iterator[str]:
        request, timer = happening.request, happening.timer
        reason: str | None = None
        if isinstance(request, JoinGroupRequest):
            lines, reason = self._join(before, live, request)
            yield from lines
        elif isinstance(request, LeaveGroupRequest):
            lines, reason = _leave(before, live, request)
            yield from lines
        elif timer is not None:
            lines, reason = _time_is_up(before, live, timer)
            yield from lines
        if reason is not None and _has_started(before, live):
            yield _preparing(live, before.generation, reason)
        if live.generation > before.generation:
            yield _generation(live)
        elif before.state is ClassicState.STABLE is live.state and _replaced(before, live):
            yield (
                "Static member which joins during Stable stage and doesn't affect the selected "
                "protocol will not trigger a rebalance."
            )

    def _join(
        self, before: _Before, live: LiveGroup, request: JoinGroupRequest
    ) -> tuple[list[str], str | None]:
        """Lines of a JoinGroup, and the reason of the rebalance that it would cause."""
        group_id, state = live.group_id, before.state.value
        reason_text = f"client reason: {request.reason or NO_REASON}"
        given = before.given(live)
        if given is not None:
            return [
                (
                    f"Dynamic member with unknown member id joins group {group_id} in {state} state. Created a new "
                    f"member id {given} and requesting the member to rejoin with this id."
                )
            ], None
        replaced = _replaced(before, live)
        for member_id, (instance_id, old_member_id) in replaced.items():
            line = (
                f"Static member with groupInstanceId={instance_id} and unknown member id joins group {group_id} in "
                f"{state} state. Replacing previously mapped member {old_member_id} with this groupInstanceId."
            )
            if before.state is ClassicState.STABLE:
                reason = (
                    f"Group's selectedProtocol will change because static member {member_id} with instance id "
                    f"{instance_id} joined with change of protocol; {reason_text}"
                )
            else:
                reason = (
                    f"Updating metadata for static member {member_id} with instance id {instance_id}; "
                    f"{reason_text}"
                )
            return [line], reason
        for new, instance in before.roster.came(live, before.touched).items():
            reason = f"Adding new member {new} with group instance id {instance or 'null'}; {reason_text}"
            return self._new_member(before, live, new, instance), reason
        member_id = request.member_id
        if before.state is ClassicState.STABLE and before.leader == member_id:
            return [], f"Leader {member_id} re-joining group during {state}; {reason_text}"
        return [], f"Updating metadata for member {member_id} during {state}; {reason_text}"

    def _new_member(
        self, before: _Before, live: LiveGroup, member_id: str, instance_id: str | None
    ) -> list[str]:
        group_id, state = live.group_id, before.state.value
        if instance_id is not None:
            return [
                (
                    f"Static member with groupInstanceId={instance_id} and unknown member id joins group {group_id} in "
                    f"{state} state. Created a new member id {member_id} for this member and added to the group."
                )
            ]
        if member_id in before.pending:
            return (
                [
                    (
                        f"Pending dynamic member with id {member_id} joins group {group_id} in {state} state. "
                        "Adding to the group now."
                    )
                ]
                if self._dialect in LOGS_PENDING_JOINS
                else []
            )
        return [
            (
                f"Dynamic member with unknown member id joins group {group_id} in state {state}. "
                f"Created a new member id {member_id} and added the member to the group."
            )
        ]


def _leave(
    before: _Before, live: LiveGroup, request: LeaveGroupRequest
) -> tuple[list[str], str | None]:
    lines: list[str] = []
    valid: list[str] = []
    roster = before.roster
    for identity in request.members:
        member_id = identity.member_id or roster.holders.get(identity.group_instance_id or "", "")
        reason_text = f"client reason: {identity.reason or NO_REASON}"
        if member_id in before.pending and member_id not in live.pending_members:
            lines.append(
                f"[Group {live.group_id}] Pending member {member_id} has left group through explicit "
                f"`LeaveGroup` request; {reason_text}"
            )
        elif member_id in roster.members and member_id not in live.members:
            lines.append(
                f"[Group {live.group_id}] Member {member_id} has left group through explicit `LeaveGroup` "
                f"request; {reason_text}"
            )
        else:
            continue
        valid.append(identity.member_id)
    if not valid:
        return [], None
    return lines, f"explicit `LeaveGroup` request for ({', '.join(valid)}) members."


def _time_is_up(before: _Before, live: LiveGroup, timer: Timer) -> tuple[list[str], str | None]:
    group_id, member_id = live.group_id, timer.member_id
    gone = list(before.roster.gone(live, before.touched))
    match timer.kind:
        case TimerKind.SESSION if gone:
            line = f"Member {member_id} in group {group_id} has failed, removing it from the group."
            return [line], f"removing member {member_id} on heartbeat expiration."
        case TimerKind.PENDING_MEMBER if member_id in before.pending:
            return [
                f"Pending member {member_id} in group {group_id} has been removed after session timeout expiration."
            ], None
        case TimerKind.SYNC if gone:
            return [], f"Removing [{', '.join(gone)}] on pending sync request expiration"
        case TimerKind.JOIN if gone:
            return [
                f"Group {group_id} removed dynamic members who haven't joined: [{', '.join(gone)}]"
            ], None
        case _:
            return [], None


def _preparing(live: LiveGroup, old_generation: int, reason: str) -> str:
    return (
        f"Preparing to rebalance group {live.group_id} in state {ClassicState.PREPARING_REBALANCE.value} "
        f"with old generation {old_generation} (reason: {reason})."
    )


def _generation(live: LiveGroup) -> str:
    if not live.members:
        return f"Group {live.group_id} with generation {live.generation} is now empty."
    return (
        f"Stabilized group {live.group_id} generation {live.generation} "
        f"with {len(live.members)} members."
    )


def _assignment(live: LiveGroup, request: SyncGroupRequest) -> str:
    return (
        f"Assignment received from leader {request.member_id} for group {live.group_id} for generation "
        f"{live.generation}. The group has {len(live.members)} members, {len(live.static_members)} of which "
        "are static."
    )


def _has_started(before: _Before, live: LiveGroup) -> bool:
    """Whether this event began a join phase; one whose members have all joined is over at once."""
    if live.state is ClassicState.PREPARING_REBALANCE:
        return before.state is not ClassicState.PREPARING_REBALANCE
    return (
        before.state is not ClassicState.PREPARING_REBALANCE and live.generation > before.generation
    )


def _replaced(before: _Before, live: LiveGroup) -> Mapping[str, tuple[str, str]]:
    """New member id -> instance id and the member id that held it before."""
    gone = before.roster.gone(live, before.touched)
    held = {instance_id: member_id for member_id, instance_id in gone.items()}
    return {
        member_id: (instance_id, held[instance_id])
        for member_id, instance_id in before.roster.came(live, before.touched).items()
        if instance_id is not None and instance_id in held
    }


def _group_of(happening: Happening) -> str | None:
    request, timer = happening.request, happening.timer
    if isinstance(request, JoinGroupRequest | LeaveGroupRequest | SyncGroupRequest):
        return request.group_id
    if timer is not None and timer.kind in TIMERS:
        return timer.group_id
    return None
