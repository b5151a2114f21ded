"""From a live cluster into bronze by Structured Streaming: up to the present end of the log, or continuously.

The checkpoint says how far the cluster was read, bronze which records it has. A batch that is read again, after a kill
or because the checkpoint was lost, adds nothing.
"""

import json
import threading
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

import fsspec
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from rebalance_audit.errors import BadRequest, LakeBusy, LakeError
from rebalance_audit.lake.bronze.ledger import digest
from rebalance_audit.lake.bronze.record_table import Appended, Bronze
from rebalance_audit.lake.sources.kafka_source import KafkaSource
from rebalance_audit.location import is_catalog
from rebalance_audit.wire.segments.folder import OFFSETS_TOPIC, SourceNotReadable

POLL_SECONDS: Final = 1
NOTED_SECONDS_MAX: Final = 60.0
"""How long to wait for Spark to record a batch as done when the stream stops; otherwise it is read again."""
EARLIER_SECONDS_MAX: Final = 60
"""How long to wait for the query of an earlier ingest in this session, which may be waiting for a dead cluster."""
NO_PARTITIONS: Final = "you must specify all TopicPartitions"
"""Spark's error for offsets of partitions that it does not see."""
ASKING: Final = "Getting offsets"
"""How the status of a query begins while it waits for the cluster to say where its log ends."""
UPDATED_EVERY_SECONDS: Final = 600.0
"""With --follow: how often the ledger is written while the stream runs."""


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

    def __init__(self, source: KafkaSource, bronze: Bronze, lake: str, cluster: str) -> None:
        """Ask the cluster for its id. Raises SourceNotReadable, and BadRequest without a folder for the checkpoint."""
        self._source = source
        self._bronze = bronze
        self._ledger = bronze.ledger
        self._spark = bronze.ledger.lake.spark
        self._view = source.view()
        self._checkpoint = checkpoint_of(source, lake, cluster, self._view.cluster_id)
        options = bronze.ledger.lake.options.storage_options
        self._files, self._checkpoint_place = fsspec.core.url_to_fs(self._checkpoint, **options)
        self._name = cluster
        self.appended = Appended()
        self.lost = 0
        self.added: Collection[int] = ()
        """Log partitions that the topic did not have at the last ingest."""
        self._error: Exception | None = None
        self._begins: Mapping[int, int] = {}
        self._asking_since: float | None = None
        self._appending = threading.Lock()
        self._last_appended = -1
        self._is_over = False

    def run(
        self,
        duration: Duration,
        on_progress: Callable[[str], None],
        save: Callable[[], None],
        each_poll: Callable[[], None],
    ) -> None:
        """Check that the cluster's log is the one in bronze, then append.

        `save` writes the ledger; `each_poll` is called now and then.

        Raises BadRequest, SourceNotReadable, LakeBusy and LakeNotWritable.
        """
        name = f"ingest of {self._name}"
        # Until it ends, it may change the checkpoint that is read below.
        self._require_no_other(name)
        is_new = self._ledger.cluster_id is None
        self._require_same_log()
        if is_new:
            save()  # from now on the lake knows whose log it is
        self._begins = self._source.begins()
        reached = self._reached()
        if self._source.settings.start_ms is not None and self._names("commits"):
            on_progress("looking again at what was read before")
            self._look_again(reached)
        # The loss is in quarantine already; without this the connector would refuse to continue.
        is_gone = any(
            reached.get(number, ends.begin) < ends.begin
            for number, ends in self._view.partitions.items()
        )
        stream = self._source.stream(self._spark, self._begins, fail_on_loss=not is_gone)
        writer = (
            stream.writeStream.foreachBatch(self._append)
            .option("checkpointLocation", self._checkpoint)
            .queryName(name)
        )
        if duration.follow:
            writer = writer.trigger(
                processingTime=f"{self._source.settings.trigger_seconds} seconds"
            )
        else:
            writer = writer.trigger(availableNow=True)
        on_progress(f"reading {self._source.location}")
        try:
            query = writer.start()
            try:
                self._follow(query, duration, on_progress, save, each_poll)
            finally:
                self._end(query)
        except StreamingQueryException as error:
            raise self._explained(error) from None
        if not duration.follow:
            self._require_end()

    # -- checks ---------------------------------------------------------------------------------

    def _require_same_log(self) -> None:
        """Raises BadRequest for another cluster, SourceNotReadable for a log that was truncated or created again."""
        ledger, view = self._ledger, self._view
        if ledger.cluster_id not in (None, view.cluster_id):
            raise BadRequest(
                f"{self._source.cluster} is cluster {view.cluster_id}, but {self._name} in this lake is cluster"
                f" {ledger.cluster_id}: give it another name with --cluster."
            )
        if ledger.topic_id is not None and view.topic_id not in (None, ledger.topic_id):
            raise SourceNotReadable(
                f"{OFFSETS_TOPIC} at {self._source.cluster} was deleted and recreated since the last ingest (its id"
                f" was {ledger.topic_id}, and is {view.topic_id}): give the new log another cluster name."
            )
        nexts = ledger.next_offsets()
        for number, next_offset in nexts.items():
            ends = view.partitions.get(number)
            if ends is None or ends.end < next_offset:
                end = "is not there" if ends is None else f"ends at offset {ends.end}"
                raise SourceNotReadable(
                    f"Partition {number} of {OFFSETS_TOPIC} at {self._source.cluster} {end}, but the lake has its"
                    f" records up to offset {next_offset - 1}: the log was truncated or recreated; give it a cluster"
                    " name of its own."
                )
        self._require_same_last_records(nexts)
        self._note(nexts)

    def _require_same_last_records(self, nexts: Mapping[int, int]) -> None:
        """The last record of each partition in bronze must equal the cluster's at that offset, if it still has one.

        This finds a log that was truncated and has since grown past its old end.
        """
        there = {
            number: next_offset
            for number, next_offset in nexts.items()
            if self._view.partitions[number].begin < next_offset
        }
        if not there:
            return
        lasts = {number: next_offset - 1 for number, next_offset in there.items()}
        try:
            found = (
                self._source.between(self._spark, lasts, there)
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

    def _require_no_other(self, name: str) -> None:
        """Raises LakeBusy if a query of this name does not end.

        Spark cannot interrupt a query that waits for offsets of a dead cluster: it ends once the cluster answers.
        """
        for query in self._spark.streams.active:
            if query.name == name:
                with suppress(StreamingQueryException):
                    query.awaitTermination(EARLIER_SECONDS_MAX)
        if self._is_listed(name):
            raise LakeBusy(
                f"An earlier ingest of cluster {self._name} in this session has not ended yet: try again later."
            )

    def _note(self, nexts: Mapping[int, int]) -> None:
        """Put the cluster's ids and the ends of its partitions into the ledger, and what was lost into quarantine."""
        if self._ledger.cluster_id is not None:
            self.added = self._view.partitions.keys() - self._ledger.partitions.keys()
        self._ledger.cluster_id, self._ledger.topic_id = self._view.cluster_id, self._view.topic_id
        for number, ends in self._view.partitions.items():
            is_open = ends.stable_end < ends.end
            self._ledger.note(
                number,
                log_start_offset=ends.begin,
                log_end_offset=ends.end,
                open_transaction_offset=ends.stable_end if is_open else None,
            )
        lost = {
            number: (next_offset, self._view.partitions[number].begin)
            for number, next_offset in nexts.items()
            if next_offset < self._view.partitions[number].begin
        }
        self.lost = len(lost)
        self.appended.quarantined += self._bronze.note_lost(self._source.spec, lost)

    def _look_again(self, reached: Mapping[int, int]) -> None:
        """Read again from the requested time up to where the stream resumes; what bronze has stays."""
        begins = {
            number: begin
            for number, begin in self._begins.items()
            if begin < reached.get(number, 0)
        }
        rows = self._source.between(self._spark, begins, reached) if begins else None
        if rows is not None:
            staged = self._bronze.staged(rows, self._source.spec)
            self.appended.add(self._bronze.append(staged.records, self._source.spec, begins))

    def _require_end(self) -> None:
        """Raises SourceNotReadable if Spark has not reached the end that the log had at the start."""
        reached = self._reached()
        if self._is_behind(reached):
            raise self._source.unseen(reached)

    def _is_behind(self, reached: Mapping[int, int]) -> bool:
        return any(
            reached.get(number, ends.begin) < ends.end
            for number, ends in self._view.partitions.items()
        )

    # -- batches --------------------------------------------------------------------------------

    def _append(self, rows: DataFrame, batch_id: int) -> None:
        """Append one batch. Spark repeats its number until the batch is recorded as done."""
        with self._appending:
            if self._is_over:
                raise RuntimeError("The ingest has ended; the next one reads this batch.")
            try:
                # Where the first batch begins may be an earlier process's decision: the rows show.
                begins = self._offsets_of(batch_id - 1) if batch_id else None
                if begins is not None:
                    # A partition that no earlier batch knew begins with this one.
                    begins = dict.fromkeys(self._view.partitions, 0) | begins
                staged = self._bronze.staged(rows, self._source.spec)
                done = self._bronze.append(staged.records, self._source.spec, begins)
            except Exception as error:  # kept, because Spark passes on only its text
                self._error = error
                raise
            self.appended.add(done)
            self._last_appended = batch_id

    def _follow(
        self,
        query: StreamingQuery,
        duration: Duration,
        on_progress: Callable[[str], None],
        save: Callable[[], None],
        each_poll: Callable[[], None],
    ) -> None:
        """Wait until it is time to stop, or until the query ends by itself."""
        began = saved = time.monotonic()
        # Without `follow` the query is checked once it has ended.
        has_come_to_the_end = not duration.follow
        reported = 0
        while not query.awaitTermination(POLL_SECONDS):
            self._require_life(query)
            now = time.monotonic()
            if duration.stopped() or (
                duration.stop_after_s is not None and now - began >= duration.stop_after_s
            ):
                return
            if not has_come_to_the_end and _waits(query):
                reached = self._reached()
                has_come_to_the_end = not self._is_behind(reached)
                if not has_come_to_the_end and query.lastProgress is not None and _waits(query):
                    raise self._source.unseen(reached)
            if now - saved >= UPDATED_EVERY_SECONDS:
                save()
                saved = now
            each_poll()
            if reported != self.appended.records:
                reported = self.appended.records
                on_progress(f"reading {self._source.location}, {reported:,} records so far")

    def _end(self, query: StreamingQuery) -> None:
        """Stop a query between two batches: a batch that has begun is appended, counted and recorded as done.

        A query stopped within a batch may have written it without recording that.
        """
        with self._appending:
            self._is_over = True
        deadline = time.monotonic() + NOTED_SECONDS_MAX
        try:
            while (
                query.isActive
                and max(self._names("commits"), default=-1) < self._last_appended
                and time.monotonic() < deadline
            ):
                time.sleep(POLL_SECONDS / 20)
        finally:
            self._stop(query)

    def _stop(self, query: StreamingQuery) -> None:
        """Stop a query. If its consumer waits for a dead cluster it ends later, and the next ingest waits for it."""
        try:
            query.stop()
        except Exception:
            # PySpark has no class for Java's TimeoutException, but only after that one the query is still listed.
            if not self._is_listed(query.name):
                raise

    def _is_listed(self, name: str | None) -> bool:
        """Whether a query of this name has not ended yet; its own `isActive` is false once a stop was requested."""
        return any(query.name == name for query in self._spark.streams.active)

    def _require_life(self, query: StreamingQuery) -> None:
        """Raises SourceNotReadable if Spark has waited long for offsets and the cluster does not answer us either.

        The consumer that Spark uses (see spark_session.REQUIRED) waits for a cluster without limit.
        """
        now = time.monotonic()
        if not query.status["message"].startswith(ASKING):
            self._asking_since = None
        elif self._asking_since is None:
            self._asking_since = now
        elif now - self._asking_since >= self._source.settings.timeout_ms / 1000:
            try:
                self._source.cluster.view()
            except SourceNotReadable as error:
                raise self._cut_short(error) from None
            self._asking_since = now

    # -- checkpoint -----------------------------------------------------------------------------

    def _reached(self) -> dict[int, int]:
        """Partition -> offset after the last batch that is recorded as done; the first offset to read if none is."""
        done = self._names("commits")
        found = self._offsets_of(max(done)) if done else None
        return dict(self._begins) if found is None else found

    def _offsets_of(self, batch_id: int) -> dict[int, int] | None:
        """Partition -> offset at which a batch ends: the last line of its file in the checkpoint."""
        text = self._read(f"offsets/{batch_id}")
        if text is None:
            return None
        offsets = json.loads(text.strip().splitlines()[-1])
        return {int(number): offset for number, offset in offsets[OFFSETS_TOPIC].items()}

    def _names(self, folder: str) -> list[int]:
        place = f"{self._checkpoint_place}/{folder}"
        if not self._files.exists(place):
            return []
        self._files.invalidate_cache(place)
        names = [path.rpartition("/")[2] for path in self._files.ls(place, detail=False)]
        return [int(name) for name in names if name.isdigit()]

    def _read(self, name: str) -> str | None:
        place = f"{self._checkpoint_place}/{name}"
        if not self._files.exists(place):
            return None
        text: str = self._files.cat_file(place).decode()
        return text

    # -- errors ---------------------------------------------------------------------------------

    def _explained(self, error: Exception) -> Exception:
        """What ended the stream, in one sentence."""
        if isinstance(self._error, LakeError | SourceNotReadable):
            return self._error
        cause = self._error or error
        if "CONCURRENT_STREAM_LOG_UPDATE" in str(cause):
            return LakeBusy(
                f"Another ingest of cluster {self._name} is using the checkpoint {self._checkpoint}."
            )
        if NO_PARTITIONS in str(cause):
            return self._source.unseen(self._begins)
        known = self._source.explain(cause)
        if known is not None:
            return self._cut_short(known)
        # The whole text contains the query's plan, and the plan the options with their secrets.
        first_line = str(cause).partition("\n")[0]
        return RuntimeError(self._source.cluster.hide(first_line))

    def _cut_short(self, error: SourceNotReadable) -> SourceNotReadable:
        """The same, with how many records were read before."""
        if not self.appended.records:
            return error
        return SourceNotReadable(
            f"{error} Bronze already has {self.appended.records:,} of its records; the same command resumes after"
            " them."
        )


def checkpoint_of(source: KafkaSource, lake: str, cluster: str, cluster_id: str) -> str:
    """The folder of the checkpoint: in the lake unless it is configured, one per cluster. Raises BadRequest."""
    folder = source.settings.checkpoint_folder.rstrip("/")
    if not folder:
        if is_catalog(lake):
            raise BadRequest(
                "A lake in a catalog has no folder for the checkpoint: set source.kafka.checkpoint_folder."
            )
        folder = f"{lake.rstrip('/')}/checkpoints"
    return f"{folder}/{quote(cluster, safe='')}/kafka-{quote(cluster_id, safe='')}"


def _waits(query: StreamingQuery) -> bool:
    """Whether the query is idle."""
    status = query.status
    return not status["isTriggerActive"] and not status["isDataAvailable"]
