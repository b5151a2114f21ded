"""Names of topics, found by Spark where a log is too large to look through: in commits and in records about topics.

What comes back to the driver is one row per topic.
"""

from collections.abc import Collection, Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.lake.records.routing import has_type, is_commit
from rebalance_audit.lake.storage.local_rows import local_rows
from rebalance_audit.moments import NO_TIMESTAMP_MS, micros_of
from rebalance_audit.wire.generated.messages import RecordType
from rebalance_audit.wire.records import Record, decode_record
from rebalance_audit.wire.topic_names import (
    TopicName,
    TopicNames,
    TopicNameSource,
    topic_id_of,
    topic_id_text,
)

TOPIC_LISTS: Final = (
    RecordType.CONSUMER_GROUP_PARTITION_METADATA,
    RecordType.SHARE_GROUP_PARTITION_METADATA,
    RecordType.SHARE_GROUP_STATE_PARTITION_METADATA,
    RecordType.STREAMS_GROUP_PARTITION_METADATA,
)
"""Records that name the topics of a group."""
ASSIGNMENTS: Final = (
    RecordType.CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT,
    RecordType.SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT,
    RecordType.STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT,
)
"""Records that say who owns what."""
VERSION_WITH_TOPIC_ID: Final = "X'0004'"
TOPIC_ID_TAG: Final = "X'010010'"
"""How the last 19 bytes of a commit with a topic id begin: one tagged field, number 0, 16 bytes."""
LISTED_IDS: Final = 1_000
"""Up to so many ids are named one by one in a query."""
NAME_DDL: Final = "topic_id binary, topic string, source string, partition int, offset bigint"


def names_in_commits(records: DataFrame) -> list[TopicName]:
    """From offset commits that carry a topic id, by one look at the end of each value.

    One record per id is decoded, so a text that only looks like an id names nothing. First it is found which one: what
    holds no bytes and no structs is gathered in a hash table, where all commits would have to be sorted else.
    """
    places = (
        records.where(is_commit())
        .where(f"substring(value, 1, 2) = {VERSION_WITH_TOPIC_ID}")
        .where(f"substring(value, -19, 3) = {TOPIC_ID_TAG}")
        .groupBy(F.expr("substring(value, -16, 16)").alias("topic_id"), "partition")
        .agg(F.min("offset").alias("offset"))
        .groupBy("topic_id")
        .agg(F.min(F.struct("partition", "offset")).alias("first"))
        .select("first.*")
        .collect()
    )
    if not places:
        return []
    at_one = F.lit(False)
    for partition, rows in groupby(sorted(places), key=itemgetter("partition")):
        offsets = [row["offset"] for row in rows]
        at_one |= (F.col("partition") == partition) & F.col("offset").isin(offsets)
    firsts = records.where(at_one & is_commit()).orderBy("partition", "offset")
    names = TopicNames()
    for row in firsts.select("key", "value").collect():
        found = decode_record(bytes(row["key"]), bytes(row["value"]))
        if isinstance(found, Record):
            names.add_record(found.key, found.value, NO_TIMESTAMP_MS)
    return list(names.values())


def names_in_silver(commits: DataFrame, known: Collection[bytes]) -> list[TopicName]:
    """The same from rows of silver.offset_commits; of ids that are known nothing need be found."""
    if 0 < len(known) <= LISTED_IDS:
        # Text is compared to be grouped: by far the most commits are of topics that are known.
        commits = commits.where(~F.col("topic_id").isin([*map(topic_id_text, known)]))
    # Of each name the first place: in a hash table, where all commits would have to be sorted by id else.
    found = (
        commits.where("topic_id is not null")
        .groupBy("topic_id", "topic", "partition")
        .agg(F.min("offset").alias("offset"))
        .groupBy("topic_id")
        .agg(F.min_by("topic", F.struct("partition", "offset")).alias("topic"))
    )
    return [
        TopicName(topic_id_of(row["topic_id"]), row["topic"], TopicNameSource.OFFSET_COMMIT, None)
        for row in found.collect()
    ]


def names_in_topic_lists(records: DataFrame) -> list[TopicName]:
    """From the records of type 4, 9, 15 and 18."""
    lists = records.where(has_type(*TOPIC_LISTS) & F.col("value").isNotNull())
    found = (
        lists.select("partition", "offset", "key", "value")
        .mapInArrow(_listed, NAME_DDL)
        .groupBy("topic_id", "source")
        .agg(F.min_by("topic", F.struct("partition", "offset")).alias("topic"))
    )
    return [
        TopicName(bytes(row["topic_id"]), row["topic"], TopicNameSource(row["source"]), None)
        for row in found.collect()
    ]


def any_by_id(records: DataFrame) -> bool:
    """Whether any record gives partitions to somebody by the topic's id."""
    return not records.where(has_type(*ASSIGNMENTS) & F.col("value").isNotNull()).isEmpty()


def unnamed(stream: DataFrame) -> list[bytes]:
    """Ids of topics that somebody owned and whose name the reducer was not told, from its stream."""
    nameless = stream.where("table = 'ownership' and ownership.topic is null")
    return [
        topic_id_of(row[0]) for row in nameless.select("ownership.topic_id").distinct().collect()
    ]


def names_in_table(topics: DataFrame) -> list[TopicName]:
    """From rows of gold.topics, which earlier runs have left."""
    moments = [F.unix_millis(name).alias(name) for name in ("made_at", "deleted_at")]
    rows = topics.select("topic_id", "topic", "source", *moments).collect()
    # Of topics with one name the one that was made first comes first, as in the metadata log.
    rows.sort(key=lambda row: (row["made_at"] or NO_TIMESTAMP_MS, row["topic_id"]))
    return [
        TopicName(topic_id_of(topic_id), topic, TopicNameSource(source), made_ms, deleted_ms)
        for topic_id, topic, source, made_ms, deleted_ms in rows
    ]


def as_in_table(names: TopicNames) -> list[TopicName]:
    """What `names_in_table` would find if these were written."""
    return [name._replace(record_timestamp_ms=name.made_at_ms) for name in names.values()]


def topic_rows(spark: SparkSession, names: TopicNames) -> DataFrame:
    """Rows of gold.topics (without the cluster)."""
    rows = [
        (
            topic_id_text(name.topic_id),
            name.name,
            name.source.value,
            micros_of(name.made_at_ms),
            micros_of(name.deleted_at_ms),
        )
        for name in names.values()
    ]
    ids = dict.fromkeys(("topic_id", "topic", "source"), "string")
    moments = dict.fromkeys(("made", "deleted"), "bigint")
    return local_rows(spark, ids | moments, rows).select(
        "topic_id",
        "topic",
        "source",
        F.timestamp_micros("made").alias("made_at"),
        F.timestamp_micros("deleted").alias("deleted_at"),
    )


def _listed(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    names = ("topic_id", "topic", "source", "partition", "offset")
    kinds = (pa.binary(), pa.string(), pa.string(), pa.int32(), pa.int64())
    for batch in batches:
        rows = []
        for partition, offset, key, value in zip(
            *(c.to_pylist() for c in batch.columns), strict=True
        ):
            found = decode_record(key, value)
            if not isinstance(found, Record):
                continue
            listed = TopicNames()
            listed.add_record(found.key, found.value, NO_TIMESTAMP_MS)
            rows += [
                (name.topic_id, name.name, name.source.value, partition, offset)
                for name in listed.values()
            ]
        columns = zip(*rows, strict=True) if rows else ((),) * len(names)
        arrays = [pa.array(list(c), kind) for c, kind in zip(columns, kinds, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, names=list(names))
