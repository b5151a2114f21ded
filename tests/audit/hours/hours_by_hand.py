"""Rows of gold tables, and what they say of each hour of a group: counted minute by minute, by hand."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from hypothesis import strategies as st

from rebalance_audit.audit.hours.group_hours import OF_COMMITS
from rebalance_audit.audit.rows import EPOCHS, GROUP_STATES, OWNERSHIP, REBALANCES

MINUTE = 60_000
HOUR = 60 * MINUTE
Row = dict[str, Any]
Tables = Mapping[str, list[Row]]
GROUPS = st.sampled_from(["g", "h", "ü"])
AT = st.integers(0, 5 * 60).map(lambda minute: minute * MINUTE)
LONG = st.integers(1, 200).map(lambda minutes: minutes * MINUTE)
MAYBE = st.none() | LONG
PROTOCOL = st.sampled_from(["classic", "consumer"])
COMPLETENESS = st.sampled_from(["complete", "complete", "gap"])


def bounds(stem: str, least: int, more: int, most: int | None) -> Row:
    """The columns of a duration that has bounds."""
    upper = None if most is None else least + more + most
    return {f"{stem}_min_ms": least, f"{stem}_estimate_ms": least + more, f"{stem}_max_ms": upper}


EPOCH = st.builds(
    lambda began, lasts, causes, unowned, **row: {
        **row,
        "started_at": began,
        "converged_at": None if lasts is None else began + lasts,
        "convergence_ms": lasts,
        "primary_cause": causes,
        **bounds("unowned_partition", *unowned),
    },
    AT,
    MAYBE,
    st.sampled_from([None, "member_joined", "member_left", "ä"]),
    st.tuples(st.integers(0, 9), st.integers(0, 9), st.none() | st.integers(0, 9)),
    group_id=GROUPS,
    protocol=PROTOCOL,
    partitions_moved=st.none() | st.integers(0, 3),
    members_joined=st.integers(0, 2),
    members_left=st.integers(0, 2),
    completeness=COMPLETENESS,
)
REBALANCE = st.builds(
    lambda began, lasts, least, most, ago, **row: {
        **row,
        "started_at": began,
        "started_at_earliest": None if ago is None else began - ago,
        "ended_at": None if lasts is None else began + lasts,
        "duration_min_ms": None if lasts is None else min(least, lasts),
        "duration_estimate_ms": None if lasts is None else min(least, lasts),
        "duration_max_ms": None if lasts is None else most,
    },
    AT,
    MAYBE,
    LONG,
    MAYBE,
    MAYBE,
    group_id=GROUPS,
    protocol=PROTOCOL,
    unowned_partition_max_ms=st.sampled_from([None, 0]),
    completeness=COMPLETENESS,
)
STRETCH = st.fixed_dictionaries(
    {
        "group_id": GROUPS,
        "topic_id": st.sampled_from([None, "t"]),
        "from_at": AT,
        "unowned_before_ms": MAYBE,
    }
)
STATE = st.builds(
    lambda began, lasts, **row: {
        **row, "from_at": began, "to_at": None if lasts is None else began + lasts
    },
    AT,
    MAYBE,
    group_id=GROUPS,
    incarnation=st.integers(0, 1),
    protocol=PROTOCOL,
    members=st.none() | st.integers(0, 9),
)  # fmt: skip


def numbered(name: str, rows: Iterable[Row]) -> list[Row]:
    """Rows with keys of their own."""
    keys = ("from_offset", "first_offset", "seq", "epoch", "partition")
    return [{**row, **dict.fromkeys(keys, number)} for number, row in enumerate(rows)]


TABLES = st.fixed_dictionaries(
    {
        EPOCHS: st.lists(EPOCH, max_size=8),
        REBALANCES: st.lists(REBALANCE, max_size=6),
        OWNERSHIP: st.lists(STRETCH, max_size=6),
        GROUP_STATES: st.lists(STATE, max_size=6),
    }
).map(lambda tables: {name: numbered(name, rows) for name, rows in tables.items()})
SECONDS_APART = st.lists(st.sampled_from([0.2, 1, 5, 30, 50, 61, 700, 4_000]), max_size=40)
COMMITS = st.dictionaries(GROUPS, SECONDS_APART)


def share(began: int, ended: int, hour: int) -> int:
    """Milliseconds of the hour in a stretch of time."""
    return max(0, min(ended, (hour + 1) * HOUR) - max(began, hour * HOUR))


class Stay(NamedTuple):
    """How long a group was not stable, at least, probably, and at most; None for unbounded."""

    began: int
    ended: int
    row: Row

    def within(self, hour: int) -> tuple[int, int, int | None]:
        """Of one hour."""
        row, known = self.row, self.ended - self.began
        ended = row["ended_at"]
        spare = 0 if ended is None else known - min(known, row["duration_min_ms"])
        least = max(0, share(self.began, self.ended, hour) - spare)
        probably = self.began if ended is None else ended - row["duration_estimate_ms"]
        most = None
        is_bounded = row["duration_max_ms"] is not None or row["started_at_earliest"] is not None
        if row["protocol"] != "classic" or is_bounded:
            most = share(self.earliest, self.ended, hour)
        return least, max(least, share(probably, self.ended, hour)), most

    @property
    def earliest(self) -> int:
        """When it can have begun."""
        row = self.row
        if row["ended_at"] is not None and row["duration_max_ms"] is not None:
            by_bound: int = row["ended_at"] - row["duration_max_ms"]
            return min(self.began, by_bound)
        earliest: int | None = row["started_at_earliest"]
        return self.began if earliest is None else min(self.began, earliest)


def total(values: Iterable[int | None]) -> int | None:
    """None if any is."""
    values = [*values]
    return None if None in values else sum(value for value in values if value is not None)


def expected(tables: Tables, end: int, of_commits: Mapping[tuple[str, int], Row]) -> list[Row]:
    """What each hour has, row by row."""
    stays = [
        Stay(row["started_at"], max(row["started_at"], row["ended_at"] or end), row)
        for row in tables[REBALANCES]
    ]
    unowned = [
        (row["group_id"], row["from_at"] - row["unowned_before_ms"], row["from_at"])
        for row in tables[OWNERSHIP]
        if row["topic_id"] and row["unowned_before_ms"]
    ]
    hours = set(of_commits)
    hours |= {(row["group_id"], row["started_at"] // HOUR) for row in tables[EPOCHS]}
    for group, began, ended in [
        *unowned,
        *((stay.row["group_id"], stay.earliest, stay.ended) for stay in stays),
    ]:
        hours |= {(group, hour) for hour in range(began // HOUR, ended // HOUR + 1)}
    return [
        _expected(tables, end, of_commits, stays, unowned, group, hour) for group, hour in hours
    ]


def _expected(
    tables: Tables,
    end: int,
    of_commits: Mapping[tuple[str, int], Row],
    stays: list[Stay],
    unowned: list[tuple[str, int, int]],
    group: str,
    hour: int,
) -> Row:
    epochs = [
        row
        for row in tables[EPOCHS]
        if (row["group_id"], row["started_at"] // HOUR) == (group, hour)
    ]
    ours = [
        stay
        for stay in stays
        if stay.row["group_id"] == group and stay.earliest // HOUR <= hour <= stay.ended // HOUR
    ]
    states = [
        row
        for row in tables[GROUP_STATES]
        if row["group_id"] == group
        and row["from_at"] // HOUR <= hour <= max(row["from_at"], row["to_at"] or end) // HOUR
    ]
    exactly = sum(share(began, ended, hour) for name, began, ended in unowned if name == group)
    classic = [row for row in epochs if row["protocol"] == "classic"]
    stem = "unowned_partition"
    is_bounded = all(
        row[f"{stem}_max_ms"] is not None for row in (*epochs, *(stay.row for stay in ours))
    )
    least = exactly + sum(row[f"{stem}_min_ms"] for row in classic)
    most = exactly + sum(row[f"{stem}_max_ms"] or 0 for row in classic) if is_bounded else None
    causes = Counter(row["primary_cause"] for row in epochs if row["primary_cause"])
    latest = max(states, key=lambda row: (row["incarnation"], row["from_offset"]), default=None)
    shares = [stay.within(hour) for stay in ours]
    not_stable = [total(each) for each in zip(*shares, strict=True)] or [0, 0, 0]
    lower, probably, upper = (None if each is None else min(each, HOUR) for each in not_stable)
    gap = any(row["completeness"] == "gap" for row in (*epochs, *(stay.row for stay in ours)))
    nothing = dict.fromkeys(OF_COMMITS) | {"commits": 0, "commit_gaps": 0}
    return {
        "group_id": group,
        "hour": hour * HOUR,
        "protocol": latest["protocol"] if latest else "classic",
        "rebalances": sum(stay.began // HOUR == hour for stay in ours),
        "epochs": len(epochs),
        **{
            name: sum(row[name] or 0 for row in epochs)
            for name in ("partitions_moved", "members_joined", "members_left")
        },
        "not_stable_ms": lower,
        "not_stable_min_ms": lower,
        "not_stable_estimate_ms": probably,
        "not_stable_max_ms": upper,
        f"{stem}_ms": least if least == most else None,
        f"{stem}_min_ms": least,
        f"{stem}_estimate_ms": exactly + sum(row[f"{stem}_estimate_ms"] for row in classic),
        f"{stem}_max_ms": most,
        "members_max": max(
            (row["members"] for row in states if row["members"] is not None), default=None
        ),
        "convergence_ms_max": max(
            (row["convergence_ms"] for row in epochs if row["convergence_ms"]), default=None
        ),
        "primary_cause": min(causes, key=lambda cause: (-causes[cause], cause), default=None),
        "completeness": "gap" if gap else "complete",
        **(of_commits.get((group, hour)) or nothing),
    }
