"""Writes what came out of a plan: silver and gold, then snapshots, topics and progress; one commit for each table."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.audit.rows import FINDINGS, GOLD_OF_GROUP, MEMBERS, REBALANCES
from rebalance_audit.lake.gold import group_hours as hours
from rebalance_audit.lake.gold import topics
from rebalance_audit.lake.gold.commit_findings import (
    Days,
    commit_findings,
    days_of,
    is_in_scope,
    is_of_records,
    scope_of,
)
from rebalance_audit.lake.gold.commit_hours import all_hours
from rebalance_audit.lake.gold.commit_seconds import seconds_of, seconds_of_files
from rebalance_audit.lake.gold.hours_file import FEW_FACTS, FEW_SECONDS, QUICK_COMMITS, HoursFile
from rebalance_audit.lake.gold.output_rows import NEW
from rebalance_audit.lake.gold.output_tables import (
    continue_stints,
    in_window,
    keys_gone,
    rebuilt_rows_of,
    rows_of,
)
from rebalance_audit.lake.gold.outputs import (
    GROUP_RECORDS,
    OUTPUTS,
    QUARANTINE,
    SNAPSHOTS,
    columns_of,
)
from rebalance_audit.lake.gold.task_facts import HOUR_FACTS
from rebalance_audit.lake.records import routing
from rebalance_audit.lake.runs.context import RunContext
from rebalance_audit.lake.runs.hours_increment import HoursNews, patch_hours
from rebalance_audit.lake.runs.patched_outputs import FEW_SNAPSHOTS, PatchedOutputs
from rebalance_audit.lake.runs.progress import Progress, marks_of_tables, progress_columns
from rebalance_audit.lake.runs.replayed import Replayed
from rebalance_audit.lake.session.named_jobs import named_jobs
from rebalance_audit.lake.session.side_by_side import side_by_side
from rebalance_audit.lake.silver.offset_commits import OPEN
from rebalance_audit.lake.storage.local_rows import local_rows, table_rows
from rebalance_audit.lake.storage.row_changes import patch_rows
from rebalance_audit.lake.storage.sinks import Written
from rebalance_audit.tables.schemas import TableName


class Writer:
    """Writes the tables of one run."""

    def __init__(self, context: RunContext, replayed: Replayed) -> None:
        """Nothing is written yet."""
        self._context = context
        self._request = context.request
        self._sink = context.sink
        self._plan, self._stream, self._summary = replayed
        self._since = self._plan.since
        self._replaced = self._plan.groups.replaced
        self._has_no_findings = (
            self._since is None
            and self._request.with_silver
            and self._sink.is_empty(TableName.FINDINGS)
        )
        """Whether one commit can write all findings: those of the reducer, and those that offset commits show."""
        self._hours: DataFrame | None = None
        """All rows of gold.group_hours, held in memory, if something reads them."""

    def write(self) -> None:
        """Write all tables. Raises LakeNotWritable."""
        with named_jobs(self._context.spark, "changing tables"):
            patched = self._patched()
        try:
            changed = self._write_outputs(patched)
            self._named(TableName.GROUP_HOURS, partial(self._write_hours, changed))
            self._named(TableName.FINDINGS, self._write_commit_findings)
        finally:
            patched.release()
            if self._hours is not None:
                self._hours.unpersist()
        # In this order: what a run that is cut short leaves stale, the next one makes again.
        self._named(TableName.SNAPSHOTS, partial(self._write_snapshots, patched))
        self._named(TableName.TOPICS, self._write_topics)
        if self._plan.reached is not None:
            reached = self._plan.reached
            self._named(TableName.PROGRESS, partial(self._write_progress, reached))

    def _named(self, table: str, write: Callable[[], Written | None]) -> Written | None:
        """Write a table in jobs that say so."""
        with named_jobs(self._context.spark, f"writing {table}"):
            return write()

    # -- silver and gold ------------------------------------------------------------------------

    def _outputs(self) -> list[str]:
        """The reducer's outputs that may change a table of silver or gold."""
        outputs = [*GOLD_OF_GROUP, *([GROUP_RECORDS] if self._request.with_silver else [])]
        return [
            output
            for output in outputs
            if not (
                output == FINDINGS and self._has_no_findings and not self._summary.files(output)
            )
            and (
                self._summary.rows(output)
                or (self._replaced is not None and not self._sink.is_empty(OUTPUTS[output]))
            )
        ]

    def _patched(self) -> PatchedOutputs:
        """What one task can do of an increment, or of a rebuild of few groups that have rows already."""
        outputs = [output for output in self._outputs() if not self._summary.files(output)]
        if not self._request.with_silver:
            # Then findings that only offset commits show go, too.
            outputs = [output for output in outputs if output != FINDINGS]
        if self._since is not None:
            outputs += [SNAPSHOTS] if self._summary.rows(SNAPSHOTS) else []
            if self._summary.rows(QUARANTINE) and self._plan.unreadable is None:
                outputs.append(QUARANTINE)
        appended = [output for output in outputs if self._has_new_keys(output)]
        return PatchedOutputs(
            self._context,
            Replayed(self._plan, self._stream, self._summary),
            outputs,
            appended=appended,
        )

    def _write_outputs(self, patched: PatchedOutputs) -> Sequence[DataFrame]:
        """What the reducer made; returns group and hour of what differs, for gold.group_hours."""
        writes: list[Callable[[], Written | None]] = [
            partial(self._named, TableName.QUARANTINE, partial(self._write_quarantine, patched))
        ]
        writes += [
            partial(self._named, OUTPUTS[output], partial(self._write_output, output, patched))
            for output in self._outputs()
        ]
        done = [written for written in side_by_side(_call, writes) if written is not None]
        changed = [written.hours for written in done]
        return [hours for hours in (*changed, patched.changed_hours()) if hours is not None]

    def _has_new_keys(self, output: str) -> bool:
        """Whether the table has none of the rows: there is one for each record that is new in bronze."""
        return (
            output == GROUP_RECORDS
            and self._since is not None
            and self._since.is_clean
            and self._replaced is None
        )

    def _write_output(self, output: str, patched: PatchedOutputs) -> Written:
        files = self._summary.files(output)
        if files:
            written = self._sink.append_written(OUTPUTS[output], files)
        else:
            write = self._replace_output if self._since is None else self._patch_output
            written = patched.commit(output) or write(output)
        self._context.note(OUTPUTS[output], written)
        return written

    def _replace_output(self, output: str) -> Written:
        """Make the rows of the replayed groups those of this run."""
        window = self._window(output)
        # Without silver there are no findings of commits.
        scope = window & is_of_records(output) if self._request.with_silver else window
        rows = rebuilt_rows_of(self._stream, output).where(window)
        return self._sink.replace(OUTPUTS[output], rows, scope, self._replaced)

    def _patch_output(self, output: str) -> Written:
        """Add and change rows of resumed groups, and replace those of rebuilt ones."""
        assert self._since is not None
        name, key_range = OUTPUTS[output], self._summary.key_range(output)
        new = rows_of(self._stream, output, NEW)
        if self._has_new_keys(output):
            return self._sink.append(name, new)
        if output == MEMBERS:
            keys = new.select("group_id", "incarnation", "member_id").distinct()
            there = self._context.of_cluster(name).where(key_range.condition())
            there = there.join(keys, ["group_id", "incarnation", "member_id"], "left_semi")
            new = continue_stints(new, there)
        gone = keys_gone(self._stream, output) if self._summary.gone(output) else None
        return self._sink.patch(
            name,
            patch_rows(name, new, gone),
            None if self._replaced is None else rebuilt_rows_of(self._stream, output),
            self._replaced,
            scope=is_of_records(output),
            footprint=hours.footprint_of(output),
            key_range=key_range,
        )

    def _window(self, output: str) -> Column:
        if output not in GOLD_OF_GROUP:
            return F.lit(True)
        return in_window(output, self._request.from_ms, self._request.to_ms)

    def _write_quarantine(self, patched: PatchedOutputs) -> None:
        if (written := patched.commit(QUARANTINE)) is not None:
            self._context.note(TableName.QUARANTINE, written)
            return
        rows, given = rows_of(self._stream, QUARANTINE), self._summary.rows(QUARANTINE)
        if self._plan.unreadable is not None:
            rows = rows.unionByName(self._plan.unreadable, allowMissingColumns=True)
            given += 1
        is_rebuild = self._since is None and self._request.with_silver
        if is_rebuild and self._request.groups_regex is None:
            # Damaged stretches came with the source; bronze, from which the others come, does not have them.
            single = F.col("source_file").isNull()
            self._context.replace(TableName.QUARANTINE, rows, single, given=given)
        else:
            self._context.upsert(TableName.QUARANTINE, rows, given=given)

    def _write_hours(self, changed: Sequence[DataFrame]) -> None:
        """gold.group_hours, made of the other gold tables; `changed` has group and hour of what differs in them."""
        context, plan, since = self._context, self._plan, self._since
        if since is None:
            self._write_all_hours()
            return
        if self._summary.rows(REBALANCES):
            still_open = hours.open_hours(self._stream, since.last_ms, plan.log_end_ms)
            changed = [*changed, still_open]
        patch_hours(
            context,
            HoursNews(
                changed,
                self._commit_seconds,
                plan.commits,
                plan.counts.first_ms,
                since.is_clean and not since.has_late(plan.counts),
                self._replaced,
                plan.groups.few_replaced,
                plan.log_end_ms,
            ),
        )

    def _write_all_hours(self) -> None:
        """Those of a rebuild."""
        context, request, name = self._context, self._request, TableName.GROUP_HOURS
        if (written := self._hours_of_one_task()) is not None:
            context.note(name, written)
            return
        rows = self._all_hours()
        scope = self._of_regex() & hours.reaches_window(request.from_ms, request.to_ms)
        if self._holds_hours:
            rows = self._hours = rows.persist(StorageLevel.MEMORY_AND_DISK)
        context.replace(name, rows.where(scope), scope, few=self._plan.is_small)

    def _commit_seconds(self) -> DataFrame | None:
        """Of all commits that the plan has; None if it has none."""
        commits = self._plan.commits
        if commits is None:
            return None
        if commits.by_tasks is not None:
            return seconds_of_files(self._context.spark, commits.by_tasks.files)
        return seconds_of(commits.rows.where(self._of_regex()))

    def _hours_of_one_task(self) -> Written | None:
        """All rows of a table that has none, written by one task; None, and nothing is done, where Spark has to."""
        request, plan = self._request, self._plan
        commits = None if plan.commits is None else plan.commits.by_tasks
        if (
            not (request.covers_everything and self._has_few_facts)
            or (plan.commits is not None and plan.commits.given and commits is None)
            or self._holds_hours
            or not self._sink.is_empty(TableName.GROUP_HOURS)
        ):
            return None
        file = HoursFile(
            request.cluster,
            None if commits is None else commits.files,
            plan.counts.commits,
            plan.commits is not None,
            plan.log_end_ms,
            FEW_SECONDS,
        )
        done = self._sink.append_files(
            TableName.GROUP_HOURS, lambda files: file.told(self._stream, files)
        )
        return Written(inserted=done.rows) if done is not None and all(done.noted) else None

    @property
    def _has_few_facts(self) -> bool:
        """Whether one task adds up what hours are made of sooner than a shuffle brings it together."""
        plan, facts = self._plan, self._summary.rows(HOUR_FACTS)
        commits = 0 if plan.commits is None else plan.counts.commits
        return plan.is_small or (0 < facts <= FEW_FACTS and commits <= QUICK_COMMITS)

    @property
    def _holds_hours(self) -> bool:
        """Whether findings of commits read them too: few rows cost less in memory than out of the table."""
        return self._reads_memory and self._request.with_silver and self._may_grow

    def _all_hours(self) -> DataFrame:
        """Of a rebuild."""
        seconds = self._commit_seconds()
        of_commits = None if seconds is None else all_hours(seconds)
        # What reaches into an hour may begin before the window; then the table does not have it. And few rows, or
        # facts, cost less where they are than out of tables that have just been written.
        is_there = self._plan.is_small or self._summary.rows(HOUR_FACTS)
        if self._request.has_window or is_there:
            return hours.group_hours_of_stream(self._stream, self._plan.log_end_ms, of_commits)
        return hours.group_hours(self._read_for_hours, self._plan.log_end_ms, of_commits=of_commits)

    def _read_for_hours(self, name: str) -> DataFrame | None:
        """Rows of which hours are made; none of commits: what is made of these is given where the run has any."""
        if name == TableName.OFFSET_COMMITS:
            return None
        return self._context.of_cluster(name).where(self._of_regex())

    def _write_commit_findings(self) -> None:
        """The rows of gold.findings that offset commits show: of all days, or of those that have new records."""
        if not self._request.with_silver:
            return
        context, plan = self._context, self._plan
        days = None
        if self._since is not None and self._replaced is None:
            if not plan.counts.records:
                return
            days = days_of(plan.counts)
        asked = self._of_regex() & self._window(FINDINGS)
        if self._has_no_findings:
            self._write_all_findings(asked)
            return
        # A rebuild also looks at rows of groups that are no longer in bronze, which nobody has counted.
        may_grow = self._may_grow or self._since is None
        rows = self._commit_findings(days, may_grow=may_grow)
        if rows is None:
            if days is not None and self._has_no_findings_of(days):
                return
            rows = local_rows(context.spark, columns_of(FINDINGS), [])
        rows, scope = rows.where(asked), scope_of(days) & asked
        written = None
        if days is not None:
            written = self._sink.replace_few(TableName.FINDINGS, rows, scope)
        if written is None:
            written = self._sink.replace(TableName.FINDINGS, rows, scope)
        context.note(TableName.FINDINGS, written)

    def _has_no_findings_of(self, days: Days) -> bool:
        """Whether the table has none that commits of these days have made; False where only a query can tell."""
        found = self._context.lake.rows_here(
            TableName.FINDINGS, self._request.cluster, ("kind", "from_at")
        )
        return found is not None and not any(is_in_scope(finding, days) for finding in found)

    def _write_all_findings(self, asked: Column) -> None:
        """All rows of gold.findings, which has none; those of commits only if there can be any."""
        rows = rebuilt_rows_of(self._stream, FINDINGS).where(self._window(FINDINGS))
        may_have_more = self._plan.may_show_findings(self._request.findings.growth_records)
        more = self._commit_findings(None, may_grow=self._may_grow) if may_have_more else None
        if more is not None:
            rows = rows.unionByName(more.where(asked))
        is_left = self._summary.rows(FINDINGS) and not self._summary.files(FINDINGS)
        if may_have_more or is_left:
            self._context.note(TableName.FINDINGS, self._sink.append(TableName.FINDINGS, rows))

    def _commit_findings(self, days: Days | None, *, may_grow: bool) -> DataFrame | None:
        lake = self._context.lake
        return commit_findings(
            self._read_for_findings,
            self._request.findings,
            self._plan.log_end_ms,
            days,
            may_grow=may_grow,
            may_hang=lake.may_have(TableName.OFFSET_COMMITS, "transaction_state", OPEN),
        )

    def _read_for_findings(self, name: str) -> DataFrame:
        if self._reads_memory and name == TableName.GROUP_RECORDS:
            return rebuilt_rows_of(self._stream, GROUP_RECORDS)
        if self._hours is not None and name == TableName.GROUP_HOURS:
            return self._hours
        return self._context.of_cluster(name)

    @property
    def _reads_memory(self) -> bool:
        """Whether what was made here is read where it is: few rows, and all that the tables will have of the groups."""
        return self._since is None and self._plan.is_small and not self._request.has_window

    @property
    def _may_grow(self) -> bool:
        return self._plan.may_grow(self._request.findings.growth_records)

    def _of_regex(self) -> Column:
        return routing.in_groups(self._request.groups_regex, F.col("group_id"))

    # -- what the next run needs ----------------------------------------------------------------

    def _write_snapshots(self, patched: PatchedOutputs) -> None:
        if self._plan.reached is None:
            return
        context, name = self._context, TableName.SNAPSHOTS
        if files := self._summary.files(SNAPSHOTS):
            context.note(name, self._sink.append_written(name, files))
            return
        if (written := patched.commit(SNAPSHOTS)) is not None:
            context.note(name, written)
            return
        given = self._summary.rows(SNAPSHOTS)
        rows = rows_of(self._stream, SNAPSHOTS)
        rows = rows.withColumns(
            {column: F.lit(value) for column, value in context.of_snapshots.items()}
        )
        if self._since is None:
            few = self._plan.is_small and given <= FEW_SNAPSHOTS
            context.replace(name, rows, F.lit(True), few=few)
        elif self._replaced is not None:
            context.upsert(name, rows, given=given)
        elif given:
            key_range = self._summary.key_range(SNAPSHOTS)
            context.note(name, self._sink.put(name, rows, given, key_range))

    def _write_topics(self) -> None:
        """gold.topics, where something else is known than the table has."""
        context, names = self._context, self._plan.names
        if sorted(context.known_topics) != sorted(topics.as_in_table(names)):
            name, rows = TableName.TOPICS, topics.rows_of_table(names)
            if self._sink.is_empty(name):
                context.note(name, self._sink.rewrite(name, rows))
            else:
                context.upsert(name, table_rows(context.spark, name, rows), given=len(rows))

    def _write_progress(self, reached: Progress) -> None:
        """The last commit of what a run may leave for the next one."""
        context = self._context
        of_run = {
            "run_number": context.run_number,
            "run_id": context.run_id,
            "updated_at": context.started_at,
        }
        reached = replace(reached, tables=marks_of_tables(context.lake))
        rows = [columns | of_run for columns in progress_columns(reached)]
        written = self._sink.rewrite(TableName.PROGRESS, rows)
        context.note(TableName.PROGRESS, written)


def _call(write: Callable[[], Written | None]) -> Written | None:
    return write()
