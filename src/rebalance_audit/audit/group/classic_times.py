"""Bounds on how long a classic group was not stable for a generation, and how long its partitions had no owner.

A generation leaves one record, at its end. The group was certainly rebalancing from the end of the join phase until
that record, and certainly not before the previous generation's record. An eager member gives up all its partitions
before it rejoins; a cooperative member gives up only those that the generation took from it (KIP-429).
"""

from collections import Counter
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import NamedTuple

from rebalance_audit.audit.causes.classic_scene import ClassicScene, Generation
from rebalance_audit.audit.causes.same_members import is_cooperative
from rebalance_audit.audit.epochs.generation_delta import Members
from rebalance_audit.audit.group.classic_members import Shift, by_identity
from rebalance_audit.audit.group.join_phase_estimate import NOTHING_GIVEN_UP, Estimate
from rebalance_audit.audit.ownership.ownership import Ownership
from rebalance_audit.audit.writes import is_other_coordinator
from rebalance_audit.bounds import NOTHING, Bounds
from rebalance_audit.replay.changes import Position
from rebalance_audit.replay.groups import ClassicMember
from rebalance_audit.replay.partitions import TopicPartition, count, each


class Loose(NamedTuple):
    """A partition that a generation left without an owner."""

    earliest_ms: int
    """The earliest time at which its owner can have given it up (epoch ms)."""
    record_ms: int
    """Timestamp of the generation's record (epoch ms)."""


class JoinTimes(NamedTuple):
    """What is known of the join phase that a generation ends, in epoch ms."""

    shown_ms: int | None
    """When the previous record shows the group without a rebalance; None if that bounds nothing."""
    earliest_ms: int | None
    """Bounds on its beginning; the earliest is None if it has no bound."""
    latest_ms: int
    end_ms: int
    is_exact: bool
    """The broker's log has the beginning."""
    moved_here: bool
    """The coordinator moved between the two records: the join phase of another one, if any, ended with it."""
    likely_ms: int | None = None
    """The best estimate of the beginning; None without one."""
    gave_up: Mapping[str, int | None] = NOTHING_GIVEN_UP
    """As in the estimate."""

    @property
    def unstable_ms(self) -> int | None:
        """Since when the group may not have been stable under this coordinator; None if it has no bound."""
        return None if self.moved_here else self.earliest_ms

    @property
    def start_ms(self) -> int:
        """The best estimate of the beginning, else the latest one."""
        return self.latest_ms if self.likely_ms is None else self.likely_ms

    def with_estimate(self, likely: Estimate) -> "JoinTimes":
        """The same with an estimate, which never contradicts what is known."""
        start_ms = self.latest_ms if self.is_exact else likely.start_ms
        if start_ms is not None:
            start_ms = min(start_ms, self.latest_ms)
        return self._replace(likely_ms=start_ms, gave_up=likely.gave_up)

    def not_stable(self, recorded_ms: int) -> Bounds:
        """Time from the beginning to the generation's record."""
        least = recorded_ms - self.latest_ms
        if self.is_exact and not self.moved_here:
            return Bounds.between(least, least, least)
        most = None if self.unstable_ms is None else recorded_ms - self.unstable_ms
        likely = None if self.likely_ms is None else recorded_ms - self.likely_ms
        return Bounds.between(least, most, likely)


@dataclass(slots=True)
class ClassicTimes:
    """Follows which partitions have no owner, and since when at the earliest."""

    _loose: dict[TopicPartition, Loose] = field(default_factory=dict)

    def forget(self) -> None:
        """Drop the state: the group is gone, or no longer a classic one."""
        self._loose.clear()

    def hands_out(self, new: Generation) -> bool:
        """Whether the generation assigns what the previous one only took away: the second half of one rebalance."""
        if not self._loose:
            return False
        return any(
            partition in self._loose
            for member in new.members.values()
            for partition in each(member.assigned)
        )

    def took_away(self, old: Generation | None, new: Generation) -> bool:
        """Whether a cooperative generation took partitions from members that stay and left them unassigned."""
        if old is None or not self._loose or not is_cooperative(new):
            return False
        before, now = by_identity(old), by_identity(new)
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
        times: JoinTimes,
        not_stable: Bounds,
        sync_ms: int | None,
    ) -> Bounds:
        """Time since the partitions that the generation assigns last had an owner, summed over them.

        `moved`: shifts by identity.
        """
        shown_ms = times.shown_ms
        at_ms = new.position.record_timestamp_ms
        before = {} if old is None else by_identity(old)
        now = by_identity(new)
        cooperative = is_cooperative(new)
        sync = sync_ms or 0
        shared = before.keys() & now.keys()
        stayed = {who for who in shared if before[who].member_id == now[who].member_id}
        since_shown = None if shown_ms is None else max(0, at_ms - shown_ms)
        rejoin_ms = _mean_wait(not_stable, sync, len(stayed))

        def stopped(identity: str) -> Bounds:
            """How long a former member's partitions were without owner until this record."""
            stop_ms = times.gave_up.get(before[identity].member_id) if identity in before else None
            stays = identity in stayed
            likely_ms = (rejoin_ms if stays else None) if stop_ms is None else at_ms - stop_ms
            least, most = (sync, not_stable.most) if stays else (0, since_shown)
            return Bounds.between(least, most, likely_ms)

        total = NOTHING
        if old is not None and not old.members:
            # Since the first member of a group that was empty subscribed.
            waited = Bounds.between(sync, not_stable.most, not_stable.estimate)
            total = waited.times(sum(member.partition_count for member in now.values()))
        had: dict[TopicPartition, str] = {}
        for identity, shift in moved.items():
            had |= dict.fromkeys(each(shift.lost), identity)
        for identity, member in now.items():
            gained = count(moved[identity].gained) if identity in moved else 0
            kept = member.partition_count - gained
            if kept and not (cooperative and _claims_to_own(member)):
                one = stopped(identity)
                total = total.plus((one._replace(least=0) if cooperative else one).times(kept))
        handed: set[TopicPartition] = set()
        given: Counter[str] = Counter()
        for shift in moved.values():
            gains = each(shift.gained)
            handed.update(gains)
            for partition in gains:
                loose = self._loose.pop(partition, None) if self._loose else None
                if loose is not None:
                    total = total.plus(
                        Bounds.between(sync, at_ms - loose.earliest_ms, at_ms - loose.record_ms)
                    )
                elif (owner := had.get(partition)) is not None:
                    given[owner] += 1
        if not now:
            # An owner may have been dead for a while before the group was found to be empty.
            given.update(had.values())
        for owner, partitions in given.items():
            total = total.plus(stopped(owner).times(partitions))
        if shown_ms is None:
            shown_ms = at_ms
        self._keep_loose(new, had, handed, now, at_ms if cooperative else shown_ms, shown_ms)
        return total

    def came_back(self, old: Generation, new: Generation, worked: Mapping[str, int]) -> Bounds:
        """For another record of the same generation: a static member's partitions stood still while it was away.

        `worked`: when members worked last, by member id.
        """
        at_ms, shown_ms = new.position.record_timestamp_ms, old.position.record_timestamp_ms
        before, total = by_identity(old), NOTHING
        for identity, member in by_identity(new).items():
            earlier = before.get(identity)
            if earlier is not None and earlier.member_id != member.member_id:
                stop_ms = worked.get(earlier.member_id)
                likely_ms = (
                    None if stop_ms is None else min(at_ms - stop_ms, member.session_timeout_ms)
                )
                away = Bounds.between(0, at_ms - shown_ms, likely_ms)
                total = total.plus(away.times(member.partition_count))
        return total

    def _keep_loose(
        self,
        new: Generation,
        had: Mapping[TopicPartition, str],
        handed: AbstractSet[TopicPartition],
        now: Members,
        taken_ms: int,
        shown_ms: int,
    ) -> None:
        """Remember partitions that this generation leaves without an owner, while a member subscribes to the topic.

        `had`: the owner of each partition that some member lost; `handed`: those that some member gained.
        """
        left = [partition for partition in had if partition not in handed]
        assigned = {
            partition
            for member in (now.values() if left else ())
            for partition in each(member.assigned)
        }
        for partition in left:
            if partition not in assigned:
                owner = had[partition]
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


def join_times(
    scene: ClassicScene, created_at: Position | None, logged_start_ms: int | None
) -> JoinTimes:
    """When the join phase began and ended.

    `created_at`: the record that created the group; `logged_start_ms`: when the broker's log has the beginning of the
    last join phase (epoch ms); those of generations that left no record came before it.
    """
    old, new = scene.old, scene.new
    recorded_ms = new.position.record_timestamp_ms
    shown_ms, latest_ms = _bounds(scene, old.position if old is not None else created_at)
    is_exact = logged_start_ms is not None and not scene.skipped
    if logged_start_ms is not None:
        latest_ms = min(logged_start_ms, latest_ms)
    return JoinTimes(
        shown_ms,
        latest_ms if is_exact else shown_ms,
        latest_ms,
        recorded_ms if new.joined_at_ms is None else new.joined_at_ms,
        is_exact,
        old is not None and is_other_coordinator(old.position, new.position),
    )


def _bounds(scene: ClassicScene, shown: Position | None) -> tuple[int | None, int]:
    """Earliest and latest begin of the join phase (epoch ms); the earliest is None if it has no bound.

    The previous record shows the group stable or empty, so no join phase was going on when it was written. Its
    record timestamp alone is no bound: with LogAppendTime the next phase can begin between the write and the
    timestamp. The coordinator's own time in the value is a bound. Values of version 0 and 1 have no such time, but
    the brokers that wrote them appended under the group's lock, so no phase began in between. The time of another
    coordinator bounds nothing: its clock may have been ahead.
    """
    old, new = scene.old, scene.new
    latest_ms = new.position.record_timestamp_ms if new.since_ms is None else new.since_ms
    if shown is None or is_other_coordinator(shown, new.position):
        return None, latest_ms
    earliest_ms = shown.record_timestamp_ms
    if old is not None and old.since_ms is not None:
        earliest_ms = min(earliest_ms, old.since_ms)
    if earliest_ms > latest_ms:
        # The clocks of two coordinators differ: a bound that contradicts the record is no bound.
        return None, latest_ms
    same_leader = shown.leader_epoch is not None and shown.leader_epoch == new.position.leader_epoch
    if scene.downgraded and old is not None and not scene.skipped and same_leader:
        # A downgrade starts a join phase for all members in its own write, unless a failover loses it.
        latest_ms = min(latest_ms, shown.record_timestamp_ms)
    return earliest_ms, latest_ms


def _mean_wait(not_stable: Bounds, sync_ms: int, members: int) -> int | None:
    """How long members that stay wait for each other, in the mean: the last one to hear of it ends the join phase."""
    if not_stable.estimate is None or not members:
        return None
    return sync_ms + max(0, not_stable.estimate - sync_ms) * (members - 1) // (2 * members)


def _claims_to_own(member: ClassicMember) -> bool:
    """Whether the member's join request listed owned partitions; an eager member's never does."""
    said = member.subscription
    return said is not None and any(numbers for _, numbers in said.owned_partitions)


def stopped_by(new: Generation, ownership: Ownership) -> Callable[[TopicPartition], bool]:
    """Whether the owner of a partition that it keeps stopped for the generation, as eager members do."""
    cooperative = is_cooperative(new)

    def stopped(partition: TopicPartition) -> bool:
        owner = ownership.owner_by_name(partition)
        member = None if owner is None else new.members.get(owner.member_id)
        return member is not None and not (cooperative and _claims_to_own(member))

    return stopped
