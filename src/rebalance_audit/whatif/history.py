"""What the log itself says of a window: rebalances, moves, time without owner."""

from collections.abc import Iterator, Sequence

from rebalance_audit.audit.rows import Row
from rebalance_audit.whatif.arrival_rates import ArrivalRates, rate_of
from rebalance_audit.whatif.group_rows import GroupRows, epoch_began_ms
from rebalance_audit.whatif.memberships import REPLACED, Slot, slot_names
from rebalance_audit.whatif.script import Logged, LoggedDelay


def logged(
    rows: GroupRows, slots: Sequence[Slot], from_ms: int, to_ms: int, rates: ArrivalRates
) -> Logged:
    """The window `[from_ms, to_ms)` of a group, in which records arrive at these rates."""
    epochs = [row for row in rows.epochs if from_ms <= epoch_began_ms(row) < to_ms]
    low_ms, high_ms = _unowned(epochs)
    gaps = list(_replacements(rows.ownership, slots, from_ms, to_ms))
    return Logged(
        len(epochs),
        _moved(rows.ownership, slots, from_ms, to_ms),
        low_ms,
        None if high_ms is None else high_ms + sum(gap_ms for _, gap_ms in gaps),
        max((row["not_stable_max_ms"] or 0 for row in epochs), default=None),
        _delayed(rows.rebalances, gaps, rates, from_ms, to_ms) if rates else None,
    )


def _delayed(
    rebalances: Sequence[Row],
    gaps: Sequence[tuple[Row, int]],
    rates: ArrivalRates,
    from_ms: int,
    to_ms: int,
) -> LoggedDelay:
    """What the audit says of the rebalances, and the same for what lies between a static member and its successor."""
    began = ((row, row["started_at"] or row["started_at_earliest"]) for row in rebalances)
    stopped = [
        row
        for row, moment in began
        if moment is not None and from_ms <= moment < to_ms and row["partitions_stopped"]
    ]
    estimate = sum(row["records_delayed_estimate"] or 0 for row in stopped)
    estimate += sum(
        round(rate_of(rates, row["topic"], row["topic_partition"]) * gap_ms / 1_000)
        for row, gap_ms in gaps
    )
    least = [
        row["records_delayed_min"] for row in stopped if row["records_delayed_min"] is not None
    ]
    most = [row["records_delayed_max"] for row in stopped]
    return LoggedDelay(
        estimate,
        sum(least) if least else None,
        None if gaps or None in most or not most else sum(most),
    )


def _unowned(epochs: Sequence[Row]) -> tuple[int | None, int | None]:
    """Bounds of partition-milliseconds without owner in the rebalances themselves; None if one is unknown."""
    low = [row["unowned_partition_min_ms"] for row in epochs]
    high = [row["unowned_partition_max_ms"] for row in epochs]
    return (
        None if None in low else sum(low),
        None if None in high else sum(high),
    )


def _replacements(
    ownership: Sequence[Row], slots: Sequence[Slot], from_ms: int, to_ms: int
) -> Iterator[tuple[Row, int]]:
    """Between a static member and its successor, which no rebalance shows: what was held, and for how long no more.

    The partitions had no owner from somewhere after the last commit until the successor took them over, so the
    milliseconds are an upper bound.
    """
    replaced = {
        (stint.member["member_id"], stint.to_ms)
        for slot in slots
        for stint in slot.stints
        if stint.how == REPLACED and stint.to_ms is not None
    }
    for row in ownership:
        ended = (row["member_id"], row["to_at"])
        if ended in replaced and from_ms <= row["to_at"] < to_ms:
            begun_ms = row["last_committed_at"] or row["from_at"] or row["to_at"]
            yield row, max(0, row["to_at"] - max(begun_ms, from_ms))


def _moved(ownership: Sequence[Row], slots: Sequence[Slot], from_ms: int, to_ms: int) -> int:
    """Partitions given to another instance than the one that held them before."""
    names = slot_names(slots)
    held: dict[tuple[str | None, int], str] = {}
    moved = 0
    for row in sorted(ownership, key=lambda row: (row["from_at"] or 0, row["from_offset"])):
        partition = (row["topic_id"] or row["topic"], row["topic_partition"])
        name = names.get(row["member_id"], row["member_id"])
        before = held.get(partition)
        held[partition] = name
        moment = row["from_at"] or 0
        moved += before is not None and before != name and from_ms <= moment < to_ms
    return moved
