"""How long a classic group was not stable for a generation, and how long its partitions had no owner: as bounds.

A generation leaves one record, at its end. The group was certainly rebalancing from the end of the join phase to that
record, and certainly not before the record of the generation before. An eager member gives up all its partitions before
it joins again (KIP-429), a cooperative one those that the generation took from it.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from rebalance_audit.audit.causes.classic import COOPERATIVE_MARK, Generation
from rebalance_audit.audit.group.bounds import NOTHING, Bounds
from rebalance_audit.audit.group.shifts import Shift, by_identity
from rebalance_audit.replay.classic.group import ClassicMember
from rebalance_audit.replay.partitions import NOTHING as NO_PARTITIONS
from rebalance_audit.replay.partitions import TopicPartition, count, each

HEARTBEAT_MS: Final = 3000
"""Default of heartbeat.interval.ms: members hear of a rebalance with their next heartbeat."""
HEARTBEATS_PER_SESSION: Final = 6
"""An estimate: the default is 15, with sessions of a few seconds it is 3 at least."""


class Loose(NamedTuple):
    """A partition that a generation left without owner."""

    earliest_ms: int
    """When its owner can have given it up at the earliest."""
    record_ms: int
    """The generation's record."""


class ClassicTimes:
    """Follows which partitions nobody has, and since when at the earliest."""

    _loose: dict[TopicPartition, Loose]

    def __init__(self) -> None:
        self._loose = {}

    def forget(self) -> None:
        """The group is gone, or no longer a classic one."""
        self._loose.clear()

    def hands_out(self, new: Generation) -> bool:
        """Whether the generation assigns what the one before only took away: the second half of one rebalance."""
        if not self._loose:
            return False
        return any(
            partition in self._loose
            for member in new.members.values()
            for partition in each(member.assigned)
        )

    def took_away(self, old: Generation | None, new: Generation) -> bool:
        """Whether a cooperative generation took partitions from members that stay and gave them to nobody."""
        if old is None or not is_cooperative(new):
            return False
        before = by_identity(old.members)
        now = by_identity(new.members)
        return any(
            partition in self._loose
            for identity in before.keys() & now.keys()
            for partition in each(before[identity].assigned)
        )

    def unowned(
        self,
        old: Generation | None,
        new: Generation,
        moved: Mapping[str, Shift],
        shown_ms: int | None,
        not_stable: Bounds,
        sync_ms: int | None,
    ) -> Bounds:
        """Sum over the partitions that the generation assigns, of the time since they last had an owner.

        `moved`: shifts by identity; `shown_ms`: time of the record before.
        """
        at_ms = new.position.record_timestamp_ms
        before = {} if old is None else by_identity(old.members)
        now = by_identity(new.members)
        cooperative = is_cooperative(new)
        sync = sync_ms or 0
        # Members give up their partitions one after the other, with their heartbeats.
        gave_up = Bounds.between(sync, not_stable.most, (sync + not_stable.estimate) // 2)
        since_shown = None if shown_ms is None else max(0, at_ms - shown_ms)
        total = NOTHING
        had: dict[TopicPartition, str] = {}
        for identity, shift in moved.items():
            had |= dict.fromkeys(each(shift.lost), identity)
        for identity, member in now.items():
            gained = moved[identity].gained if identity in moved else NO_PARTITIONS
            kept = member.partition_count - count(gained)
            if kept and not (cooperative and _claims_to_own(member)):
                came_back = before[identity].member_id != member.member_id
                stopped = gave_up
                if cooperative or came_back:
                    stopped = Bounds.between(
                        0, since_shown if came_back else gave_up.most, gave_up.estimate
                    )
                total = total.plus(stopped.times(kept))
            for partition in each(gained):
                loose = self._loose.pop(partition, None)
                if loose is not None:
                    total = total.plus(
                        Bounds.between(sync, at_ms - loose.earliest_ms, at_ms - loose.record_ms)
                    )
                elif (owner := had.get(partition)) is not None:
                    if owner in now:
                        total = total.plus(gave_up)
                    else:
                        session_ms = before[owner].session_timeout_ms
                        total = total.plus(
                            Bounds.between(0, since_shown, gave_up.estimate + session_ms // 2)
                        )
        if shown_ms is None:
            shown_ms = at_ms
        self._keep_loose(new, had, now, at_ms if cooperative else shown_ms, shown_ms)
        return total

    def came_back(self, old: Generation, new: Generation) -> Bounds:
        """A record of the same generation: a static member came back; its partitions stood still while it was away."""
        at_ms, shown_ms = new.position.record_timestamp_ms, old.position.record_timestamp_ms
        before, total = by_identity(old.members), NOTHING
        for identity, member in by_identity(new.members).items():
            earlier = before.get(identity)
            if earlier is not None and earlier.member_id != member.member_id:
                away = Bounds.between(0, at_ms - shown_ms, member.session_timeout_ms // 2)
                total = total.plus(away.times(member.partition_count))
        return total

    def _keep_loose(
        self,
        new: Generation,
        had: Mapping[TopicPartition, str],
        now: Mapping[str, ClassicMember],
        taken_ms: int,
        shown_ms: int,
    ) -> None:
        """Remember what this generation leaves without owner, as long as somebody subscribes to its topic."""
        assigned = (
            {partition for member in now.values() for partition in each(member.assigned)}
            if had
            else set()
        )
        for partition, owner in had.items():
            if partition not in assigned:
                self._loose[partition] = Loose(
                    taken_ms if owner in now else shown_ms, new.position.record_timestamp_ms
                )
        if not self._loose:
            return
        subscribed = {
            topic
            for member in new.members.values()
            if member.subscription is not None
            for topic in member.subscription.topics
        }
        self._loose = {
            partition: loose
            for partition, loose in self._loose.items()
            if partition[0] in subscribed
        }


def not_stable(new: Generation, earliest_ms: int | None, latest_ms: int, *, exact: bool) -> Bounds:
    """From the begin of the join phase to the record, by the bounds of that begin."""
    at_ms = new.position.record_timestamp_ms
    least = at_ms - latest_ms
    most = None if earliest_ms is None else at_ms - earliest_ms
    if exact:
        return Bounds.between(least, least, least)
    session_ms = min((member.session_timeout_ms for member in new.members.values()), default=0)
    heard_ms = min(HEARTBEAT_MS, session_ms // HEARTBEATS_PER_SESSION)
    return Bounds.between(least, most, least + heard_ms)


def is_cooperative(generation: Generation) -> bool:
    """Whether the assignor is a cooperative one; its members may be eager all the same."""
    return COOPERATIVE_MARK in (generation.protocol_name or "")


def _claims_to_own(member: ClassicMember) -> bool:
    """Whether the member said at its join that it kept partitions, which no eager one does."""
    said = member.subscription
    return said is not None and any(numbers for _, numbers in said.owned_partitions)
