"""The audit of a log that is being written: it reports each rebalance as it ends.

The same audit as that of a whole log takes the records. What is still open is asked of a twin for which the log ends
now, so that a rebalance is reported before the next record of its group shows that it is over.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from rebalance_audit.audit.holes import Holes
from rebalance_audit.audit.lag.rebalance_cost import COST_COLUMNS
from rebalance_audit.audit.members.stint import merge_stints
from rebalance_audit.audit.options import AuditOptions, knows_nothing
from rebalance_audit.audit.ownership.commit_book import CommittedPosition
from rebalance_audit.audit.rows import (
    CONVERGENCE,
    EPOCHS,
    FINDINGS,
    GROUP_STATES,
    MEMBERS,
    OWNERSHIP,
    REBALANCE_CAUSES,
    REBALANCES,
    Row,
)
from rebalance_audit.errors import two_histories
from rebalance_audit.local.audit_feeder import AuditFeeder
from rebalance_audit.local.live.growth import Break
from rebalance_audit.local.live.stable_offsets import StableOffsets
from rebalance_audit.local.survey import PartitionEnd, TopicLearner, partition_end
from rebalance_audit.wire import key_bytes
from rebalance_audit.wire.segments.bad_bytes import BadBytes
from rebalance_audit.wire.segments.columns import ColumnChunk
from rebalance_audit.wire.topic_names import TopicNames

if TYPE_CHECKING:
    from rebalance_audit.segments.columns import Columns

_OF_EPOCHS: Final = (EPOCHS, CONVERGENCE, REBALANCE_CAUSES)
_HELD: Final = (*_OF_EPOCHS, REBALANCES, MEMBERS)
"""Tables whose final rows wait until their rebalance has been reported."""
_DROPPED: Final = frozenset({OWNERSHIP, GROUP_STATES, FINDINGS})
HELD_ROWS_MAX: Final = 500
"""Rows of one group; with more, it is settled although the log goes on."""

_Epoch: TypeAlias = tuple[int, int]
_Rebalance: TypeAlias = tuple[int, int]


class GroupUpdate(NamedTuple):
    """One group as far as the log goes: rebalances that ended, and what goes on."""

    group_id: str
    tables: Mapping[str, list[Row]]
    """Rows of the unreported rebalances and of the open one, by gold table."""
    ended: list[tuple[Row, int]]
    """Row of gold.rebalances, and how often it was reported before with other values."""
    settled: list[Row]
    """Rows of gold.rebalances that no record can change any more, each once."""
    open: Row | None

    def causes_of(self, rebalance: Row) -> list[Row]:
        """Rows of gold.rebalance_causes of its epochs."""
        number = _number(rebalance)
        epochs = {_epoch(row) for row in self.tables[EPOCHS] if _number(row) == number}
        return [row for row in self.tables[REBALANCE_CAUSES] if _epoch(row) in epochs]


@dataclass(slots=True)
class _Held:
    """What is kept of a group besides its audit."""

    rows: dict[str, list[Row]] = field(default_factory=lambda: {table: [] for table in _HELD})
    reported: dict[_Rebalance, tuple[int, Any]] = field(default_factory=dict)
    """Reported rebalances that may still change -> how many times, and with what."""


class LiveAudit:
    """Feed it what a LiveLog reads, then ask for updates."""

    def __init__(
        self,
        options: AuditOptions,
        names: TopicNames,
        groups: Collection[str] = (),
        since_ms: int | None = None,
        *,
        sees_markers: bool = True,
        with_lag: bool = False,
    ) -> None:
        """`options` ask `names`, which learn from the log. `groups`: only these; all if empty.

        `since_ms`: rebalances that ended before are not reported (epoch ms). `sees_markers`: it is fed transaction
        markers, too; without them it is unknown which offsets have no record. `with_lag`: for `committed_positions`.
        """
        self._ends: dict[int, PartitionEnd] = {}
        counting = replace(
            options, is_whole=self._is_whole, holes=self._holes if sees_markers else knows_nothing
        )
        keys = key_bytes.of_groups(groups)
        self._feed = AuditFeeder(counting, keys, self._emit)
        self._offsets = StableOffsets(keys) if with_lag else None
        self._names = names
        self._learner = TopicLearner()
        self._since_ms = since_ms
        self._held: dict[str, _Held] = {}
        self._changed: set[str] = set()
        self._full: set[str] = set()
        self._open: set[str] = set()
        self._left_out: set[str] = set()
        self.log_end_ms: int | None = None
        """Latest record timestamp so far (epoch ms)."""
        self.records = 0

    def take(self, log_partition: int, found: ColumnChunk | BadBytes | Break) -> None:
        """The next piece of a partition."""
        if isinstance(found, ColumnChunk):
            from rebalance_audit.segments.columns import Columns  # noqa: PLC0415 - imports numpy
            from rebalance_audit.segments.commits import set_apart  # noqa: PLC0415 - imports numpy

            columns = Columns.of(found)
            self._learn(log_partition, columns)
            apart = set_apart(columns)
            self._feed.take(log_partition, apart)
            if self._offsets is not None:
                self._offsets.take(log_partition, found, apart)
            return
        if self._offsets is not None:
            (self._offsets.forget if found is Break.TRUNCATED else self._offsets.miss)(
                log_partition
            )
        if found is Break.TRUNCATED:
            self._ends.pop(log_partition, None)
            for group_id in self._feed.forget(log_partition):
                self._drop(group_id)
        elif found is Break.LOST:
            self._feed.miss(log_partition)
        elif isinstance(found, BadBytes):
            self._feed.take(log_partition, found)

    def left_out(self) -> Iterator[str]:
        """A sentence about each group that turned out, since the last call, to have records in several partitions."""
        for group_id in sorted(self._feed.split.keys() - self._left_out):
            self._left_out.add(group_id)
            self._drop(group_id)
            yield two_histories(group_id, self._feed.split[group_id])

    def _drop(self, group_id: str) -> None:
        self._held.pop(group_id, None)
        for groups in (self._changed, self._open, self._full):
            groups.discard(group_id)

    def committed_positions(self) -> Iterator[tuple[str, CommittedPosition]]:
        """Group id and what the group has committed so far, for each partition that a member owns."""
        assert self._offsets is not None  # see `with_lag`
        return self._offsets.of(self._feed.audit.committed_positions())

    def full(self) -> Iterator[GroupUpdate]:
        """Updates of groups that hold many rows; ask while a long log is being read."""
        full, self._full = self._full, set()
        for group_id in sorted(full):
            yield self._update_of(group_id)

    def updates(self, *, with_open: bool = False) -> Iterator[GroupUpdate]:
        """Updates of every group that has new records; `with_open`: also of every one that rebalances."""
        changed = self._changed | self._feed.take_changed() | (self._open if with_open else set())
        self._changed = set()
        for group_id in sorted(changed):
            yield self._update_of(group_id)

    @property
    def unnamed(self) -> frozenset[bytes]:
        """Ids of topics that nothing has named so far though a row needed it."""
        return self._feed.audit.unnamed - self._names.keys()

    def learn_names(self, names: TopicNames) -> None:
        """Names from elsewhere; rows that are open take them."""
        self._names.merge(names.values())

    def _is_whole(self, log_partition: int) -> bool | None:
        """As far as it was read; a hole further on is not known yet."""
        end = self._ends.get(log_partition)
        return None if end is None else end.is_whole

    def _holes(self, log_partition: int) -> Holes | None:
        """As far as it was read; no more is known until a group's next record."""
        end = self._ends.get(log_partition)
        return None if end is None else end.holes

    def _learn(self, log_partition: int, found: "Columns") -> None:
        self.records += len(found.log_offsets)
        end = partition_end(found.log_offsets.tolist())
        self._ends[log_partition] = end.after(self._ends.get(log_partition))
        latest = int(found.record_timestamps_ms.max())
        self.log_end_ms = latest if self.log_end_ms is None else max(self.log_end_ms, latest)
        self._learner.learn(found)
        self._names.merge(self._learner.take())

    def _emit(self, table: str, row: Row) -> None:
        if table in _DROPPED:
            return
        group_id = row["group_id"]
        held = self._held.setdefault(group_id, _Held())
        held.rows[table].append(row)
        self._changed.add(group_id)
        if len(held.rows[EPOCHS]) + len(held.rows[CONVERGENCE]) > HELD_ROWS_MAX:
            self._full.add(group_id)

    def _update_of(self, group_id: str) -> GroupUpdate:
        held = self._held.setdefault(group_id, _Held())
        still_open = self._feed.audit.open_rows(group_id, self.log_end_ms)
        tables = {table: held.rows[table] + still_open[table] for table in _HELD}
        tables[MEMBERS] = merge_stints(tables[MEMBERS])
        tables[GROUP_STATES] = still_open[GROUP_STATES]
        tables[FINDINGS] = still_open[FINDINGS]
        updates = GroupUpdate(group_id, tables, [], [], None)
        going_on, ended = None, updates.ended
        for row in tables[REBALANCES]:
            if row["outcome"] == "open":
                going_on = row
            elif self._since_ms is None or (row["ended_at"] or 0) >= self._since_ms:
                number = _number(row)
                times, before = held.reported.get(number, (0, None))
                # What it cost is known only once the next commits are there: no reason to report it again.
                shown = {name: value for name, value in row.items() if name not in COST_COLUMNS}
                now = (shown, updates.causes_of(row))
                if before != now:
                    held.reported[number] = (times + 1, now)
                    ended.append((row, times))
        (self._open.add if going_on else self._open.discard)(group_id)
        return updates._replace(settled=_settle(held, still_open), open=going_on)


def _number(row: Row) -> _Rebalance:
    return row["incarnation"], row["rebalance_seq"]


def _epoch(row: Row) -> _Epoch:
    return row["incarnation"], row["epoch"]


def _settle(held: _Held, still_open: Mapping[str, list[Row]]) -> list[Row]:
    """Drop the rows of rebalances that are final; returns the rebalances."""
    open_epochs = {_epoch(row) for table in _OF_EPOCHS for row in still_open[table]}
    open_numbers = {_number(row) for row in (*still_open[EPOCHS], *still_open[REBALANCES])}
    rows = held.rows
    open_numbers |= {_number(row) for row in rows[EPOCHS] if _epoch(row) in open_epochs}
    settled = [row for row in rows[REBALANCES] if _number(row) not in open_numbers]
    over = {_number(row) for row in settled}
    gone = {
        _epoch(row)
        for row in rows[EPOCHS]
        if _number(row) in over or (row["rebalance_seq"] is None and _epoch(row) not in open_epochs)
    }
    for table in _OF_EPOCHS:
        rows[table] = [row for row in rows[table] if _epoch(row) not in gone]
    rows[REBALANCES] = [row for row in rows[REBALANCES] if _number(row) not in over]
    for number in over:
        held.reported.pop(number, None)
    begun = [row["started_at"] for row in settled if row["started_at"] is not None]
    if begun:
        # Whoever left before the last of them began can be named in none that is still to come.
        rows[MEMBERS] = [
            row for row in rows[MEMBERS] if row["left_at"] is None or row["left_at"] >= max(begun)
        ]
    return settled
