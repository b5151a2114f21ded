"""Which rebalance of a group was the longest, and how sure that is; which findings come first."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from math import inf
from typing import Final, NamedTuple

from rebalance_audit.audit.findings.finding import Severity
from rebalance_audit.bounds import UNBOUNDED, Bounds
from rebalance_audit.figures.rows import TableRow, Tables, began_ms, duration_of, longest_first

ALIKE: Final = 1.25
"""If the larger estimate is at most this many times the other, either may be the longer one."""
ALIKE_MS: Final = 1000
"""Nor do estimates that differ by less: members hear of a rebalance with their next heartbeat."""

_UNBOUNDED_MS: Final = float("inf")


class Longest(NamedTuple):
    """The rebalance to name first: the longest by its estimate, or by its lower bound where it has none."""

    rebalance: TableRow
    of: int
    """How many rebalances the group had, with its creation and with one that goes on."""
    rival: TableRow | None
    """One that may have been longer, by its upper bound: first one that is alike. None where none can have been."""
    stands_out: bool
    """Whether its lower bound is the largest one, and at most one other has an upper bound above it."""
    is_likely: bool
    """Whether it stands out by the estimates, with at most one other that is alike; also where it does for certain."""
    most_ms: int | None
    """The largest upper bound of all that are compared; None if one has none."""
    leaves_creation_aside: bool
    """Whether the group's creation, which may have taken longer, was not compared."""


def longest_of(
    rebalances: Sequence[TableRow], of: int | None = None, *, has_creation: bool = False
) -> Longest | None:
    """The first one by `Bounds.rank`, then by upper bound, of those that ended; None where there is none.

    The join of a group's first members waits for `group.initial.rebalance.delay.ms`, and takes nothing from anybody:
    it is compared only where there is no other. Where `rebalances` are only the longest ones, `of` says how many
    there are in all, and `has_creation` whether the creation is one of them.
    """
    of = len(rebalances) if of is None else of
    ended = [row for row in rebalances if row["ended_at"] is not None]
    compared = [row for row in ended if not is_creation(row)] or ended
    if not compared:
        return None
    leaves_creation_aside = not is_creation(compared[0]) and (
        has_creation or len(compared) < len(ended)
    )
    longest, *others = sorted(
        compared,
        key=lambda row: (longest_first(row), -_most(row), row["incarnation"], row["rebalance_seq"]),
    )
    took, of_others = _bounds(longest), [_bounds(row) for row in others]
    rivals = [row for row in others if _most(row) > took.least]
    stands_out = not rivals or (
        len(rivals) == 1 and took.least >= max(each.least for each in of_others)
    )
    alike = sum(_is_alike(each, took) for each in of_others)
    rival = max(rivals, key=lambda row: (_is_alike(_bounds(row), took), _most(row)), default=None)
    most_ms = max(map(_most, compared))
    return Longest(
        longest,
        of,
        rival,
        stands_out,
        stands_out or (alike <= 1 and took.likely > took.least),
        None if most_ms == _UNBOUNDED_MS else int(most_ms),
        leaves_creation_aside,
    )


def _is_alike(other: Bounds, longest: Bounds) -> bool:
    """Whether it may have lasted as long: by its estimate, or without one, and its upper bound does not exclude it."""
    if other.most is not None and other.most <= longest.likely:
        return False
    if other.estimate is None:
        return True
    return longest.likely <= max(ALIKE * other.likely, other.likely + ALIKE_MS)


def _bounds(row: TableRow) -> Bounds:
    return duration_of(row) or UNBOUNDED


def _most(row: TableRow) -> float:
    most = _bounds(row).most
    return _UNBOUNDED_MS if most is None else most


def is_creation(row: TableRow) -> bool:
    """Whether a rebalance is that of the first members of a group."""
    is_first = row["rebalance_seq"] == 0 and row["completeness"] == "complete"
    return bool(is_first and row["first_epoch"] == row["last_epoch"] and not row["members_left"])


RANKS: Final[Mapping[str, int]] = {Severity.CRITICAL: 0, Severity.WARNING: 1, Severity.INFO: 2}
STANDSTILLS: Final = frozenset(
    {
        "commits_stopped",
        "group_not_served",
        "hanging_transaction",
        "lost_partition",
        "static_subscription_ignored",
        "stuck_group",
        "two_owners",
    }
)
"""Kinds that cost all of their time; the others cost what the group was not stable meanwhile."""


def most_severe_first(tables: Tables) -> list[TableRow]:
    """Rows of `findings` by severity, and those that cost most time first.

    `rebalances` say how much that was, unless the rows say so themselves as `lost_ms`.
    """
    found = tables.get("findings", ())
    rebalances: dict[str, list[TableRow]] = defaultdict(list)
    named = {row["group_id"] for row in found if row["kind"] not in STANDSTILLS}
    for row in tables.get("rebalances", ()):
        if row["group_id"] in named:
            rebalances[row["group_id"]].append(row)
    return sorted(
        found,
        key=lambda row: (
            RANKS[row["severity"]],
            -_lost_ms(row, rebalances.get(row["group_id"], ())),
            row["to_at"] is not None,
            (row["from_at"] or 0) - (row["to_at"] or 0),
            -(row["to_at"] or row["from_at"] or 0),
            row["group_id"] or "",
            row["kind"],
            row["finding_id"],
        ),
    )


def _lost_ms(finding: TableRow, rebalances: Sequence[TableRow]) -> float:
    """Time in which the group stood still while the finding lasted; infinite for a standstill that goes on."""
    if "lost_ms" in finding:
        known: int = finding["lost_ms"]
        return known
    from_ms, to_ms = finding["from_at"], finding["to_at"]
    end_ms = inf if to_ms is None else to_ms
    if from_ms is None or finding["kind"] in STANDSTILLS:
        return 0 if from_ms is None else end_ms - from_ms
    lost = 0.0
    for row in rebalances:
        took, ended_ms = duration_of(row), row["ended_at"]
        if took is None:
            lost += 0 if to_ms is None else max(0, to_ms - max(from_ms, row["started_at"] or to_ms))
        else:
            lost += max(0, min(end_ms, ended_ms) - max(from_ms, began_ms(row) or ended_ms))
    return lost
