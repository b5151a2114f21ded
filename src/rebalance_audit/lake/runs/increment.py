"""The plan of a run over what is new in bronze since the last one: its cost follows the new records, not the log.

The tables equal those of a replay of all of bronze. What is not affected is not read.
"""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import reduce
from typing import Final

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.errors import LakeNotReadable
from rebalance_audit.lake.gold.broker_logs import moments_in_silver
from rebalance_audit.lake.gold.group_memory import Gaps, answers
from rebalance_audit.lake.gold.outputs import GONE, SNAPSHOTS
from rebalance_audit.lake.gold.reducer import with_commits
from rebalance_audit.lake.records import routing
from rebalance_audit.lake.records.commit_packs import commit_packs, decided_packs
from rebalance_audit.lake.records.record_counts import RecordCounts
from rebalance_audit.lake.runs.affected_groups import AffectedGroups, NewRecords
from rebalance_audit.lake.runs.context import RunContext
from rebalance_audit.lake.runs.missing_records import (
    gaps_of,
    holes_since,
    losses_in_quarantine,
    losses_without_group,
)
from rebalance_audit.lake.runs.plan import Plan, ReplayedGroups, Revise, few_tasks
from rebalance_audit.lake.runs.progress import Progress
from rebalance_audit.lake.session.spark_session import FEW_RECORDS, small_queries
from rebalance_audit.lake.silver.log_reading import LogRead
from rebalance_audit.lake.silver.offset_commits import WrittenCommits, add_commits, read_to_write
from rebalance_audit.lake.storage.stage import StagedTables
from rebalance_audit.tables.schemas import TableName
from rebalance_audit.wire.topic_names import TopicNames

FEW_COMMITS: Final = 1_000_000
"""Up to this many, everything after decoding ends before compiled code would pay off."""


class ChangesGone(Exception):  # noqa: N818 - it says what is the matter
    """Bronze no longer has the changes since the last run."""


@contextmanager
def increment_plan(context: RunContext, since: Progress, bronze_version: int) -> Iterator[Plan]:
    """A plan to replay the records that bronze got between two versions.

    Writes silver.offset_commits and meta.broker_log. What the plan holds in memory is freed at the end of the block.
    Raises ChangesGone before anything is written.
    """
    with ExitStack() as held:
        yield _Increment(context, since, bronze_version, held).plan()


@dataclass(frozen=True)
class _Increment:
    """Makes one such plan."""

    _context: RunContext
    _since: Progress
    _bronze_version: int
    _held: ExitStack

    def plan(self) -> Plan:
        context = self._context
        with context.step("decoding offset commits"):
            records = self._new_records()
            read = self._read(records).in_memory(self._held)
        with small_queries(context.spark, when=read.counts.records <= FEW_RECORDS):
            commits = self._write_commits(records, read)
        with small_queries(context.spark, when=read.counts.records <= FEW_COMMITS):
            with context.step("finding topic names"):
                names = context.topic_names(read)
            with context.step("replaying groups"):
                return self._plan(read, commits, names)

    def _plan(self, read: LogRead, commits: WrittenCommits | None, names: TopicNames) -> Plan:
        context, since, small, counts = self._context, self._since, read.small, read.counts
        holes = holes_since(
            since, counts, context.partitions_seen, self._new_records, self._history
        )
        losses = losses_without_group(small)
        if not context.sink.is_empty(TableName.QUARANTINE):
            quarantine = context.sink.for_cluster(TableName.QUARANTINE)
            losses = losses.union(losses_in_quarantine(quarantine, damage_only=False))
        gaps = gaps_of(losses)
        parts = since.after(counts).lacking(holes).partitions
        reached = Progress(self._bronze_version, parts, gaps)
        records = routing.group_records(small, None)
        known_before = TopicNames()
        known_before.merge(context.known_topics)
        new = NewRecords(
            records,
            _lowest_new(gaps, since.gaps) | dict.fromkeys(reached.turned_since(since), 0),
            _differing(known_before, names),
            reached.last_ms,
            context.rules,
            since,
            self._broker_news(records),
            None if commits is None else commits.rows,
            None if commits is None else commits.decided,
        )

        def plan_of(unusable: DataFrame | None, revise: Revise | None) -> Plan:
            groups = self._groups(counts, new, unusable)
            return Plan(
                small=small,
                counts=counts,
                group_records=counts.of_groups - groups.records_left_out,
                groups=groups,
                commits=commits,
                unreadable=read.undecodable,
                damaged_stretches=0,
                known=reached,
                names=names,
                since=since,
                reached=reached,
                is_small=counts.records <= FEW_COMMITS and not groups.rebuilt,
                revise=revise,
            )

        def without_unusable(staged: StagedTables) -> Plan | None:
            if not staged.count(SNAPSHOTS, GONE):
                return None
            unusable = staged.of(SNAPSHOTS, GONE).frame
            keys = unusable.select(F.col("log_partition").alias("partition"), "group_id")
            return plan_of(keys, None)

        return plan_of(None, without_unusable)

    # -- records --------------------------------------------------------------------------------

    def _new_records(self) -> DataFrame:
        after, upto = self._since.bronze_version, self._bronze_version
        if after == upto:
            return self._history().limit(0)
        context = self._context
        try:
            added = context.lake.added(TableName.RECORDS, after, upto)
        except LakeNotReadable as error:
            raise ChangesGone(str(error)) from error
        return added.where(F.col("cluster") == context.request.cluster)

    def _read(self, records: DataFrame) -> LogRead:
        is_clean = self._since.is_clean
        try:
            return read_to_write(
                self._context.sink, records, None, are_new=is_clean, with_packs=False
            )
        except PySparkException as error:
            # The first read of those files; any other error shows up in the rebuild.
            raise ChangesGone(str(error).partition("\n")[0]) from error

    def _history(self) -> DataFrame:
        return self._context.bronze(TableName.RECORDS, self._bronze_version)

    def _write_commits(self, records: DataFrame, read: LogRead) -> WrittenCommits | None:
        context, since, counts = self._context, self._since, read.counts
        if not counts.commits and not counts.controls:
            return None
        with context.step("decoding offset commits"):
            return add_commits(
                context.sink,
                read,
                records,
                self._history(),
                is_late=since.has_late(counts),
                is_clean=since.is_clean,
            )

    # -- groups ---------------------------------------------------------------------------------

    def _groups(
        self, counts: RecordCounts, new: NewRecords, unusable: DataFrame | None
    ) -> ReplayedGroups:
        """The groups that are affected; those whose snapshot is unusable are replayed from their first record."""
        context = self._context
        affected = AffectedGroups(
            context.lake.stage, context.sink.for_cluster(TableName.SNAPSHOTS), new, unusable
        )
        if affected.left_out is not None:
            context.warn_of_left_out(affected.left_out)
        if not affected.count and not counts.of_groups:
            return ReplayedGroups(None, 0, 0, records_left_out=affected.records_left_out)
        bronze = self._history()
        history = routing.group_records(routing.other_records(bronze), None)
        if affected.rebuilt:
            found = affected.rebuilt_groups().select("partition").distinct().collect()
            # The literals let Delta leave out files of other partitions.
            history = history.where(F.col("partition").isin([row[0] for row in found]))
        packs = commit_packs(affected.commits(bronze), None)
        if counts.has_transactions or affected.rebuilt:
            packs = packs.unionByName(decided_packs(affected.decided_commits(bronze)))
        given = counts.of_groups + affected.resumed
        tasks = None if affected.rebuilt else few_tasks(context.spark, given)
        return ReplayedGroups(
            with_commits(
                affected.input(history),
                packs,
                context.end_offsets.packs(affected.groups),
            ),
            affected.resumed,
            affected.rebuilt,
            affected.groups,
            affected.rebuilt_groups() if affected.rebuilt else None,
            tasks,
            affected.records_left_out,
        )

    def _broker_news(self, records: DataFrame) -> DataFrame | None:
        """Groups about which the brokers' logs or samples of end offsets say something that was not known before."""
        context, since = self._context, self._since
        logs = context.broker_logs
        old = moments_in_silver(context.sink.for_cluster(TableName.GROUP_RECORDS))
        logs.take(context.request.broker_log, records, old)
        snapshots = context.sink.for_cluster(TableName.SNAPSHOTS)
        of_logs = logs.groups_with_new_facts(snapshots, since.run_number, since.last_ms)
        mark = since.tables.get(TableName.END_OFFSETS)
        of_samples = context.end_offsets.groups_with_new_samples(
            None if mark is None else mark.version, snapshots
        )
        found = [each for each in (of_logs, of_samples) if each is not None]
        return reduce(DataFrame.unionByName, found) if found else None


def _differing(before: TopicNames, after: TopicNames) -> frozenset[str]:
    """Ids and names of topics about which something else is known now."""
    then, now = answers(before), answers(after)
    return frozenset(topic for topic, answer in now.items() if then.get(topic) != answer)


def _lowest_new(now: Gaps, before: Mapping[int, object]) -> dict[int, int]:
    """Log partition -> lowest offset that was not known to have a loss before it."""
    lowest = {}
    for partition, offsets in now.items():
        new = set(offsets) - set(before.get(partition, ()))  # type: ignore[call-overload]
        if new:
            lowest[partition] = min(new)
    return lowest
