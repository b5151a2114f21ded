"""Who owned one topic partition when, from rows of gold.ownership."""

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from rebalance_audit.audit.rows import Row

Place = tuple[int, int]
"""Time (epoch ms) and log offset."""
AFTER_RECORDS: Final = (1 << 63) - 1
"""The log offset of what happens after all records of its time."""


class OwnedStretch(NamedTuple):
    """A stretch of time with one owner."""

    begin: Place
    end: Place | None
    """None while it goes on."""
    member_id: str
    instance_id: str | None
    client_id: str | None


class PartitionOwners:
    """The stretches of a partition, which do not overlap."""

    def __init__(self) -> None:
        self._owned: list[OwnedStretch] = []

    def add(self, row: Row) -> None:
        """Take a row of gold.ownership."""
        end = None if row["to_at"] is None else (row["to_at"], row["to_offset"])
        begin = row["from_at"], row["from_offset"]
        owner = row["member_id"], row["instance_id"], row["client_id"]
        self._owned.append(OwnedStretch(begin, end, *owner))

    def at_each(self, places: Sequence[Place]) -> list[OwnedStretch | None]:
        """The owner at each of some times, which ascend; None without one."""
        found: list[OwnedStretch | None] = [None] * len(places)
        for owned in sorted(self._owned, key=lambda owned: owned.begin):
            begin = bisect_left(places, owned.begin)
            end = len(places) if owned.end is None else bisect_left(places, owned.end)
            found[begin:end] = [owned] * (end - begin)
        return found

    def begun(self, from_offset: int, before_offset: int) -> Iterator[Place]:
        """Where stretches begin with records from one log offset on and before another."""
        for owned in self._owned:
            if from_offset <= owned.begin[1] < before_offset:
                yield owned.begin

    def ended(self) -> Iterator[Place]:
        """Where stretches end."""
        for owned in self._owned:
            if owned.end is not None:
                yield owned.end
