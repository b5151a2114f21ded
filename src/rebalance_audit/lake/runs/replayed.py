"""A plan replayed: the rows that came out, and where each record went."""

from typing import NamedTuple

from pyspark import StorageLevel
from pyspark.sql import DataFrame

from rebalance_audit.audit.rows import FINDINGS
from rebalance_audit.lake.gold.hour_facts import FactsOf
from rebalance_audit.lake.gold.output_files import AS_THEY_ARE, NO_FILES, OutputFiles
from rebalance_audit.lake.gold.output_rows import stream_columns
from rebalance_audit.lake.gold.output_summary import OutputSummary
from rebalance_audit.lake.gold.output_tables import rows_of
from rebalance_audit.lake.gold.outputs import GROUP_RECORDS, OUTPUTS, QUARANTINE, SNAPSHOTS
from rebalance_audit.lake.gold.reducer import ReducerOptions, reduce_groups
from rebalance_audit.lake.runs.context import RunContext
from rebalance_audit.lake.runs.plan import Plan
from rebalance_audit.lake.session.side_by_side import side_by_side
from rebalance_audit.lake.session.small_queries import small_queries
from rebalance_audit.lake.storage.local_rows import local_rows


class Replayed(NamedTuple):
    """What the reducer made of a plan."""

    plan: Plan
    stream: DataFrame
    """Rows of all outputs, held in memory: unpersist it."""
    summary: OutputSummary


def replay(context: RunContext, plan: Plan) -> Replayed:
    """Replay a plan; if what comes out shows that a better one is needed, replay that."""
    while True:
        with small_queries(context.spark, when=plan.is_small):
            stream = _reduce(context, plan)
            summary = OutputSummary(stream, with_ranges=plan.since is not None)
            better = plan.revise(stream, summary)
        if better is None:
            return Replayed(plan, stream, summary)
        stream.unpersist()
        plan = better


def account(context: RunContext, replayed: Replayed) -> None:
    """Say in the report where each record went, and make sure that none is missing.

    Raises RuntimeError if one is: that is a bug in this program.
    """
    plan, summary = replayed.plan, replayed.summary
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
        rows = summary.rows(GROUP_RECORDS) + summary.rows(QUARANTINE)
        if rows < plan.group_records or (rows > plan.group_records and not _replays_history(plan)):
            raise RuntimeError(f"{plan.group_records} group records gave {rows} rows")
    if request.groups_regex is None:
        expected = 0 if request.with_silver else plan.counts.commits
        if counts.passed_over != expected:
            raise RuntimeError(f"{counts.passed_over - expected} records went nowhere: {counts}")


def _reduce(context: RunContext, plan: Plan) -> DataFrame:
    groups, request = plan.groups, context.request
    if groups.records is None:
        return local_rows(context.spark, stream_columns(), [])
    broker_log = context.broker_logs.facts(groups.groups)
    options = ReducerOptions(
        plan.names,
        request.rules,
        request.findings,
        plan.log_end_ms,
        plan.gaps,
        plan.known.whole,
        plan.known.holes,
        request.with_silver,
        None if broker_log is None else context.spark.sparkContext.broadcast(broker_log),
        _files(context, plan),
    )
    stream = reduce_groups(groups.records, options, groups.tasks)
    return stream.persist(StorageLevel.MEMORY_AND_DISK)


def _files(context: RunContext, plan: Plan) -> OutputFiles:
    """The tables that have no rows, where a run over everything may write them as it goes."""
    if plan.since is not None or context.request.has_window:
        return NO_FILES
    unwanted = set() if context.request.with_silver else {GROUP_RECORDS}
    unwanted |= {SNAPSHOTS} if plan.reached is None else set()
    rules = context.request.findings
    more = context.request.with_silver and plan.may_show_findings(rules.growth_records)
    wanted = [*AS_THEY_ARE, *([] if more else [FINDINGS])]
    empty = [
        output
        for output in wanted
        if output not in unwanted and context.sink.is_empty(OUTPUTS[output])
    ]
    found = side_by_side(context.lake.data_files, [OUTPUTS[output] for output in empty])
    tables = {output: files for output, files in zip(empty, found, strict=True) if files}
    constants = {"cluster": context.request.cluster, **context.of_snapshots}
    # Few rows cost less in the stream than their facts do.
    facts_of = None if plan.is_small else FactsOf(plan.log_end_ms)
    return OutputFiles(tables, constants, facts_of)


def _quarantined(replayed: Replayed) -> int:
    """How many of the records that the run accounts for the reducer could not decode."""
    plan, stream, summary = replayed
    count = summary.rows(QUARANTINE)
    if count and _replays_history(plan):
        single = rows_of(stream, QUARANTINE)
        return single.join(plan.small, ["partition", "offset"], "left_semi").count()
    return count


def _replays_history(plan: Plan) -> bool:
    """Whether records are replayed for which an earlier run has accounted."""
    return plan.since is not None and plan.groups.rebuilt > 0
