"""The members of a classic group, followed from event to event without iterating over all of them each time."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice

from rebalance_audit.coordinator.classic.live_group import LiveGroup
from rebalance_audit.coordinator.requests.classic import JoinGroupRequest, LeaveGroupRequest
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
