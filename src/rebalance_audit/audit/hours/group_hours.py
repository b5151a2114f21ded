"""Rows of gold.group_hours for one group, made of its rows in other gold tables as the audit emits them.

An hour has a row if an epoch began in it, if the group was or may have been not stable or a partition unowned during
part of it, or if offsets were committed. What has not ended lasts until the end of the log: such rows are
*provisional*, and so is what hours have of them. A later part of the log goes on from `state`, which keeps the hours
that rows can still reach: those since what is open began. A row that reaches further back needs the whole history.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from rebalance_audit import limits
from rebalance_audit.audit import rows
from rebalance_audit.audit.rows import GAP, Row, completeness

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
        """Set a flag if it holds: a time has no upper bound, or records may be missing."""
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


HOURS_MAX: Final = limits.HOURS.most
"""A year and some days: a clock that is wrong by a thousand years must not make a million rows."""
KEPT_HOURS: Final = 24 * 14
"""So far back hours are kept at the most."""
MADE_OF: Final = (rows.EPOCHS, rows.REBALANCES, rows.OWNERSHIP, rows.GROUP_STATES)
CLASSIC: Final = "classic"
OF_COMMITS: Final = ("commits", "commit_gaps", "commit_gap_ms_max", "last_commit_at")
"""Columns that offset commits fill."""


class HourCommits(NamedTuple):
    """The offset commits of one hour."""

    commits: int
    commit_gaps: int
    commit_gap_ms_max: int | None
    last_commit_ms: int | None

    def and_also(self, other: "HourCommits") -> "HourCommits":
        """With those of the same group in another partition of the log."""
        commits, gaps, longest_ms, last_ms = (
            [each for each in pair if each is not None] for pair in zip(self, other, strict=True)
        )
        return HourCommits(
            *(sum(commits), sum(gaps), max(longest_ms, default=None), max(last_ms, default=None))
        )


class _Stretch(NamedTuple):
    """A state of the group in hours since 1970, both included."""

    first: int
    last: int
    incarnation: int
    from_offset: int
    protocol: str | None
    members: int | None


class GroupHours:
    """The hours of one group."""

    def __init__(
        self, log_end_ms: int | None, *, with_commits: bool, state: Mapping[str, Any] | None = None
    ) -> None:
        """Until `log_end_ms`, epoch milliseconds, lasts what has not ended.

        Without `with_commits` what hours say of commits is null, not zero. `state` is that of an earlier part.
        """
        self._log_end_ms = log_end_ms
        self._with_commits = with_commits
        state = state or {}
        self._from: int | None = state.get("from")
        """The first hour that is kept; None if all are."""
        self._sums = {hour: HourSums.from_list(found) for hour, found in state.get("sums", ())}
        self._states = [_Stretch(*found) for found in state.get("states", ())]
        self._commits = {hour: HourCommits(*found) for hour, found in state.get("commits", ())}
        self._unowned: dict[tuple[str, int], int] = {
            (topic, partition): ended_ms for topic, partition, ended_ms in state.get("unowned", ())
        }
        self._were_open: set[int] = set(state.get("open", ()))
        self._last_ms: int | None = state.get("last_ms")
        self._changed: set[int] = set()
        self._open_sums: dict[int, HourSums] = {}
        self._open_states: list[_Stretch] = []
        self._owned: set[tuple[str, int]] = set()
        self._is_open = False
        self.is_lost = False
        """Something reaches back before the hours that are kept."""

    def seen(self, record_ms: int | None) -> None:
        """A record of the group has this time."""
        if record_ms is not None:
            self._last_ms = record_ms if self._last_ms is None else max(record_ms, self._last_ms)

    def add(self, table: str, row: Row) -> None:
        """Take a row of a gold table."""
        match table:
            case rows.EPOCHS:
                self._of_epoch(row)
            case rows.REBALANCES:
                self._of_rebalance(row)
            case rows.OWNERSHIP:
                self._of_ownership(row)
            case rows.GROUP_STATES:
                self._of_state(row)

    def ended(self) -> None:
        """The log ends: rows that follow are provisional."""
        self._is_open = True

    def committed(self, hours: Mapping[int, HourCommits]) -> None:
        """What is known of the commits in these hours, with what was known before."""
        for hour in hours:
            self._touch(hour)
        self._commits.update(hours)

    def rows(self) -> Iterator[tuple[Row, bool]]:
        """Once, at the end: each row that is new or may have changed, with `hour`, and whether there is a row.

        If not, an earlier part has made one that is gone.
        """
        wanted = self._changed | self._open_sums.keys() | self._were_open
        for hour in sorted(wanted):
            row = self._row(hour)
            if row is not None:
                yield row, True
            elif hour in self._were_open:
                yield {"hour": hour * HOUR_MS}, False

    def state(self) -> dict[str, Any]:
        """For a later part, after `rows`; to be kept as JSON."""
        kept_from = self._kept_from()
        return {
            "from": kept_from,
            "sums": [
                (hour, sums.to_list()) for hour, sums in self._sums.items() if hour >= kept_from
            ],
            "states": [[*stretch] for stretch in self._states if stretch.last >= kept_from],
            "commits": [(hour, [*of]) for hour, of in self._commits.items() if hour >= kept_from],
            "unowned": [(*partition, ms) for partition, ms in self._unowned.items()],
            "open": sorted(self._open_sums),
            "last_ms": self._last_ms,
        }

    def _kept_from(self) -> int:
        """The first hour that a later row can reach, as far as that is known."""
        reach = [*self._open_sums, *self._commits.keys() & {max(self._commits, default=0)}]
        reach += [stretch.first for stretch in self._open_states[-1:]]
        if self._last_ms is not None:
            reach.append(self._last_ms // HOUR_MS)
        newest = max([*reach, *self._sums], default=0)
        reach += [ms // HOUR_MS for ms in self._unowned.values()]
        return max(min(reach, default=newest), newest - KEPT_HOURS)

    def _row(self, hour: int) -> Row | None:
        sums, open_sums = self._sums.get(hour), self._open_sums.get(hour)
        commits = self._commits.get(hour) if self._with_commits else None
        if sums is None and open_sums is None and commits is None:
            return None
        both = (sums or HourSums()).and_also(open_sums or HourSums())
        states = [
            stretch
            for stretch in (*self._states, *self._open_states)
            if stretch.first <= hour <= stretch.last
        ]
        latest = max(states, key=lambda each: each[2:4], default=None)
        members = [stretch.members for stretch in states if stretch.members is not None]
        row = {
            "hour": hour * HOUR_MS,
            # A group that only commits has no record of its protocol; simple consumers use the classic one.
            "protocol": (None if latest is None else latest.protocol) or CLASSIC,
            "members_max": max(members, default=None),
            **both.columns(),
        }
        if not self._with_commits:
            return row | dict.fromkeys(OF_COMMITS)
        values = (0, 0, None, None) if commits is None else commits
        return row | dict(zip(OF_COMMITS, values, strict=True))

    # -- rows of other tables -------------------------------------------------------------------

    def _touch(self, hour: int) -> None:
        if self._from is not None and hour < self._from:
            self.is_lost = True
        self._changed.add(hour)

    def _at(self, hour: int) -> HourSums:
        sums = self._open_sums if self._is_open else self._sums
        self._touch(hour)
        return sums.setdefault(hour, HourSums())

    def _of_epoch(self, row: Row) -> None:
        began = _first(row["started_at"], row["converged_at"])
        if began is None:
            return
        sums = self._at(began // HOUR_MS)
        sums.add("epochs", 1)
        for name in ("partitions_moved", "members_joined", "members_left"):
            sums.add(name, row[name])
        sums.converged_in(row["convergence_ms"])
        if row["primary_cause"] is not None:
            sums.causes[row["primary_cause"]] += 1
        most = row["unowned_partition_max_ms"]
        if row["protocol"] == CLASSIC:
            # Records of classic generations have nothing by partition: their bounds count where the epoch does.
            least = _first(row["unowned_partition_min_ms"], row["unowned_partition_ms"], 0)
            likely = _first(row["unowned_partition_estimate_ms"], least)
            sums.add("unowned_partition_min_ms", least)
            sums.add("unowned_partition_estimate_ms", likely)
            sums.add("unowned_partition_max_ms", most)
        sums.say("unowned_unbounded", holds=most is None)
        sums.say("has_gap", holds=row["completeness"] == GAP)

    def _of_rebalance(self, row: Row) -> None:
        began: int | None = row["started_at"]
        if began is None:
            return
        until = _first(row["ended_at"], self._log_end_ms, began)
        ended = max(began, until)
        by_bound = _back(row["ended_at"], row["duration_max_ms"])
        earliest = min(began, _first(by_bound, row["started_at_earliest"], began))
        estimated = _first(_back(row["ended_at"], row["duration_estimate_ms"]), began)
        known = ended - began
        # A cooperative rebalance may have been stable between its two halves.
        spare = known - min(known, _first(row["duration_min_ms"], known))
        is_bounded = (
            row["protocol"] != CLASSIC
            or row["duration_max_ms"] is not None
            or row["started_at_earliest"] is not None
        )
        for hour in _hours(earliest, ended):
            sums = self._at(hour)
            sums.add("rebalances", int(began // HOUR_MS == hour))
            least = max(0, _share(began, ended, hour) - spare)
            sums.add("not_stable_min_ms", least)
            sums.add("not_stable_estimate_ms", max(least, _share(estimated, ended, hour)))
            sums.add("not_stable_max_ms", _share(earliest, ended, hour))
            sums.say("not_stable_unbounded", holds=not is_bounded)
            sums.say("unowned_unbounded", holds=row["unowned_partition_max_ms"] is None)
            sums.say("has_gap", holds=row["completeness"] == GAP)

    def _of_ownership(self, row: Row) -> None:
        """Where every step is a record; stretches of classic groups have no topic id."""
        began, gap_ms = row["from_at"], row["unowned_before_ms"]
        topic_id = row["topic_id"]
        if topic_id is None:
            return
        partition = (topic_id, row["topic_partition"])
        if began is not None and gap_ms is not None and gap_ms > 0:
            for hour in _hours(began - gap_ms, began):
                sums = self._at(hour)
                for bound in ("min", "estimate", "max"):
                    exactly = _share(began - gap_ms, began, hour)
                    sums.add(f"unowned_partition_{bound}_ms", exactly)
        if self._is_open or row["to_at"] is None:
            self._unowned.pop(partition, None)
        else:
            self._unowned[partition] = row["to_at"]

    def _of_state(self, row: Row) -> None:
        began = row["from_at"]
        if began is None:
            return
        ended = max(began, _first(row["to_at"], self._log_end_ms, began))
        stretch = _Stretch(
            began // HOUR_MS,
            ended // HOUR_MS,
            row["incarnation"],
            row["from_offset"],
            row["protocol"],
            row["members"],
        )
        states = self._open_states if self._is_open else self._states
        for hour in {stretch.first, stretch.last}:
            # Of the hours between them none has a row that the state does not concern already.
            if hour in self._sums or hour in self._commits:
                self._touch(hour)
        last = states[-1] if states else None
        if last is not None and last[:2] == stretch[:2] and last[2:4] < stretch[2:4]:
            # Many states of one hour say no more than the latest, and the most members.
            members = [each for each in (last.members, stretch.members) if each is not None]
            stretch = stretch._replace(members=max(members, default=None))
            states.pop()
        states.append(stretch)


def with_commits_elsewhere(row: Row, elsewhere: Row) -> Row:
    """The row of an hour, plus the offset commits of the same group and hour in another partition of the log.

    Kafka keeps a group in one partition. After partitions were added to the log its commits may be in two.
    """
    both = [HourCommits(*(each[name] for name in OF_COMMITS)) for each in (row, elsewhere)]
    return row | dict(zip(OF_COMMITS, both[0].and_also(both[1]), strict=True))


def _hours(began_ms: int, ended_ms: int) -> range:
    """All hours that a stretch of time touches; of an absurdly long one the first HOURS_MAX."""
    first = began_ms // HOUR_MS
    return range(first, min(ended_ms // HOUR_MS, first + HOURS_MAX) + 1)


def _share(began_ms: int, ended_ms: int, hour: int) -> int:
    """Milliseconds of the hour that lie within [began, ended)."""
    start = hour * HOUR_MS
    return max(0, min(ended_ms, start + HOUR_MS) - max(began_ms, start))


def _back(at_ms: int | None, by_ms: int | None) -> int | None:
    return None if at_ms is None or by_ms is None else at_ms - by_ms


def _first(*values: int | None) -> Any:
    """The first that is not None; None without one."""
    return next((value for value in values if value is not None), None)


def hours_of_tables(
    tables: Mapping[str, Sequence[Row]],
    log_end_ms: int | None,
    commits: Mapping[str, Mapping[int, HourCommits]] | None = None,
) -> list[Row]:
    """Rows of gold.group_hours of whole groups, in order of group and hour.

    `commits`: the offset commits of each group; without them what the rows say of commits is null.
    """
    of_group: dict[str, GroupHours] = defaultdict(
        lambda: GroupHours(log_end_ms, with_commits=commits is not None)
    )
    for table in MADE_OF:
        for row in tables[table]:
            of_group[row["group_id"]].add(table, row)
    for group_id, of_commits in (commits or {}).items():
        of_group[group_id].committed(of_commits)
    return [
        {"group_id": group_id, **row}
        for group_id in sorted(of_group)
        for row, _ in of_group[group_id].rows()
    ]
