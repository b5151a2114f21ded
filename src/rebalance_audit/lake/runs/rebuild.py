"""The plan of a run over everything: all of bronze, or of the source where only gold is wanted.

What it writes may be limited to groups and to a window of time; then it leaves no progress, and no snapshots to resume
from.
"""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.audit.rows import OWNERSHIP
from rebalance_audit.errors import LakeNotReadable
from rebalance_audit.lake.bronze.ingest import damaged_stretches
from rebalance_audit.lake.gold import topics
from rebalance_audit.lake.gold.group_memory import Gaps
from rebalance_audit.lake.gold.outputs import rows_of
from rebalance_audit.lake.gold.reducer import with_commits
from rebalance_audit.lake.records import routing
from rebalance_audit.lake.records.commit_packs import commit_packs, decided_packs
from rebalance_audit.lake.records.record_columns import DAMAGE
from rebalance_audit.lake.records.routing import RecordCounts, count_records, count_records_beside
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
from rebalance_audit.lake.silver.offset_commits import WrittenCommits, replace_commits
from rebalance_audit.lake.storage.stage import StagedTables
from rebalance_audit.tables.schemas import TableName
from rebalance_audit.wire.key_bytes import OFFSET_COMMIT_TYPES
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
    maker = _Rebuild(context, bronze_version)
    try:
        yield maker.plan()
    finally:
        maker.small.unpersist()


class _Rebuild:
    """Makes one such plan."""

    def __init__(self, context: RunContext, bronze_version: int | None) -> None:
        self._context = context
        self._request = context.request
        self._bronze_version = bronze_version
        self._with_silver = bronze_version is not None
        self._has_asked_commits = False
        self._records = self._all_records()
        self.small = routing.other_records(self._records).persist(StorageLevel.MEMORY_AND_DISK)

    def plan(self) -> Plan:
        context = self._context
        with context.step("counting records"):
            counts = self._counts()
        if self._with_silver and not counts.records:
            raise LakeNotReadable(
                f"{self._request.lake} has no records of cluster {self._request.cluster} in bronze:"
                " ingest some, or give a source."
            )
        is_small = counts.records <= FEW_RECORDS
        with small_queries(context.spark, when=is_small):
            commits = self._write_commits(counts) if self._with_silver else None
            with context.step("finding topic names"):
                names = context.topic_names(self.small, commits)
                if not (self._with_silver or names.values()) and topics.any_by_id(self.small):
                    # Otherwise the groups would be replayed twice.
                    self._merge_names_of_commits(names)
            with context.step("replaying groups"):
                return self._plan(counts, commits, names, is_small=is_small)

    def _plan(
        self,
        counts: RecordCounts,
        commits: WrittenCommits | None,
        names: TopicNames,
        *,
        is_small: bool,
    ) -> Plan:
        request = self._request
        every_group = routing.group_records(self.small, None)
        self._context.broker_logs.take(request.broker_log, every_group)
        gaps = self._gaps()
        given = routing.group_records(self.small, request.groups_regex)
        records, counted = self._counted(given)
        damaged = damaged_stretches(self.small) if DAMAGE in self.small.columns else None
        damaged_count = 0 if damaged is None else damaged.count()
        unreadable = damaged if damaged_count else None
        if commits is not None:
            unreadable = commits.undecodable
        holes = holes_of_log(counts, partial(self._partitions_seen, counts), self._offsets)
        known = Progress(self._bronze_version or 0, gaps=gaps).after(counts).lacking(holes)
        reached = None
        if self._bronze_version is not None and request.covers_everything:
            reached = known
        plan = Plan(
            small=self.small,
            counts=counts,
            group_records=counted.records,
            groups=ReplayedGroups(
                with_commits(records, self._commit_packs(counts, commits), self._samples()),
                resumed=0,
                rebuilt=counted.groups,
                replaced=self._groups(given),
                records_left_out=counted.left_out,
                tasks=few_tasks(
                    self._context.spark, counted.records + counts.commits // COMMITS_OF_A_RECORD
                ),
            ),
            commits=commits,
            unreadable=unreadable,
            damaged_stretches=damaged_count,
            known=known,
            names=names,
            since=None,
            reached=reached,
            is_small=is_small,
        )

        def with_names(staged: StagedTables) -> Plan | None:
            return plan if self._learn_from_commits(names, staged) else None

        return plan if self._with_silver else replace(plan, revise=with_names)

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

    def _all_records(self) -> DataFrame:
        """Every record that the run goes through."""
        context, request = self._context, self._request
        if self._bronze_version is not None:
            return context.bronze(TableName.RECORDS, self._bronze_version)
        assert request.source is not None  # checked with the request
        return request.source.records(context.spark, request.cluster, OFFSET_COMMIT_TYPES)

    def _commit_packs(self, counts: RecordCounts, commits: WrittenCommits | None) -> DataFrame:
        """Those that were made with the rows of silver, or of the records once more."""
        request = self._request
        if self._bronze_version is not None:
            packs = None if commits is None else commits.packs
            if packs is None:
                packs = commit_packs(self._records, request.groups_regex)
            if not counts.has_transactions:
                return packs
            every = routing.commits(self._records, request.groups_regex)
            markers = self.small.where(routing.is_control())
            return packs.unionByName(decided_packs(routing.decided_commits(every, markers)))
        assert request.source is not None  # checked with the request
        return request.source.commit_packs(
            self._context.spark, request.cluster, request.groups_regex
        )

    def _samples(self) -> DataFrame | None:
        if not self._with_silver:
            return None
        return self._context.end_offsets.packs(None, self._request.groups_regex)

    def _counts(self) -> RecordCounts:
        source = self._request.source
        if not self._with_silver and source is not None and source.counts_what_it_leaves_out:
            # The other records say how many offset commits there are.
            return count_records(self.small)
        return count_records_beside(self._records, self.small)

    def _partitions_seen(self, counts: RecordCounts) -> Collection[int]:
        """Those whose missing offsets were all requested from a source that shows markers."""
        if self._with_silver:
            return self._context.partitions_seen()
        source = self._request.source
        assert source is not None  # checked with the request
        return counts.partitions if source.shows_markers else ()

    def _offsets(self) -> DataFrame:
        """Partition and offset of every record."""
        if self._with_silver:
            return self._records.select("partition", "offset")
        source = self._request.source
        assert source is not None  # checked with the request
        return source.offsets(self._context.spark, self._request.cluster)

    def _write_commits(self, counts: RecordCounts) -> WrittenCommits:
        context = self._context
        with context.step("decoding offset commits"):
            markers = self.small.where(routing.is_control())
            regex = self._request.groups_regex
            return replace_commits(context.sink, self._records, markers, regex, counts)

    def _learn_from_commits(self, names: TopicNames, staged: StagedTables) -> bool:
        """Search all offset commits for topic names that the reducer lacked; whether one was found.

        Without silver no commit was decoded; with the metadata log none needs to be.
        """
        if self._has_asked_commits:
            return False
        missing = topics.unnamed_topics(rows_of(staged, OWNERSHIP))
        if not missing:
            return False
        self._merge_names_of_commits(names)
        return any(names.name_of(topic_id) is not None for topic_id in missing)

    def _merge_names_of_commits(self, names: TopicNames) -> None:
        source, cluster, spark = self._request.source, self._request.cluster, self._context.spark
        assert source is not None  # without one there is silver
        names.merge(topics.names_in_commits(source.records(spark, cluster)))
        self._has_asked_commits = True

    def _gaps(self) -> Gaps:
        """Where records of any group may be missing: damaged stretches, and records whose key names no group."""
        losses = losses_without_group(self.small)
        if self._with_silver:
            quarantine = self._context.sink.for_cluster(TableName.QUARANTINE)
            return gaps_of(losses.union(losses_in_quarantine(quarantine, damage_only=True)))
        if DAMAGE in self.small.columns:
            damage = losses_in_quarantine(damaged_stretches(self.small), damage_only=True)
            return gaps_of(losses.union(damage))
        return gaps_of(losses)
