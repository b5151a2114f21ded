"""Samples of end offsets in a lake: what is added to bronze, what the reducer gets, and which groups they concern.

An ingest takes its samples after it has read the records, and stamps none of them earlier than the newest of these. So
later samples change nothing about what is audited, with two exceptions: samples of the past, and groups with records
after the last sample of a partition. Such groups are replayed from their first record.
"""

from collections.abc import Iterator
from datetime import datetime
from functools import cached_property
from typing import Any, Final

import orjson
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.audit.lag.end_offsets import EndOffset, EndOffsets, PartitionSamples
from rebalance_audit.lake.records.routing import in_groups
from rebalance_audit.lake.storage.sinks import Sink
from rebalance_audit.moments import utc_datetime
from rebalance_audit.shown_settings import without_credentials
from rebalance_audit.tables.schemas import TableName

PARTITION: Final = ("topic", "topic_partition")
SAMPLES: Final = -2
"""Offset of the rows before a group's state in the reducer's input: their values are samples of a partition."""
_GROUP: Final = ("partition", "group_id")
_END_MS: Final = 253_402_300_800_000
"""The year 10,000, which no datetime has: a producer may stamp its records with any time."""


def keep_samples(sink: Sink, samples: EndOffsets, source: str, ingested_at: datetime) -> int:
    """Add the samples that bronze.end_offsets lacks; returns how many."""
    lake, name = sink.lake, TableName.END_OFFSETS
    lake.create([name])
    rows = sink.of_driver(name, [*_rows(samples, source, ingested_at)])
    return sink.insert_new(name, rows.frame).inserted


def _rows(samples: EndOffsets, source: str, ingested_at: datetime) -> Iterator[dict[str, Any]]:
    for (topic, number), of_partition in samples.items():
        last_ms = None
        for sample in of_partition.samples:
            if not 0 <= sample.sampled_at_ms < _END_MS or sample.sampled_at_ms == last_ms:
                continue
            last_ms = sample.sampled_at_ms
            latest_ms = sample.max_timestamp_ms
            if latest_ms is not None and not 0 <= latest_ms < _END_MS:
                latest_ms = None
            yield {
                "topic": topic,
                "topic_partition": number,
                "sampled_at": utc_datetime(last_ms),
                "start_offset": sample.start_offset,
                "end_offset": sample.end_offset,
                "max_timestamp": utc_datetime(latest_ms),
                "markers": sample.markers,
                "source": without_credentials(source),
                "ingested_at": ingested_at,
            }


def samples_of(value: bytes) -> tuple[tuple[str, int], PartitionSamples]:
    """Topic, partition and samples of a row with the offset SAMPLES."""
    row = orjson.loads(value)
    samples = [EndOffset(*sample) for sample in row["samples"]]
    return (row["topic"], row["topic_partition"]), PartitionSamples(samples)


class StoredEndOffsets:
    """The samples of one cluster, as one run uses them: later ones are those of the next run."""

    def __init__(self, sink: Sink) -> None:
        self._sink = sink
        self.version = sink.lake.version(TableName.END_OFFSETS)
        """Version of the table; None if there are no samples."""

    def packs(self, groups: DataFrame | None, groups_regex: str | None = None) -> DataFrame | None:
        """Rows of the reducer's input: of each partition that a group has committed, all samples.

        `groups`: only these, with columns `partition` and `group_id`. None if there are no samples.
        """
        if not self.version:
            return None
        sample = F.array(
            F.unix_millis("sampled_at"),
            F.col("start_offset"),
            F.col("end_offset"),
            F.unix_millis("max_timestamp"),
            F.col("markers"),
        )
        packed = (
            self._at(self.version).groupBy(*PARTITION).agg(F.collect_list(sample).alias("samples"))
        )
        value = F.encode(F.to_json(F.struct(*PARTITION, "samples")), "UTF-8")
        of_groups = self._committed.where(in_groups(groups_regex, F.col("group_id")))
        if groups is not None:
            of_groups = of_groups.join(F.broadcast(groups.select(*_GROUP)), [*_GROUP], "left_semi")
        return of_groups.join(packed.select(*PARTITION, value.alias("value")), [*PARTITION]).select(
            *_GROUP, F.lit(SAMPLES).cast("bigint").alias("offset"), "value"
        )

    def groups_with_new_samples(self, since: int | None, snapshots: DataFrame) -> DataFrame | None:
        """(partition, group_id, is_late) of the groups for which there are samples after a version of the table.

        `is_late`: what is audited already may look different with them. `snapshots` are rows of meta.snapshots.
        """
        if not self.version or self.version == since:
            return None
        now = self._at(self.version)
        before = now.limit(0) if since is None else self._at(since)
        known = before.groupBy(*PARTITION).agg(
            F.max("sampled_at").alias("last_at"), F.count(F.lit(1)).alias("known")
        )
        later = F.coalesce(F.col("sampled_at") > F.col("last_at"), F.lit(False))
        partitions = (
            now.join(known, [*PARTITION], "left")
            .groupBy(*PARTITION, "last_at")
            .agg(
                F.count_if(later).alias("later"),
                (F.count_if(~later) > F.coalesce(F.max("known"), F.lit(0))).alias("is_past"),
            )
            .where("later > 0 or is_past")
        )
        groups = (
            self._committed.join(F.broadcast(partitions), [*PARTITION])
            .groupBy(*_GROUP)
            .agg(F.max("is_past").alias("is_past"), F.min("last_at").alias("last_at"))
        )
        records = self._sink.for_cluster(TableName.GROUP_RECORDS)
        newest = records.groupBy(*_GROUP).agg(F.max("timestamp").alias("newest_at"))
        replayed = snapshots.select(F.col("log_partition").alias("partition"), "group_id")
        is_late = F.col("is_past") | F.coalesce(F.col("newest_at") > F.col("last_at"), F.lit(False))
        return (
            groups.join(replayed, [*_GROUP], "left_semi")
            .join(newest, [*_GROUP], "left")
            .select(*_GROUP, is_late.alias("is_late"))
        )

    def _at(self, version: int) -> DataFrame:
        rows = self._sink.lake.read(TableName.END_OFFSETS, version=version)
        return rows.where(F.col("cluster") == self._sink.cluster)

    @cached_property
    def _committed(self) -> DataFrame:
        """Groups and partitions for which a commit is known, of those with samples."""
        assert self.version
        sampled = self._at(self.version).select(*PARTITION).distinct()
        commits = self._sink.for_cluster(TableName.OFFSET_COMMITS)
        present = commits.where(~F.col("tombstone") & F.col("timestamp").isNotNull())
        found = present.join(F.broadcast(sampled), [*PARTITION], "left_semi")
        return found.select(*_GROUP, *PARTITION).distinct()
