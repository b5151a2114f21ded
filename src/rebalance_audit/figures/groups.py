"""What rebalances of a group amount to: sums, a histogram, the commonest cause, who held it up; its line in a list."""

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from operator import attrgetter
from typing import Final, NamedTuple, Self

from rebalance_audit.bounds import BOUND_NAMES, NOTHING, Bounds, total_of
from rebalance_audit.figures.present import Present, present_of
from rebalance_audit.figures.ranking import is_creation
from rebalance_audit.figures.rows import (
    TableRow,
    Tables,
    duration_of,
    epoch_noun,
    kept_unused,
    lasted,
    owns_partitions,
    unowned_of,
    waits_of,
)

BOUNDS_S: Final = (0.1, 0.5, 1.0, 3.0, 10.0, 30.0, 60.0, 180.0, 300.0, 900.0, 3600.0)
"""Upper bounds of the buckets, from a calm join phase to past Kafka's defaults.

3 s is `group.initial.rebalance.delay.ms`, 300 s is `max.poll.interval.ms`, which classic clients use as their rebalance
timeout.
"""


class DurationCounts(NamedTuple):
    """A histogram."""

    cumulative: tuple[int, ...] = (0,) * (len(BOUNDS_S) + 1)
    """Rebalances that took at most as long as each of BOUNDS_S, and at the end all of them."""
    sum_ms: int = 0

    @classmethod
    def of(cls, durations_ms: Iterable[int]) -> Self:
        """Counts these."""
        own = [0] * (len(BOUNDS_S) + 1)
        sum_ms = 0
        for duration_ms in durations_ms:
            own[bisect_left(BOUNDS_S, duration_ms / 1000)] += 1
            sum_ms += duration_ms
        return cls(tuple(accumulate(own)), sum_ms)

    def plus(self, other: "DurationCounts") -> "DurationCounts":
        """Both together."""
        counts = zip(self.cumulative, other.cumulative, strict=True)
        return DurationCounts(tuple(map(sum, counts)), self.sum_ms + other.sum_ms)


NO_DURATIONS: Final = DurationCounts()


UNKNOWN_CAUSE = "unknown"


class Delayed(NamedTuple):
    """Records that rebalances delayed, over those that made a partition stop; None where unknown."""

    least: int | None
    most: int | None
    """None where one of them has no upper bound."""
    estimate: int | None

    @staticmethod
    def total(parts: Iterable["Delayed"]) -> "Delayed | None":
        """The sum of what is known; None of no parts."""
        columns = list(zip(*parts, strict=True))
        if not columns:
            return None
        least, most, estimate = (
            sum(known) if (known := [each for each in column if each is not None]) else None
            for column in columns
        )
        return Delayed(least, None if None in columns[1] else most, estimate)


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over rebalances. Those of two sets of rebalances add up."""

    causes: Counter[str] = field(default_factory=Counter)
    """Primary cause, `unknown` also where there is none yet -> rebalances."""
    without_cause: int = 0
    """Rebalances that have no primary cause yet."""
    not_stable: Bounds = NOTHING
    """Milliseconds from leaving stable to stable again, or to the end of the log."""
    durations: DurationCounts = NO_DURATIONS
    """Of those that ended."""
    delayed: Delayed | None = None

    @staticmethod
    def of(rebalances: Sequence[TableRow]) -> "Totals":
        """Over rows of gold.rebalances."""
        return Totals(
            Counter(row["primary_cause"] or UNKNOWN_CAUSE for row in rebalances),
            sum(row["primary_cause"] is None for row in rebalances),
            total_of(took for row in rebalances if (took := lasted(row)) is not None),
            DurationCounts.of(
                took.likely for row in rebalances if (took := duration_of(row)) is not None
            ),
            Delayed.total(
                Delayed(*(row[f"records_delayed_{part}"] for part in BOUND_NAMES))
                for row in rebalances
                if row.get("partitions_stopped")
            ),
        )

    def plus(self, other: "Totals") -> "Totals":
        """Over both sets."""
        return Totals(
            self.causes + other.causes,
            self.without_cause + other.without_cause,
            self.not_stable.plus(other.not_stable),
            self.durations.plus(other.durations),
            Delayed.total(each for each in (self.delayed, other.delayed) if each is not None),
        )

    @property
    def ranked_causes(self) -> list[tuple[str, int]]:
        """Causes with their rebalances, the most frequent first, then by name."""
        return _ranked(self.causes)

    @property
    def commonest_cause(self) -> tuple[str | None, int]:
        """The first of them, of the rebalances that have a cause, and how many have it."""
        known = self.causes - Counter({UNKNOWN_CAUSE: self.without_cause})
        return next(iter(_ranked(known)), (None, 0))


def _ranked(causes: Counter[str]) -> list[tuple[str, int]]:
    return sorted(causes.items(), key=lambda each: (-each[1], each[0]))


class Culprit(NamedTuple):
    """A member for which a group waited in rebalances."""

    member_id: str
    """Of a static member the latest id."""
    rebalances: int
    ms: int
    """For how long in all of them."""
    why: tuple[str, ...]
    """Codes of `held_up_why`, each once."""


def culprits(rebalances: Iterable[TableRow], members: Iterable[TableRow]) -> list[Culprit]:
    """For whom a group waited, longest first; a static member is one over all its ids."""
    instances = {row["member_id"]: row["instance_id"] for row in members if row["instance_id"]}
    found: dict[str, Culprit] = {}
    for row in sorted(rebalances, key=lambda row: (row["incarnation"], row["rebalance_seq"])):
        for member_id, why, ms in waits_of(row):
            who = instances.get(member_id, member_id)
            _, times, lasted_ms, whys = found.get(who, (member_id, 0, 0, ()))
            found[who] = Culprit(
                member_id, times + 1, lasted_ms + ms, tuple(dict.fromkeys((*whys, why)))
            )
    ranked = sorted(found.items(), key=lambda each: (-each[1].ms, -each[1].rebalances, each[0]))
    return [culprit for _, culprit in ranked]


class GroupSummary(NamedTuple):
    """One group over the whole log."""

    group_id: str
    protocols: tuple[str, ...]
    """Two or more for a group that changed its protocol, each where it was seen last: the present one comes last."""
    protocol_type: str | None
    """Of its classic members, if they are no consumers: `connect`, `sr`."""
    present: Present | None
    """Its state at the end of the log; None for a deleted group."""
    incarnations: int
    log_partition: int
    last_epoch: int | None
    assignor: str | None
    """Members of the last epoch."""
    epochs: int
    epoch_noun: str
    """What its protocol calls an epoch."""
    rebalances: int
    not_stable: Bounds
    """Milliseconds from leaving stable to stable again, or to the end of the log, summed over the rebalances."""
    open_since_ms: int | None
    """Start of the rebalance whose end is not in the log; epoch milliseconds."""
    longest: Bounds | None
    """The longest of them, by `Bounds.rank`, the group's creation only where there is no other."""
    unowned: Bounds | None
    """Time without owner in milliseconds, summed over partitions; a lower bound where members kept theirs unused.

    None if members of the group own no partitions.
    """
    culprit: Culprit | None
    """The member for which the group waited longest in all of its rebalances; None if no member held one up."""
    commonest_cause: str | None
    """The primary cause of most rebalances, the first by name of several."""
    commonest_cause_times: int

    @property
    def is_stuck(self) -> bool:
        """Whether it rebalances at the end of the log, or waits for somebody."""
        waits = self.present is not None and self.present.is_stuck
        return waits or self.open_since_ms is not None


def summaries(tables: Tables) -> list[GroupSummary]:
    """One summary per group of `epochs`, `rebalances` and `group_states`, the most unsettled first.

    Groups that wait for somebody come before all others. What goes on counts up to the end of the log.
    """
    by_group: dict[str, dict[str, list[TableRow]]] = defaultdict(lambda: defaultdict(list))
    for name in ("epochs", "rebalances", "group_states", "members"):
        for row in tables[name]:
            by_group[row["group_id"]][name].append(row)
    found = [_summary(group_id, rows) for group_id, rows in by_group.items()]
    return sorted(
        found,
        key=lambda group: (
            not group.is_stuck,
            -group.not_stable.likely,
            -group.epochs,
            group.group_id,
        ),
    )


def _summary(group_id: str, rows: Mapping[str, list[TableRow]]) -> GroupSummary:
    epochs = sorted(rows["epochs"], key=lambda row: (row["incarnation"], row["epoch"]))
    rebalances, states = rows["rebalances"], rows["group_states"]
    totals = Totals.of(rebalances)
    cause, cause_times = totals.commonest_cause
    compared = [row for row in rebalances if not is_creation(row)] or rebalances
    longest = max(
        (took for row in compared if (took := lasted(row)) is not None),
        key=attrgetter("rank"),
        default=None,
    )
    last_epoch = epochs[-1] if epochs else None
    measured = [unowned for row in epochs if (unowned := unowned_of(row)) is not None]
    unowned = total_of(measured) if measured or not epochs else None
    if unowned is not None and any(map(kept_unused, rows["members"])):
        unowned = unowned._replace(most=None)
    protocol_types = [row.get("protocol_type") for row in epochs if not owns_partitions(row)]
    present = present_of(states)
    protocols = [row["protocol"] for row in epochs or states]
    if present is not None:
        protocols.append(present.protocol)
    return GroupSummary(
        group_id=group_id,
        protocols=tuple(reversed(dict.fromkeys(reversed(protocols)))),
        protocol_type=protocol_types[-1] if protocol_types else None,
        present=present,
        incarnations=len({row["incarnation"] for row in states or epochs}),
        log_partition=(states or epochs)[0]["log_partition"],
        last_epoch=last_epoch["epoch"] if last_epoch else None,
        assignor=last_epoch["assignor"] if last_epoch else None,
        epochs=len(epochs),
        epoch_noun=epoch_noun(epochs),
        rebalances=len(rebalances),
        not_stable=totals.not_stable,
        open_since_ms=next(
            (row["started_at"] for row in rebalances if row["ended_at"] is None), None
        ),
        longest=longest,
        unowned=unowned,
        culprit=next(iter(culprits(rebalances, rows["members"])), None),
        commonest_cause=cause,
        commonest_cause_times=cause_times,
    )
