"""The figures of one row of a gold table: how long it lasted, when it began, for whom the group waited."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from rebalance_audit.bounds import NOTHING, UNBOUNDED, Bounds
from rebalance_audit.wire.consumer_protocol import PROTOCOL_TYPE

TableRow: TypeAlias = Mapping[str, Any]
"""One row of a gold table: columns as in `schemas/tables`, times in epoch milliseconds."""
Tables: TypeAlias = Mapping[str, Sequence[TableRow]]
"""Gold table name (without layer) -> rows."""
RowKey: TypeAlias = tuple[str, int, int]
"""Group, incarnation, and the number of an epoch or of a rebalance."""

_CONSUMERS: Final = (None, "", PROTOCOL_TYPE)
DEAD_OR_AWAY: Final = frozenset(
    {"member_departed", "member_session_expired", "static_member_expired"}
)
"""Ends of members that may have been dead or away for a while before."""


def picked(row: TableRow, *columns: str) -> dict[str, Any]:
    """Some columns of a row."""
    return {column: row[column] for column in columns}


def is_classic(row: TableRow) -> bool:
    """Whether the row is of the classic protocol, whose one record per generation shows its end but not its start."""
    protocol: str = row["protocol"]
    return protocol == "classic"


def is_open_join_phase(rebalance: TableRow) -> bool:
    """Whether a rebalance goes on that no record shows yet: its join phase is in a coordinator's log."""
    is_open = rebalance["ended_at"] is None and rebalance["first_epoch"] is None
    return is_open and is_classic(rebalance)


def owns_partitions(row: TableRow) -> bool:
    """Whether members of the row's group own partitions: Connect's workers, for one, do not."""
    return not is_classic(row) or row.get("protocol_type") in _CONSUMERS


def is_share(row: TableRow) -> bool:
    """Whether a row is of a share group, whose members have partitions in common."""
    return bool(row["protocol"] == "share")


def epoch_noun(rows: Iterable[TableRow]) -> str:
    """`generation` where all rows are of the classic protocol, else `epoch`."""
    return "generation" if all(map(is_classic, rows)) else "epoch"


def epoch_key(row: TableRow) -> RowKey:
    """Key of the epoch that a row is, or is of."""
    return row["group_id"], row["incarnation"], row["epoch"]


def rebalance_key(row: TableRow) -> RowKey:
    """Key of the rebalance that a row is, or is of."""
    return row["group_id"], row["incarnation"], row["rebalance_seq"]


def duration_of(rebalance: TableRow) -> Bounds | None:
    """How long a rebalance took; None while it goes on, and where its start is not known."""
    return bounds_in(rebalance, "duration")


def began_ms(rebalance: TableRow) -> int | None:
    """When a rebalance began (epoch ms): by the best estimate where records give bounds, at the latest without one."""
    took = duration_of(rebalance)
    at_ms: int | None = rebalance["started_at"]
    if took is not None and took.estimate is not None and rebalance["ended_at"] is not None:
        at_ms = rebalance["ended_at"] - took.estimate
    return at_ms


def epoch_began_at(epoch: TableRow) -> int | None:
    """When an epoch began (epoch ms); of a generation without a known start its end, the only moment with a record."""
    at_ms: int | None = epoch["started_at"]
    return epoch["converged_at"] if at_ms is None else at_ms


def lasted(rebalance: TableRow) -> Bounds | None:
    """How long a rebalance took, or has taken when the log ends; None if that is not known."""
    began_at_ms, until_ms = rebalance["started_at"], rebalance.get("open_until")
    if until_ms is None or began_at_ms is None:
        return duration_of(rebalance)
    return Bounds.exactly(max(0, until_ms - began_at_ms))


def rank_of(rebalance: TableRow) -> tuple[int, int]:
    """How long it took, for sorting: `Bounds.rank`; what goes on counts up to the end of the log."""
    took = lasted(rebalance)
    return NOTHING.rank if took is None else took.rank


def longest_first(rebalance: TableRow) -> tuple[bool, int, int]:
    """The order in every list of the longest; what goes on comes before all others."""
    likely_ms, certain_ms = rank_of(rebalance)
    return rebalance["ended_at"] is not None, -likely_ms, -certain_ms


def waits_of(rebalance: TableRow) -> Iterator[tuple[str, str, int]]:
    """Member id, why, and how long the group waited for it in a rebalance (ms), so far where it goes on.

    Not before it: the end of a member that was silent until then began it.
    """
    until_ms, started_ms = rebalance.get("open_until"), began_ms(rebalance)
    names = ("member_ids", "why", "ms", "from")
    columns = (rebalance.get(f"held_up_{name}") or () for name in names)
    for member_id, why, ms, from_ms in zip(*columns, strict=False):
        if member_id is None:
            continue
        if from_ms is None or until_ms is not None:
            yield member_id, why, 0 if from_ms is None else max(0, until_ms - from_ms)
            continue
        before_ms = 0 if started_ms is None else max(0, started_ms - from_ms)
        yield member_id, why, max(0, (ms or 0) - before_ms)


def unowned_of(row: TableRow) -> Bounds | None:
    """Time without owner, summed over partitions, of an epoch or a rebalance; None if its members own none."""
    if not owns_partitions(row):
        return None
    return bounds_in(row, "unowned_partition") or UNBOUNDED


def bounds_in(row: TableRow, stem: str) -> Bounds | None:
    """`<stem>_min_ms`, `<stem>_max_ms` and `<stem>_estimate_ms` of a row; None where it has none."""
    least = row.get(f"{stem}_min_ms")
    if least is None:
        return None
    return Bounds(least, row[f"{stem}_max_ms"], row[f"{stem}_estimate_ms"])


def kept_unused(member: TableRow) -> bool:
    """Whether a member of the consumer protocol may have kept its partitions while it was dead, or away for a while."""
    if is_classic(member):
        return False
    return member.get("next_member_id") is not None or member.get("left_how") in DEAD_OR_AWAY
