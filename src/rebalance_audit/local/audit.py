"""The audit of a folder of segments without Spark: workers read, this process replays and judges.

Nothing is kept but the groups as they stand and the rows that came out.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from rebalance_audit.audit.broker_log.broker_log import BrokerLog
from rebalance_audit.audit.causes.departures import DepartureRules
from rebalance_audit.audit.findings.rules import FindingRules
from rebalance_audit.audit.log_audit import LogAudit
from rebalance_audit.audit.log_facts import LogFacts
from rebalance_audit.audit.options import AuditOptions, nothing_logged
from rebalance_audit.audit.rows import Row
from rebalance_audit.cli.broker_logs import aligned_with
from rebalance_audit.garbage import collecting_less
from rebalance_audit.local.byte_ranges import Range, in_order, ranges_of, workers_for
from rebalance_audit.local.survey import survey
from rebalance_audit.replay.changes import Position
from rebalance_audit.table_order import in_key_order
from rebalance_audit.wire import key_bytes
from rebalance_audit.wire.records import Undecodable, decode_record, group_id_of
from rebalance_audit.wire.segments.bad_bytes import BadBytes, TailNote
from rebalance_audit.wire.segments.columns import ColumnChunk, Run
from rebalance_audit.wire.segments.folder import LogFolder
from rebalance_audit.wire.topic_names import TopicNames, topic_id_text


class Audited(NamedTuple):
    """What an audit found."""

    tables: dict[str, list[Row]]
    """Gold table name -> rows without `cluster`, in order of the table's key."""
    facts: LogFacts
    group_ids: frozenset[str]
    """The groups that the log has records of, commits aside."""


def audit_segments(
    folder: LogFolder,
    rules: DepartureRules,
    group_ids: Sequence[str] = (),
    source: str = "",
    findings: FindingRules | None = None,
    broker_log: BrokerLog | None = None,
) -> Audited:
    """Audit all groups, or only `group_ids`; `source` is what the user calls the folder.

    `broker_log`: what the brokers logged, by their own clocks.

    Raises SourceNotReadable, and OSError that names the file.
    """
    total, names = survey(folder)
    clocks = None if broker_log is None else aligned_with(folder, broker_log)
    options = AuditOptions(
        topic_name=names.name_of,
        rules=rules,
        topic_deleted_at=names.deleted_at_ms,
        topic_lives=names.lives_of,
        findings=findings or FindingRules(),
        log_end_ms=total.last_ms,
        broker_facts=nothing_logged if clocks is None else clocks.log.facts_of,
    )
    feed = _Feed(options, key_bytes.of_groups(group_ids))
    parts = ranges_of(folder, folder.segments)
    with collecting_less():
        for found in in_order(_without_commits, parts, workers_for(folder.size_bytes)):
            for log_partition, piece in found:
                feed.take(log_partition, piece)
        tables = feed.audit.tables()
    tables["topics"] = _topics(names)
    notes = [*total.damage, *(note.detail for note in folder.notes), *names.notes]
    if clocks is not None:
        notes += [*clocks.notes, *clocks.log.unmatched_notes(feed.group_ids())]
    facts = LogFacts(
        source=source or str(folder.path),
        log_partitions=len(folder.segments),
        size_bytes=folder.size_bytes,
        records=total.records,
        offset_commits=total.offset_commits,
        first_ms=total.first_ms,
        last_ms=total.last_ms,
        undecodable=dict(feed.undecodable),
        anomalies=feed.audit.anomalies(),
        notes=notes,
        unfinished_ends=total.unfinished_ends,
    )
    in_order_of_key = {name: in_key_order(name, rows) for name, rows in tables.items()}
    return Audited(in_order_of_key, facts, feed.group_ids())


def _topics(names: TopicNames) -> list[Row]:
    return [
        {
            "topic_id": topic_id_text(topic.topic_id),
            "topic": topic.name,
            "source": topic.source.value,
            "made_at": topic.made_at_ms,
            "deleted_at": topic.deleted_at_ms,
        }
        for topic in names.values()
    ]


def _without_commits(part: Range) -> list[tuple[int, ColumnChunk | BadBytes | TailNote]]:
    # Offset commits tell the audit nothing, and are nearly all of a real log.
    found = part.read(key_bytes.OFFSET_COMMIT_TYPES)
    return [(part.segment.log_partition, each) for each in found]


class _Feed:
    """Gives the audit what the workers read, and says of which groups something is missing."""

    def __init__(self, options: AuditOptions, groups: tuple[bytes, ...]) -> None:
        self.audit = LogAudit(options)
        self.undecodable: Counter[str] = Counter()
        self._groups = groups
        self._met: defaultdict[int, set[str]] = defaultdict(set)
        """Log partition -> ids of the groups met in it so far."""
        self._damaged: set[int] = set()
        """Log partitions with an unreadable stretch: a group met later may have begun in it."""

    def take(self, log_partition: int, found: ColumnChunk | BadBytes | TailNote) -> None:
        """One piece of the log, in log order per partition."""
        if isinstance(found, BadBytes):
            self._miss_something(log_partition)
        elif isinstance(found, ColumnChunk):
            begin = 0
            for run in found.runs:
                end = begin + run.record_count
                if not run.is_control:
                    self._take_run(log_partition, found, run, slice(begin, end))
                begin = end

    def group_ids(self) -> frozenset[str]:
        """Every group met."""
        return frozenset().union(*self._met.values())

    def _take_run(self, log_partition: int, chunk: ColumnChunk, run: Run, part: slice) -> None:
        rows = zip(
            chunk.log_offsets[part],
            chunk.record_timestamps_ms[part],
            chunk.keys[part],
            chunk.values[part],
            strict=True,
        )
        for log_offset, timestamp_ms, key, value in rows:
            if self._groups and not (key and key.startswith(self._groups, key_bytes.TYPE_BYTES)):
                continue
            record = decode_record(key, value)
            if isinstance(record, Undecodable):
                self.undecodable[record.reason] += 1
                self._miss_something(log_partition, key_bytes.group_bytes(key))
                continue
            self._meet(log_partition, group_id_of(record.key))
            position = Position(
                log_partition,
                log_offset,
                timestamp_ms,
                run.leader_epoch,
                run.producer_id,
                run.is_transactional,
            )
            self.audit.feed(record, position)

    def _meet(self, log_partition: int, group_id: str) -> None:
        met = self._met[log_partition]
        if group_id not in met:
            met.add(group_id)
            if log_partition in self._damaged:
                self.audit.gap(group_id, log_partition)

    def _miss_something(self, log_partition: int, group_bytes: bytes | None = None) -> None:
        """Of one group, or of any where the bytes do not tell which."""
        if group_bytes is None:
            self._damaged.add(log_partition)
            for group_id in self._met[log_partition]:
                self.audit.gap(group_id, log_partition)
            return
        group_id = group_bytes.decode(errors="replace")
        self._meet(log_partition, group_id)
        self.audit.gap(group_id, log_partition)
