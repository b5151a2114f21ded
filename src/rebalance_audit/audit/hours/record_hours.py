"""How many records of each type a group wrote in each hour, and the first and last of them: its growth."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from rebalance_audit.audit.findings.of_commits import EndRecords, TopicGrowth
from rebalance_audit.audit.hours.commit_hours import run_begins
from rebalance_audit.audit.hours.group_hours import HOUR_MS
from rebalance_audit.audit.rows import Row
from rebalance_audit.audit.thresholds import FindingRules

HOURS_OF_DAY: Final = 24

Ints = npt.NDArray[np.int64]
GroupAndType = tuple[str | None, str]


class HourCounts(NamedTuple):
    """Counts of records: one row for each group, record type and hour."""

    numbers: Ints
    """Places in a list of groups and types."""
    hours: Ints
    """Since 1970."""
    counts: Ints
    first_ms: Ints
    first_offset: Ints
    last_ms: Ints
    last_offset: Ints


def by_hour(numbers: Ints, times: Ints, log_offsets: Ints) -> HourCounts:
    """Records with a time, each of a group and type, counted."""
    order = np.lexsort((log_offsets, times, numbers))
    numbers, times, log_offsets = numbers[order], times[order], log_offsets[order]
    hours = times // HOUR_MS
    begins = run_begins(numbers, hours)
    lasts = np.append(begins[1:], len(numbers))[: len(begins)] - 1
    ends = (times[begins], log_offsets[begins], times[lasts], log_offsets[lasts])
    return HourCounts(numbers[begins], hours[begins], lasts - begins + 1, *ends)


class _Hour(NamedTuple):
    """An hour of one group and type."""

    records: int
    first: tuple[int, int, int]
    """Time, offset and log partition."""
    last: tuple[int, int, int]


class LogGrowth:
    """Adds up the hours of a log."""

    def __init__(self) -> None:
        """No records yet."""
        self._of: dict[GroupAndType, dict[int, _Hour]] = defaultdict(dict)

    def add(self, log_partition: int, of: Sequence[GroupAndType], counts: HourCounts) -> None:
        """Take records; `counts` have the places of `of`."""
        for number, hour, records, *ends in zip(*map(np.ndarray.tolist, counts), strict=True):
            hours = self._of[of[number]]
            first, last = (*ends[:2], log_partition), (*ends[2:], log_partition)
            known = hours.get(hour, _Hour(0, first, last))
            hours[hour] = _Hour(
                known.records + records, min(known.first, first), max(known.last, last)
            )

    def findings(self, rules: FindingRules) -> Iterator[Row]:
        """A row for each day and type of each group with an hour of so many records."""
        for (group_id, record_type), hours in self._of.items():
            if group_id is None:
                continue
            days: dict[int, list[int]] = defaultdict(list)
            for hour in sorted(hours):
                if hours[hour].records >= rules.growth_records:
                    days[hour // HOURS_OF_DAY].append(hour)
            for grown in days.values():
                counts = [hours[hour].records for hour in grown]
                first, last = hours[grown[0]].first, hours[grown[-1]].last
                yield TopicGrowth.row(
                    group_id,
                    EndRecords((first[2], first[1], first[0]), (last[2], last[1], last[0])),
                    record_type,
                    hours=len(grown),
                    records=sum(counts),
                    most=max(counts),
                )
