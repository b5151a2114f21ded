"""How many records arrive in each partition, as the offsets show that its owners committed."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from statistics import fmean
from typing import Final, NamedTuple, TypeAlias

from rebalance_audit.audit.rows import Row
from rebalance_audit.limits import WHAT_IF_PARTITIONS

ArrivalRates: TypeAlias = dict[str, list[float | None]]
"""Topic -> records per second of each of its partitions; None where the log does not show it."""

_NO_COMMIT: Final = (
    "No owner committed a partition in this window before it gave it up, so the log does not show how many records"
    " arrive."
)
_NO_OFFSETS: Final = (
    "An earlier release wrote the lake, without committed offsets; run --full adds them."
)
_NO_RATE: Final = (
    "Each partition was committed only once in this window before its owner gave it up, which shows no rate of"
    " records."
)


class Arrivals(NamedTuple):
    """What commits show about the records that arrive."""

    rates: ArrivalRates
    unknown: str | None
    """Why no rate is known at all; None if one is."""


def arrivals_of(ownership: Iterable[Row], from_ms: int, to_ms: int) -> Arrivals:
    """The rates in `[from_ms, to_ms)`, on average over the window.

    Offsets that were reset to lower ones show nothing and are left out. A group that lags reads at another rate than
    that of arrivals; the difference is what its lag grew or shrank by.
    """
    commits: dict[tuple[str, int], list[tuple[int, int]]] = {}
    unknown = _NO_COMMIT
    for row in ownership:
        if row["topic"] is None or row["last_committed_at"] is None:
            continue
        unknown = _NO_OFFSETS if row["last_committed_offset"] is None else unknown
        for which in ("first", "last"):
            at_ms, committed = row[f"{which}_committed_at"], row[f"{which}_committed_offset"]
            if at_ms is not None and committed is not None and from_ms <= at_ms < to_ms:
                of_partition = commits.setdefault((row["topic"], row["topic_partition"]), [])
                of_partition.append((at_ms, committed))
    rates: ArrivalRates = {}
    for (topic, number), of_partition in sorted(commits.items()):
        rate = _rate(of_partition)
        if rate is not None and number < WHAT_IF_PARTITIONS.most:
            known = rates.setdefault(topic, [])
            known.extend([None] * (number + 1 - len(known)))
            known[number] = rate
    if rates:
        return Arrivals(rates, None)
    return Arrivals({}, _NO_RATE if commits else unknown)


def rate_of(rates: Mapping[str, Sequence[float | None]], topic: str, number: int) -> float:
    """Records per second of a partition; where that is unknown, the mean of its topic, else of all topics.

    0 where no rate is known at all.
    """
    of_topic = rates.get(topic, ())
    own = of_topic[number] if number < len(of_topic) else None
    if own is not None:
        return own
    known = [each for each in of_topic if each is not None]
    known = known or [each for topics in rates.values() for each in topics if each is not None]
    return fmean(known) if known else 0.0


def has_arrivals(rates: ArrivalRates) -> bool:
    """Whether some partition is known to get records."""
    return any(each for of_topic in rates.values() for each in of_topic)


def _rate(commits: list[tuple[int, int]]) -> float | None:
    """Records per second between the first commit and the last one."""
    commits.sort()
    records = spent_ms = 0
    for (before_ms, before), (at_ms, committed) in pairwise(commits):
        if committed >= before:
            records += committed - before
            spent_ms += at_ms - before_ms
    return round(1_000 * records / spent_ms, 3) if spent_ms else None
