"""A run over what is new in bronze since the last one: its cost is that of the new records, not of the log.

The tables come out as if all of bronze had been replayed. What is not affected is not read.
"""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from typing import Final

from py4j.protocol import Py4JJavaError
from pyspark import StorageLevel
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from rebalance_audit.audit.rows import GOLD_OF_GROUP, MEMBERS, REBALANCES
from rebalance_audit.errors import LakeNotReadable
from rebalance_audit.lake.gold import group_hours as hours
from rebalance_audit.lake.gold.broker_lines import moments_in_silver
from rebalance_audit.lake.gold.commit_findings import days_of, is_of_records
from rebalance_audit.lake.gold.gaps import gaps_of, losses_in_quarantine, losses_without_group
from rebalance_audit.lake.gold.group_memory import answers
from rebalance_audit.lake.gold.output_rows import (
    GROUP_RECORDS,
    NEW,
    OUTPUTS,
    QUARANTINE,
    SNAPSHOTS,
    stream_columns,
)
from rebalance_audit.lake.gold.output_summary import OutputSummary
from rebalance_audit.lake.gold.output_tables import (
    continue_stints,
    keys_gone,
    rebuilt_rows_of,
    rows_of,
)
from rebalance_audit.lake.gold.reducer import Gaps
from rebalance_audit.lake.records import routing
from rebalance_audit.lake.records.record_counts import RecordCounts, count_records
from rebalance_audit.lake.runs.affected_groups import AffectedGroups, News
from rebalance_audit.lake.runs.context import RunContext
from rebalance_audit.lake.runs.hours_increment import HoursNews, patch_hours
from rebalance_audit.lake.runs.progress import Progress
from rebalance_audit.lake.session.small_queries import FEW_RECORDS, small_queries
from rebalance_audit.lake.silver.offset_commits import NewCommits, add_commits
from rebalance_audit.lake.storage.local_rows import local_rows
from rebalance_audit.lake.storage.sinks import Written, patch_rows
from rebalance_audit.lake.storage.tables import WRITERS
from rebalance_audit.table_schemas import TableName
from rebalance_audit.wire.topic_names import TopicNames

FEW_COMMITS: Final = 1_000_000
"""Up to so many new ones, what follows their decoding is over before compiled code has paid for itself."""

FEW_GROUP_RECORDS: Final = 10_000
"""New ones and states of groups that one task replays in a second or two."""


class ChangesGone(Exception):  # noqa: N818 - it says what is the matter
    """Bronze cannot tell any more what is new in it since the last run."""


def run_increment(context: RunContext, standing: Progress, bronze_version: int) -> None:
    """Replay what came into bronze between two versions. Raises ChangesGone before anything is written."""
    _Increment(context, standing, bronze_version).run()


class _Increment:
    """One such run."""

    def __init__(self, context: RunContext, standing: Progress, bronze_version: int) -> None:
        self._context = context
        self._standing = standing
        self._bronze_version = bronze_version
        self._report = context.report
        self._cluster = context.request.cluster
        self._few = ExitStack()
        """Settings for few records, as long as there are few."""

    def run(self) -> None:
        context = self._context
        with context.step("counting new records"):
            records = self._new_records()
            small = routing.small_side(records).persist(StorageLevel.MEMORY_AND_DISK)
            census = self._census(records)
        if census.records <= FEW_RECORDS:
            self._few.enter_context(small_queries(context.spark))
        try:
            commits = self._write_commits(records, census)
            if census.records <= FEW_COMMITS:
                self._few.enter_context(small_queries(context.spark))
            try:
                with context.step("finding topic names"):
                    names = context.topic_names(small, None if commits is None else commits.rows)
                before = TopicNames()
                before.merge(context.known_topics)
                self._replay(small, census, commits, names, _differing(before, names))
            finally:
                if commits is not None:
                    commits.release()
        finally:
            self._few.close()
            small.unpersist()

    # -- what is new ----------------------------------------------------------------------------

    def _new_records(self) -> DataFrame:
        after, upto = self._standing.bronze_version, self._bronze_version
        if after == upto:
            return self._history().limit(0)
        try:
            added = self._context.lake.added(TableName.RECORDS, after, upto)
        except LakeNotReadable as error:
            raise ChangesGone(str(error)) from error
        return added.where(F.col("cluster") == self._cluster)

    def _census(self, records: DataFrame) -> RecordCounts:
        try:
            return count_records(records)
        except (PySparkException, Py4JJavaError) as error:
            # The first look at the files of those commits; whatever else is wrong shows in a run over all of bronze.
            raise ChangesGone(str(error).partition("\n")[0]) from error

    def _history(self) -> DataFrame:
        return self._context.bronze(TableName.RECORDS, self._bronze_version)

    def _write_commits(self, records: DataFrame, census: RecordCounts) -> NewCommits | None:
        if not census.commits and not census.controls:
            return None
        standing, counts = self._standing, self._report.counts
        with self._context.step("decoding offset commits"):
            commits = add_commits(
                self._context.sink,
                records,
                self._history(),
                census,
                is_late=standing.has_late(census),
                is_clean=standing.is_clean,
            )
            for written in commits.written:
                self._context.note(TableName.OFFSET_COMMITS, written)
            counts.decoded = commits.decoded
            counts.quarantined = census.commits - commits.decoded
        return commits

    # -- groups ---------------------------------------------------------------------------------

    def _replay(
        self,
        small: DataFrame,
        census: RecordCounts,
        commits: NewCommits | None,
        names: TopicNames,
        differing: frozenset[str],
    ) -> None:
        context, standing = self._context, self._standing
        reached = standing.after(census)
        with context.step("replaying groups"):
            places = losses_without_group(small)
            if not context.sink.is_empty(TableName.QUARANTINE):
                quarantine = context.of_cluster(TableName.QUARANTINE)
                places = places.union(losses_in_quarantine(quarantine, damage_only=False))
            gaps = gaps_of(places)
            records = routing.group_records(small, None)
            news = News(
                records,
                _lowest_new(gaps, standing.gaps),
                differing,
                reached.last_ms,
                context.rules,
                standing.is_clean,
                self._broker_news(records),
            )
            affected = AffectedGroups(context.of_cluster(TableName.SNAPSHOTS), news)
            if not affected.count and census.is_only_commits:
                stream = local_rows(context.spark, stream_columns(), [])
            else:
                stream = self._reduce(census, affected, names, gaps)
            handed = OutputSummary(stream)
            if handed.gone(SNAPSHOTS):
                lost = self._lost_groups(stream)
                stream.unpersist()
                affected = AffectedGroups(context.of_cluster(TableName.SNAPSHOTS), news, lost)
                stream = self._reduce(census, affected, names, gaps)
                handed = OutputSummary(stream)
        try:
            self._count(small, stream, census, affected, handed)
            with context.step("writing tables"):
                self._write_quarantine(stream, handed, commits)
                changed = self._write_outputs(stream, handed, affected)
                self._write_hours(
                    stream, handed, census, commits, affected, changed, reached.last_ms
                )
                if census.records or affected.rebuilt:
                    days = None if affected.rebuilt else days_of(census)
                    context.write_commit_findings(reached.last_ms, days)
                self._write_standing(stream, handed, affected, names, reached, gaps)
        finally:
            stream.unpersist()

    def _broker_news(self, records: DataFrame) -> DataFrame | None:
        """Groups of which the brokers' logs say something that they did not before."""
        context = self._context
        logs = context.broker_logs
        old = moments_in_silver(context.of_cluster(OUTPUTS[GROUP_RECORDS]))
        logs.take(context.request.broker_log, records, old)
        snapshots = context.of_cluster(TableName.SNAPSHOTS)
        return logs.groups_with_news(snapshots, self._standing.run_number, self._standing.last_ms)

    def _lost_groups(self, stream: DataFrame) -> DataFrame:
        """Groups whose state could not be resumed."""
        rows = keys_gone(stream, SNAPSHOTS).collect()
        return local_rows(
            self._context.spark,
            {"partition": "int", "group_id": "string"},
            [(row["log_partition"], row["group_id"]) for row in rows],
        )

    def _reduce(
        self, census: RecordCounts, affected: AffectedGroups, names: TopicNames, gaps: Gaps
    ) -> DataFrame:
        history = routing.group_records(routing.small_side(self._history()), None)
        if affected.rebuilt:
            self._few.close()
            found = affected.rebuilt_groups().select("partition").distinct().collect()
            # The literals let Delta leave out files of other partitions.
            history = history.where(F.col("partition").isin([row[0] for row in found]))
        of_groups = census.records - census.commits - census.controls
        # All that follows looks at each of the tasks' rows, table by table.
        is_one_task = not affected.rebuilt and of_groups + affected.resumed <= FEW_GROUP_RECORDS
        return self._context.reduce(
            affected.input(history),
            names,
            gaps,
            self._standing.after(census).last_ms,
            affected.groups,
            1 if is_one_task else None,
        )

    def _count(
        self,
        small: DataFrame,
        stream: DataFrame,
        census: RecordCounts,
        affected: AffectedGroups,
        handed: OutputSummary,
    ) -> None:
        """Say of every new record where it went, and make sure that none is missing."""
        counts = self._report.counts
        self._report.resumed, self._report.rebuilt = affected.resumed, affected.rebuilt
        quarantined = 0
        if handed.rows(QUARANTINE):
            single = rows_of(stream, QUARANTINE)
            quarantined = single.join(small, ["partition", "offset"], "left_semi").count()
        given = census.records - census.commits - census.controls
        counts.quarantined += quarantined
        counts.decoded += given - quarantined
        counts.controls = census.controls
        rows = handed.rows(GROUP_RECORDS) + handed.rows(QUARANTINE)
        if rows < given or (rows > given and not affected.rebuilt):
            raise RuntimeError(f"{given} group records gave {rows} rows")

    # -- tables ---------------------------------------------------------------------------------

    def _write_quarantine(
        self, stream: DataFrame, handed: OutputSummary, commits: NewCommits | None
    ) -> None:
        rows = rows_of(stream, QUARANTINE)
        given = handed.rows(QUARANTINE)
        if commits is not None and commits.undecodable is not None:
            rows = rows.unionByName(commits.undecodable, allowMissingColumns=True)
            given += 1
        self._context.upsert(TableName.QUARANTINE, rows, given=given)

    def _write_outputs(
        self, stream: DataFrame, handed: OutputSummary, affected: AffectedGroups
    ) -> list[DataFrame]:
        """silver.group_records and the gold tables; returns group and hour of what differs."""
        writes = [
            partial(self._write_output, stream, output, affected, handed)
            for output in (*GOLD_OF_GROUP, GROUP_RECORDS)
            if handed.rows(output)
            or (affected.rebuilt and not self._context.sink.is_empty(OUTPUTS[output]))
        ]
        with ThreadPoolExecutor(WRITERS) as pool:
            done = list(pool.map(_call, writes))
        return [written.hours for written in done if written.hours is not None]

    def _write_output(
        self, stream: DataFrame, output: str, affected: AffectedGroups, handed: OutputSummary
    ) -> Written:
        context, name, key_range = self._context, OUTPUTS[output], handed.key_range(output)
        new = rows_of(stream, output, NEW)
        if output == GROUP_RECORDS and self._standing.is_clean and not affected.rebuilt:
            # A row for each record that is new in bronze: the table has none of them.
            written = context.sink.append(name, new)
            context.note(name, written)
            return written
        if output == MEMBERS:
            keys = new.select("group_id", "incarnation", "member_id").distinct()
            there = context.of_cluster(name).where(key_range.condition())
            there = there.join(keys, ["group_id", "incarnation", "member_id"], "left_semi")
            new = continue_stints(new, there)
        gone = keys_gone(stream, output) if handed.gone(output) else None
        written = context.sink.patch(
            name,
            patch_rows(name, new, gone),
            rebuilt_rows_of(stream, output) if affected.rebuilt else None,
            affected.rebuilt_groups() if affected.rebuilt else None,
            scope=is_of_records(output),
            footprint=hours.footprint_of(output),
            key_range=key_range,
        )
        context.note(name, written)
        return written

    def _write_hours(
        self,
        stream: DataFrame,
        handed: OutputSummary,
        census: RecordCounts,
        commits: NewCommits | None,
        affected: AffectedGroups,
        changed: list[DataFrame],
        log_end_ms: int | None,
    ) -> None:
        if handed.rows(REBALANCES):
            open_ones = rows_of(stream, REBALANCES)
            changed = [*changed, hours.hours_of_open(open_ones, self._standing.last_ms, log_end_ms)]
        patch_hours(
            self._context,
            HoursNews(
                changed,
                None if commits is None else commits.rows,
                self._standing.is_clean and not self._standing.has_late(census),
                affected.rebuilt_groups() if affected.rebuilt else None,
                log_end_ms,
            ),
        )

    def _write_standing(
        self,
        stream: DataFrame,
        handed: OutputSummary,
        affected: AffectedGroups,
        names: TopicNames,
        reached: Progress,
        gaps: Gaps,
    ) -> None:
        """Snapshots, then topics, then progress: what a run that is cut short in between finds stale it makes again."""
        context = self._context
        given, rows = handed.rows(SNAPSHOTS), context.snapshot_rows(stream)
        if affected.rebuilt:
            context.upsert(TableName.SNAPSHOTS, rows, given=given)
        elif given:
            written = context.sink.put(
                TableName.SNAPSHOTS, rows, given, handed.key_range(SNAPSHOTS)
            )
            context.note(TableName.SNAPSHOTS, written)
        context.write_topics(names)
        context.write_progress(Progress(self._bronze_version, reached.partitions, gaps))


def _call(write: Callable[[], Written]) -> Written:
    return write()


def _differing(before: TopicNames, after: TopicNames) -> frozenset[str]:
    """Ids and names of topics of which something else is known now."""
    then, now = answers(before), answers(after)
    return frozenset(topic for topic, answer in now.items() if then.get(topic) != answer)


def _lowest_new(now: Gaps, before: Mapping[int, object]) -> dict[int, int]:
    """Log partition -> lowest place that was not known to be lost."""
    lowest = {}
    for partition, places in now.items():
        new = set(places) - set(before.get(partition, ()))  # type: ignore[call-overload]
        if new:
            lowest[partition] = min(new)
    return lowest
