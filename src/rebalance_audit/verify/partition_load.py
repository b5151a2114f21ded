"""One partition as a coordinator loads it: its records replayed in order, and what the rules say of each."""

from collections.abc import Collection, Iterable
from typing import Any, Final

from rebalance_audit.errors import UnknownPartition
from rebalance_audit.replay import playback
from rebalance_audit.replay.changes import Anomaly, AnomalyKind, GroupType, Position, group_type_of
from rebalance_audit.replay.groups import GroupSlot, ModernGroup, type_of
from rebalance_audit.replay.offsets import end_transaction
from rebalance_audit.replay.partitions import union
from rebalance_audit.replay.step import Policy, ReplayStep
from rebalance_audit.verify import loader_bytes, loading
from rebalance_audit.verify.conditions import Met, conditions_met
from rebalance_audit.verify.coordinators import (
    AppliedRule,
    Coordinator,
    records_known_to,
    rules_for,
)
from rebalance_audit.verify.decoding import NotDecoded, read_record
from rebalance_audit.verify.shape import ShapeCount
from rebalance_audit.wire.generated.messages import RecordType
from rebalance_audit.wire.key_bytes import group_bytes
from rebalance_audit.wire.records import Record, Undecodable, decode_record, group_id_of
from rebalance_audit.wire.segments.batches import MARKER_KEY, TransactionMarker, parse_marker
from rebalance_audit.wire.segments.columns import ColumnChunk, Run
from rebalance_audit.wire.segments.folder import LogFolder

_BY_REPLAY: Final = frozenset(
    {
        AnomalyKind.BAD_VALUE,
        AnomalyKind.EPOCH_WENT_BACK,
        AnomalyKind.MEMBER_NOT_RELEASED,
        AnomalyKind.TARGETS_REMAIN,
        AnomalyKind.TOMBSTONE_OF_UNKNOWN,
    }
)
"""What replay looks at as the loader does; the rest is in `conditions`."""
_BAD_MARKER: Final = "bad_marker"
_NO_METADATA: Final = "member_without_metadata"
_NO_MEMBER: Final = "target_of_unknown_member"
_REMOVED_IN_USE: Final = "removed_group_in_transaction"
_ASSIGNMENTS: Final = {
    GroupType.CONSUMER: (8, 7),
    GroupType.SHARE: (14, 13),
    GroupType.STREAMS: (22, 21),
}
"""Record types of current and target assignments."""
_GROUPS_OWN: Final = frozenset(
    {
        RecordType.CONSUMER_GROUP_METADATA,
        RecordType.SHARE_GROUP_METADATA,
        RecordType.STREAMS_GROUP_METADATA,
    }
)
"""Types whose tombstone removes the group."""
_COMMITS: Final = frozenset({RecordType.LEGACY_OFFSET_COMMIT, RecordType.OFFSET_COMMIT})


def load_partition(
    items: Iterable[loader_bytes.LoaderItem],
    coordinator: Coordinator,
    log_partition: int,
    *,
    with_groups: bool = False,
) -> loading.Loading:
    """What the coordinator does with the partition. Raises BadRequest for an unknown coordinator.

    `with_groups`: also list the groups of a partition that loads.
    """
    load = PartitionLoad(coordinator, log_partition)
    for item in items:
        load.take(item)
    return load.finish(with_groups=with_groups)


def verify_folder(
    folder: LogFolder,
    coordinator: Coordinator,
    log_partitions: Collection[int] | None = None,
    *,
    after_crash: bool = False,
    with_groups: bool = False,
) -> loading.Verification:
    """What the coordinator does with each partition of a folder of segments, or with `log_partitions` alone.

    `after_crash`: the broker recovers the log first, see `loader_bytes.loader_items`; else `Loading.after_crash` is
    there for damaged partitions. `with_groups`: also list the groups of partitions that load.
    Raises UnknownPartition, BadRequest for an unknown coordinator, and OSError that names the file.
    """
    loadings = []
    for number in chosen_partitions(folder.segments, log_partitions):
        segments = folder.segments[number]
        items = loader_bytes.loader_items(segments, after_crash=after_crash)
        found = load_partition(items, coordinator, number, with_groups=with_groups)
        if found.damage and not after_crash:
            recovered = loader_bytes.loader_items(segments, after_crash=True)
            found = found._replace(after_crash=load_partition(recovered, coordinator, number))
        loadings.append(found)
    return loading.Verification(coordinator, tuple(loadings))


def chosen_partitions(present: Collection[int], wanted: Collection[int] | None) -> list[int]:
    """The wanted ones, or else all, in their order. Raises UnknownPartition for one that is not present."""
    chosen = sorted({*(present if wanted is None else wanted)})
    missing = [number for number in chosen if number not in present]
    if missing:
        raise UnknownPartition(missing, sorted(present))
    return chosen


class PartitionLoad:
    """The load of one partition, item by item. Keeps the state of its groups, and of records a bounded number."""

    def __init__(self, coordinator: Coordinator, log_partition: int) -> None:
        """Nothing is read yet. Raises BadRequest for an unknown coordinator."""
        self._coordinator = coordinator
        self._known_records = records_known_to(coordinator)
        self._rules = rules_for(coordinator)
        self._log_partition = log_partition
        self._slots: dict[str, GroupSlot] = {}
        self._removed: set[str] = set()
        """Groups whose newest record of type 2 is a tombstone."""
        self._transactions: dict[int, _Transaction] = {}
        self._failure: loading.Notice | None = None
        self._is_unknown = False
        self._skipped = _Listed()
        self._tolerated = _Listed()
        self._groups_skipped: dict[str, GroupType | None] = {}
        self._damage: list[loader_bytes.DamagedStretch] = []
        self._log_ends: list[loader_bytes.LogEnd] = []
        self._shape = ShapeCount()

    def take(self, item: loader_bytes.LoaderItem) -> None:
        """The next item of the log."""
        match item:
            case ColumnChunk():
                self._shape.take(item)
                self._take_records(item)
            case loader_bytes.LastSegment():
                self._shape.enter_last_segment()
            case loader_bytes.DamagedStretch():
                self._damage.append(item)
            case loader_bytes.LogEnd():
                self._log_ends.append(item)
            case loader_bytes.LoaderStop():
                self._stop(item)

    def _take_records(self, chunk: ColumnChunk) -> None:
        for run, rows in chunk.by_run():
            for log_offset, at_ms, key, value in rows:
                position = Position.in_run(self._log_partition, run, log_offset, at_ms)
                if run.is_control:
                    self._take_marker(position, key, value)
                else:
                    self._take_record(position, run, key, value)

    def _take_record(
        self, position: Position, run: Run, key: bytes | None, value: bytes | None
    ) -> None:
        record: Record | Undecodable | NotDecoded = read_record(self._known_records, key, value)
        if isinstance(record, NotDecoded):
            if not self._refuse(position, record, key, is_tombstone=value is None):
                return
            # Of what follows a failure, only the state at the log's end is of interest.
            record = decode_record(key, value)
        if not isinstance(record, Record):
            return
        group_id = group_id_of(record.key)
        slot = self._slots.get(group_id)
        if slot is None:
            slot = self._slots[group_id] = GroupSlot(group_id)
        met = [] if self._failure is not None else [*conditions_met(slot.group, record)]
        met += self._apply(slot, record, position)
        for rule_id, detail in met:
            self._note(position, rule_id, int(record.record_type), group_id, detail)
        if record.record_type is RecordType.GROUP_METADATA:
            change = self._removed.discard if record.value is not None else self._removed.add
            change(group_id)
        if record.record_type in _COMMITS and run.producer_id >= 0 and record.value is not None:
            transaction = self._transactions.get(run.producer_id)
            if transaction is None:
                transaction = _Transaction(run, position)
                self._transactions[run.producer_id] = transaction
            transaction.commit_count += 1
            transaction.group_ids[group_id] = None

    def _apply(self, slot: GroupSlot, record: Record, position: Position) -> list[Met]:
        """Replay the record, and what the loader does and the lenient replay leaves out; says what replay refuses."""
        step = ReplayStep(slot, record, position, Policy.LENIENT)
        playback.RULES[record.record_type](step, record.key, record.value)
        slot.last_log_offset = position.log_offset
        found = [each for each in step.changes if isinstance(each, Anomaly)]
        met: list[Met] = [(each.kind, each.detail) for each in found if each.kind in _BY_REPLAY]
        group = slot.group
        if not isinstance(group, ModernGroup):
            return met
        key: Any = record.key
        if record.value is None:
            if record.record_type is RecordType.STREAMS_GROUP_METADATA and not group.members:
                # Unlike the others, it may go while targets are left.
                slot.group = None if group.assignment_epoch == -1 else group
        elif record.record_type is RecordType.CONSUMER_GROUP_MEMBER_METADATA:
            # The loader gives the member anew what it holds.
            member = group.members.get(key.member_id)
            if group.disputed and member is not None:
                group.take(member.member_id, union(member.assigned, member.pending_revocation))
        elif any(each.kind is AnomalyKind.BAD_VALUE for each in found):
            # Releases that do not check the value take it, also where it is below the one before.
            value: Any = record.value
            before = group.assignment_epoch
            group.assignment_epoch = getattr(value, "assignment_epoch", before)
            if group.has_assignment_record and group.assignment_epoch < before:
                detail = f"assignment epoch {group.assignment_epoch} after {before}"
                met.append((AnomalyKind.EPOCH_WENT_BACK, detail))
        return met

    def _take_marker(self, position: Position, key: bytes | None, value: bytes | None) -> None:
        if key is None or len(key) < MARKER_KEY.size or int.from_bytes(key[:2], signed=True) < 0:
            self._note(position, _BAD_MARKER, None, None, "the control record has no sound key")
            return
        marker = parse_marker(key, value or bytes(6))
        if not isinstance(marker, TransactionMarker):
            return
        ended = self._transactions.pop(position.producer_id, None)
        for group_id in () if ended is None else ended.group_ids:
            slot = self._slots[group_id]
            end_transaction(slot, position.producer_id, position, committed=marker.committed)

    def _refuse(
        self, position: Position, refusal: NotDecoded, key: bytes | None, *, is_tombstone: bool
    ) -> bool:
        """Whether the load has failed, at this record or before."""
        group = group_bytes(key)
        group_id = None if group is None else group.decode(errors="replace")
        self._note(position, refusal.rule_id, refusal.record_type, group_id, refusal.detail)
        if self._failure is None and group_id is not None:
            if not is_tombstone:
                self._groups_skipped[group_id] = group_type_of(refusal.record_type)
            elif refusal.record_type in _GROUPS_OWN:
                self._groups_skipped.pop(group_id, None)
        return self._failure is not None

    def _note(
        self,
        position: Position,
        rule_id: str,
        record_type: int | None,
        group_id: str | None,
        detail: str,
    ) -> None:
        if self._failure is not None or self._is_unknown:
            return
        applied: AppliedRule | None = self._rules.find(rule_id, record_type)
        if applied is None:
            return
        noticed = loading.Notice(position.log_offset, record_type, group_id, applied, detail)
        if applied.case.effect == "fails":
            self._failure = noticed
        elif applied.case.effect == "skips":
            self._skipped.add(noticed)
        elif applied.rule.loses:
            self._tolerated.add(noticed)

    def _stop(self, stop: loader_bytes.LoaderStop) -> None:
        if stop.rule_id is None:
            self._is_unknown |= self._failure is None
            return
        if stop.rule_id == loader_bytes.NOT_OPENED:
            self._failure = None  # nothing was loaded before
        at = -1 if stop.base_offset is None else stop.base_offset
        position = Position(self._log_partition, at, -1)
        self._note(position, stop.rule_id, None, None, stop.detail)

    def finish(self, *, with_groups: bool = False) -> loading.Loading:
        """What the coordinator did with all of it. `with_groups`: also list the groups of one that loads."""
        self._note_what_is_left()
        outcome: loading.LoadOutcome = "loads"
        if self._failure is not None:
            outcome = "fails"
        elif self._is_unknown:
            outcome = "unknown"
        lost = self._lost_groups()
        return loading.Loading(
            log_partition=self._log_partition,
            coordinator=self._coordinator,
            outcome=outcome,
            failed_at_offset=self._failed_at(),
            failure=self._failure,
            serves_nothing=self._failure is not None
            and self._failure.rule_id != loader_bytes.NOT_OPENED
            and self._coordinator.kind == "classic",
            skipped_count=self._skipped.count,
            skipped=tuple(self._skipped.first),
            tolerated_count=self._tolerated.count,
            tolerated=tuple(self._tolerated.first),
            lost_groups=lost,
            open_transactions=tuple(
                transaction.described(producer_id)
                for producer_id, transaction in self._transactions.items()
            ),
            damage=tuple(self._damage),
            log_ends=tuple(self._log_ends),
            shape=self._shape.finish(),
            groups=self._groups() if with_groups else (),
        )

    def _note_what_is_left(self) -> None:
        """What only the end of the log shows: assignments without a member, removed groups with open transactions."""
        for slot in self._slots.values():
            group = slot.group
            position = Position(self._log_partition, slot.last_log_offset, -1)
            if slot.group_id in self._removed and slot.pending_offsets and not slot.offsets:
                detail = (
                    "the group was removed, and has no offsets but those of an open transaction"
                )
                record_type = RecordType.GROUP_METADATA
                self._note(position, _REMOVED_IN_USE, record_type, slot.group_id, detail)
            if not isinstance(group, ModernGroup):
                continue
            current, target = _ASSIGNMENTS[group.group_type]
            for member in group.members.values():
                if not member.described:
                    detail = f"member {member.member_id} has no metadata"
                    self._note(position, _NO_METADATA, current, slot.group_id, detail)
            for member_id in group.targets.keys() - group.members.keys():
                detail = f"the group has no member {member_id}"
                self._note(position, _NO_MEMBER, target, slot.group_id, detail)

    def _failed_at(self) -> int | None:
        failure = self._failure
        return None if failure is None or failure.log_offset < 0 else failure.log_offset

    def _lost_groups(self) -> tuple[loading.GroupAtEnd, ...]:
        if self._failure is not None:
            return self._groups()
        return tuple(
            _at_end(self._slots.get(group_id) or GroupSlot(group_id), group_type)
            for group_id, group_type in self._groups_skipped.items()
            if group_type is not None
        )

    def _groups(self) -> tuple[loading.GroupAtEnd, ...]:
        return tuple(
            _at_end(slot, type_of(slot.group))
            for slot in self._slots.values()
            if slot.group is not None
        )


class _Listed:
    """Counts what was noticed, and keeps the first."""

    def __init__(self) -> None:
        self.count = 0
        self.first: list[loading.Notice] = []

    def add(self, noticed: loading.Notice) -> None:
        self.count += 1
        if len(self.first) < loading.LISTED_MAX:
            self.first.append(noticed)


class _Transaction:
    """A transaction that is open so far."""

    def __init__(self, run: Run, first: Position) -> None:
        self._producer_epoch = run.producer_epoch
        self._first = first
        self.group_ids: dict[str, None] = {}
        self.commit_count = 0

    def described(self, producer_id: int) -> loading.OpenTransaction:
        return loading.OpenTransaction(
            producer_id,
            self._producer_epoch,
            self._first.log_offset,
            self._first.record_timestamp_ms,
            tuple(self.group_ids),
            self.commit_count,
        )


def _at_end(slot: GroupSlot, group_type: GroupType) -> loading.GroupAtEnd:
    offsets: dict[str, dict[int, int]] = {}
    for (topic, number), committed in sorted(slot.offsets.items()):
        offsets.setdefault(topic, {})[number] = committed.committed_offset
    members = 0 if slot.group is None else len(slot.group.members)
    return loading.GroupAtEnd(slot.group_id, group_type.value, members, offsets)
