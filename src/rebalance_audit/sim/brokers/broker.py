"""Brokers that serve the partitions of `__consumer_offsets`: everything between a request and the log.

A result's records are applied at once, as in Kafka, and wait in an open batch; its replies wait with them. When the
batch is flushed, the records are in the log and the replies go out. A broker that dies loses its open batches:
no client got a response for their records, and the next coordinator replays the log without them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Final, NamedTuple, TypeAlias

from rebalance_audit.audit.verdicts.cause import RebalanceCause
from rebalance_audit.coordinator.group_coordinator import GroupCoordinator
from rebalance_audit.coordinator.handling import (
    CoordinatorConfig,
    ErrorCode,
    IdSource,
    Prolonged,
    RecordDraft,
    Response,
    Result,
    Timer,
    TimerKind,
)
from rebalance_audit.coordinator.ledger import LedgerShard
from rebalance_audit.coordinator.offset_removal import CHECK_INTERVAL_MS
from rebalance_audit.coordinator.reasons import Bump, Departure, Meanwhile
from rebalance_audit.coordinator.requests.offsets import TopicsDeleted
from rebalance_audit.replay.changes import Change, Position
from rebalance_audit.replay.groups import GroupSlot
from rebalance_audit.replay.shard import Shard
from rebalance_audit.replay.step import Policy
from rebalance_audit.sim.brokers.batch_writer import NO_PRODUCER, Codec, LoggedRecord, Producer
from rebalance_audit.sim.brokers.compaction import DELETE_RETENTION_MS
from rebalance_audit.sim.brokers.dialects import (
    LOG_RULES,
    Commit,
    encode_commits,
    encode_draft,
    plain_commits,
)
from rebalance_audit.sim.brokers.partition_log import (
    LoggedBatch,
    Marker,
    PartitionLog,
    replay_batch,
)
from rebalance_audit.sim.brokers.refusals import refusal
from rebalance_audit.sim.brokers.topics import Topics
from rebalance_audit.sim.scheduler import Scheduler
from rebalance_audit.wire.records import Record, decode_record

Respond: TypeAlias = Callable[[Response], None]
Changed: TypeAlias = list[tuple[GroupSlot, list[Change]]]


def by_group(changed: Changed) -> Changed:
    """All changes of each slot, in the order of the records."""
    grouped: dict[str, tuple[GroupSlot, list[Change]]] = {}
    for slot, changes in changed:
        grouped.setdefault(slot.group_id, (slot, []))[1].extend(changes)
    return list(grouped.values())


_BATCH_BYTES_MAX: Final = 1_000_000


class Happening(NamedTuple):
    """Why a coordinator acted: a request or a timer."""

    request: tuple[object, ...] | None
    timer: Timer | None = None
    intent: RebalanceCause | None = None
    """What the sender wants with the request, where the request itself does not say."""
    bumps: tuple[Bump, ...] = ()
    """Why the coordinator started new epochs or generations of groups."""
    departures: tuple[Departure, ...] = ()
    """Which members the coordinator removed, and why."""
    meanwhile: tuple[Meanwhile, ...] = ()
    """What happened in join phases under way."""


class Observer:
    """Sees everything that the coordinators do; a subclass looks at what it needs."""

    def moved(self, shard: "ServedPartition", happening: Happening, changed: Changed) -> None:
        """A request or timer was served and its records, if any, were applied."""

    def answered(self, shard: "ServedPartition", request: Response, response: Response) -> None:
        """A response leaves the coordinator."""

    def flushed(self, shard: "ServedPartition", batch: LoggedBatch) -> None:
        """A batch is in the log."""

    def stopped(self, shard: "ServedPartition") -> None:
        """A coordinator is gone, with everything that it had not written."""

    def loaded(self, shard: "ServedPartition", lost: Sequence[LoggedRecord]) -> None:
        """A coordinator took over; `lost` is what the previous one never wrote."""


@dataclass(slots=True)
class LogOptions:
    """How the offsets topic is written."""

    codec: Codec = Codec.NONE
    stamps_append_time: bool = False
    segment_bytes: int = 104_857_600
    delete_retention_ms: int = DELETE_RETENTION_MS


class ServedPartition:
    """One partition of the offsets topic with the coordinator that serves it."""

    def __init__(
        self,
        log: PartitionLog,
        scheduler: Scheduler,
        topics: Topics,
        config: CoordinatorConfig,
        ids: IdSource,
        options: LogOptions,
        observers: Sequence[Observer],
        clock_offsets_ms: Sequence[int] = (0,),
    ) -> None:
        """The first coordinator of an empty log serves at once.

        `clock_offsets_ms`: how far the clock of each broker is ahead; the brokers lead in turn.
        """
        self.number = log.log_partition
        self.log = log
        self.config = config
        self.leader_epoch = 0
        self.is_active = False
        self.shard = LedgerShard(self.number, Policy.STRICT)
        self._scheduler = scheduler
        self._topics = topics
        self._ids = ids
        self._options = options
        self._observers = observers
        self._linger_ms = LOG_RULES[config.dialect].linger_ms
        self._tokens = count(1)
        self._waiting: dict[int, tuple[Response, Respond]] = {}
        self._open: list[LoggedRecord] = []
        self._open_bytes = 0
        self._open_replies: list[tuple[int, Response]] = []
        self._due_replies: list[tuple[int, Response]] = []
        """Those of a batch that had to be written for another one, which comes first: who hears may ask at once."""
        self._clock_offsets_ms = clock_offsets_ms
        self._deadlines: dict[Timer, int] = {}
        """Timer -> when it fires, in the simulation's time."""
        self._wakeups: dict[Timer, int] = {}
        """Timer -> the time at which the scheduler looks at it, epoch milliseconds; never later than its deadline."""
        self._load()

    @property
    def clock_offset_ms(self) -> int:
        """How far the clock of the leading broker is ahead of the simulation's time."""
        offsets = self._clock_offsets_ms
        return offsets[(self.number + self.leader_epoch) % len(offsets)]

    @property
    def now_ms(self) -> int:
        """What the clock of the leading broker shows, epoch milliseconds."""
        return self._scheduler.now_ms + self.clock_offset_ms

    def member_ids(self, group_id: str) -> tuple[str, ...]:
        """The members that the coordinator has, as an administrator sees them."""
        live = self.coordinator.live_group(group_id)
        slot = self.shard.slot(group_id)
        if live is not None:
            return tuple(live.members)
        return tuple(slot.group.members) if slot is not None and slot.group is not None else ()

    @property
    def next_offset(self) -> int:
        """Log offset of the next record, after those of the open batch."""
        return self.log.next_offset + len(self._open)

    # --- requests and timers -----------------------------------------------------------------------

    def receive(
        self, request: Response, respond: Respond, intent: RebalanceCause | None = None
    ) -> None:
        """Serve a request, or refuse it while no coordinator is active."""
        if not self.is_active:
            respond(refusal(request, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS))
            return
        token = next(self._tokens)
        self._waiting[token] = (request, respond)
        result = self.coordinator.handle(request, token, self.now_ms)
        self._carry_out(result, Happening(request, None, intent))

    def prolong(self, request: Response) -> Prolonged | None:
        """Serve a quiet heartbeat directly; None for a request that must be received in full."""
        if self._open or not self.is_active:
            return None
        prolonged = self.coordinator.prolonged(request, self.now_ms)
        if prolonged is not None:
            self._arm(prolonged.session, prolonged.deadline_ms)
        return prolonged

    def topics_changed(self) -> None:
        """Pass the new image to the coordinator."""
        if self.is_active:
            result = self.coordinator.image_changed(self._topics.image, self.now_ms)
            self._carry_out(result, Happening(None))

    def topics_deleted(self, deleted: TopicsDeleted) -> None:
        """Remove the offsets of deleted topics."""
        if self.is_active:
            result = self.coordinator.handle(deleted, 0, self.now_ms)
            self._carry_out(result, Happening(deleted))

    def _wake(self, timer: Timer, leader_epoch: int, at_ms: int) -> None:
        if leader_epoch != self.leader_epoch or self._wakeups.get(timer) != at_ms:
            return
        del self._wakeups[timer]
        deadline_ms = self._deadlines.get(timer)
        if deadline_ms is None:
            return
        if deadline_ms > self._scheduler.now_ms:
            self._watch(timer, deadline_ms)
            return
        del self._deadlines[timer]
        result = self.coordinator.fire(timer, self.now_ms)
        self._carry_out(result, Happening(None, timer))

    def _watch(self, timer: Timer, at_ms: int) -> None:
        at_ms = max(at_ms, self._scheduler.now_ms)
        self._wakeups[timer] = at_ms
        leader_epoch = self.leader_epoch
        self._scheduler.at(at_ms, lambda: self._wake(timer, leader_epoch, at_ms))

    def _arm(self, timer: Timer, deadline_ms: int | None) -> None:
        if deadline_ms is None:
            self._deadlines.pop(timer, None)
            return
        deadline_ms -= self.clock_offset_ms
        self._deadlines[timer] = deadline_ms
        wakeup_ms = self._wakeups.get(timer)
        if wakeup_ms is None or wakeup_ms > deadline_ms:
            self._watch(timer, deadline_ms)

    # --- writes ------------------------------------------------------------------------------------

    def _carry_out(self, result: Result, happening: Happening) -> None:
        changed: Changed = []
        if result.transaction is not None:
            changed = self._write_transaction(result)
        elif result.records:
            changed = self._write(result.records)
        happening = happening._replace(
            bumps=result.bumps, departures=result.departures, meanwhile=result.meanwhile
        )
        for observer in self._observers:
            observer.moved(self, happening, changed)
        if self._open:
            self._open_replies += result.replies
        else:
            self._due_replies += result.replies
        self._send_due()
        for timer, deadline_ms in result.timers:
            self._arm(timer, deadline_ms)

    def _write(self, drafts: Sequence[RecordDraft]) -> Changed:
        now_ms = self.now_ms
        commits = plain_commits(drafts, self.config.dialect)
        written = self._encode(drafts, commits)
        size = 0
        for _, _, key, value in written:
            size += len(key or b"") + len(value or b"")
        if self._open and self._open_bytes + size > _BATCH_BYTES_MAX:
            self._write_open()
            written = self._encode(drafts, commits)
        if not self._open:
            leader_epoch = self.leader_epoch
            self._scheduler.after(self._linger_ms, lambda: self._linger_over(leader_epoch))
        self._open += written
        self._open_bytes += size
        if commits is not None:
            first = Position(self.number, written[0].log_offset, now_ms, self.leader_epoch)
            slot, changes = self.shard.apply_commits(commits, first)
            self.coordinator.applied(slot, changes)
            return [(slot, changes)]
        changed: Changed = []
        for log_offset, at_ms, key, value in written:
            record = decode_record(key, value)
            assert isinstance(record, Record), record
            position = Position(self.number, log_offset, at_ms, self.leader_epoch)
            slot, changes = self.shard.apply(record, position)
            self.coordinator.applied(slot, changes)
            changed.append((slot, changes))
        return changed

    def _encode(
        self, drafts: Sequence[RecordDraft], commits: Sequence[Commit] | None = None
    ) -> list[LoggedRecord]:
        dialect, now_ms = self.config.dialect, self.now_ms
        first = self.next_offset
        if commits is not None:
            encoded = encode_commits(commits, dialect)
            return [
                LoggedRecord(first + place, now_ms, key, value)
                for place, (key, value) in enumerate(encoded)
            ]
        return [
            LoggedRecord(first + place, now_ms, *encode_draft(draft, dialect))
            for place, draft in enumerate(drafts)
        ]

    def _write_transaction(self, result: Result) -> Changed:
        """Append a transactional batch or a marker; it never shares a batch with anything else."""
        self._write_open()
        transaction = result.transaction
        assert transaction is not None
        producer = Producer(transaction.producer_id, transaction.producer_epoch)
        now_ms = self.now_ms
        if transaction.committed is None:
            batch = self._batch(self._encode(result.records), producer)
        else:
            base = self.log.next_offset
            marker = Marker(transaction.committed, transaction.coordinator_epoch)
            batch = LoggedBatch(base, base, self.leader_epoch, [], now_ms, producer, marker)
        changed = replay_batch(self.number, batch, self.shard)
        for slot, changes in changed:
            self.coordinator.applied(slot, changes)
        self._append(batch)
        return changed

    def append_bulk(self, records: Sequence[LoggedRecord]) -> None:
        """Append a batch of offset commits that no client requested and no client waits for.

        The records begin at `next_offset`. Only the last one of every key is applied: the others would be replaced by
        it at once.
        """
        self._write_open()
        batch = self._batch(list(records))
        batch.packed = batch.encoded()
        last_of_key = {record.key: record for record in records}
        batch.records = sorted(last_of_key.values())
        for slot, changes in replay_batch(self.number, batch, self.shard):
            self.coordinator.applied(slot, changes)
        self._append(batch)
        self._send_due()

    def _batch(self, records: list[LoggedRecord], producer: Producer = NO_PRODUCER) -> LoggedBatch:
        stamps = self._options.stamps_append_time
        append_time_ms = self.now_ms if stamps else None
        max_ms = max(record.record_timestamp_ms for record in records)
        return LoggedBatch(
            records[0].log_offset,
            records[-1].log_offset,
            self.leader_epoch,
            records,
            max_ms if append_time_ms is None else append_time_ms,
            producer,
            codec=self._options.codec,
            append_time_ms=append_time_ms,
        )

    def _linger_over(self, leader_epoch: int) -> None:
        if leader_epoch == self.leader_epoch:
            self.flush()

    def flush(self) -> None:
        """Append the open batch and send the replies that waited for it; what a dead broker left open is lost."""
        if self.is_active:
            self._write_open()
            self._send_due()

    def _write_open(self) -> None:
        """Append the open batch, if there is one; its replies are due then."""
        if not self._open:
            return
        batch = self._batch(self._open)
        self._due_replies += self._open_replies
        self._open, self._open_bytes, self._open_replies = [], 0, []
        self._append(batch)

    def _append(self, batch: LoggedBatch) -> None:
        self.log.append(batch)
        for observer in self._observers:
            observer.flushed(self, batch)

    def _send_due(self) -> None:
        replies, self._due_replies = self._due_replies, []
        for token, response in replies:
            asked = self._waiting.pop(token, None)
            if asked is None:
                continue
            request, respond = asked
            for observer in self._observers:
                observer.answered(self, request, response)
            respond(response)

    def replayed(self) -> Shard:
        """A new shard with the log and the open batch replayed."""
        shard = Shard(self.number, Policy.LENIENT if self.log.was_cleaned else Policy.STRICT)
        self.log.replay_outcome_into(shard)
        if self._open and self.is_active:
            replay_batch(self.number, self._batch(self._open), shard)
        return shard

    # --- fail-over ---------------------------------------------------------------------------------

    def resign(self) -> None:
        """The broker hands the partition over cleanly: everything is written first."""
        self.flush()
        self.die()

    def die(self) -> None:
        """The broker is gone, with its unwritten records and unsent answers."""
        self.is_active = False
        for observer in self._observers:
            observer.stopped(self)
        self._waiting.clear()
        self._open_replies.clear()
        self._deadlines.clear()
        self._wakeups.clear()

    def configure(self, config: CoordinatorConfig) -> None:
        """Configure the next coordinator with this."""
        assert not self.is_active
        self.config = config
        self._linger_ms = LOG_RULES[config.dialect].linger_ms

    def take_over(self) -> None:
        """Another broker loads the log and serves."""
        assert not self.is_active
        self.leader_epoch += 1
        self._load()

    def _load(self) -> None:
        lost, self._open, self._open_bytes = self._open, [], 0
        was_cleaned = self.log.was_cleaned
        self.shard = LedgerShard(self.number, Policy.LENIENT if was_cleaned else Policy.STRICT)
        self.log.replay_into(self.shard)
        self.shard.policy = Policy.STRICT
        now_ms = self.now_ms
        self.coordinator = GroupCoordinator(self.shard, self.config, self._topics.image, self._ids)
        self.is_active = True
        for observer in self._observers:
            observer.loaded(self, lost)
        result = self.coordinator.loaded(now_ms)
        self._carry_out(result, Happening(None))
        self._arm(Timer(TimerKind.EXPIRY), now_ms + CHECK_INTERVAL_MS)
