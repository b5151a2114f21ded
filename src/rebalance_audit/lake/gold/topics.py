"""Names of topics, found by Spark in offset commits and in records about topics.

The driver collects one row per topic.
"""

from collections.abc import Collection, Iterator, Mapping
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.lake.records.routing import has_type, is_commit
from rebalance_audit.lake.storage.local_rows import rows_made
from rebalance_audit.moments import NO_TIMESTAMP_MS
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
"""Types of the records that name a group's topics."""
ASSIGNMENTS: Final = (
    RecordType.CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT,
    RecordType.SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT,
    RecordType.STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT,
)
"""Types of the records that say which member owns which partitions."""
VERSION_WITH_TOPIC_ID: Final = bytes.fromhex("0004")
TOPIC_ID_TAG: Final = bytes.fromhex("010010")
"""How the last 19 bytes of a commit with a topic id begin: one tagged field, number 0, 16 bytes."""
LISTED_IDS: Final = 1_000
"""Up to this many ids are listed one by one in a query."""
COLUMNS: Final = ("topic_id", "topic", "source", "made_at", "deleted_at", "shapes")
"""Of gold.topics, those that say what is known of a topic."""
_LISTED: Final = {
    "topic_id": "binary",
    "topic": "string",
    "source": "string",
    "partition": "int",
    "offset": "bigint",
}


def names_in_commits(records: DataFrame) -> list[TopicName]:
    """The names in offset commits that carry a topic id, found by the last bytes of each value.

    One record per id is decoded, so bytes that only look like an id give no name. Its position is found first: without
    bytes or structs Spark aggregates in a hash table instead of sorting all commits.
    """
    found = (
        records.where(is_commit())
        .where(F.substring("value", 1, 2) == F.lit(VERSION_WITH_TOPIC_ID))
        .where(F.substring("value", -19, 3) == F.lit(TOPIC_ID_TAG))
        .groupBy(F.expr("substring(value, -16, 16)").alias("topic_id"), "partition")
        .agg(F.min("offset").alias("offset"))
        .groupBy("topic_id")
        .agg(F.min(F.struct("partition", "offset")).alias("first"))
        .select("first.*")
        .collect()
    )
    if not found:
        return []
    at_one = F.lit(False)
    for partition, rows in groupby(sorted(found), key=itemgetter("partition")):
        offsets = [row["offset"] for row in rows]
        at_one |= (F.col("partition") == partition) & F.col("offset").isin(offsets)
    firsts = records.where(at_one & is_commit()).orderBy("partition", "offset")
    names = TopicNames()
    for commit in firsts.select("key", "value").collect():
        names.merge(_names_in(bytes(commit["key"]), bytes(commit["value"])).values())
    return list(names.values())


def _names_in(key: bytes, value: bytes) -> TopicNames:
    names, record = TopicNames(), decode_record(key, value)
    if isinstance(record, Record):
        names.add_record(record.key, record.value, NO_TIMESTAMP_MS)
    return names


def names_in_silver(commits: DataFrame, known: Collection[bytes]) -> list[TopicName]:
    """The same from rows of silver.offset_commits, except for ids that are known."""
    if 0 < len(known) <= LISTED_IDS:
        # Grouping by text is costly, and nearly all commits are of known topics.
        commits = commits.where(~F.col("topic_id").isin([*map(topic_id_text, known)]))
    # The first offset of each name: aggregated in a hash table, instead of sorting all commits by id.
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
    """The names in records of the types TOPIC_LISTS."""
    lists = records.where(has_type(*TOPIC_LISTS) & F.col("value").isNotNull())
    found = (
        rows_made(lists.select("partition", "offset", "key", "value"), _LISTED, _listed)
        .groupBy("topic_id", "source")
        .agg(F.min_by("topic", F.struct("partition", "offset")).alias("topic"))
    )
    return [
        TopicName(bytes(row["topic_id"]), row["topic"], TopicNameSource(row["source"]), None)
        for row in found.collect()
    ]


def any_by_id(records: DataFrame) -> bool:
    """Whether any record assigns partitions by topic id."""
    return not records.where(has_type(*ASSIGNMENTS) & F.col("value").isNotNull()).isEmpty()


def unnamed_topics(ownership: DataFrame) -> list[bytes]:
    """Ids of topics that had an owner but no name that the reducer knew, from rows of gold.ownership."""
    nameless = ownership.where("topic is null and topic_id is not null").select("topic_id")
    return [topic_id_of(row[0]) for row in nameless.distinct().collect()]


def _listed(given: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for name in _names_in(given["key"], given["value"]).values():
        yield {
            "topic_id": name.topic_id,
            "topic": name.name,
            "source": name.source.value,
            "partition": given["partition"],
            "offset": given["offset"],
        }
