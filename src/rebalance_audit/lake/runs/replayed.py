"""A plan replayed: the rows that came out, and where each record went."""

from typing import NamedTuple

from rebalance_audit.audit.rows import PROGRESS
from rebalance_audit.lake.gold.output_rows import (
    GONE,
    NEW,
    REBUILT,
    output_columns,
)
from rebalance_audit.lake.gold.output_tables import rows_of
from rebalance_audit.lake.gold.outputs import FILES, GROUP_RECORDS, QUARANTINE
from rebalance_audit.lake.gold.reducer import reduce_groups
from rebalance_audit.lake.gold.reducer_options import ReducerOptions
from rebalance_audit.lake.runs.context import RunContext
from rebalance_audit.lake.runs.plan import Plan
from rebalance_audit.lake.session.small_queries import small_queries
from rebalance_audit.lake.storage.data_files import DataFiles, DataFolder
from rebalance_audit.lake.storage.stage import GivenRows, StagedTables
from rebalance_audit.tables.schemas import TableName, table_schemas


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
            better = plan.revise(replayed.staged)
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
        return Replayed(plan, stage.no_tables(output_columns(), GONE), None)
    folder = _progress_folder(context, plan)
    options = ReducerOptions(
        plan.names,
        request.rules,
        request.findings,
        plan.log_end_ms,
        plan.gaps,
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
    return context.sink.data_folder(table_schemas()[name])


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
