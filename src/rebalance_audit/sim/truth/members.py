"""How every member really ended, who really held which partition, and when members really reached an epoch."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from rebalance_audit.audit.verdicts.cause import RebalanceCause
from rebalance_audit.replay.changes import (
    Change,
    GenerationCompleted,
    GroupCreated,
    GroupRemoved,
    MemberAssigned,
    MemberSubscribed,
    MemberUnsubscribed,
)
from rebalance_audit.replay.groups import STABLE, ClassicGroup, ModernGroup, ModernMember
from rebalance_audit.replay.partitions import TopicPartition, each

_MOVES_ALL: Final = (GroupCreated, GroupRemoved, GenerationCompleted)


class GroupLook(NamedTuple):
    """A group right after a write."""

    is_whole: bool
    """Everything was looked at: what is not named here does not exist."""
    members: Mapping[str, str | None] = {}
    """Member id -> instance id."""
    gone: Collection[str] = ()
    """Ids that the write named and that are not members; empty where everything was looked at."""
    instances: Collection[str] = ()
    """Instance ids that members hold."""
    owners: Mapping[TopicPartition, str | None] = {}
    """Which member holds a partition, by topic id or name as the protocol has it; one being given up is still held."""
    arrived: Mapping[str, int] = {}
    """Member id -> its epoch, for members that have nothing to give up or to wait for."""


def look_at(group: object, changes: Iterable[Change]) -> GroupLook:
    """Look at a group as this write left it; None and other objects stand for a group that is gone."""
    if isinstance(group, ClassicGroup):
        return _classic(group, changes)
    if not isinstance(group, ModernGroup):
        return GroupLook(is_whole=True)
    named: dict[str, None] = {}
    partitions: dict[TopicPartition, None] = {}
    for change in changes:
        if isinstance(change, _MOVES_ALL):
            return _modern(group)
        if isinstance(change, MemberAssigned):
            named[change.member_id] = None
            for held in (
                change.old_assigned,
                change.old_pending,
                change.new_assigned,
                change.new_pending,
            ):
                partitions.update(dict.fromkeys(each(held)))
        elif isinstance(change, MemberSubscribed | MemberUnsubscribed):
            named[change.member_id] = None
    found = [member for member_id in named if (member := group.members.get(member_id)) is not None]
    gone = [member_id for member_id in named if member_id not in group.members]
    return GroupLook(
        is_whole=False,
        members={member.member_id: member.instance_id for member in found},
        gone=gone,
        instances=frozenset(group.static_members) if gone else (),
        owners={partition: group.owners.get(partition) for partition in partitions},
        arrived=_arrived(group, found),
    )


def _modern(group: ModernGroup) -> GroupLook:
    return GroupLook(
        is_whole=True,
        members={member.member_id: member.instance_id for member in group.members.values()},
        instances=frozenset(group.static_members),
        owners=dict(group.owners),
        arrived=_arrived(group, group.members.values()),
    )


def _arrived(group: ModernGroup, members: Iterable[ModernMember]) -> dict[str, int]:
    return {
        member.member_id: member.member_epoch
        for member in members
        if member.member_state == STABLE
        and member.member_epoch >= group.assignment_epoch
        and not member.pending_revocation
    }


def _classic(group: ClassicGroup, changes: Iterable[Change]) -> GroupLook:
    """Before a downgrade, in the same write, a static member may have taken over what another one had."""
    members = group.members.values()
    taken_over = (
        change
        for change in changes
        if isinstance(change, MemberAssigned) and change.member_id in group.members
    )
    return GroupLook(
        is_whole=True,
        members={member.member_id: member.instance_id for member in members},
        instances=frozenset(
            member.instance_id for member in members if member.instance_id is not None
        ),
        owners={
            partition: member.member_id for member in members for partition in each(member.assigned)
        },
        arrived={
            change.member_id: change.new_member_epoch
            for change in taken_over
            if not change.released and change.new_state == STABLE and not change.new_pending
        },
    )


@dataclass(slots=True)
class MemberTruth:
    """One member id, as the log shows it."""

    member_id: str
    instance_id: str | None
    joined_at_ms: int
    ended_at_ms: int | None = None
    end: str | None = None
    """A cause, or None while it is a member."""


@dataclass(slots=True)
class MembersOf:
    """The members of one group."""

    present: dict[str, MemberTruth] = field(default_factory=dict)
    past: list[MemberTruth] = field(default_factory=list)

    def follow(
        self,
        look: GroupLook,
        changes: list[Change],
        ends: Mapping[str, RebalanceCause],
        now_ms: int,
    ) -> None:
        """Follow the members after a write; `ends` says by member id how those that are gone ended."""
        for change in changes:
            # Came and went in one write: an upgrade brought a member along and its instance took its place.
            if isinstance(change, MemberUnsubscribed) and change.member_id not in look.members:
                known = MemberTruth(change.member_id, change.instance_id, now_ms)
                self.present.setdefault(change.member_id, known)
        gone = look.gone
        if look.is_whole:
            gone = [known for known in self.present if known not in look.members]
        for member_id in gone:
            member = self.present.pop(member_id, None)
            if member is not None:
                member.ended_at_ms = now_ms
                member.end = ends[member_id].value
                self.past.append(member)
        for member_id, instance_id in look.members.items():
            if member_id not in self.present:
                self.present[member_id] = MemberTruth(member_id, instance_id, now_ms)

    def all(self) -> Iterator[MemberTruth]:
        """Members that ended, then current ones."""
        yield from self.past
        yield from self.present.values()


class Holding(NamedTuple):
    """The interval in which one member held one partition."""

    topic: str
    topic_partition: int
    member_id: str
    from_ms: int
    to_ms: int | None


class Arrival(NamedTuple):
    """A member reached an epoch."""

    incarnation: int
    epoch: int
    member_id: str
    at_ms: int


@dataclass(slots=True)
class AssignmentTruth:
    """One group; writes come in log order, each with the group as it was after that write."""

    held: dict[TopicPartition, tuple[str, int]] = field(default_factory=dict)
    """Partition, by topic id or name as the protocol has it -> member id and start time."""
    past: list[Holding] = field(default_factory=list)
    arrivals: list[Arrival] = field(default_factory=list)
    reached: dict[str, int] = field(default_factory=dict)
    """Member id -> highest epoch that it has reached in this incarnation."""

    def follow(self, look: GroupLook, name_of: Callable[[bytes], str], now_ms: int) -> None:
        """Follow the owners after a write; a protocol change alone moves nothing."""
        owners = look.owners
        if look.is_whole:
            self._compare(owners, name_of, now_ms)
            return
        for partition, member_id in owners.items():
            since = self.held.get(partition)
            if since is not None and since[0] == member_id:
                continue
            if since is not None:
                del self.held[partition]
                self._end(partition, since, name_of, now_ms)
            if member_id is not None:
                self.held[partition] = (member_id, now_ms)

    def _compare(
        self,
        owners: Mapping[TopicPartition, str | None],
        name_of: Callable[[bytes], str],
        now_ms: int,
    ) -> None:
        held = self.held
        if owners and held and type(next(iter(owners))[0]) is not type(next(iter(held))[0]):
            held = self._renamed(owners, name_of)
        kept: dict[TopicPartition, tuple[str, int]] = {}
        for partition, since in held.items():
            if owners.get(partition) == since[0]:
                kept[partition] = since
            else:
                self._end(partition, since, name_of, now_ms)
        for partition, member_id in owners.items():
            if member_id is not None:
                kept.setdefault(partition, (member_id, now_ms))
        self.held = kept

    def _renamed(
        self, owners: Mapping[TopicPartition, str | None], name_of: Callable[[bytes], str]
    ) -> dict[TopicPartition, tuple[str, int]]:
        """What was held, under the keys of the other protocol where the same member still holds it."""
        now = {(_name(partition, name_of), partition[1]): partition for partition in owners}
        return {
            now.get((_name(partition, name_of), partition[1]), partition): since
            for partition, since in self.held.items()
        }

    def _end(
        self,
        partition: TopicPartition,
        since: tuple[str, int],
        name_of: Callable[[bytes], str],
        now_ms: int | None,
    ) -> None:
        member_id, from_ms = since
        if from_ms != now_ms:
            name = _name(partition, name_of)
            self.past.append(Holding(name, partition[1], member_id, from_ms, now_ms))

    def arrive(
        self, incarnation: int, gone: Iterable[str], arrived: Mapping[str, int], now_ms: int
    ) -> None:
        """Members at an epoch with nothing pending after a write; a member that left and came back starts anew."""
        for member_id in gone:
            self.reached.pop(member_id, None)
        for member_id, epoch in arrived.items():
            if epoch > self.reached.get(member_id, -1):
                self.reached[member_id] = epoch
                self.arrivals.append(Arrival(incarnation, epoch, member_id, now_ms))

    def begin_anew(self) -> None:
        """Another incarnation counts its epochs from the start."""
        self.reached.clear()

    def holdings(self, name_of: Callable[[bytes], str]) -> Iterator[Holding]:
        """All intervals, also those that have not ended."""
        yield from self.past
        for partition, (member_id, from_ms) in self.held.items():
            yield Holding(_name(partition, name_of), partition[1], member_id, from_ms, None)


def _name(partition: TopicPartition, name_of: Callable[[bytes], str]) -> str:
    topic = partition[0]
    return topic if isinstance(topic, str) else name_of(topic)


def assignment_rows(
    group_id: str, truth: AssignmentTruth, name_of: Callable[[bytes], str]
) -> Iterator[dict[str, object]]:
    """Rows of the truth file: which member held what by the coordinator's clock, and when members reached epochs."""
    for holding in truth.holdings(name_of):
        yield {
            "kind": "assignment",
            "group_id": group_id,
            "topic": holding.topic,
            "topic_partition": holding.topic_partition,
            "member_id": holding.member_id,
            "from": holding.from_ms,
            "to": holding.to_ms,
        }
    for arrival in truth.arrivals:
        yield {
            "kind": "arrival",
            "group_id": group_id,
            "incarnation": arrival.incarnation,
            "epoch": arrival.epoch,
            "member_id": arrival.member_id,
            "reached_at": arrival.at_ms,
        }
