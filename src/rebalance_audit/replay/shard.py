"""The groups of one log partition."""

from collections.abc import Iterator, Sequence

from rebalance_audit.replay import offsets, playback
from rebalance_audit.replay.changes import OFFSET_COMMIT_NUMBERS, Change, Position, group_type_of
from rebalance_audit.replay.groups import GroupSlot, LostRecord
from rebalance_audit.replay.step import Policy
from rebalance_audit.wire.generated.messages import OffsetCommitKey, OffsetCommitValue, RecordType
from rebalance_audit.wire.records import Record, group_id_of


class Shard:
    """Every group of one partition of `__consumer_offsets`, kept up to date record by record."""

    def __init__(self, log_partition: int, policy: Policy = Policy.LENIENT) -> None:
        self.log_partition = log_partition
        self.policy = policy
        self._slots: dict[str, GroupSlot] = {}
        self._lost: dict[str, LostRecord] = {}
        """Group id -> its last record, if that could not be decoded."""
        self._producers: dict[int, dict[str, None]] = {}
        """Producer id -> ids of the groups that its open transaction touched, in order of first touch."""

    def slot(self, group_id: str) -> GroupSlot | None:
        """What the partition says about a group id; None if no record named it."""
        return self._slots.get(group_id)

    def slots(self) -> Iterator[GroupSlot]:
        """Every slot, including those whose group was removed, in the order their ids first appeared."""
        return iter(self._slots.values())

    def groups(self) -> Iterator[GroupSlot]:
        """The slots that hold a group now, in the same order."""
        return (slot for slot in self._slots.values() if slot.group is not None)

    def lose(self, group_id: str, position: Position, record_type: int | None) -> None:
        """A record of a group could not be decoded; offset commits change no group."""
        if record_type not in OFFSET_COMMIT_NUMBERS:
            self._slots.setdefault(group_id, GroupSlot(group_id))
            self._lost[group_id] = LostRecord(position, group_type_of(record_type))

    def lost(self) -> Iterator[tuple[GroupSlot, LostRecord]]:
        """The groups whose last record could not be decoded."""
        return ((self._slots[group_id], lost) for group_id, lost in self._lost.items())

    def apply(self, record: Record, position: Position) -> tuple[GroupSlot, list[Change]]:
        """Apply one record to its group. Raises ReplayError as `playback.apply` does."""
        group_id = group_id_of(record.key)
        slot = self._slots.get(group_id)
        if slot is None:
            slot = self._slots[group_id] = GroupSlot(group_id)
        changes = playback.apply(slot, record, position, self.policy)
        if self._lost and record.record_type not in offsets.RULES:
            self._lost.pop(group_id, None)
        if (
            position.producer_id >= 0
            and record.record_type in offsets.RULES
            and record.value is not None
        ):
            self._producers.setdefault(position.producer_id, {})[group_id] = None
        return slot, changes

    def apply_commits(
        self, commits: Sequence[tuple[OffsetCommitKey, OffsetCommitValue]], first: Position
    ) -> tuple[GroupSlot, list[Change]]:
        """Apply what one group committed with one request, from position `first` on, as `apply` does for each record.

        Raises ReplayError as `playback.apply` does.
        """
        group_id = commits[0][0].group
        slot = self._slots.get(group_id)
        if slot is not None and slot.group is not None and first.log_offset > slot.last_log_offset:
            return slot, offsets.replay_plain_commits(slot, commits, first)
        changes: list[Change] = []
        for place, (key, value) in enumerate(commits):
            record = Record(RecordType.OFFSET_COMMIT, key, value, None)
            position = first._replace(log_offset=first.log_offset + place)
            slot, found = self.apply(record, position)
            changes += found
        assert slot is not None
        return slot, changes

    def apply_transaction_marker(
        self, producer_id: int, committed: bool, position: Position
    ) -> list[tuple[GroupSlot, list[Change]]]:
        """End the producer's transaction in every group that it touched; empty if it has none open here."""
        touched = self._producers.pop(producer_id, {})
        ended: list[tuple[GroupSlot, list[Change]]] = []
        for group_id in touched:
            slot = self._slots[group_id]
            changes = playback.apply_transaction_marker(
                slot, producer_id, committed, position, self.policy
            )
            ended.append((slot, changes))
        return ended
