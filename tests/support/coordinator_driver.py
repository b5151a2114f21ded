"""A coordinator with everything around it that a test needs: a clock, timers, a log, topics, ids.

The driver does what a broker does: it appends the records of a result as bytes, reads them back, replays them under the
strict policy, sends the replies, and fires timers when the clock passes their deadlines.
"""

import heapq
import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from rebalance_audit.coordinator.group_coordinator import GroupCoordinator
from rebalance_audit.coordinator.handling import (
    CoordinatorConfig,
    Dialect,
    RecordDraft,
    Result,
    Timer,
    TopicDescription,
)
from rebalance_audit.coordinator.ledger import LedgerShard
from rebalance_audit.coordinator.reasons import Bump
from rebalance_audit.replay.changes import Change, Position
from rebalance_audit.replay.groups import Group, GroupSlot
from rebalance_audit.replay.shard import Shard
from rebalance_audit.replay.step import Policy
from rebalance_audit.wire.generated.messages import (
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupPartitionMetadataValue,
    ConsumerGroupTargetAssignmentMemberValue,
    GroupMetadataValue,
    OffsetCommitValue,
)
from rebalance_audit.wire.records import Record, decode_record, encode_key, encode_value
from rebalance_audit.wire.schema import CURRENT_LAYOUT

START_MS = 1_000
"""What the clock shows when a test begins."""


class NumberedIds:
    """Ids that a test can foretell: id-1, id-2 and so on."""

    def __init__(self) -> None:
        """The first is id-1."""
        self._numbers = itertools.count(1)

    def uuid_text(self) -> str:
        """The next id."""
        return f"id-{next(self._numbers)}"


@dataclass(slots=True)
class Topics:
    """The cluster's topics, as an image that a test changes by making a new one."""

    by_name: Mapping[str, TopicDescription]
    metadata_version: int = 1

    @classmethod
    def of(cls, metadata_version: int = 1, /, **partition_counts: int) -> "Topics":
        """Topics with this many partitions each; the id is the first letters of the name, so it stays the same."""
        return cls(
            {
                name: TopicDescription(
                    name.encode().ljust(16, b"\1")[:16], name, ((),) * partition_count
                )
                for name, partition_count in sorted(partition_counts.items())
            },
            metadata_version,
        )

    def topic(self, name: str) -> TopicDescription | None:
        """The topic of that name."""
        return self.by_name.get(name)

    def topic_by_id(self, topic_id: bytes) -> TopicDescription | None:
        """The topic of that id."""
        return next((each for each in self.by_name.values() if each.topic_id == topic_id), None)

    def names(self) -> tuple[str, ...]:
        """Names of all topics, sorted."""
        return tuple(sorted(self.by_name))


class Written(NamedTuple):
    """One record of the log; a marker has no record."""

    position: Position
    record: Record | None
    committed: bool | None = None


def value_version_of(draft: RecordDraft) -> int:
    """The value version that the newest releases write."""
    match draft.value:
        case OffsetCommitValue(expire_timestamp=-1):
            return 4
        case OffsetCommitValue():
            return 1
        case GroupMetadataValue():
            return 3
    return 0


@dataclass(slots=True)
class CoordinatorDriver:
    """One coordinator of one log partition, driven by hand."""

    config: CoordinatorConfig = field(default_factory=CoordinatorConfig)
    topics: Topics = field(default_factory=lambda: Topics.of(foo=6, bar=3))
    now_ms: int = START_MS
    log: list[Written] = field(default_factory=list)
    replies: dict[int, tuple[object, ...]] = field(default_factory=dict)
    """Every answer, by token."""
    changes: list[Change] = field(default_factory=list)
    """What the last result changed."""
    bumps: list[Bump] = field(default_factory=list)
    """Why groups moved on, of all results."""
    deadlines: dict[Timer, int] = field(default_factory=dict)
    """Armed timers."""
    shard: Shard = field(init=False)
    coordinator: GroupCoordinator = field(init=False)
    _ids: NumberedIds = field(default_factory=NumberedIds)
    _tokens: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))
    _queue: list[tuple[int, int, Timer]] = field(default_factory=list)
    _armed: "itertools.count[int]" = field(default_factory=itertools.count)

    def __post_init__(self) -> None:
        """An empty log, loaded."""
        self._start()

    def _start(self) -> None:
        self.shard = LedgerShard(0, Policy.STRICT)
        for written in self.log:
            self._replay(self.shard, written)
        self.coordinator = GroupCoordinator(self.shard, self.config, self.topics, self._ids)
        self.deadlines.clear()
        self._queue.clear()
        self._carry_out(self.coordinator.loaded(self.now_ms))

    # --- what a test does --------------------------------------------------------------------------

    def send(self, request: tuple[object, ...]) -> int:
        """Bring a request; the token finds its answer in `replies`, now or later."""
        token = next(self._tokens)
        self._carry_out(self.coordinator.handle(request, token, self.now_ms))
        return token

    def ask(self, request: tuple[object, ...]) -> tuple[object, ...]:
        """Bring a request that is answered at once."""
        return self.replies[self.send(request)]

    def sleep(self, duration_ms: int) -> None:
        """Let time pass; timers fire in the order of their deadlines, at their deadlines."""
        until_ms = self.now_ms + duration_ms
        while (due_ms := self.next_deadline_ms()) is not None and due_ms <= until_ms:
            self.now_ms = max(self.now_ms, due_ms)
            self.fire_next()
        self.now_ms = until_ms

    def next_deadline_ms(self) -> int | None:
        """When the next timer fires; None when none is armed."""
        while self._queue and self.deadlines.get(self._queue[0][2]) != self._queue[0][0]:
            heapq.heappop(self._queue)
        return self._queue[0][0] if self._queue else None

    def fire_next(self) -> Timer:
        """Fire the timer with the earliest deadline now."""
        assert self.next_deadline_ms() is not None
        _, _, timer = heapq.heappop(self._queue)
        del self.deadlines[timer]
        self._carry_out(self.coordinator.fire(timer, self.now_ms))
        return timer

    def change_topics(self, topics: Topics) -> None:
        """The metadata log shows these topics from now on."""
        self.topics = topics
        self._carry_out(self.coordinator.image_changed(topics, self.now_ms))

    def fail_over(self) -> None:
        """Another broker loads the log and takes over; parked requests are never answered."""
        self._start()

    def load(self, records: Iterable[Record]) -> None:
        """Find these records at the end of the log, and load it all."""
        for record in records:
            position = Position(0, len(self.log), self.now_ms, 0)
            self.log.append(Written(position, record))
        self._start()

    # --- what a test looks at ----------------------------------------------------------------------

    def group(self, group_id: str = "g") -> Group | None:
        """The group that replay holds."""
        slot = self.shard.slot(group_id)
        return None if slot is None else slot.group

    def slot(self, group_id: str = "g") -> GroupSlot:
        """The slot of a group id that the log names."""
        slot = self.shard.slot(group_id)
        assert slot is not None
        return slot

    def records_since(self, log_length: int) -> list[Record]:
        """Records after the first `log_length` entries of the log."""
        return [entry.record for entry in self.log[log_length:] if entry.record is not None]

    def reloaded(self) -> Shard:
        """Another shard with the same log replayed."""
        shard = Shard(0, Policy.STRICT)
        for written in self.log:
            self._replay(shard, written)
        return shard

    # --- what a broker does ------------------------------------------------------------------------

    def _carry_out(self, result: Result) -> None:
        self.bumps += result.bumps
        self.changes = []
        transaction = result.transaction
        producer_id = -1 if transaction is None else transaction.producer_id
        if transaction is not None and transaction.committed is not None:
            assert not result.records
            position = Position(
                0, len(self.log), self.now_ms, 0, producer_id, is_transactional=True
            )
            self._append(Written(position, None, transaction.committed))
        for draft in result.records:
            record = _as_read(draft, self.config.dialect)
            position = Position(0, len(self.log), self.now_ms, 0, producer_id, producer_id >= 0)
            self._append(Written(position, record))
        for token, response in result.replies:
            assert token not in self.replies, f"request {token} was answered twice"
            self.replies[token] = response
        for timer, deadline_ms in result.timers:
            if deadline_ms is None:
                self.deadlines.pop(timer, None)
            else:
                self.deadlines[timer] = deadline_ms
                heapq.heappush(self._queue, (deadline_ms, next(self._armed), timer))

    def _append(self, written: Written) -> None:
        self.log.append(written)
        for slot, changes in self._replay(self.shard, written):
            self.changes += changes
            self.coordinator.applied(slot, changes)

    @staticmethod
    def _replay(shard: Shard, written: Written) -> Iterable[tuple[GroupSlot, list[Change]]]:
        if written.record is not None:
            return [shard.apply(written.record, written.position)]
        assert written.committed is not None
        return shard.apply_transaction_marker(
            written.position.producer_id, written.committed, written.position
        )


EARLY_ACCESS_LAYOUT = "3.7"
EARLY_ACCESS_VALUES = (
    ConsumerGroupPartitionMetadataValue,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupCurrentMemberAssignmentValue,
)


def _as_read(draft: RecordDraft, dialect: Dialect) -> Record:
    """The record as a reader of the log gets it, by way of its bytes in the release's layout."""
    is_early = dialect is Dialect.R3_7 and isinstance(draft.value, EARLY_ACCESS_VALUES)
    layout = EARLY_ACCESS_LAYOUT if is_early else CURRENT_LAYOUT
    version = value_version_of(draft)
    value = None if draft.value is None else encode_value(draft.value, version, layout)
    record = decode_record(encode_key(draft.key), value)
    assert isinstance(record, Record), record
    return record
