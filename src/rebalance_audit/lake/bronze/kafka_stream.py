"""From a live cluster into bronze, a batch at a time: up to the present end of the log, or continuously.

Bronze says where to begin: the records of a batch come in one commit, and their offsets say how far it went. What was
read and holds no record, as the markers of transactions, meta.ingested knows. Nothing beside the tables says more, so
nothing can contradict them: rows that bronze has lost are read again, and what the cluster no longer has is reported.
"""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final

from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.errors import BadRequest, LakeError
from rebalance_audit.lake.bronze.end_offsets import keep_samples
from rebalance_audit.lake.bronze.ledger import Ledger, PartitionInBronze, digest
from rebalance_audit.lake.bronze.record_table import Bronze, Ingested
from rebalance_audit.lake.records import routing
from rebalance_audit.lake.session.spark_session import FEW_RECORDS
from rebalance_audit.lake.sources.kafka_source import KafkaSource
from rebalance_audit.lake.storage.sinks import Sink
from rebalance_audit.live_cluster.kafka_cluster import ClusterView
from rebalance_audit.steps import OnProgress
from rebalance_audit.tables.schemas import TableName
from rebalance_audit.wire.segments.folder import OFFSETS_TOPIC, SourceNotReadable

POLL_SECONDS: Final = 1.0
NO_PARTITIONS: Final = "you must specify all TopicPartitions"
"""Spark's error for offsets of partitions that it does not see."""
UPDATED_EVERY_SECONDS: Final = 600.0
"""With --follow: how often the ledger is written while the log is read."""


@dataclass(frozen=True, slots=True)
class Duration:
    """When to stop."""

    follow: bool = False
    """Without it the ingest ends at the end that the log had when it began."""
    stop_after_s: float | None = None
    """With `follow`: seconds until it stops; None for no limit."""
    stopped: Callable[[], bool] = lambda: False
    """Called about once a second; the ingest stops when it returns true."""


class KafkaStream:
    """One ingest of a live cluster."""

    def __init__(
        self,
        source: KafkaSource,
        bronze: Bronze,
        duration: Duration,
        each_poll: Callable[[], None],
    ) -> None:
        """Ask the cluster for its id. Raises SourceNotReadable. `each_poll` is called now and then."""
        self._source = source
        self._duration = duration
        self._each_poll = each_poll
        self._began = time.monotonic()
        self._bronze = bronze
        self._ledger = bronze.ledger
        self._spark = bronze.ledger.lake.spark
        self._view = source.view()
        self._done = Ingested()
        self._lost: dict[int, tuple[int, int]] = {}
        """Partition -> first offset that was deleted before it was read, and the next one that was not."""
        self._gone = 0
        """Stretches where bronze has lost rows for good."""
        self._reached: dict[int, int] = {}
        """Partition -> offset up to which the log was read."""

    def run(self, on_progress: OnProgress, save: Callable[[], None]) -> Ingested:
        """Check that the cluster's log is the one in bronze, then append. `save` writes the ledger.

        Raises BadRequest, SourceNotReadable, LakeBusy and LakeNotWritable.
        """
        self._require_same_log()
        self._require_same_last_records()
        is_new = self._ledger.cluster_id is None
        if not is_new:
            added = self._view.partitions.keys() - self._ledger.partitions.keys()
            self._done.added_partitions = sorted(added)
        self._reached = self._resumed(is_new=is_new)
        self._note()
        if is_new:
            save()  # from now on the lake knows whose log it is, and where it was begun
        on_progress(f"reading {self._source.location}")
        self._began = saved = time.monotonic()
        reported = 0
        while not self._duration.stopped():
            upto = self._next_batch()
            if upto:
                self._read(upto)
            else:
                # Everything that the cluster still has is there again.
                self._gone += self._bronze.note_own_losses(self._source.spec)
                if not self._duration.follow:
                    break
            if reported != self._done.records:
                reported = self._done.records
                on_progress(f"reading {self._source.location}, {reported:,} records so far")
            now = time.monotonic()
            if now - saved >= UPDATED_EVERY_SECONDS:
                save()
                saved = now
            if self._duration.follow and not self._waited():
                break
        self._done.lost_stretches = len(self._lost) + self._gone
        self._done.quarantine_rows += self._gone
        self._done.open_transactions = {
            number: part.open_transaction_offset
            for number, part in self._ledger.partitions.items()
            if part.open_transaction_offset is not None
        }
        return self._done

    # -- checks ---------------------------------------------------------------------------------

    def _require_same_log(self) -> None:
        """Raises BadRequest for another cluster, SourceNotReadable for a log that was truncated or created again."""
        ledger, view = self._ledger, self._view
        if ledger.cluster_id not in (None, view.cluster_id):
            raise BadRequest(
                f"{self._source.cluster} is cluster {view.cluster_id}, but {ledger.cluster} in this lake is cluster"
                f" {ledger.cluster_id}: give it another name with --cluster."
            )
        if ledger.topic_id is not None and view.topic_id not in (None, ledger.topic_id):
            raise SourceNotReadable(
                f"{OFFSETS_TOPIC} at {self._source.cluster} was deleted and recreated since the last ingest (its id"
                f" was {ledger.topic_id}, and is {view.topic_id}): give the new log another cluster name."
            )
        for number, next_offset in ledger.next_offsets().items():
            ends = view.partitions.get(number)
            if ends is None or ends.end < next_offset:
                end = "is not there" if ends is None else f"ends at offset {ends.end}"
                raise SourceNotReadable(
                    f"Partition {number} of {OFFSETS_TOPIC} at {self._source.cluster} {end}, but the lake has its"
                    f" records up to offset {next_offset - 1}: the log was truncated or recreated; give it a cluster"
                    " name of its own."
                )

    def _require_same_last_records(self) -> None:
        """The last record of each partition in bronze must equal the cluster's at that offset, if it still has one.

        This finds a log that was truncated and has since grown past its old end.
        """
        present = {
            number: next_offset
            for number, next_offset in self._ledger.next_offsets().items()
            if self._view.partitions[number].begin < next_offset
        }
        if not present:
            return
        lasts = {number: next_offset - 1 for number, next_offset in present.items()}
        try:
            found = (
                self._source.between(self._spark, lasts, present)
                .select("partition", "key", "value")
                .collect()
            )
        except Exception as error:  # noqa: BLE001 - of Kafka's errors pyspark has none of its own
            raise self._explained(error) from None
        for number, key, value in found:
            if digest(key, value) != self._ledger.partitions[number].last_digest:
                raise SourceNotReadable(
                    f"Partition {number} of {OFFSETS_TOPIC} at {self._source.cluster} has a different record at offset"
                    f" {lasts[number]} than the lake: the log was truncated or recreated, and has grown since; give it"
                    " a cluster name of its own."
                )

    # -- where it is ----------------------------------------------------------------------------

    def _resumed(self, *, is_new: bool) -> dict[int, int]:
        """Where each partition is read from: its beginning if bronze has lost rows of it."""
        begins: Mapping[int, int] = {}
        if is_new or self._source.settings.start_ms is not None:
            begins = self._source.begins()
        if is_new:
            return dict(begins)
        resumed = {}
        for number, ends in self._view.partitions.items():
            part = self._ledger.partitions.get(number, PartitionInBronze())
            known = max(part.read_to_offset or 0, part.next_offset or 0)
            if number in self._ledger.lost:
                known = ends.begin
            resumed[number] = min(known, begins.get(number, known))
        return resumed

    def _note(self) -> None:
        """Put what the cluster says into the ledger, and what it deleted before it was read into quarantine."""
        self._ledger.cluster_id, self._ledger.topic_id = self._view.cluster_id, self._view.topic_id
        lost = {}
        for number, ends in self._view.partitions.items():
            is_open = ends.stable_end < ends.end
            reached = self._reached.setdefault(number, ends.begin)
            part = self._ledger.partitions.get(number)
            if reached < ends.begin:
                if part is not None and (part.read_to_offset, part.next_offset) != (None, None):
                    lost[number] = (reached, ends.begin)
                self._reached[number] = ends.begin
            self._ledger.note(
                number,
                log_start_offset=ends.begin,
                log_end_offset=ends.end,
                open_transaction_offset=ends.stable_end if is_open else None,
                read_to_offset=self._reached[number],
            )
        self._lost |= lost
        self._done.quarantine_rows += self._bronze.note_lost(self._source.spec, lost)

    def _next_batch(self) -> dict[int, int]:
        """Partition -> offset up to which to read next, for those with more to read."""
        left = {
            number: ends.end - self._reached[number]
            for number, ends in self._view.partitions.items()
            if self._reached[number] < ends.end
        }
        most, total = self._source.settings.max_offsets_per_trigger, sum(left.values())
        share = most / total if 0 < most < total else 1
        return {
            number: self._reached[number] + max(1, int(count * share))
            for number, count in left.items()
        }

    def _waited(self) -> bool:
        """Wait for the next batch, and ask the cluster where its log ends now; False if it is time to stop."""
        if not self._next_batch():
            until = time.monotonic() + self._source.settings.trigger_seconds
            while (rest := until - time.monotonic()) > 0 and not self._is_over():
                self._each_poll()
                time.sleep(min(rest, POLL_SECONDS))
        if self._is_over():
            return False
        if not self._next_batch():
            self._view = self._asked() or self._view
            self._require_same_log()
            self._note()
        return True

    def _is_over(self) -> bool:
        limit_s = self._duration.stop_after_s
        is_late = limit_s is not None and time.monotonic() - self._began >= limit_s
        return is_late or self._duration.stopped()

    def _asked(self) -> ClusterView | None:
        """The cluster as it is now; None if it is time to stop. A cluster may change its leaders for a while.

        Raises SourceNotReadable for one that has not answered for the timeout of the settings.
        """
        since = time.monotonic()
        while not self._is_over():
            try:
                return self._source.cluster.view()
            except SourceNotReadable as error:
                if time.monotonic() - since >= self._source.settings.timeout_ms / 1000:
                    raise self._cut_short(error) from None
                time.sleep(POLL_SECONDS)
        return None

    # -- batches --------------------------------------------------------------------------------

    def _read(self, upto: Mapping[int, int]) -> None:
        """Append one batch, from where each partition was read to."""
        batch = _Batch(self._source, self._bronze, {n: self._reached[n] for n in upto}, upto)
        batch.start()
        asked = time.monotonic()
        while not batch.has_ended(POLL_SECONDS):
            self._each_poll()
            if time.monotonic() - asked < self._source.settings.timeout_ms / 1000:
                continue
            # Spark's consumer waits for a cluster without limit, and nothing can interrupt it.
            try:
                self._source.cluster.view()
            except SourceNotReadable as error:
                if batch.given_up():
                    raise self._cut_short(error) from None
            asked = time.monotonic()
        if batch.error is not None:
            raise self._explained(batch.error) from None
        self._done.add(batch.done)
        self._reached |= upto
        for number, offset in upto.items():
            self._ledger.note(number, read_to_offset=offset)

    # -- errors ---------------------------------------------------------------------------------

    def _explained(self, error: Exception) -> Exception:
        """What ended the ingest, in one sentence where there is one."""
        if isinstance(error, LakeError | SourceNotReadable):
            return error
        if NO_PARTITIONS in str(error):
            return self._source.unseen(self._reached)
        known = self._source.explain(error)
        if known is not None:
            return self._cut_short(known)
        # The whole text contains the query's plan, and the plan the options with their secrets.
        first_line = str(error).partition("\n")[0]
        return RuntimeError(self._source.cluster.hide(first_line))

    def _cut_short(self, error: SourceNotReadable) -> SourceNotReadable:
        """The same, with how many records were read before."""
        if not self._done.records:
            return error
        return SourceNotReadable(
            f"{error} Bronze already has {self._done.records:,} of its records; the same command resumes after"
            " them."
        )


class _Batch:
    """A part of the log, read and appended in a thread of its own."""

    def __init__(
        self,
        source: KafkaSource,
        bronze: Bronze,
        begins: Mapping[int, int],
        ends: Mapping[int, int],
    ) -> None:
        self._source = source
        self._bronze = bronze
        self._begins = begins
        self._ends = ends
        self._thread = threading.Thread(target=self._work, daemon=True)
        self._deciding = threading.Lock()
        self._is_given_up = False
        self._is_applied = False
        self.done = Ingested()
        self.error: Exception | None = None

    def start(self) -> None:
        self._thread.start()

    def has_ended(self, seconds: float) -> bool:
        self._thread.join(seconds)
        return not self._thread.is_alive()

    def given_up(self) -> bool:
        """Whether it will append nothing any more: not possible once it has read everything."""
        with self._deciding:
            self._is_given_up = not self._is_applied
            return self._is_given_up

    def _work(self) -> None:
        lake = self._bronze.ledger.lake
        try:
            with lake.stage.passing():
                rows = self._source.between(lake.spark, self._begins, self._ends)
                offsets = sum(end - self._begins[number] for number, end in self._ends.items())
                # A task for each partition would make as many files at every poll.
                rows = rows.coalesce(min(len(self._ends), offsets // FEW_RECORDS + 1))
                taken = self._bronze.take(rows, self._source.spec)
                with self._deciding:
                    self._is_applied = not self._is_given_up
                if self._is_applied:
                    self.done = self._bronze.append(taken.records, self._source.spec, self._begins)
        except Exception as error:  # noqa: BLE001 - the ingest raises it
            self.error = error


COMMITTED_WITHIN: Final = timedelta(days=7)
"""offsets.retention.minutes: by default Kafka forgets offsets that were not committed for so long."""
EVERY_SECONDS: Final = 60.0
"""With --follow: from one sample to the next."""
LOOKED_UP_EVERY: Final = 10
"""Samples after which bronze is searched again for partitions that groups commit."""
PAUSES_MAX: Final = 32
"""A cluster that does not answer is asked half as often each time, at least after so many pauses."""


class EndOffsetSampler:
    """Takes a sample now and then, of partitions that groups have committed."""

    def __init__(
        self, source: KafkaSource, sink: Sink, ledger: Ledger, on_progress: OnProgress
    ) -> None:
        self._source = source
        self._sink = sink
        self._ledger = ledger
        self._on_progress = on_progress
        self._partitions: list[tuple[str, int]] = []
        self._count = 0
        self._pauses = 1
        self._next = time.monotonic() + EVERY_SECONDS

    def sample_when_due(self) -> None:
        """Take a sample if the last one is old enough."""
        if time.monotonic() >= self._next:
            self.sample()
            self._next = time.monotonic() + EVERY_SECONDS * self._pauses

    def sample(self) -> None:
        """Ask the cluster, and add what it says to bronze; without an answer, report why."""
        most = self._source.settings.sampled_partitions_max
        if not most:
            return
        if self._count % LOOKED_UP_EVERY == 0:
            self._partitions = self._committed(most)
        self._count += 1
        if not self._partitions:
            return
        try:
            samples = self._source.cluster.end_offsets(self._partitions, self._not_before_ms())
        except SourceNotReadable as error:
            self._pauses = min(2 * self._pauses, PAUSES_MAX)
            self._on_progress(f"end offsets are not sampled: {error}")
            return
        self._pauses = 1
        keep_samples(self._sink, samples, self._source.spec, datetime.now(UTC))

    def _not_before_ms(self) -> Callable[[], int]:
        """Bronze has records up to this time of the brokers' clocks; ours may be behind."""
        newest = self._ledger.newest_record_at
        newest_ms = 0 if newest is None else int(newest.timestamp() * 1000)
        return lambda: max(newest_ms, time.time_ns() // 1_000_000)

    def _committed(self, most: int) -> list[tuple[str, int]]:
        newest = self._ledger.newest_record_at
        if newest is None:
            return []
        recent = self._sink.for_cluster(TableName.RECORDS).where(
            F.col("timestamp") > F.lit(newest - COMMITTED_WITHIN)
        )
        keys = recent.where(routing.is_commit()).dropDuplicates(["key"])
        named = keys.withColumn("value", F.lit(None).cast("binary"))
        decoded = routing.decoded_commits(named, None).where("commit.reason is null")
        found = decoded.select("commit.topic", "commit.topic_partition").distinct()
        rows = found.orderBy("topic", "topic_partition").limit(most + 1).collect()
        if len(rows) > most:
            self._on_progress(
                f"groups commit more than {most:,} partitions: end offsets are sampled of the first of them by name;"
                " source.kafka.sampled_partitions_max has the number"
            )
        return [(row["topic"], row["topic_partition"]) for row in rows[:most]]
