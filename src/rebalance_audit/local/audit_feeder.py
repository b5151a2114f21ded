"""Gives the audit the records that the workers read, and reports groups with missing records."""

from collections import defaultdict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from rebalance_audit.audit.commits.summary import Summaries
from rebalance_audit.audit.log_audit import LogAudit
from rebalance_audit.audit.options import AuditOptions
from rebalance_audit.audit.rows import FINDINGS, OWNERSHIP, PROGRESS, Emit
from rebalance_audit.replay.changes import Position
from rebalance_audit.tables.order import in_key_order
from rebalance_audit.wire import key_bytes
from rebalance_audit.wire.records import Undecodable, decode_record, group_id_of
from rebalance_audit.wire.segments.bad_bytes import BadBytes, TailNote
from rebalance_audit.wire.segments.columns import ColumnChunk, Run
from rebalance_audit.wire.segments.folder import LogFolder

if TYPE_CHECKING:
    from rebalance_audit.local.log_commits import LogCommits
    from rebalance_audit.segments.commits import CommitsApart

Place: TypeAlias = tuple[int, int]
"""Log partition and log offset."""


class GroupRange(NamedTuple):
    """The groups whose ids are in [begin, end)."""

    begin: str
    end: str | None
    """None: all from `begin` on."""

    def has(self, group_id: str) -> bool:
        """Whether the group is one of these."""
        return self.begin <= group_id and (self.end is None or group_id < self.end)


EVERY_GROUP: Final = GroupRange("", None)


def group_ranges(weights: Mapping[str, int], count: int) -> list[GroupRange]:
    """At most `count` ranges that every id is in exactly one of, in order; `weights` are those of the known groups."""
    total, before = sum(weights.values()), 0
    begins = [EVERY_GROUP.begin]
    for group_id in sorted(weights):
        if before * count >= len(begins) * total and group_id > begins[-1]:
            begins.append(group_id)
        before += weights[group_id]
    return [GroupRange(begin, end) for begin, end in zip(begins, [*begins[1:], None], strict=True)]


class AuditFeeder:
    """One audit of a log, piece by piece."""

    def __init__(
        self,
        options: AuditOptions,
        groups: tuple[bytes, ...],
        emit: Emit | None = None,
        ids: GroupRange = EVERY_GROUP,
    ) -> None:
        """`groups`: only keys that have one of these from `TYPE_BYTES` on; all keys if empty.

        `emit`: takes each row as soon as it is final; without it the audit keeps them.
        `ids`: only these groups. Records that name no group count with the first of them.
        """
        self.audit = LogAudit(options, emit)
        self._options = options
        self.undecodable: dict[str, tuple[Place, int]] = {}
        """Reason -> the first record of a group that could not be decoded, and how many there were."""
        self.split: defaultdict[str, set[int]] = defaultdict(set)
        """Groups with records in several log partitions -> those partitions. They are left out."""
        self._groups = groups
        self._ids = ids
        self._met: defaultdict[int, dict[str, int]] = defaultdict(dict)
        """Log partition -> ids of the groups met in it so far -> offset of the first record."""
        self._changed: set[str] = set()
        self._damaged: set[int] = set()
        """Log partitions with an unreadable stretch: a group met later may have begun in it."""

    def take(self, log_partition: int, found: "CommitsApart | BadBytes | TailNote") -> None:
        """One piece of the log, in log order per partition."""
        if isinstance(found, BadBytes):
            self.miss(log_partition)
        elif not isinstance(found, TailNote):
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

    def tables(self, commits: "LogCommits", progress_of: LogFolder | None = None) -> dict[str, Any]:
        """Table -> rows in order of the key, as `LogAudit.tables`; also what the log's commits say of these groups.

        `progress_of`: the log, if gold.progress is wanted. Raises OSError that names the file.
        """
        hours = {group: of for group, of in commits.hours.items() if self._is_mine(group)}
        tables = self.audit.tables(hours)
        tables[FINDINGS] += commits.findings(
            self._options.log_end_ms, self._options.findings, self._is_mine
        )
        ordered: dict[str, Any] = {name: in_key_order(name, rows) for name, rows in tables.items()}
        if progress_of is not None:
            from rebalance_audit.local.log_progress import progress_of_log  # noqa: PLC0415 - few ask for it

            ordered[PROGRESS] = progress_of_log(
                *(progress_of, self._is_mine, self._options.end_offsets),
                *(tables[OWNERSHIP], self.audit.write_offset),
            )
        return ordered

    def _is_mine(self, group_id: str) -> bool:
        group = group_id.encode()
        is_asked = not self._groups or len(group).to_bytes(2) + group in self._groups
        return is_asked and self._ids.has(group_id) and group_id not in self.split

    def met(self) -> dict[str, Place]:
        """Every group met, and where."""
        found: dict[str, Place] = {}
        for log_partition, met in self._met.items():
            for group_id, log_offset in met.items():
                found.setdefault(group_id, (log_partition, log_offset))
        return found

    def _take_commits(self, group: bytes, summaries: Summaries) -> None:
        if self._groups and len(group).to_bytes(2) + group not in self._groups:
            return
        group_id = group.decode(errors="replace")
        if self._ids.has(group_id):
            self.audit.committed(group_id, summaries)

    def _take_run(self, log_partition: int, chunk: ColumnChunk, run: Run, part: slice) -> None:
        if run.is_control or part.start == part.stop:
            return
        rows = zip(*(column[part] for column in chunk[:4]), strict=True)
        ids = self._ids
        everything = ids == EVERY_GROUP
        for log_offset, timestamp_ms, key, value in rows:
            if self._groups and not (key and key.startswith(self._groups, key_bytes.TYPE_BYTES)):
                continue
            if not everything:
                group = key_bytes.group_bytes(key)
                if group is not None and not ids.has(group.decode(errors="replace")):
                    continue
            record = decode_record(key, value)
            if isinstance(record, Undecodable):
                position = Position(log_partition, log_offset, timestamp_ms, run.leader_epoch)
                self._miss_record(position, record, key)
                continue
            group_id = group_id_of(record.key)
            if not everything and not ids.has(group_id):
                continue
            if not self._meet(log_partition, group_id, log_offset):
                continue
            position = Position.in_run(log_partition, run, log_offset, timestamp_ms)
            self.audit.feed(record, position)

    def _meet(self, log_partition: int, group_id: str, log_offset: int) -> bool:
        """Whether the group is audited: from its first record in a second partition on, it no longer is."""
        if group_id in self.split:
            self.split[group_id].add(log_partition)
            return False
        met = self._met[log_partition]
        if group_id not in met:
            elsewhere = [each for each, groups in self._met.items() if group_id in groups]
            if elsewhere:
                self._leave_out(group_id, log_partition, *elsewhere)
                return False
            met[group_id] = log_offset
            if log_partition in self._damaged:
                self.audit.gap(group_id, log_partition)
        self._changed.add(group_id)
        return True

    def _leave_out(self, group_id: str, *log_partitions: int) -> None:
        self.split[group_id].update(log_partitions)
        for met in self._met.values():
            met.pop(group_id, None)
        self._changed.discard(group_id)
        self.audit.leave_out(group_id)

    def forget(self, log_partition: int) -> set[str]:
        """What was taken of the partition turns out not to be in the log; returns the groups that were met in it."""
        self._damaged.discard(log_partition)
        met = set(self._met.pop(log_partition, ()))
        for group_id in met:
            self.audit.forget(group_id)
        return met

    def take_changed(self) -> set[str]:
        """The groups that had records, or lost some, since the last call."""
        changed, self._changed = self._changed, set()
        return changed

    def miss(self, log_partition: int) -> None:
        """Something could not be read that may be of any group."""
        self._damaged.add(log_partition)
        self._changed.update(self._met[log_partition])
        for group_id in self._met[log_partition]:
            self.audit.gap(group_id, log_partition)

    def _miss_record(self, position: Position, found: Undecodable, key: bytes | None) -> None:
        """A record could not be decoded, perhaps not even so far that its group is known."""
        log_partition, log_offset = place = position[:2]
        group = key_bytes.group_bytes(key)
        if group is None:
            self.miss(log_partition)
            if self._ids.begin != EVERY_GROUP.begin:
                return
        else:
            group_id = group.decode(errors="replace")
            if not self._meet(log_partition, group_id, log_offset):
                return
            # A key whose group is not UTF-8 is quarantined and names no group.
            if group_id.encode() == group:
                self.audit.lost(group_id, position, found.record_type)
            else:
                self.audit.gap(group_id, log_partition)
        first, count = self.undecodable.get(found.reason, (place, 0))
        self.undecodable[found.reason] = first, count + 1
