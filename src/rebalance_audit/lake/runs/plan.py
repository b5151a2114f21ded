"""The plan of a run: the records and groups that it replays, and the rows that it replaces; and what came out.

A rebuild and an increment each make one (`rebuild`, `increment`); replaying it and writing the results (`writer`) is
the same for both.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

from pyspark.sql import DataFrame, SparkSession

from rebalance_audit.audit.rows import PROGRESS
from rebalance_audit.lake.gold.group_memory import ReducerOptions
from rebalance_audit.lake.gold.outputs import (
    FILES,
    GONE,
    GROUP_RECORDS,
    NEW,
    QUARANTINE,
    REBUILT,
    output_columns,
    rows_of,
)
from rebalance_audit.lake.gold.reducer import reduce_groups
from rebalance_audit.lake.records.record_counts import RecordCounts
from rebalance_audit.lake.runs.context import RunContext
from rebalance_audit.lake.runs.progress import Progress
from rebalance_audit.lake.session.spark_session import small_queries
from rebalance_audit.lake.session.splits import parallelism
from rebalance_audit.lake.silver.offset_commits import WrittenCommits
from rebalance_audit.lake.storage.data_files import DataFiles, DataFolder
from rebalance_audit.lake.storage.stage import GivenRows, StagedTables
from rebalance_audit.tables.schemas import TableName
from rebalance_audit.wire.topic_names import TopicNames

FEW_GROUP_RECORDS: Final = 20_000
"""One task for each core is enough. With more of them, as a shuffle has, an uneven share of the groups does less harm;
but each writes files of its own, some sixteen in a first run."""
RECORDS_OF_A_TASK: Final = 500
"""A task replays so many in half a second; fewer are not worth starting one."""
COMMITS_OF_A_RECORD: Final = 200
"""So many offset commits take as long as one group record."""


@dataclass(frozen=True, slots=True)
class ReplayedGroups:
    """The groups that a run replays."""

    records: DataFrame | None
    """What the reducer gets, with the columns INPUT; None if no group is replayed."""
    resumed: int
    """Groups that are resumed from a snapshot."""
    rebuilt: int
    """Groups that are replayed from their first record."""
    groups: DataFrame | None = None
    """All of them, with a column `group_id`; None for every group of the log."""
    replaced: DataFrame | None = None
    """Those of them whose rows in the tables become the new ones, with a column `group_id`; None for none."""
    tasks: int | None = None
    """How many tasks replay them; None for as many as a shuffle has."""
    records_left_out: int = 0
    """New records of groups that have records in several partitions of the log, which are not replayed."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run replays and writes. The offset commits are in their table already."""

    small: DataFrame
    """The records that the run accounts for, without offset commits; held in memory while the plan is carried out."""
    counts: RecordCounts
    """Of the records that the run accounts for: all of them in a rebuild, the new ones in an increment."""
    group_records: int
    """Records among them that the reducer gets: each ends up decoded or in quarantine."""
    groups: ReplayedGroups
    commits: WrittenCommits | None
    """None if there are none, or if only gold is written."""
    unreadable: DataFrame | None
    """Rows of silver.quarantine besides those that the reducer makes; None if there are none."""
    damaged_stretches: int
    """How many of these are parts of segment files with an unknown number of records."""
    known: Progress
    """What is known of the whole log, also if the run covers a part of it."""
    names: TopicNames
    since: Progress | None
    """Where an increment resumes; None for a rebuild."""
    reached: Progress | None
    """Where the next run can resume; None if this one does not cover all groups and all times."""
    is_small: bool
    """Queries are over before compiled code has paid for itself, see `small_queries`."""
    revise: "Revise | None" = None

    def may_grow(self, growth_records: int) -> bool:
        """Whether the log has as many records as must be of one group and one hour for a finding of growth."""
        known = [] if self.reached is None else self.reached.partitions.values()
        return max(self.counts.records, sum(part.records for part in known)) >= growth_records

    @property
    def may_hang(self) -> bool:
        """Whether there may be commits of open transactions: an increment does not know those of earlier runs."""
        return self.since is not None or self.counts.has_transactions


def few_tasks(spark: SparkSession, given: int) -> int | None:
    """How many tasks replay so many records and states of groups; None if they are not few."""
    if given > FEW_GROUP_RECORDS:
        return None
    return min(-(-given // RECORDS_OF_A_TASK) or 1, parallelism(spark))


Revise: TypeAlias = Callable[[StagedTables], Plan | None]
"""Takes what the reducer made of a plan; returns a better plan if that shows that this one rests on too little."""


class Replayed(NamedTuple):
    """What the reducer made of a plan."""

    plan: Plan
    staged: StagedTables
    """Rows of all outputs."""
    progress: DataFiles | None
    """Rows of gold.progress, where the tasks have written them; else they are staged."""

    def of(self, output: str) -> GivenRows:
        """The rows of an output, with any mark."""
        if output == PROGRESS and self.progress is not None:
            return self.progress
        return self.staged.of(output)

    def rows(self, output: str) -> int:
        """Rows of an output."""
        return self.staged.count(output, REBUILT, NEW)


def replay(context: RunContext, plan: Plan) -> Replayed:
    """Replay a plan, and a better one if the results show that it is needed."""
    while True:
        with small_queries(context.spark, when=plan.is_small):
            replayed = _reduce(context, plan)
            better = None if plan.revise is None else plan.revise(replayed.staged)
        if better is None:
            return replayed
        if replayed.progress is not None:
            replayed.progress.discard()
        plan = better


def account(context: RunContext, replayed: Replayed) -> None:
    """Account in the report for each record.

    Raises RuntimeError if one is: that is a bug in this program.
    """
    plan = replayed.plan
    report, request = context.report, context.request
    counts = report.counts
    report.resumed, report.rebuilt = plan.groups.resumed, plan.groups.rebuilt
    if plan.commits is not None:
        counts.decoded += plan.commits.decoded
        counts.quarantined += plan.commits.given - plan.commits.decoded
    quarantined = _quarantined(replayed)
    counts.quarantined += quarantined
    counts.decoded += plan.group_records - quarantined
    counts.controls = plan.counts.controls
    counts.damaged_stretches += plan.damaged_stretches
    counts.passed_over = plan.counts.records - counts.read
    if request.with_silver:
        rows = replayed.rows(GROUP_RECORDS) + replayed.rows(QUARANTINE)
        if rows < plan.group_records or (rows > plan.group_records and not _replays_history(plan)):
            raise RuntimeError(f"{plan.group_records} group records gave {rows} rows")
    if request.groups_regex is None:
        expected = plan.groups.records_left_out
        expected += 0 if request.with_silver else plan.counts.commits
        if counts.passed_over != expected:
            raise RuntimeError(
                f"{counts.passed_over - expected} records were not accounted for: {counts}"
            )


def _reduce(context: RunContext, plan: Plan) -> Replayed:
    groups, request, stage = plan.groups, context.request, context.lake.stage
    if groups.records is None:
        return Replayed(plan, stage.empty_tables(output_columns(), GONE), None)
    folder = _progress_folder(context, plan)
    options = ReducerOptions(
        plan.names,
        request.rules,
        request.findings,
        plan.known.last_ms,
        plan.known.gaps,
        plan.known.whole,
        plan.known.holes,
        request.with_silver,
        context.broker_logs.facts(groups.groups),
        request.with_silver and bool(context.end_offsets.version),
        context.constants,
        folder,
    )
    rows = reduce_groups(groups.records, options, groups.tasks)
    staged = stage.put_tables(rows, output_columns(), GONE)
    if folder is None:
        return Replayed(plan, staged, None)
    described = staged.of(FILES).batches().read_all().to_pylist()
    return Replayed(plan, staged, DataFiles(context.spark, folder, described))


def _progress_folder(context: RunContext, plan: Plan) -> DataFolder | None:
    """Where tasks write rows of gold.progress: all of them are rows to append."""
    name = TableName.COMMIT_PROGRESS
    if plan.since is not None or context.request.has_window or not context.sink.is_empty(name):
        return None
    return context.sink.data_folder(name)


def _quarantined(replayed: Replayed) -> int:
    """How many of the records that the run accounts for the reducer could not decode."""
    plan, count = replayed.plan, replayed.rows(QUARANTINE)
    if count and _replays_history(plan):
        single = rows_of(replayed.staged, QUARANTINE)
        return single.join(plan.small, ["partition", "offset"], "left_semi").count()
    return count


def _replays_history(plan: Plan) -> bool:
    """Whether records are replayed for which an earlier run has accounted."""
    return plan.since is not None and plan.groups.rebuilt > 0
