"""Which client believes it owns which partition: what applications would really read."""

from collections.abc import Callable, Iterable
from typing import NamedTuple, Protocol

HeldPartition = tuple[bytes, int]
"""Topic id and partition number."""


class Holder(Protocol):
    """A client as far as ownership is concerned."""

    name: str
    group_id: str
    member_id: str
    generation: int
    """Generation, or member epoch as the client knows it."""

    @property
    def held_generation(self) -> int:
        """The generation whose assignment it follows: before its sync a classic member follows the previous one."""

    @property
    def missed_tasks(self) -> bool:
        """Whether an answer with its tasks may have been lost that the coordinator does not repeat."""


class Use(NamedTuple):
    """One interval in which a client read a partition."""

    group_id: str
    topic_id: bytes
    topic_partition: int
    client: str
    member_id: str
    from_ms: int
    to_ms: int | None
    """None while the interval lasts."""
    first_offset: int | None = None
    """Of the first record that it reads: what the group had committed, or the end of the partition. None if it got no
    answer with the committed offset, or reads no topic partitions (streams)."""
    next_offset: int | None = None
    """After the last record that it read; None while the interval lasts, and with the column before."""


class HeldReading:
    """A client that reads a partition."""

    __slots__ = ("first_offset", "from_ms", "member_id")

    def __init__(self, member_id: str, from_ms: int) -> None:
        """Begins at `from_ms`, without a position yet."""
        self.member_id = member_id
        self.from_ms = from_ms
        self.first_offset: int | None = None


class Holdings:
    """Every client's partitions, by group."""

    def __init__(self) -> None:
        """No client holds anything."""
        self._held: dict[str, dict[HeldPartition, dict[Holder, HeldReading]]] = {}
        self.uses: list[Use] = []
        """Intervals that are over, in the order in which they ended."""
        self.on_acquire: list[Callable[[Holder, HeldPartition, Iterable[Holder]], None]] = []
        """Called with a client, the partitions that it takes, and the other clients that hold them."""

    def acquire(self, holder: Holder, partitions: Iterable[HeldPartition], now_ms: int) -> None:
        """A client starts to use partitions."""
        of_group = self._held.setdefault(holder.group_id, {})
        for partition in sorted(partitions):
            holders = of_group.setdefault(partition, {})
            others = [other for other in holders if other is not holder]
            holders[holder] = HeldReading(holder.member_id, now_ms)
            for listener in self.on_acquire:
                listener(holder, partition, others)

    def begin_reading(self, holder: Holder, partition: HeldPartition, first_offset: int) -> None:
        """A client learned where to begin; ignored for what it reads already, or no longer has."""
        held = self._held.get(holder.group_id, {}).get(partition, {}).get(holder)
        if held is not None and held.first_offset is None:
            held.first_offset = first_offset

    def release(
        self,
        holder: Holder,
        partitions: Iterable[HeldPartition],
        now_ms: int,
        next_offset: Callable[[HeldPartition, int], int],
    ) -> None:
        """A client stops using partitions, having read each up to its `next_offset` at this time."""
        of_group = self._held.get(holder.group_id, {})
        for partition in sorted(partitions):
            held = of_group.get(partition, {}).pop(holder, None)
            if held is not None:
                first = held.first_offset
                after = None if first is None else max(first, next_offset(partition, now_ms))
                who = holder.group_id, *partition, holder.name, held.member_id
                self.uses.append(Use(*who, held.from_ms, now_ms, first, after))

    def held_since_ms(self, holder: Holder, partition: HeldPartition) -> int | None:
        """When a client that holds the partition took it."""
        held = self._held.get(holder.group_id, {}).get(partition, {}).get(holder)
        return None if held is None else held.from_ms

    def holders(self, group_id: str) -> dict[HeldPartition, list[Holder]]:
        """Partitions of a group that any client holds."""
        return {
            partition: list(holders)
            for partition, holders in self._held.get(group_id, {}).items()
            if holders
        }

    def still_held(self) -> list[Use]:
        """Intervals that have not ended."""
        return [
            Use(
                *(group_id, *partition, holder.name, held.member_id, held.from_ms, None),
                held.first_offset,
            )
            for group_id, of_group in self._held.items()
            for partition, holders in of_group.items()
            for holder, held in holders.items()
        ]
