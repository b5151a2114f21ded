"""A run over everything: all of bronze, or of the source where only gold is wanted.

What it writes may be limited to groups and to a window of time; then it leaves no progress, and no snapshots to go on
from.
"""

from collections.abc import Callable, Collection, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial

from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from rebalance_audit.audit.rows import GOLD_OF_GROUP
from rebalance_audit.lake.bronze.ingest import damaged_stretches
from rebalance_audit.lake.gold import group_hours as hours
from rebalance_audit.lake.gold import topics
from rebalance_audit.lake.gold.commit_findings import is_of_records
from rebalance_audit.lake.gold.gaps import gaps_of, losses_in_quarantine, losses_without_group
from rebalance_audit.lake.gold.output_rows import GROUP_RECORDS, OUTPUTS, QUARANTINE
from rebalance_audit.lake.gold.output_tables import in_window, rebuilt_rows_of, rows_of
from rebalance_audit.lake.gold.reducer import Gaps
from rebalance_audit.lake.records import routing
from rebalance_audit.lake.records.record_columns import DAMAGE, PASSED_OVER
from rebalance_audit.lake.records.record_counts import (
    RecordCounts,
    count_records,
    count_records_beside,
)
from rebalance_audit.lake.runs.context import RunContext
from rebalance_audit.lake.runs.progress import Progress
from rebalance_audit.lake.session.small_queries import FEW_RECORDS, small_queries
from rebalance_audit.lake.storage.tables import WRITERS
from rebalance_audit.table_schemas import TableName
from rebalance_audit.wire.key_bytes import OFFSET_COMMIT_TYPES
from rebalance_audit.wire.topic_names import TopicNames


def run_whole(context: RunContext, bronze_version: int | None) -> None:
    """Replay bronze as of a version; None: straight from the source, gold alone."""
    _Whole(context, bronze_version).run()


class _Whole:
    """One such run."""

    def __init__(self, context: RunContext, bronze_version: int | None) -> None:
        self._context = context
        self._request = context.request
        self._report = context.report
        self._bronze_version = bronze_version
        self._with_silver = bronze_version is not None
        self._has_asked_commits = False

    def run(self) -> None:
        context, request = self._context, self._request
        source = self._records()
        small = routing.small_side(source).persist(StorageLevel.MEMORY_AND_DISK)
        with ExitStack() as held:
            held.callback(small.unpersist)
            with context.step("counting records"):
                # A source that leaves out the commits says in the small side how many they are.
                counts = request.source is not None and request.source.counts_what_it_leaves_out
                counted = not self._with_silver and counts
                census = count_records(small) if counted else self._census(source, small)
            if census.records <= FEW_RECORDS:
                held.enter_context(small_queries(context.spark))
            undecodable = self._write_commits(source, small, census) if self._with_silver else None
            with context.step("finding topic names"):
                commits = (
                    context.of_cluster(TableName.OFFSET_COMMITS) if self._with_silver else None
                )
                names = context.topic_names(small, commits)
                if not (self._with_silver or names.values()) and topics.any_by_id(small):
                    # Else the groups would be replayed only to find out that the names are wanted.
                    self._merge_names_of_commits(names)
            self._replay_groups(small, census, names, undecodable)

    def _replay_groups(
        self,
        small: DataFrame,
        census: RecordCounts,
        names: TopicNames,
        undecodable: DataFrame | None,
    ) -> None:
        context = self._context
        records = routing.group_records(small, self._request.groups_regex)
        with context.step("replaying groups"):
            context.broker_logs.take(self._request.broker_log, routing.group_records(small, None))
            gaps = self._gaps(small)
            stream = context.reduce(records, names, gaps, census.last_ms)
            if not self._with_silver and self._learn_from_commits(names, topics.unnamed(stream)):
                stream.unpersist()
                stream = context.reduce(records, names, gaps, census.last_ms)
        try:
            found = stream.groupBy("table").count().collect()
            outputs = {row["table"]: row["count"] for row in found}
            self._count(records, census, outputs)
            groups = records.where("group_id is not null").select("group_id").distinct()
            with context.step("writing tables"):
                self._write_outputs(stream, outputs, small, groups, undecodable)
                self._write_hours(census)
                self._write_standing(stream, census, names, gaps)
        finally:
            stream.unpersist()

    # -- steps ----------------------------------------------------------------------------------

    def _records(self) -> DataFrame:
        """Every record that the run goes through."""
        context, request = self._context, self._request
        if self._bronze_version is not None:
            return context.bronze(TableName.RECORDS, self._bronze_version)
        assert request.source is not None  # checked with the request
        return request.source.records(context.spark, request.cluster, OFFSET_COMMIT_TYPES)

    def _census(self, source: DataFrame, small: DataFrame) -> RecordCounts:
        marked = {DAMAGE, PASSED_OVER} & {*source.columns}
        return count_records(source) if marked else count_records_beside(source, small)

    def _write_commits(
        self, source: DataFrame, small: DataFrame, census: RecordCounts
    ) -> DataFrame | None:
        """Write silver.offset_commits; returns quarantine rows of commits that cannot be decoded, None for none."""
        context, regex = self._context, self._request.groups_regex
        decoded = routing.decoded_commits(source, regex)
        with context.step("decoding offset commits"):
            markers = small.where(routing.is_control()) if census.has_transactions else None
            scope = routing.in_groups(regex, F.col("group_id"))
            given = census.commits if regex is None else routing.commits(source, regex).count()
            rows = routing.offset_commits(decoded, markers)
            context.replace(TableName.OFFSET_COMMITS, rows, scope, given=given)
            counts = self._report.counts
            counts.decoded = context.of_cluster(TableName.OFFSET_COMMITS).where(scope).count()
            counts.quarantined = given - counts.decoded
        return routing.undecodable_commits(decoded) if counts.quarantined else None

    def _learn_from_commits(self, names: TopicNames, missing: Collection[bytes]) -> bool:
        """Look through all offset commits for names of topics that are still without; whether it found one.

        Without silver nobody has looked at the commits, and where the metadata log is there nobody need.
        """
        if not missing or self._has_asked_commits:
            return False
        self._merge_names_of_commits(names)
        return any(names.name_of(topic_id) is not None for topic_id in missing)

    def _merge_names_of_commits(self, names: TopicNames) -> None:
        source = self._request.source
        assert source is not None  # without one there is silver
        records = source.records(self._context.spark, self._request.cluster)
        names.merge(topics.names_in_commits(records))
        self._has_asked_commits = True

    def _gaps(self, small: DataFrame) -> Gaps:
        """Where records of any group may be missing: damaged stretches, and records that tell no group."""
        places = losses_without_group(small)
        if self._with_silver:
            quarantine = self._context.of_cluster(TableName.QUARANTINE)
            return gaps_of(places.union(losses_in_quarantine(quarantine, damage_only=True)))
        if DAMAGE in small.columns:
            damage = losses_in_quarantine(damaged_stretches(small), damage_only=True)
            return gaps_of(places.union(damage))
        return gaps_of(places)

    def _count(self, records: DataFrame, census: RecordCounts, outputs: Mapping[str, int]) -> None:
        """Say of every record where it went, and make sure that none is missing."""
        given = records.agg(F.count(F.lit(1)), F.count_distinct("partition", "group_id")).first()
        assert given is not None
        counts = self._report.counts
        quarantined = outputs.get(QUARANTINE, 0)
        decoded = given[0] - quarantined
        self._report.rebuilt = given[1]
        counts.decoded += decoded
        counts.quarantined += quarantined
        counts.controls = census.controls
        counts.passed_over = census.records - counts.read
        if self._with_silver and outputs.get(GROUP_RECORDS, 0) != decoded:
            raise RuntimeError(f"{decoded} group records gave {outputs.get(GROUP_RECORDS, 0)} rows")
        if self._request.groups_regex is None:
            expected = 0 if self._with_silver else census.commits
            if counts.passed_over != expected:
                raise RuntimeError(
                    f"{counts.passed_over - expected} records went nowhere: {counts}"
                )

    def _write_outputs(
        self,
        stream: DataFrame,
        outputs: Mapping[str, int],
        small: DataFrame,
        groups: DataFrame,
        undecodable: DataFrame | None,
    ) -> None:
        context = self._context
        writes: list[Callable[[], None]] = []
        for output in (*GOLD_OF_GROUP, *([GROUP_RECORDS] if self._with_silver else [])):
            window = self._window(output)
            # Without silver there are no findings of commits.
            scope = window & is_of_records(output) if self._with_silver else window
            write = partial(context.replace, OUTPUTS[output], scope=scope, groups=groups)
            rows = rebuilt_rows_of(stream, output).where(window)
            writes.append(partial(write, rows=rows, given=outputs.get(output, 0)))
        writes.append(partial(self._write_quarantine, stream, outputs, small, undecodable))
        with ThreadPoolExecutor(WRITERS) as pool:
            list(pool.map(lambda write: write(), writes))

    def _window(self, output: str) -> Column:
        if output not in GOLD_OF_GROUP:
            return F.lit(True)
        return in_window(output, self._request.from_ms, self._request.to_ms)

    def _write_quarantine(
        self,
        stream: DataFrame,
        outputs: Mapping[str, int],
        small: DataFrame,
        undecodable: DataFrame | None,
    ) -> None:
        rows = rows_of(stream, QUARANTINE)
        given = outputs.get(QUARANTINE, 0)
        if undecodable is not None:
            rows = rows.unionByName(undecodable, allowMissingColumns=True)
            given += 1
        if self._with_silver and self._request.groups_regex is None:
            # Damaged stretches came with the source; bronze, from which the others come, does not have them.
            single = F.col("source_file").isNull()
            self._context.replace(TableName.QUARANTINE, rows, single, given=given)
            return
        if DAMAGE in small.columns:
            damaged = damaged_stretches(small)
            self._report.counts.damaged_stretches = damaged.count()
            rows = rows.unionByName(damaged)
            given += self._report.counts.damaged_stretches
        self._context.upsert(TableName.QUARANTINE, rows, given=given)

    def _write_hours(self, census: RecordCounts) -> None:
        """gold.group_hours of the groups of the run: what reaches into an hour may begin before a window."""
        context, regex = self._context, self._request.groups_regex
        if self._request.from_ms is not None or self._request.to_ms is not None:
            return
        of_regex = routing.in_groups(regex, F.col("group_id"))

        def read(name: str) -> DataFrame | None:
            if name == TableName.OFFSET_COMMITS and not self._with_silver:
                return None
            return context.of_cluster(name).where(of_regex)

        context.replace(TableName.GROUP_HOURS, hours.group_hours(read, census.last_ms), of_regex)
        if self._with_silver:
            context.write_commit_findings(census.last_ms, groups_regex=regex)

    def _write_standing(
        self, stream: DataFrame, census: RecordCounts, names: TopicNames, gaps: Gaps
    ) -> None:
        """Snapshots, then topics, then progress: what a run that is cut short in between finds stale it makes again."""
        context = self._context
        if self._bronze_version is not None and self._request.is_whole:
            context.replace(TableName.SNAPSHOTS, context.snapshot_rows(stream), F.lit(True))
        context.write_topics(names)
        if self._bronze_version is not None and self._request.is_whole:
            reached = Progress(self._bronze_version, gaps=gaps).after(census)
            context.write_progress(reached)
