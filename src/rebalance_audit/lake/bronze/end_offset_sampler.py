"""Samples of end offsets during an ingest of a live cluster: it asks, and changes nothing there."""

import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final

from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.lake.bronze.end_offsets import keep_samples
from rebalance_audit.lake.bronze.ledger import Ledger
from rebalance_audit.lake.records import routing
from rebalance_audit.lake.sources.kafka_source import KafkaSource
from rebalance_audit.lake.storage.sinks import Sink
from rebalance_audit.steps import OnProgress
from rebalance_audit.tables.schemas import TableName
from rebalance_audit.wire.segments.folder import SourceNotReadable

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
        """Nothing is sampled yet."""
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
        recent = self._sink.of_cluster(TableName.RECORDS).where(
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
