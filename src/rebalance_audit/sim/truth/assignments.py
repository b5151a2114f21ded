"""Who really held which partition, and when members really reached an epoch, by the coordinator's clock."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from rebalance_audit.replay.partitions import TopicPartition
from rebalance_audit.sim.truth.group_look import GroupLook

Place = tuple[str, int]
"""Topic name and partition: a key that outlives a change of the group's protocol."""


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
