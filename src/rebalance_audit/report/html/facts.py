"""What a page is made from: rows already read for it, bounded however large the lake is."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from rebalance_audit.figures.rows import TableRow, Tables

MINUTE_MS: Final = 60_000
HOUR_MS: Final = 60 * MINUTE_MS
DAY_MS: Final = 24 * HOUR_MS

BUCKETS: Final = (
    (1000, "a second"),
    (5000, "in 5 seconds"),
    (15_000, "in 15 seconds"),
    (MINUTE_MS, "a minute"),
    (5 * MINUTE_MS, "in 5 minutes"),
    (15 * MINUTE_MS, "in 15 minutes"),
    (HOUR_MS, "an hour"),
    (6 * HOUR_MS, "in 6 hours"),
    (DAY_MS, "a day"),
    (7 * DAY_MS, "a week"),
    (28 * DAY_MS, "in 4 weeks"),
)
"""Bucket sizes of a chart's time axis, each with its name in the chart's heading."""

BARS_MAX: Final = 100
"""With more bars than this their colours cannot be distinguished: the next larger size is used."""


class PageFacts(NamedTuple):
    """Everything that the page shows; times in epoch milliseconds, all names as in the log."""

    clusters: Sequence[str]
    """One, or those of a fleet, whose groups go by their `fleet_name`."""
    source: str
    """The folder of the log or of the lake."""
    arguments: str
    """What names the source to `inspect` and `explain`, quoted for a shell."""
    windowed: bool
    """Whether the reader asked for only a part of the time."""
    log_end_ms: int | None
    """When the log ends; None where that is not known."""
    end_ms: int
    """Where pictures end: with the log, or with the window."""
    worst: Tables
    """What the verdict on all groups is made of: the most severe findings, and the longest rebalances of some
    groups."""
    totals: TableRow
    groups: Sequence[TableRow]
    """One per group, those that need most attention first."""
    causes: Sequence[TableRow]
    bucket_ms: int
    buckets: Sequence[TableRow]
    """Rebalances by bucket of time and cause."""
    cost_buckets: Sequence[TableRow]
    """Time not stable by bucket of time and what cost it."""
    costliest: Sequence[TableRow]
    """Rebalances that go on, and the longest ones, over all groups."""
    findings: Sequence[TableRow]
    """Some of each kind, over all groups."""
    finding_counts: Sequence[TableRow]
    deploys: Sequence[TableRow]
    """Rows of gold.deploys."""
    bars: Sequence[TableRow]
    """Rebalances, the latest of each group: the bars of the picture of all groups."""
    weeks: Sequence[TableRow]
    """Groups whose last week was worse than the week before; none where the log spans less than two."""
    detailed: Sequence[str]
    """Ids of the groups that have a section of their own, in the order of their weight."""
    details: Mapping[str, Sequence[TableRow]]
    """epochs, rebalances, states, group_causes, held_up, owned, progress, lag and findings of these groups.

    members are those of every group on the page.

    longest, longest_epochs and longest_causes are about the longest rebalances of each, and one that goes on.
    """


def bucket_size(first_ms: int | None, last_ms: int | None) -> int:
    """The smallest bucket that covers the span in at most BARS_MAX; the largest where none does."""
    span = 0 if first_ms is None or last_ms is None else last_ms - first_ms
    return next((size for size, _ in BUCKETS if span <= size * BARS_MAX), BUCKETS[-1][0])


def per_bucket(size_ms: int) -> str:
    """`a day`: the bucket's name in a heading."""
    return dict(BUCKETS)[size_ms]


def rows_by_group(rows: Sequence[TableRow]) -> dict[Any, list[TableRow]]:
    """Group id -> its rows, in their order."""
    found: dict[Any, list[TableRow]] = {}
    for row in rows:
        found.setdefault(row["group_id"], []).append(row)
    return found
