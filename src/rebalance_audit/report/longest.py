"""Which rebalance of a group was the longest, and how sure that is."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from rebalance_audit.report.summary import TableRow, duration_of, estimate_of

ALIKE: Final = 1.25
"""If the larger estimate is at most this many times the other, either may be the longer one."""
ALIKE_MS: Final = 500
"""Nor do estimates that differ by less: members hear of a rebalance with their next heartbeat."""


class Longest(NamedTuple):
    """The rebalance that most likely took longest."""

    rebalance: TableRow
    of: int
    """How many rebalances the group had, with its creation and with one that goes on."""
    rival: TableRow | None
    """The one that may have been longer, by its upper bound; None where none can have been."""
    stands_out: bool
    """Whether at most one other may have been as long, as far as estimates and bounds show."""
    leaves_creation_aside: bool
    """Whether the group's creation, which may have taken longer, was not compared."""


def longest_of(
    rebalances: Sequence[TableRow], of: int | None = None, *, has_creation: bool = False
) -> Longest | None:
    """The longest finished one by its estimate; None where there is none.

    The join of a group's first members waits for `group.initial.rebalance.delay.ms`, and takes nothing from anybody:
    it is compared only where there is no other. Where `rebalances` are only the longest ones, `of` says how many
    there are in all, and `has_creation` whether the creation is one of them.
    """
    of = len(rebalances) if of is None else of
    ended = [row for row in rebalances if row["ended_at"] is not None]
    compared = [row for row in ended if not _is_creation(row)] or ended
    if not compared:
        return None
    leaves_creation_aside = not _is_creation(compared[0]) and (
        has_creation or len(compared) < len(ended)
    )
    longest, *others = sorted(compared, key=lambda row: (-estimate_of(row), row["rebalance_seq"]))
    lasted_ms, near = estimate_of(longest), 0
    rivals: list[TableRow] = []
    for row in others:
        took = duration_of(row)
        if took is not None and (took.most is None or took.most > lasted_ms):
            near += lasted_ms <= max(ALIKE * took.estimate, took.estimate + ALIKE_MS)
            rivals.append(row)
    rival = rivals[0] if rivals else None
    return Longest(longest, of, rival, near <= 1, leaves_creation_aside)


def _is_creation(row: TableRow) -> bool:
    is_first = row["rebalance_seq"] == 0 and row["completeness"] == "complete"
    return bool(is_first and row["first_epoch"] == row["last_epoch"] and not row["members_left"])
