"""The audit of one group: one pass over its records; rows are emitted as soon as they are final."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from rebalance_audit.audit.causes.modern_scene import WriteEvidence
from rebalance_audit.audit.causes.recorded_topics import RecordedTopics
from rebalance_audit.audit.commits.summary import Summaries
from rebalance_audit.audit.findings.observer import GroupFindings
from rebalance_audit.audit.group.classic_audit import ClassicAudit
from rebalance_audit.audit.group.classic_members import unread_parts
from rebalance_audit.audit.group.life import Life
from rebalance_audit.audit.group.modern_audit import ModernAudit
from rebalance_audit.audit.options import AuditOptions, ExternalFacts
from rebalance_audit.audit.ownership.commit_book import CommittedPosition
from rebalance_audit.audit.rows import Emit
from rebalance_audit.audit.writes import Role, Write, WriteSplitter, adjoins, role_of
from rebalance_audit.replay.changes import (
    OFFSET_COMMIT_NUMBERS,
    Anomaly,
    AnomalyKind,
    Change,
    GenerationCompleted,
    GroupEpochBumped,
    GroupType,
    Position,
    group_type_of,
)
from rebalance_audit.replay.groups import ClassicGroup, GroupSlot, ModernGroup
from rebalance_audit.replay.playback import apply
from rebalance_audit.wire.generated.messages import RecordType
from rebalance_audit.wire.records import Record, decode_record, encode_key


class _Waiting(NamedTuple):
    """A tombstone that is not applied yet, see `GroupAudit.feed`."""

    key: bytes
    position: Position


def _is_all_classic(slot: GroupSlot) -> bool:
    """Whether the group is a consumer group in which only classic-protocol members are left."""
    group = slot.group
    return (
        isinstance(group, ModernGroup)
        and bool(group.members)
        and all(member.classic is not None for member in group.members.values())
    )


_NOTED = frozenset({Anomaly, GenerationCompleted, GroupEpochBumped})
"""Changes that are noted right after their record, while the group is as that record left it."""


class GroupAudit:
    """Feed it every group record (types 2 to 24) of one group in log order, then finish it.

    Memory is bounded by the group's current size, not by its history. The caller handles undecodable records: call
    `gap()` in place of each, so that nothing around it is called proven.

    The audit can be saved at any record and continued later (`snapshots`): the rows of all parts together are those of
    an audit of the whole log. Rows that `finish` emits at the end of a part hold until the next part.
    """

    _slot: GroupSlot
    _write: Write | None = None
    """The write that may still continue: not judged yet."""
    _waiting: list[_Waiting]
    """Tombstones not applied yet, see `feed`."""
    write_offset: int | None = None
    """Log offset of the current write's first record, even if a gap caused the write to be judged already."""
    anomalies: dict[AnomalyKind, int]
    unread: dict[str, int]
    """Number of parts of members' bytes that could not be read; keys as in `classic_members.SENTENCES`."""

    def __init__(
        self,
        group_id: str,
        log_partition: int,
        emit: Emit,
        options: AuditOptions | None = None,
    ) -> None:
        """`emit` takes each final row with the name of its table."""
        given = options or AuditOptions()
        self.options = given
        """The options as the caller gave them."""
        self.outside = ExternalFacts(given)
        self._options = replace(given, topic_name=self.outside.topic_name)
        self.recorded = RecordedTopics(self.outside)
        self._slot = GroupSlot(group_id)
        self.group_id = group_id
        self.log_partition = log_partition
        self._life = Life(group_id, log_partition, emit, self._options)
        self._findings: GroupFindings | None = None
        if self._options.with_findings:
            self._findings = GroupFindings(self._life, self.outside, emit)
        self._splitter = WriteSplitter()
        self._waiting = []
        self._classic = ClassicAudit(self._life)
        self._modern = ModernAudit(self._life, self.recorded)
        self.anomalies = {}
        self.unread = {}

    def parts(self) -> Mapping[str, object]:
        """Every object that holds state; the state of each is the attributes that its class annotates."""
        return {
            "group": self,
            "outside": self.outside,
            "writes": self._splitter,
            "classic": self._classic,
            "classic_times": self._classic.times,
            "gathering": self._classic.join_phases.gathering,
            "modern": self._modern,
            "recorded": self.recorded,
            **self._life.parts(),
            **(self._findings.parts() if self._findings is not None else {}),
        }

    def resumed(self) -> None:
        """Called after the state of all parts has been restored."""
        if self._findings is not None:
            self._findings.resumed()

    def committed_positions(self) -> Iterator[CommittedPosition]:
        """What the group has committed so far of the partitions that members own."""
        return self._life.commits.committed(self._life.ownership)

    @property
    def last_offset(self) -> int:
        """Log offset of the last record that was applied; -1 before the first."""
        return self._slot.last_log_offset

    @property
    def due_ms(self) -> int | None:
        """After `finish`: the earliest log end (epoch ms) at which the rows would differ without a new record.

        None if they never would. Findings depend on the log's end, and so does the end of members of a classic group
        that was left empty: removed clients are back soon.
        """
        dues = [self._life.due_ms, None if self._findings is None else self._findings.due_ms]
        return min((due_ms for due_ms in dues if due_ms is not None), default=None)

    @property
    def unnamed(self) -> frozenset[bytes]:
        """Ids of topics that rows so far had to leave unnamed; at most 10,000 of them."""
        return self.outside.unnamed

    def feed(self, record: Record, position: Position) -> None:
        """Apply one record; judge the previous write if this record begins a new one.

        A classic member may take over the instance id of the last consumer-protocol member and change the subscription.
        That one request bumps the epoch and ends the consumer group, so the epoch never takes effect. Therefore, if a
        group has only classic members, tombstones right after its bump wait until it is known whether they end it.
        """
        if self._waiting:
            in_time = adjoins(self._waiting[-1].position, position)
            if in_time and record.value is None:
                self._waiting.append(_Waiting(encode_key(record.key), position))
                return
            downgraded = in_time and record.record_type is RecordType.GROUP_METADATA
            self._take_waiting(go_on=downgraded)
        elif self._splitter.is_tombstone_after_bump(record, position) and _is_all_classic(
            self._slot
        ):
            self._waiting.append(_Waiting(encode_key(record.key), position))
            return
        self._apply(record, position, go_on=False)

    def committed(self, summaries: Summaries) -> None:
        """The group's offset commits since its last record. They end a write: its records are contiguous."""
        self._take_waiting(go_on=False)
        self._judge()
        life = self._life
        life.commits.take(summaries, life.ownership, life.watches, life.costs.add)

    def gap(self) -> None:
        """Note that something is missing at this point of the log that may have been of this group."""
        self._take_waiting(go_on=False)
        self._judge()
        self._life.lose()

    def lost(self, position: Position, record_type: int | None) -> None:
        """A record of this group could not be decoded: its effect on the group is unknown."""
        self.gap()
        life = self._life
        protocol = group_type_of(record_type) or life.protocol
        if record_type not in OFFSET_COMMIT_NUMBERS and protocol is not None:
            life.ownership.doubt()
            life.states.lose(position, str(protocol), life.incarnation)

    def finish(self) -> None:
        """The log ends: judge the last write and emit the rows that are still open."""
        self._take_waiting(go_on=False)
        self._judge()
        self._life.costs.close()
        if self._findings is not None:
            self._findings.finish(self._options.log_end_ms)
        self._life.finish(self._slot.group)

    def _take_waiting(self, *, go_on: bool) -> None:
        """Apply the waiting tombstones: with `go_on` as part of the previous write, else as the splitter says."""
        waiting, self._waiting = self._waiting, []
        for key, position in waiting:
            record = decode_record(key, None)
            assert isinstance(record, Record), f"{record} was one"
            self._apply(record, position, go_on=go_on)

    def _apply(self, record: Record, position: Position, *, go_on: bool) -> None:
        if go_on:
            self._splitter.go_on(record, position)
        elif self._splitter.begins(record, position):
            self._judge()
            self.write_offset = position.log_offset
            self._look_for_hole(position)
        write = self._write
        if write is None:
            tombstone = record.value is None
            write = self._write = Write(position, position, role_of(record), tombstone)
        write.last = position
        changes = apply(self._slot, record, position)
        write.changes += changes
        for change in changes:
            if type(change) in _NOTED:
                self._note(change, record, write)

    def _look_for_hole(self, position: Position) -> None:
        """Where offsets since the group's last record have none, some may have been its own.

        The numbers of a classic group's generations show whether one is missing.
        """
        life = self._life
        if life.deleted or life.protocol in (None, GroupType.CLASSIC):
            return
        holes = self._options.holes(self.log_partition)
        if holes is not None and holes.between(self.last_offset, position.log_offset):
            life.doubt(ended=False)
            self._modern.pass_hole()

    def _lacks_head(self, first: Position) -> bool:
        """Whether the offset right before a write has no record: it may have been the write's own."""
        holes = self._options.holes(self.log_partition)
        return holes is not None and holes.between(first.log_offset - 2, first.log_offset)

    def _note(self, change: Change, record: Record, write: Write) -> None:
        group = self._slot.group
        if isinstance(change, Anomaly):
            self.anomalies[change.kind] = self.anomalies.get(change.kind, 0) + 1
            write.is_contradicted |= role_of(record) is not Role.CLASSIC
        elif isinstance(change, GroupEpochBumped) and group is not None:
            write.members_at_bump = len(group.members)
        elif isinstance(change, GenerationCompleted) and isinstance(group, ClassicGroup):
            members = group.members.values()
            for part in unread_parts(group.protocol_type, group.protocol_name, members):
                self.unread[part] = self.unread.get(part, 0) + 1

    def _judge(self) -> None:
        write, self._write = self._write, None
        if write is None:
            return
        group = self._slot.group
        evidence = WriteEvidence.of(write)
        if self._findings is not None:
            self._findings.write_comes(write.first)
        self._life.begin_write(write)
        if isinstance(group, ClassicGroup):
            downgrade = self._modern.convert_to_classic(write, evidence, group)
            self._classic.judge(evidence, group, downgrade)
        elif isinstance(group, ModernGroup):
            self._modern.judge(write, evidence, group, lacks_head=self._lacks_head(write.first))
        else:
            self._life.delete(write)
        self._life.end_write(write, evidence.kinds, group)
        if self._findings is not None:
            self._findings.wrote(write, evidence.kinds, group)
        self._life.written()
