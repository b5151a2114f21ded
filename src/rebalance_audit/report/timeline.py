"""One group over time, from its gold rows: its states, who owned which partition, which partitions had no owner.

The page, the picture and the trace draw the same stretches. A classic group leaves one record per generation, at its
end: where it may have been rebalancing, and its members may have given up their partitions, a stretch is not certain.
Times are epoch milliseconds.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias

from rebalance_audit.figures.rows import (
    TableRow,
    Tables,
    duration_of,
    is_classic,
    is_share,
    unowned_of,
)
from rebalance_audit.report.colours import REBALANCING
from rebalance_audit.report.verdict import HeldUp, held_up_of

Partition: TypeAlias = tuple[str, int]
"""Topic, else its id, and number."""
NO_NAME: Final = "–"


class StateStretch(NamedTuple):
    """A state of the group."""

    from_ms: int
    to_ms: int
    state: str
    is_certain: bool
    """False where a classic group may have been rebalancing, or where it probably was."""
    is_open: bool
    """Whether it lasts until the end of the log."""


class Owned(NamedTuple):
    """A partition in the hands of a member."""

    from_ms: int
    to_ms: int
    row: TableRow
    """Of gold.ownership."""
    is_certain: bool
    """False where the member of a classic group may have given it up for a while."""


class Gap(NamedTuple):
    """A partition without owner."""

    from_ms: int
    to_ms: int
    row: TableRow
    """Of gold.ownership: of the next owner, or of the last one where there was no other."""
    is_last: bool
    """Whether the partition had no owner afterwards."""


class UncertainStretch(NamedTuple):
    """A stretch before the end of a classic group's rebalance."""

    earliest_ms: int | None
    """Since when the group may have been rebalancing; None where it has no bound."""
    likely_ms: int
    """Since when it probably was."""
    certain_ms: int
    """Since when it certainly was."""
    ended_ms: int
    may_revoke: bool
    """Whether members may have given up partitions in it."""


def partition_of(row: TableRow) -> Partition:
    """The partition that a row of gold.ownership is about."""
    return row["topic"] or row["topic_id"] or NO_NAME, row["topic_partition"]


def doubts(rebalances: Iterable[TableRow], end_ms: int) -> list[UncertainStretch]:
    """Where a classic group may have been rebalancing, in order of time; none in other protocols.

    `rebalances`: rows of gold.rebalances; `end_ms`: the end of the log.
    """
    found = []
    for row in rebalances:
        took, unowned = duration_of(row), unowned_of(row)
        if not is_classic(row):
            continue
        may_revoke = unowned is not None and unowned.most != 0
        if took is None:
            began_ms = row["started_at"] or end_ms
            found.append(
                UncertainStretch(
                    row.get("started_at_earliest"), began_ms, began_ms, end_ms, may_revoke
                )
            )
            continue
        ended_ms = row["ended_at"]
        earliest_ms = None if took.most is None else ended_ms - took.most
        likely_ms, certain_ms = ended_ms - took.likely, ended_ms - took.least
        found.append(UncertainStretch(earliest_ms, likely_ms, certain_ms, ended_ms, may_revoke))
    return sorted(found, key=lambda doubt: doubt.ended_ms)


def states(
    rows: Iterable[TableRow], found: Sequence[UncertainStretch], end_ms: int
) -> list[StateStretch]:
    """The states of a group from its rows of gold.group_states, with what `found` says of classic rebalances."""
    stretches = []
    for row in rows:
        if row["from_at"] is None:
            continue
        is_open = row["to_at"] is None
        until_ms = end_ms if is_open else row["to_at"]
        state = row["group_state"]
        for from_ms, to_ms, is_certain in _without(row["from_at"], until_ms, found):
            stretches.append(
                StateStretch(from_ms, to_ms, state, is_certain, is_open and to_ms == until_ms)
            )
    for doubt in found:
        if doubt.likely_ms < doubt.certain_ms:
            stretches.append(
                StateStretch(doubt.likely_ms, doubt.certain_ms, REBALANCING, False, False)
            )
        stretches.append(StateStretch(doubt.certain_ms, doubt.ended_ms, REBALANCING, True, False))
    return sorted(stretches, key=lambda stretch: (stretch.from_ms, stretch.to_ms))


def _without(
    from_ms: int, until_ms: int, found: Sequence[UncertainStretch]
) -> Iterator[tuple[int, int, bool]]:
    """What is left of a state where no rebalance takes its place, and how certain that is."""
    at_ms = from_ms
    for doubt in found:
        if doubt.ended_ms <= at_ms or min(doubt.likely_ms, _earliest(doubt, from_ms)) >= until_ms:
            continue
        unsure_ms = min(max(_earliest(doubt, at_ms), at_ms), until_ms)
        likely_ms = min(max(doubt.likely_ms, unsure_ms), until_ms)
        if at_ms < unsure_ms:
            yield at_ms, unsure_ms, True
        if unsure_ms < likely_ms:
            yield unsure_ms, likely_ms, False
        at_ms = max(at_ms, min(doubt.ended_ms, until_ms))
    if at_ms < until_ms:
        yield at_ms, until_ms, True


def _earliest(doubt: UncertainStretch, otherwise_ms: int) -> int:
    return otherwise_ms if doubt.earliest_ms is None else doubt.earliest_ms


def owned(
    rows: Iterable[TableRow], found: Sequence[UncertainStretch], end_ms: int
) -> Iterator[Owned]:
    """The stretches of gold.ownership, split where a member of a classic group may have given the partition up."""
    may_revoke = [doubt for doubt in found if doubt.may_revoke]
    for row in rows:
        at_ms = row["from_at"]
        if at_ms is None:
            continue
        until_ms = end_ms if row["to_at"] is None else row["to_at"]
        for doubt in may_revoke:
            if doubt.ended_ms <= at_ms:
                continue
            unsure_ms = max(_earliest(doubt, at_ms), at_ms)
            if unsure_ms >= until_ms:
                break
            if at_ms < unsure_ms:
                yield Owned(at_ms, unsure_ms, row, True)
            at_ms = min(doubt.ended_ms, until_ms)
            yield Owned(unsure_ms, at_ms, row, False)
        if at_ms < until_ms:
            yield Owned(at_ms, until_ms, row, True)


def gaps(
    rows: Sequence[TableRow], rebalances: Sequence[TableRow], end_ms: int | None = None
) -> list[Gap]:
    """Partitions without owner, as far as records say when that began and ended: not in classic and share groups.

    A gap ends with the next owner; where there was none, with the rebalance in which it began, or at `end_ms`, the end
    of the log.
    """
    found = [
        Gap(row["from_at"] - row["unowned_before_ms"], row["from_at"], row, False)
        for row in rows
        if row["unowned_before_ms"] and row["from_at"] is not None
    ]
    found += _last_gaps(rows, rebalances, found, end_ms)
    return sorted(found, key=lambda gap: (gap.from_ms, gap.to_ms, partition_of(gap.row)))


def _last_gaps(
    rows: Sequence[TableRow],
    rebalances: Iterable[TableRow],
    known: Sequence[Gap],
    end_ms: int | None,
) -> Iterator[Gap]:
    """Gaps after the last owner. A partition to which no member subscribes any more has none: the sum says so."""
    last = {partition_of(row): row for row in rows}
    given_up = [row for row in last.values() if row["to_at"] is not None]
    for rebalance in rebalances if given_up else ():
        total_ms, began_ms = rebalance["unowned_partition_ms"], rebalance["started_at"]
        if is_classic(rebalance) or is_share(rebalance) or not total_ms or began_ms is None:
            continue
        ended_ms = end_ms if rebalance["ended_at"] is None else rebalance["ended_at"]
        if ended_ms is None:
            continue
        found = [
            Gap(row["to_at"], ended_ms, row, True)
            for row in given_up
            if began_ms <= row["to_at"] < ended_ms
        ]
        counted_ms = sum(
            max(0, min(ended_ms, gap.to_ms) - max(began_ms, gap.from_ms))
            for gap in (known if found else ())
        )
        if counted_ms + sum(gap.to_ms - gap.from_ms for gap in found) <= total_ms:
            yield from found


def held_stretches(
    rebalances: Iterable[TableRow], end_ms: int
) -> Iterator[tuple[int, int, HeldUp, TableRow]]:
    """From, to, for whom the group waited then, and in which rebalance; only where it is known since when."""
    for row in rebalances:
        for holder, to_ms in held_until(row, end_ms):
            if holder.member_id is not None and holder.from_ms is not None:
                yield holder.from_ms, max(holder.from_ms, to_ms), holder, row


def held_until(rebalance: TableRow, end_ms: int) -> Iterator[tuple[HeldUp, int]]:
    """Who held the rebalance up, and until when: until it ended if no end is known, or until the end of the log."""
    ended_ms = end_ms if rebalance["ended_at"] is None else rebalance["ended_at"]
    for holder in held_up_of(rebalance):
        yield holder, ended_ms if holder.to_ms is None else holder.to_ms


def revocations(own: Tables, end_ms: int) -> Iterator[tuple[int, int, TableRow]]:
    """From, to, and the row of `convergence`: how long members took to give partitions up.

    One that did not in an epoch goes on in the row of the next, or had left by then.
    """
    starts = sorted(row["started_at"] for row in own["epochs"] if row["started_at"] is not None)
    for row in own["convergence"]:
        from_ms, to_ms = row["revoke_started_at"], row["revoked_at"]
        if from_ms is None:
            continue
        if to_ms is None:
            began_ms = from_ms if row["started_at"] is None else row["started_at"]
            later = bisect_right(starts, began_ms)
            to_ms = starts[later] if later < len(starts) else end_ms
        yield from_ms, max(from_ms, to_ms), row


def by_story(
    found: Iterable[Gap],
) -> dict[tuple[int, int, str | None, str | None], list[Gap]]:
    """From, to, owner before, owner after -> gaps of partitions that were without owner together, the longest first."""
    together: dict[tuple[int, int, str | None, str | None], list[Gap]] = {}
    for gap in sorted(found, key=lambda each: (each.from_ms - each.to_ms, each.from_ms)):
        row = gap.row
        before = row["member_id"] if gap.is_last else row["previous_member_id"]
        after = None if gap.is_last else row["member_id"]
        together.setdefault((gap.from_ms, gap.to_ms, before, after), []).append(gap)
    return together
