"""What `watch` knows of each group at present, and sums over its rebalances so far: for the screen and for metrics."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, NamedTuple, TypeAlias

from rebalance_audit.audit.rows import (
    EPOCHS,
    FINDINGS,
    GROUP_STATES,
    MEMBERS,
    REBALANCE_CAUSES,
    REBALANCES,
    Row,
)
from rebalance_audit.cli.times import clock_ms
from rebalance_audit.local.live.live_audit import GroupUpdate
from rebalance_audit.readers.duration_counts import DurationCounts
from rebalance_audit.report.lag_text import GroupLag, LagSum
from rebalance_audit.report.present import Present, present_of
from rebalance_audit.report.summary import bounds_in

_PARTS = ("min", "max", "estimate")

NO_DURATIONS = DurationCounts()
_VERDICT_TABLES = (EPOCHS, FINDINGS, GROUP_STATES, MEMBERS, REBALANCE_CAUSES, REBALANCES)

CALM = 2
"""The place of a group without trouble."""

Sample: TypeAlias = tuple[str, Mapping[str, str], float | DurationCounts]
"""Name of a metric, labels, value."""


class Lost(NamedTuple):
    """Milliseconds not stable; `most` is None where a part has no upper bound."""

    least: int = 0
    most: int | None = 0
    estimate: int = 0

    def plus(self, rebalance: Row) -> "Lost":
        """With one more rebalance; one that goes on counts as far as `lost_by` says."""
        took = bounds_in(rebalance, "duration")
        if took is None:
            return self
        return Lost(
            self.least + took.least,
            None if self.most is None or took.most is None else self.most + took.most,
            self.estimate + took.likely,
        )


class Delayed(NamedTuple):
    """Records that rebalances delayed: fields as in `_PARTS`, None where unknown."""

    least: int | None = None
    most: int | None = None
    estimate: int | None = None
    rebalances: int = 0
    """Those that made a partition stop."""

    def plus(self, rebalance: Row) -> "Delayed":
        """With one more rebalance."""
        if not rebalance["partitions_stopped"]:
            return self
        least, most, estimate = (rebalance[f"records_delayed_{part}"] for part in _PARTS)
        is_bounded = most is not None and (self.most is not None or not self.rebalances)
        return Delayed(
            self.least if least is None else (self.least or 0) + least,
            (self.most or 0) + most if is_bounded else None,
            (self.estimate or 0) + estimate,
            self.rebalances + 1,
        )


@dataclass(slots=True)
class WatchedGroup:
    """One group."""

    group_id: str
    present: Present | None = None
    """None: it has no record of its own any more."""
    open: Row | None = None
    updates: GroupUpdate | None = None
    """The last update: rows of the rebalance in progress."""
    settled_causes: Counter[str] = field(default_factory=Counter)
    settled_lost: Lost = field(default_factory=Lost)
    settled_delayed: Delayed = field(default_factory=Delayed)
    settled_durations: DurationCounts = field(default_factory=DurationCounts)
    unsettled: list[Row] = field(default_factory=list)
    last: Row | None = None
    """The rebalance that ended last."""
    findings: Counter[tuple[str, str]] = field(default_factory=Counter)
    """(kind, severity) -> findings that go on."""

    @property
    def causes(self) -> Counter[str]:
        """Rebalances by primary cause, with the one that goes on."""
        return self.settled_causes + Counter(map(_cause, self.unsettled))

    def lost_by(self, now_ms: int | None) -> Lost:
        """Time not stable so far; what goes on counts up to `now_ms` (epoch ms), without it to the end of the log."""
        lost = self.settled_lost
        for row in self.unsettled:
            lost = lost.plus(row)
        if self.open is None or self.open["started_at"] is None:
            return lost
        until_ms = self.open["open_until"] if now_ms is None else now_ms
        ms = max(0, until_ms - self.open["started_at"])
        most = None if lost.most is None else lost.most + ms
        return Lost(lost.least + ms, most, lost.estimate + ms)

    @property
    def is_stuck(self) -> bool:
        """Whether it rebalances, or waits for somebody without an epoch that goes on."""
        return self.open is not None or (self.present is not None and self.present.is_stuck)

    @property
    def delayed(self) -> Delayed:
        """Records that its rebalances delayed so far."""
        return reduce(Delayed.plus, self.unsettled, self.settled_delayed)

    @property
    def durations(self) -> DurationCounts:
        """How long its rebalances took."""
        return self.settled_durations.plus(_durations(self.unsettled))

    @property
    def trouble(self) -> tuple[bool, int, int, str]:
        """Sort key: groups in need of attention first."""
        critical = sum(count for (_, how), count in self.findings.items() if how == "critical")
        return not self.is_stuck, -critical, -self.lost_by(None).estimate, self.group_id

    @property
    def place(self) -> int:
        """0 for urgent, 1 for worth a look, 2 for all others; as in `readers.metrics`."""
        severities = {severity for _, severity in self.findings}
        if self.is_stuck or "critical" in severities:
            return 0
        return 1 if "warning" in severities else CALM


class WatchedGroups:
    """All groups; takes each update once."""

    def __init__(self, cluster: str) -> None:
        self._cluster = cluster
        self._groups: dict[str, WatchedGroup] = {}
        self.lags: Mapping[str, GroupLag] = {}
        """By group id, of groups whose lag is known."""

    def take(self, updates: Iterable[GroupUpdate]) -> None:
        """What is new."""
        for each in updates:
            group = self._groups.setdefault(each.group_id, WatchedGroup(each.group_id))
            tables = each.tables
            group.present = present_of(tables[GROUP_STATES], tables[MEMBERS])
            group.open, group.updates = each.open, each
            for row in each.settled:
                group.settled_causes[_cause(row)] += 1
                group.settled_lost = group.settled_lost.plus(row)
                group.settled_delayed = group.settled_delayed.plus(row)
            group.settled_durations = group.settled_durations.plus(_durations(each.settled))
            group.unsettled = [row for row in tables[REBALANCES] if row not in each.settled]
            over = [row for row in tables[REBALANCES] if row["outcome"] != "open"]
            group.last = max(over, key=lambda row: row["ended_at"] or 0, default=group.last)
            group.findings = Counter(
                (row["kind"], row["severity"]) for row in tables[FINDINGS] if row["to_at"] is None
            )

    def by_trouble(self) -> list[WatchedGroup]:
        """Groups that exist, those in need of attention first."""
        there = [group for group in self._groups.values() if group.present is not None]
        return sorted(there, key=lambda group: group.trouble)

    def tables(self, since_ms: int) -> dict[str, list[Row]]:
        """Rows of what ended since then (epoch ms) and of what goes on: what a verdict on all groups is made of."""
        found: dict[str, list[Row]] = {name: [] for name in _VERDICT_TABLES}
        for group in self._groups.values():
            if group.updates is None:
                continue
            rebalances = [row for row, _ in group.updates.ended]
            found[REBALANCES] += rebalances if group.open is None else [*rebalances, group.open]
            found[FINDINGS] += [
                row
                for row in group.updates.tables[FINDINGS]
                if row["to_at"] is None or row["to_at"] >= since_ms
            ]
            for name in (EPOCHS, GROUP_STATES, MEMBERS, REBALANCE_CAUSES):
                found[name] += group.updates.tables[name]
        return found

    def samples(self, groups_max: int) -> Iterator[Sample]:
        """Metrics, by the names and labels of `readers.metrics`; series of single groups for `groups_max` of them.

        Of groups in trouble those that were seen first: whoever may create groups makes younger ones.
        """
        first_seen = {group_id: number for number, group_id in enumerate(self._groups)}

        def place(group: WatchedGroup) -> tuple[int, int]:
            return group.place, first_seen[group.group_id] if group.place < CALM else 0

        there = sorted(self.by_trouble(), key=place)
        cluster = {"cluster": self._cluster}
        states = Counter(group.present.group_state for group in there if group.present)
        for state, count in states.items():
            yield "groups", {**cluster, "state": state}, count
        left_out = there[groups_max:]
        yield "groups_without_series", cluster, len(left_out)
        troubled = sum(group.place < CALM for group in left_out)
        yield "troubled_groups_without_series", cluster, troubled
        findings = sum(
            (group.findings for group in self._groups.values()), Counter[tuple[str, str]]()
        )
        for (kind, severity), count in findings.items():
            yield "cluster_open_findings", {**cluster, "kind": kind, "severity": severity}, count
        causes = sum((group.causes for group in self._groups.values()), Counter[str]())
        for cause, count in causes.items():
            yield "cluster_rebalances", {**cluster, "cause": cause}, count
        durations = reduce(
            DurationCounts.plus, (group.durations for group in self._groups.values()), NO_DURATIONS
        )
        if durations != NO_DURATIONS:
            yield "cluster_rebalance_duration_seconds", cluster, durations
        for group in there[:groups_max]:
            labels = {**cluster, "group": group.group_id}
            yield from _samples_of(group, labels)
            lag = self.lags.get(group.group_id)
            if lag is not None:
                yield from _lag_samples(lag.total, labels, clock_ms())


def _samples_of(group: WatchedGroup, labels: Mapping[str, str]) -> Iterator[Sample]:
    present = group.present
    assert present is not None
    state = {"protocol": present.protocol, "state": present.group_state}
    yield "group_state", {**labels, **state}, 1
    if present.members is not None:
        yield "group_members", labels, present.members
        yield "group_awaited_members", labels, present.awaited_members
        yield "group_unconsumed_partitions", labels, present.unconsumed
    if group.open is not None and group.open["started_at"] is not None:
        since_s = group.open["started_at"] / 1000
        yield "group_rebalancing_since_timestamp_seconds", labels, since_s
    for cause, count in group.causes.items():
        yield "group_rebalances", {**labels, "cause": cause}, count
    for bound, lost_ms in zip(_PARTS, group.lost_by(clock_ms()), strict=True):
        if lost_ms is not None:
            yield "group_not_stable_seconds", {**labels, "bound": bound}, lost_ms / 1000
    if (durations := group.durations) != NO_DURATIONS:
        yield "group_rebalance_duration_seconds", labels, durations
    for bound, delayed in zip(_PARTS, group.delayed, strict=False):
        if delayed is not None:
            yield "group_records_delayed", {**labels, "bound": bound}, delayed
    for (kind, severity), count in group.findings.items():
        yield "group_open_findings", {**labels, "kind": kind, "severity": severity}, count


def _lag_samples(lag: LagSum, labels: Mapping[str, str], now_ms: int) -> Iterator[Sample]:
    if lag.last_commit_ms is not None:
        yield "group_last_commit_age_seconds", labels, max(0, now_ms - lag.last_commit_ms) / 1000
    if lag.beyond:
        yield "group_offsets_beyond_end", labels, lag.beyond
    if not lag.partitions:
        return
    records, seconds = (lag.records.least, lag.records.most), (lag.least_ms, lag.most_ms)
    for name, bounds, unit in (("records", records, 1), ("seconds", seconds, 1000)):
        for bound, value in zip(_PARTS, bounds, strict=False):
            if value is not None:
                for metric in (f"group_lag_{name}", f"group_owned_lag_{name}"):  # all have owners
                    yield metric, {**labels, "bound": bound}, value / unit


def _durations(rows: Iterable[Row]) -> DurationCounts:
    durations = (bounds_in(row, "duration") for row in rows)
    return DurationCounts.of(took.likely for took in durations if took is not None)


def _cause(row: Mapping[str, Any]) -> str:
    return row["primary_cause"] or "unknown"
