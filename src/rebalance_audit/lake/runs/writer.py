"""Writes the results of a plan: silver and gold, then snapshots, topics and progress; one commit for each table."""

from dataclasses import replace
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.audit.rows import FINDINGS, GOLD_OF_GROUP, GROUP_HOURS, MEMBERS, PROGRESS
from rebalance_audit.lake.gold.log_findings import commit_findings, days_of, is_of_records, scope_of
from rebalance_audit.lake.gold.outputs import (
    GROUP_RECORDS,
    NEW,
    OUTPUTS,
    QUARANTINE,
    SNAPSHOTS,
    continue_stints,
    in_window,
    rebuilt_rows_of,
    rows_of,
)
from rebalance_audit.lake.records import routing
from rebalance_audit.lake.runs.context import RunContext
from rebalance_audit.lake.runs.plan import Replayed
from rebalance_audit.lake.runs.progress import Progress, marks_of_tables, progress_columns
from rebalance_audit.lake.session.splits import parallel_map
from rebalance_audit.lake.storage.data_files import DataFiles
from rebalance_audit.lake.storage.local_rows import local_rows
from rebalance_audit.lake.storage.table_writer import Written
from rebalance_audit.tables.schemas import TableName, table_schemas
from rebalance_audit.wire.topic_names import names_in_table, rows_in_table

OF_COMMITTING_GROUPS: Final = (GROUP_HOURS, PROGRESS)
"""Outputs that also have rows of groups with offset commits and no record."""


class Writer:
    """Writes the tables of one run."""

    def __init__(self, context: RunContext, replayed: Replayed) -> None:
        self._context = context
        self._request = context.request
        self._sink = context.sink
        self._replayed = replayed
        self._plan, self._staged = replayed.plan, replayed.staged
        self._since = self._plan.since
        self._replaced = self._plan.groups.replaced

    def write(self) -> None:
        """Write all tables. Raises LakeNotWritable."""
        self._write_quarantine()
        outputs = self._outputs()
        parallel_map(self._write_output, outputs)
        self._write_commit_findings()
        # In this order: what a killed run leaves stale, the next one rebuilds.
        if self._plan.reached is not None:
            self._write_snapshots()
        self._write_topics()
        if self._plan.reached is not None:
            self._write_progress(self._plan.reached)

    # -- silver and gold ------------------------------------------------------------------------

    def _outputs(self) -> list[str]:
        """The reducer's outputs that may change a table of silver or gold."""
        outputs = [
            *GOLD_OF_GROUP,
            *OF_COMMITTING_GROUPS,
            *([GROUP_RECORDS] if self._request.with_silver else []),
        ]
        return [
            output
            for output in outputs
            if self._replayed.of(output).count()
            or (self._replaced is not None and not self._sink.is_empty(OUTPUTS[output]))
        ]

    def _write_output(self, output: str) -> None:
        sink, name = self._sink, OUTPUTS[output]
        # Rows of members are put together from stints.
        is_whole = output != MEMBERS
        if is_whole and self._are_new(output):
            written = sink.append(name, self._replayed.of(output))
        elif self._since is None:
            written = self._rebuilt(output)
        elif is_whole and self._replaced is None:
            written = sink.merge(name, self._staged.changes_of(output))
        else:
            written = sink.merge(name, self._rows(output), self._keys_gone(output))
        self._context.note(name, written)

    def _are_new(self, output: str) -> bool:
        """Whether the table can have none of the rows."""
        if isinstance(self._replayed.of(output), DataFiles):
            # They were written for a table without rows. If it has some by now, `append` compares them.
            return True
        if self._since is None:
            return not self._request.has_window and self._sink.is_empty(OUTPUTS[output])
        # A row for each record that is new in bronze.
        return output == GROUP_RECORDS and self._since.is_clean and self._replaced is None

    def _rebuilt(self, output: str) -> Written:
        """Make the rows of the replayed groups those of this run."""
        window = self._window(output)
        # Without silver there are no findings of commits.
        scope = window & is_of_records(output) if self._request.with_silver else window
        groups = self._replaced
        if output in OF_COMMITTING_GROUPS:
            scope, groups = scope & self._of_regex(), None
        rows = rebuilt_rows_of(self._staged, output).where(window)
        return self._sink.replace(OUTPUTS[output], rows, scope, groups)

    def _rows(self, output: str) -> DataFrame:
        """Rows of resumed groups, and of rebuilt ones."""
        if output != MEMBERS:
            return rows_of(self._staged, output)
        known = self._context.sink.for_cluster(OUTPUTS[output])
        rows = continue_stints(self._staged.of(output, NEW).frame, known)
        return rows.unionByName(
            rebuilt_rows_of(self._staged, output).drop("cluster"), allowMissingColumns=True
        )

    def _keys_gone(self, output: str) -> DataFrame:
        name = OUTPUTS[output]
        gone = self._staged.changes_of(output).frame.where("_gone")
        gone = gone.select(*table_schemas()[name].key)
        if self._replaced is None:
            return gone
        within = self._sink.keys_within(name, is_of_records(output), self._replaced)
        return gone.unionByName(within)

    def _window(self, output: str) -> Column:
        if output not in {*GOLD_OF_GROUP, *OF_COMMITTING_GROUPS}:
            return F.lit(True)
        return in_window(output, self._request.from_ms, self._request.to_ms)

    def _write_quarantine(self) -> None:
        rows, given = rows_of(self._staged, QUARANTINE), self._staged.count(QUARANTINE)
        if self._plan.unreadable is not None:
            rows = rows.unionByName(self._plan.unreadable, allowMissingColumns=True)
            given += 1
        is_rebuild = self._since is None and self._request.with_silver
        if is_rebuild and self._request.groups_regex is None:
            if given or not self._sink.is_empty(TableName.QUARANTINE):
                # Damaged stretches are from the source; a replay of bronze cannot make them again.
                single = F.col("source_file").isNull()
                self._context.replace(TableName.QUARANTINE, rows, single)
        elif given:
            self._context.note(TableName.QUARANTINE, self._sink.merge(TableName.QUARANTINE, rows))

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
        scope = scope_of(days) & self._of_regex() & self._window(FINDINGS)
        # A rebuild also covers groups that are no longer in bronze, whose records were not counted.
        growth_records = self._request.findings.growth_records
        rows = commit_findings(
            context.sink.for_cluster,
            context.lake.stage.keep,
            self._request.findings,
            plan.known.last_ms,
            days,
            may_grow=plan.may_grow(growth_records) or self._since is None,
            may_hang=plan.may_hang,
        )
        name = TableName.FINDINGS
        if rows is None:
            old = None if self._sink.is_empty(name) else context.sink.for_cluster(name).where(scope)
            if old is None or old.isEmpty():
                return
            rows = local_rows(context.spark, table_schemas()[name].column_types, [])
        context.replace(name, rows.where(scope), scope)

    def _of_regex(self) -> Column:
        return routing.in_groups(self._request.groups_regex, F.col("group_id"))

    # -- what the next run needs ----------------------------------------------------------------

    def _write_snapshots(self) -> None:
        name = TableName.SNAPSHOTS
        if self._since is not None:
            if self._replayed.rows(SNAPSHOTS):
                rows = self._staged.changes_of(SNAPSHOTS)
                self._context.note(name, self._sink.merge(name, rows))
        elif self._sink.is_empty(name):
            self._context.note(name, self._sink.append(name, self._staged.of(SNAPSHOTS)))
        else:
            self._context.replace(name, rows_of(self._staged, SNAPSHOTS), F.lit(True))

    def _write_topics(self) -> None:
        """gold.topics, where something else is known than the table has."""
        context, name = self._context, TableName.TOPICS
        rows = rows_in_table(self._plan.names)
        if sorted(context.known_topics) != sorted(names_in_table(rows)):
            written = self._sink.merge(name, self._sink.in_memory_rows(name, rows))
            context.note(name, written)

    def _write_progress(self, reached: Progress) -> None:
        """The last commit that the next run depends on."""
        context = self._context
        of_run = {
            "run_number": context.run_number,
            "run_id": context.run_id,
            "updated_at": context.started_at,
        }
        tables = marks_of_tables(context.lake)
        if context.end_offsets.version is not None:
            # An ingest may have added samples that this run has not seen.
            mark = tables[TableName.END_OFFSETS]
            seen = mark._replace(version=context.end_offsets.version, made_by=None)
            tables[TableName.END_OFFSETS] = seen
        reached = replace(reached, tables=tables)
        rows = [columns | of_run for columns in progress_columns(reached)]
        context.note(TableName.PROGRESS, self._sink.rewrite(TableName.PROGRESS, rows))
