"""The plan of a run over everything: all of bronze, or of the source where only gold is wanted.

What it writes may be limited to groups and to a window of time; then it leaves no progress, and no snapshots to resume
from.
"""

from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.errors import LakeNotReadable
from rebalance_audit.lake.bronze.ingest import damaged_stretches
from rebalance_audit.lake.gold.group_memory import Gaps
from rebalance_audit.lake.gold.reducer import with_commits
from rebalance_audit.lake.records import routing
from rebalance_audit.lake.records.commit_packs import decided_packs
from rebalance_audit.lake.records.record_counts import RecordCounts
from rebalance_audit.lake.runs.context import RunContext
from rebalance_audit.lake.runs.missing_records import (
    gaps_of,
    holes_of_log,
    losses_in_quarantine,
    losses_without_group,
)
from rebalance_audit.lake.runs.plan import COMMITS_OF_A_RECORD, Plan, ReplayedGroups, few_tasks
from rebalance_audit.lake.runs.progress import Progress
from rebalance_audit.lake.session.spark_session import FEW_RECORDS, small_queries
from rebalance_audit.lake.silver.log_reading import LogRead, read_once
from rebalance_audit.lake.silver.offset_commits import (
    WrittenCommits,
    read_to_write,
    replace_commits,
)
from rebalance_audit.lake.sources.source import Source
from rebalance_audit.tables.schemas import TableName
from rebalance_audit.wire.topic_names import TopicNames


class Counted(NamedTuple):
    """What a rebuild replays."""

    records: int
    groups: int
    left_out: int = 0
    """Records of groups that have records in several partitions of the log."""


@contextmanager
def rebuild_plan(context: RunContext, bronze_version: int | None) -> Iterator[Plan]:
    """A plan to replay bronze as of a version; None: straight from the source, gold alone.

    Writes silver.offset_commits and meta.broker_log. What the plan holds in memory is freed at the end of the block.
    """
    with ExitStack() as held:
        yield _Rebuild(context, bronze_version, held).plan()


class _Rebuild:
    """Makes one such plan."""

    def __init__(self, context: RunContext, bronze_version: int | None, held: ExitStack) -> None:
        self._context = context
        self._request = context.request
        self._bronze_version = bronze_version
        self._with_silver = bronze_version is not None
        self._held = held

    def plan(self) -> Plan:
        context, request = self._context, self._request
        with context.step("decoding offset commits" if self._with_silver else "reading records"):
            read = self._read().in_memory(self._held)
        if self._with_silver and not read.counts.records:
            raise LakeNotReadable(
                f"{request.lake} has no records of cluster {request.cluster} in bronze:"
                " ingest some, or give a source."
            )
        is_small = read.counts.records <= FEW_RECORDS
        with small_queries(context.spark, when=is_small):
            commits = None
            if self._with_silver:
                with context.step("decoding offset commits"):
                    records, regex = self._bronze(), request.groups_regex
                    commits = replace_commits(context.sink, read, records, regex)
            with context.step("finding topic names"):
                names = context.topic_names(read)
            with context.step("replaying groups"):
                return self._plan(read, commits, names, is_small=is_small)

    def _read(self) -> LogRead:
        """Every record that the run goes through."""
        context, request = self._context, self._request
        if self._with_silver:
            are_new, regex = context.sink.is_empty(TableName.OFFSET_COMMITS), request.groups_regex
            return read_to_write(
                context.sink, self._bronze(), regex, are_new=are_new, with_packs=True
            )
        source = self._source()
        log = source.log(context.spark, request.cluster)
        return read_once(log, context.lake.stage, None, {}, request.groups_regex)

    def _bronze(self) -> DataFrame:
        assert self._bronze_version is not None
        return self._context.bronze(TableName.RECORDS, self._bronze_version)

    def _source(self) -> Source:
        assert self._request.source is not None  # checked with the request
        return self._request.source

    def _plan(
        self, read: LogRead, commits: WrittenCommits | None, names: TopicNames, *, is_small: bool
    ) -> Plan:
        request, counts = self._request, read.counts
        every_group = routing.group_records(read.small, None)
        self._context.broker_logs.take(request.broker_log, every_group)
        gaps = self._gaps(read)
        given = routing.group_records(read.small, request.groups_regex)
        records, counted = self._counted(given)
        damaged = damaged_stretches(read.small) if counts.damaged_stretches else None
        holes = holes_of_log(counts, partial(self._partitions_seen, counts), self._offsets)
        known = Progress(self._bronze_version or 0, gaps=gaps).after(counts).lacking(holes)
        reached = None
        if self._with_silver and request.covers_everything:
            reached = known
        return Plan(
            small=read.small,
            counts=counts,
            group_records=counted.records,
            groups=ReplayedGroups(
                with_commits(records, self._commit_packs(read), self._samples()),
                resumed=0,
                rebuilt=counted.groups,
                replaced=self._groups(given),
                records_left_out=counted.left_out,
                tasks=few_tasks(
                    self._context.spark, counted.records + counts.commits // COMMITS_OF_A_RECORD
                ),
            ),
            commits=commits,
            unreadable=read.undecodable if self._with_silver else damaged,
            damaged_stretches=counts.damaged_stretches,
            known=known,
            names=names,
            since=None,
            reached=reached,
            is_small=is_small,
        )

    def _groups(self, records: DataFrame) -> DataFrame:
        return records.where("group_id is not null").select("group_id").distinct()

    def _counted(self, records: DataFrame) -> tuple[DataFrame, Counted]:
        """The records without those of groups in several partitions of the log, and how many they are."""
        pairs = records.groupBy("partition", "group_id").agg(F.count(F.lit(1)).alias("records"))
        found = pairs.agg(
            F.coalesce(F.sum("records"), F.lit(0)),
            F.count("group_id"),
            F.count_distinct("group_id"),
        ).first()
        assert found is not None
        if found[1] == found[2]:
            return records, Counted(found[0], found[1])
        partitions = F.collect_set("partition").alias("partitions")
        of_groups = pairs.where("group_id is not null").groupBy("group_id").agg(partitions)
        several = of_groups.where(F.size("partitions") > 1)
        self._context.warn_of_left_out(several)
        others = records.join(several.select("group_id"), "group_id", "left_anti")
        others, counted = self._counted(others.select(records.columns))
        return others, counted._replace(left_out=found[0] - counted.records)

    def _commit_packs(self, read: LogRead) -> DataFrame:
        if not (self._with_silver and read.counts.has_transactions):
            return read.packs
        every = routing.commits(self._bronze(), self._request.groups_regex)
        markers = read.small.where(routing.is_control())
        return read.packs.unionByName(decided_packs(routing.decided_commits(every, markers)))

    def _samples(self) -> DataFrame | None:
        if not self._with_silver:
            return None
        return self._context.end_offsets.packs(None, self._request.groups_regex)

    def _partitions_seen(self, counts: RecordCounts) -> Collection[int]:
        """Those whose missing offsets were all requested from a source that shows markers."""
        if self._with_silver:
            return self._context.partitions_seen()
        return counts.partitions if self._source().shows_markers else ()

    def _offsets(self) -> DataFrame:
        """Partition and offset of every record."""
        if self._with_silver:
            return self._bronze().select("partition", "offset")
        return self._source().offsets(self._context.spark, self._request.cluster)

    def _gaps(self, read: LogRead) -> Gaps:
        """Where records of any group may be missing: damaged stretches, and records whose key names no group."""
        losses = losses_without_group(read.small)
        if self._with_silver:
            quarantine = self._context.sink.for_cluster(TableName.QUARANTINE)
            return gaps_of(losses.union(losses_in_quarantine(quarantine, damage_only=True)))
        if read.counts.damaged_stretches:
            damage = losses_in_quarantine(damaged_stretches(read.small), damage_only=True)
            return gaps_of(losses.union(damage))
        return gaps_of(losses)
