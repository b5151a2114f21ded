"""Gives the audit the records that the workers read, and tells it of which groups something is missing."""

from collections import Counter, defaultdict

from rebalance_audit.audit.commits.collect import CommitsApart, Summaries
from rebalance_audit.audit.log_audit import LogAudit
from rebalance_audit.audit.options import AuditOptions
from rebalance_audit.audit.rows import Emit
from rebalance_audit.replay.changes import Position
from rebalance_audit.wire import key_bytes
from rebalance_audit.wire.records import Undecodable, decode_record, group_id_of
from rebalance_audit.wire.segments.bad_bytes import BadBytes, TailNote
from rebalance_audit.wire.segments.columns import ColumnChunk, Run


class Feed:
    """One audit of a log, piece by piece."""

    def __init__(
        self, options: AuditOptions, groups: tuple[bytes, ...], emit: Emit | None = None
    ) -> None:
        """`groups`: only keys that have one of these from `TYPE_BYTES` on; all keys if empty.

        `emit`: takes each row as soon as it is final; without it the audit keeps them.
        """
        self.audit = LogAudit(options, emit)
        self.undecodable: Counter[str] = Counter()
        """Reason -> group records that could not be decoded."""
        self._groups = groups
        self._met: defaultdict[int, set[str]] = defaultdict(set)
        """Log partition -> ids of the groups met in it so far."""
        self._changed: set[str] = set()
        self._damaged: set[int] = set()
        """Log partitions with an unreadable stretch: a group met later may have begun in it."""

    def take(self, log_partition: int, found: CommitsApart | BadBytes | TailNote) -> None:
        """One piece of the log, in log order per partition."""
        if isinstance(found, BadBytes):
            self.miss(log_partition)
        elif isinstance(found, CommitsApart):
            chunk = found.chunk
            end = passed = 0
            for run in chunk.runs:
                begin, end = end, end + run.record_count
                while passed < len(found.commits) and found.commits[passed][0] < end:
                    before, group, summaries = found.commits[passed]
                    self._take_run(log_partition, chunk, run, slice(begin, before))
                    self._take_commits(group, summaries)
                    begin, passed = before, passed + 1
                self._take_run(log_partition, chunk, run, slice(begin, end))
            for _, group, summaries in found.commits[passed:]:
                self._take_commits(group, summaries)

    def group_ids(self) -> frozenset[str]:
        """Every group met."""
        return frozenset().union(*self._met.values())

    def _take_commits(self, group: bytes, summaries: Summaries) -> None:
        if self._groups and len(group).to_bytes(2) + group not in self._groups:
            return
        self.audit.committed(group.decode(errors="replace"), summaries)

    def _take_run(self, log_partition: int, chunk: ColumnChunk, run: Run, part: slice) -> None:
        if run.is_control or part.start == part.stop:
            return
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
                self.miss(log_partition, key_bytes.group_bytes(key))
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
        self._changed.add(group_id)
        met = self._met[log_partition]
        if group_id not in met:
            met.add(group_id)
            if log_partition in self._damaged:
                self.audit.gap(group_id, log_partition)

    def forget(self, log_partition: int) -> set[str]:
        """What was taken of the partition turns out not to be in the log; returns the groups that were met in it."""
        self._damaged.discard(log_partition)
        met = self._met.pop(log_partition, set())
        for group_id in met:
            self.audit.forget(group_id)
        return met

    def take_changed(self) -> set[str]:
        """The groups that had records, or lost some, since the last call."""
        changed, self._changed = self._changed, set()
        return changed

    def miss(self, log_partition: int, group_bytes: bytes | None = None) -> None:
        """Something of one group could not be read, or of any where the bytes do not tell which."""
        if group_bytes is None:
            self._damaged.add(log_partition)
            self._changed |= self._met[log_partition]
            for group_id in self._met[log_partition]:
                self.audit.gap(group_id, log_partition)
            return
        group_id = group_bytes.decode(errors="replace")
        self._meet(log_partition, group_id)
        self.audit.gap(group_id, log_partition)
