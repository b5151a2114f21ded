"""The audit of many groups in one process: `inspect` and the tests run it, and the Spark reducer must equal it."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from rebalance_audit.audit.commits.summary import NO_POSITION, Summaries, summary_of
from rebalance_audit.audit.group_audit import GroupAudit
from rebalance_audit.audit.hours.group_hours import HourCommits, hours_of_tables
from rebalance_audit.audit.members.stint import merge_stints
from rebalance_audit.audit.options import AuditOptions
from rebalance_audit.audit.ownership.commit_book import CommittedPosition
from rebalance_audit.audit.rows import GOLD_OF_GROUP, GROUP_HOURS, MEMBERS, Emit, Row
from rebalance_audit.replay.changes import Position
from rebalance_audit.wire.generated.messages import LegacyOffsetCommitValue, OffsetCommitValue
from rebalance_audit.wire.key_bytes import OFFSET_COMMIT_TYPES
from rebalance_audit.wire.records import Record, encode_key, group_id_of


def _committed_by(record: Record) -> int:
    if isinstance(record.value, OffsetCommitValue | LegacyOffsetCommitValue):
        return record.value.offset
    return NO_POSITION


class LogAudit:
    """Feed it the records of any groups, in log order per partition; `tables()` finishes and returns the rows.

    With `emit` it keeps no row: each goes there as soon as it is final.
    """

    def __init__(self, options: AuditOptions | None = None, emit: Emit | None = None) -> None:
        self._options = replace(options or AuditOptions(), with_findings=True)
        self._rows: dict[str, list[Row]] = {table: [] for table in GOLD_OF_GROUP}
        self._emit = emit or self._keep
        self._audits: dict[str, GroupAudit] = {}
        self._unnamed_by_twins: frozenset[bytes] = frozenset()

    def feed(self, record: Record, position: Position) -> None:
        """Apply one record."""
        if record.record_type in OFFSET_COMMIT_TYPES:
            if record.value is not None:
                summary = summary_of(position, _committed_by(record))
                self.committed(group_id_of(record.key), {encode_key(record.key): summary})
            return
        self._audit_of(group_id_of(record.key), position.log_partition).feed(record, position)

    def committed(self, group_id: str, summaries: Summaries) -> None:
        """The group's offset commits since its last record; of groups without any record they are no evidence."""
        audit = self._audits.get(group_id)
        if audit is not None:
            audit.committed(summaries)

    def gap(self, group_id: str, log_partition: int) -> None:
        """Note that something is missing at this point that may have been of the group."""
        self._audit_of(group_id, log_partition).gap()

    def lost(self, group_id: str, position: Position, record_type: int | None) -> None:
        """A record of the group could not be decoded."""
        self._audit_of(group_id, position.log_partition).lost(position, record_type)

    def anomalies(self) -> dict[str, dict[str, int]]:
        """Group id -> kind of anomaly -> count, for groups that have any."""
        return {
            group_id: {kind.value: times for kind, times in audit.anomalies.items()}
            for group_id, audit in self._audits.items()
            if audit.anomalies
        }

    def unread(self) -> dict[str, dict[str, int]]:
        """Group id -> part of its members' bytes that could not be read (`classic_members.SENTENCES`) -> count."""
        return {
            group_id: dict(audit.unread) for group_id, audit in self._audits.items() if audit.unread
        }

    def open_rows(self, group_id: str, log_end_ms: int | None) -> dict[str, list[Row]]:
        """Table name -> the rows of a group that would follow if the log ended at `log_end_ms` (epoch ms).

        The audit continues unchanged.
        """
        rows: dict[str, list[Row]] = {table: [] for table in GOLD_OF_GROUP}
        audit = self._audits.get(group_id)
        if audit is not None:
            from rebalance_audit.audit.snapshots.snapshot import twin_of  # noqa: PLC0415 - imports cattrs

            twin = twin_of(audit, lambda table, row: rows[table].append(row), log_end_ms)
            twin.finish()
            self._unnamed_by_twins |= twin.unnamed
        return rows

    def committed_positions(self) -> Iterator[tuple[str, CommittedPosition]]:
        """Group id and what the group has committed so far, for each partition that a member owns."""
        for group_id, audit in self._audits.items():
            for position in audit.committed_positions():
                yield group_id, position

    def write_offset(self, group_id: str) -> int:
        """Log offset of the last write of a group; 0 before the first."""
        audit = self._audits.get(group_id)
        return 0 if audit is None else audit.write_offset or 0

    def forget(self, group_id: str) -> None:
        """The group's records so far turn out not to be in the log."""
        self._audits.pop(group_id, None)

    def leave_out(self, group_id: str) -> None:
        """The group is not audited after all: its rows so far are dropped, unless they were emitted."""
        self.forget(group_id)
        for table, rows in self._rows.items():
            self._rows[table] = [row for row in rows if row["group_id"] != group_id]

    @property
    def unnamed(self) -> frozenset[bytes]:
        """Ids of topics that rows so far had to leave unnamed."""
        return self._unnamed_by_twins.union(*(audit.unnamed for audit in self._audits.values()))

    def tables(
        self, commit_hours: Mapping[str, Mapping[int, HourCommits]] | None = None
    ) -> dict[str, list[Row]]:
        """Table name -> rows, for every gold table that the audit fills. Call it once, at the end of the log.

        `commit_hours`: the offset commits of each group by hour since 1970, also of groups without a record.
        """
        for audit in self._audits.values():
            audit.finish()
        tables = dict(self._rows)
        tables[MEMBERS] = merge_stints(tables[MEMBERS])
        tables[GROUP_HOURS] = hours_of_tables(tables, self._options.log_end_ms, commit_hours)
        return tables

    def _audit_of(self, group_id: str, log_partition: int) -> GroupAudit:
        audit = self._audits.get(group_id)
        if audit is None:
            audit = GroupAudit(group_id, log_partition, self._emit, self._options)
            self._audits[group_id] = audit
        return audit

    def _keep(self, table: str, row: Row) -> None:
        self._rows[table].append(row)


def audit_log(
    records: Iterable[tuple[Record, Position]], options: AuditOptions | None = None
) -> dict[str, list[Row]]:
    """Audit a whole log at once; returns table name -> rows, as `LogAudit.tables` does."""
    audit = LogAudit(options)
    for record, position in records:
        audit.feed(record, position)
    return audit.tables()
