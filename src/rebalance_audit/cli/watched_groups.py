"""What `watch` knows of each group at present, and sums over its rebalances so far: for the screen and for metrics."""

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import reduce
from typing import TypeAlias

from rebalance_audit.audit.rows import (
    EPOCHS,
    FINDINGS,
    GROUP_STATES,
    MEMBERS,
    REBALANCE_CAUSES,
    REBALANCES,
    Row,
)
from rebalance_audit.bounds import BOUND_NAMES
from rebalance_audit.cli.times import clock_ms
from rebalance_audit.figures.groups import NO_DURATIONS, DurationCounts, Totals
from rebalance_audit.figures.present import Present, present_of
from rebalance_audit.local.live.live_audit import GroupUpdate
from rebalance_audit.report.lag_text import GroupLag, LagSum

_VERDICT_TABLES = (EPOCHS, FINDINGS, GROUP_STATES, MEMBERS, REBALANCE_CAUSES, REBALANCES)

CALM = 2
"""The place of a group without trouble."""

Sample: TypeAlias = tuple[str, Mapping[str, str], float | DurationCounts]
"""Name of a metric, labels, value."""


@dataclass(slots=True)
class WatchedGroup:
    """One group."""

    group_id: str
    present: Present | None = None
    """None: it has no record of its own any more."""
    open: Row | None = None
    updates: GroupUpdate | None = None
    """The last update: rows of the rebalance in progress."""
    state_by_log: tuple[int, int | None, str] | None = None
    """Incarnation, epoch and state; None without a record."""
    state_read_s: float = 0.0
    """When that was new (by the monotonic clock)."""
    coordinator_state: str | None = None
    """What its coordinator has said of it since; None where that is unknown."""
    settled: Totals = field(default_factory=Totals)
    unsettled: list[Row] = field(default_factory=list)
    last: Row | None = None
    """The rebalance that ended last."""
    findings: Counter[tuple[str, str]] = field(default_factory=Counter)
    """(kind, severity) -> findings that go on."""

    def totals(self, now_ms: int | None = None) -> Totals:
        """Over its rebalances; one that goes on counts up to `now_ms` (epoch ms), without it to the end of the log."""
        rows = self.unsettled
        if now_ms is not None:
            rows = [{**row, "open_until": row["open_until"] and now_ms} for row in rows]
        return self.settled.plus(Totals.of(rows))

    def take(self, update: GroupUpdate) -> None:
        """What is new in the log: with another state there, what the coordinator said before is over."""
        self.open, self.updates = update.open, update
        self.present = by_log = present_of(update.tables[GROUP_STATES])
        state = by_log and (by_log.incarnation, by_log.epoch, by_log.group_state)
        if state != self.state_by_log:
            self.state_by_log, self.state_read_s = state, time.monotonic()
            self.coordinator_state = None
        elif self.coordinator_state is not None:
            self.hear(self.coordinator_state)

    def hear(self, coordinator_state: str | None) -> None:
        """What its coordinator says of it now."""
        assert self.updates is not None
        self.coordinator_state = coordinator_state
        rows = self.updates.tables[GROUP_STATES]
        for row in rows:
            row["coordinator_state"] = coordinator_state
        self.present = present_of(rows)

    @property
    def is_rebalancing(self) -> bool:
        """Whether a rebalance goes on, by the log or by its coordinator."""
        return self.open is not None or (self.present is not None and self.present.is_rebalancing)

    @property
    def is_stuck(self) -> bool:
        """Whether it rebalances, or waits for somebody without an epoch that goes on."""
        return self.is_rebalancing or (self.present is not None and self.present.is_stuck)

    @property
    def trouble(self) -> tuple[bool, int, int, str]:
        """Sort key: groups in need of attention first."""
        critical = sum(count for (_, how), count in self.findings.items() if how == "critical")
        return not self.is_stuck, -critical, -self.totals().not_stable.likely, self.group_id

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
            group.take(each)
            group.settled = group.settled.plus(Totals.of(each.settled))
            group.unsettled = [row for row in tables[REBALANCES] if row not in each.settled]
            over = [row for row in tables[REBALANCES] if row["outcome"] != "open"]
            group.last = max(over, key=lambda row: row["ended_at"] or 0, default=group.last)
            group.findings = Counter(
                (row["kind"], row["severity"]) for row in tables[FINDINGS] if row["to_at"] is None
            )

    def hear(self, said: tuple[float, Mapping[str, str]] | None) -> None:
        """When coordinators were asked (by the monotonic clock) and the states of their groups; None if unknown."""
        asked_s, states = said or (0.0, {})
        for group in self._groups.values():
            state = states.get(group.group_id) if asked_s >= group.state_read_s else None
            if state != group.coordinator_state:
                group.hear(state)

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
        totals = reduce(Totals.plus, (group.totals() for group in self._groups.values()), Totals())
        for cause, count in totals.causes.items():
            yield "cluster_rebalances", {**cluster, "cause": cause}, count
        if totals.durations != NO_DURATIONS:
            yield "cluster_rebalance_duration_seconds", cluster, totals.durations
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
    totals = group.totals(clock_ms())
    for cause, count in totals.causes.items():
        yield "group_rebalances", {**labels, "cause": cause}, count
    bounded = {
        "group_not_stable_seconds": [None if ms is None else ms / 1000 for ms in totals.not_stable],
        "group_records_delayed": totals.delayed or (),
    }
    for name, values in bounded.items():
        for bound, value in zip(BOUND_NAMES, values, strict=False):
            if value is not None:
                yield name, {**labels, "bound": bound}, value
    if totals.durations != NO_DURATIONS:
        yield "group_rebalance_duration_seconds", labels, totals.durations
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
        for bound, value in zip(BOUND_NAMES, bounds, strict=False):
            if value is not None:
                for metric in (f"group_lag_{name}", f"group_owned_lag_{name}"):  # all have owners
                    yield metric, {**labels, "bound": bound}, value / unit
