"""What rows of a group say of one hour, added up in any order."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from rebalance_audit.audit.rows import Row, completeness

HOUR_MS: Final = 3_600_000
COUNTED: Final = (
    "rebalances",
    "epochs",
    "partitions_moved",
    "members_joined",
    "members_left",
    "not_stable_min_ms",
    "not_stable_estimate_ms",
    "not_stable_max_ms",
    "unowned_partition_min_ms",
    "unowned_partition_estimate_ms",
    "unowned_partition_max_ms",
)
"""Columns that are sums."""
FLAGS: Final = ("not_stable_unbounded", "unowned_unbounded", "has_gap")
"""True of an hour if a row says so: a time has no upper bound, or records may be missing."""


class HourSums:
    """One hour of one group."""

    __slots__ = ("causes", "convergence_ms_max", "counts", "flags")

    def __init__(self) -> None:
        """Nothing is known."""
        self.counts = dict.fromkeys(COUNTED, 0)
        self.flags: set[str] = set()
        self.causes: Counter[str] = Counter()
        self.convergence_ms_max: int | None = None

    def add(self, name: str, amount: int | None) -> None:
        """Add to one of COUNTED."""
        self.counts[name] += amount or 0

    def say(self, name: str, *, holds: bool) -> None:
        """Set one of FLAGS if it holds."""
        if holds:
            self.flags.add(name)

    def converged_in(self, duration_ms: int | None) -> None:
        """Take note of how long an epoch took."""
        if duration_ms is not None:
            self.convergence_ms_max = max(duration_ms, self.convergence_ms_max or 0)

    def and_also(self, other: "HourSums") -> "HourSums":
        """Both together."""
        both = HourSums()
        both.counts = {name: self.counts[name] + other.counts[name] for name in COUNTED}
        both.flags = self.flags | other.flags
        both.causes = self.causes + other.causes
        both.converged_in(self.convergence_ms_max)
        both.converged_in(other.convergence_ms_max)
        return both

    def columns(self) -> Row:
        """The columns of gold.group_hours that follow."""
        found: Row = dict(self.counts)
        # Rebalances do not overlap, but their bounds may.
        for name in ("not_stable_min_ms", "not_stable_estimate_ms", "not_stable_max_ms"):
            found[name] = min(found[name], HOUR_MS)
        if "not_stable_unbounded" in self.flags:
            found["not_stable_max_ms"] = None
        if "unowned_unbounded" in self.flags:
            found["unowned_partition_max_ms"] = None
        least, most = found["unowned_partition_min_ms"], found["unowned_partition_max_ms"]
        return found | {
            "not_stable_ms": found["not_stable_min_ms"],
            "unowned_partition_ms": least if least == most else None,
            "convergence_ms_max": self.convergence_ms_max,
            # The most frequent one, and of equally frequent ones the first in the alphabet.
            "primary_cause": min(self.causes, key=lambda cause: (-self.causes[cause], cause))
            if self.causes
            else None,
            "completeness": completeness("has_gap" in self.flags),
        }

    def to_list(self) -> list[Any]:
        """For JSON."""
        counts = [self.counts[name] for name in COUNTED]
        return [counts, sorted(self.flags), dict(self.causes), self.convergence_ms_max]

    @classmethod
    def from_list(cls, found: Sequence[Any]) -> "HourSums":
        """What `to_list` made."""
        sums = cls()
        counts, flags, causes, sums.convergence_ms_max = found
        sums.counts = dict(zip(COUNTED, counts, strict=True))
        sums.flags, sums.causes = set(flags), Counter(causes)
        return sums
