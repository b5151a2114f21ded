"""The committed offsets of a log that is being written, as OffsetFetch shows them without `require_stable`.

The rule is that of Kafka's OffsetMetadataManager: a commit of a transaction is pending until the producer's marker.
ABORT drops it, a tombstone deletes it, and COMMIT makes it the group's offset unless a later record has done so.
"""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

from rebalance_audit.audit.commits.summary import NO_POSITION, position_in
from rebalance_audit.audit.ownership.commit_book import CommittedPosition
from rebalance_audit.wire import key_bytes
from rebalance_audit.wire.generated.messages import OffsetCommitKey
from rebalance_audit.wire.records import encode_key
from rebalance_audit.wire.segments.batches import TransactionMarker, parse_marker
from rebalance_audit.wire.segments.columns import ColumnChunk, RecordRow, Run

if TYPE_CHECKING:
    from rebalance_audit.segments.commits import CommitsApart


class _Commit(NamedTuple):
    """One offset commit; its key is that of its record, which names group, topic and partition."""

    log_partition: int
    log_offset: int
    committed: int
    at_ms: int
    """Since when it is the group's offset (epoch ms)."""


class StableOffsets:
    """Takes the log in order, partition by partition. Until its first transaction, summaries of commits will do."""

    def __init__(self, groups: tuple[bytes, ...]) -> None:
        """`groups`: only keys that have one of these from `TYPE_BYTES` on; all keys if empty."""
        self._groups = groups
        self._stable: dict[bytes, _Commit] = {}
        self._pending: dict[tuple[int, int], dict[bytes, _Commit]] = {}
        """Log partition and producer id -> the commits of its open transaction."""
        self._transactional: set[bytes] = set()
        """Keys that a transaction has committed or tried to."""
        self._with_transactions: set[int] = set()
        """Log partitions."""

    def take(self, log_partition: int, chunk: ColumnChunk, apart: "CommitsApart") -> None:
        """A piece of the log, and the summaries of its commits."""
        if any(run.producer_id >= 0 for run in chunk.runs):
            self._with_transactions.add(log_partition)
        if log_partition in self._with_transactions:
            self._take_in_order(log_partition, chunk)
            return
        for _, group, summaries in apart.commits:
            if not self._groups or len(group).to_bytes(2) + group in self._groups:
                for key, numbers in summaries.items():
                    last_ms, log_offset, committed = numbers[1], numbers[3], numbers[10]
                    self._stable[key] = _Commit(log_partition, log_offset, committed, last_ms)

    def miss(self, log_partition: int) -> None:
        """Records are missing, perhaps the markers of the open transactions."""
        for producer in [each for each in self._pending if each[0] == log_partition]:
            del self._pending[producer]

    def forget(self, log_partition: int) -> None:
        """What was taken of the partition turns out not to be in the log."""
        self.miss(log_partition)
        self._stable = {
            key: commit
            for key, commit in self._stable.items()
            if commit.log_partition != log_partition
        }

    def of(
        self, positions: Iterable[tuple[str, CommittedPosition]]
    ) -> Iterator[tuple[str, CommittedPosition]]:
        """The positions of groups, with the stable offset where the last commit is one of a transaction."""
        for group_id, position in positions:
            key = encode_key(OffsetCommitKey(group_id, position.topic, position.topic_partition))
            if key not in self._transactional:
                yield group_id, position
            elif (commit := self._stable.get(key)) is not None:
                stable = position._replace(committed=commit.committed, at_ms=commit.at_ms)
                yield group_id, stable

    def _take_in_order(self, log_partition: int, chunk: ColumnChunk) -> None:
        for run, rows in chunk.by_run():
            if run.is_control:
                self._end_transactions((log_partition, run.producer_id), rows)
            else:
                self._take_run(log_partition, run, rows)

    def _end_transactions(self, producer: tuple[int, int], rows: Iterable[RecordRow]) -> None:
        for _, at_ms, key, value in rows:
            marker = parse_marker(key, value)
            if not isinstance(marker, TransactionMarker):
                continue
            pending = self._pending.pop(producer, {})
            for of_key, commit in pending.items() if marker.committed else ():
                stable = self._stable.get(of_key)
                if stable is None or commit.log_offset > stable.log_offset:
                    self._stable[of_key] = commit._replace(at_ms=at_ms)

    def _take_run(self, log_partition: int, run: Run, rows: Iterable[RecordRow]) -> None:
        for log_offset, at_ms, key, value in rows:
            if key is None or not key.startswith(key_bytes.OFFSET_COMMIT_PREFIXES):
                continue
            if self._groups and not key.startswith(self._groups, key_bytes.TYPE_BYTES):
                continue
            if value is None:
                self._stable.pop(key, None)
                for pending in self._pending.values():
                    pending.pop(key, None)
            elif (committed := position_in(value)) != NO_POSITION:
                commit = _Commit(log_partition, log_offset, committed, at_ms)
                if run.producer_id < 0:
                    self._stable[key] = commit
                else:
                    self._transactional.add(key)
                    self._pending.setdefault((log_partition, run.producer_id), {})[key] = commit
