"""Names of topics, found by workers in offset commits and in records about topics.

The driver gets one row per topic, of commits from each task.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.lake.records.commit_columns import TOPIC_ID_TAG
from rebalance_audit.lake.records.routing import has_type
from rebalance_audit.lake.storage.local_rows import rows_made
from rebalance_audit.moments import NO_TIMESTAMP_MS
from rebalance_audit.wire.generated.messages import RecordType
from rebalance_audit.wire.records import Record, decode_record
from rebalance_audit.wire.topic_names import (
    TOPIC_ID_BYTES,
    TopicName,
    TopicNames,
    TopicNameSource,
)

TOPIC_LISTS: Final = (
    RecordType.CONSUMER_GROUP_PARTITION_METADATA,
    RecordType.SHARE_GROUP_PARTITION_METADATA,
    RecordType.SHARE_GROUP_STATE_PARTITION_METADATA,
    RecordType.STREAMS_GROUP_PARTITION_METADATA,
)
"""Types of the records that name a group's topics."""
VERSION_WITH_TOPIC_ID: Final = bytes.fromhex("0004")
COLUMNS: Final = ("topic_id", "topic", "source", "made_at", "deleted_at", "shapes")
"""Of gold.topics, those that say what is known of a topic."""
_LISTED: Final = {
    "topic_id": "binary",
    "topic": "string",
    "source": "string",
    "partition": "int",
    "offset": "bigint",
}


class TopicsOfCommits:
    """The names that a task finds in offset commits that carry a topic id, by the last bytes of each value.

    One record per id is decoded, so bytes that only look like an id give no name.
    """

    def __init__(self) -> None:
        self._firsts: dict[bytes, tuple[int, int, str]] = {}
        """Id -> log partition and offset of the first commit that has it, and the name there."""

    def add(self, commits: pa.RecordBatch) -> None:
        """Take commits with the columns of RECORD."""
        values = commits["value"]
        tails = pc.binary_slice(values, -len(TOPIC_ID_TAG) - TOPIC_ID_BYTES, None)
        has_id = pc.and_(
            pc.equal(pc.binary_slice(values, 0, 2), VERSION_WITH_TOPIC_ID),
            pc.equal(pc.binary_slice(tails, 0, len(TOPIC_ID_TAG)), TOPIC_ID_TAG),
        )
        found = pc.if_else(has_id, tails, None).dictionary_encode()
        partitions, offsets = commits["partition"].to_numpy(), commits["offset"].to_numpy()
        codes = found.indices.fill_null(len(found.dictionary)).to_numpy()
        order = np.arange(len(codes))
        if (np.diff(partitions) != 0).any() or (np.diff(offsets) < 0).any():
            order = np.lexsort((offsets, partitions))
        firsts = np.empty(len(found.dictionary) + 1, np.int64)
        firsts[codes[order][::-1]] = order[::-1]  # the first one stays
        for tail, place in zip(found.dictionary.to_pylist(), firsts.tolist(), strict=False):
            topic_id = tail[len(TOPIC_ID_TAG) :]
            at = int(partitions[place]), int(offsets[place])
            known = self._firsts.get(topic_id)
            if known is not None and known[:2] <= at:
                continue
            names = _names_in(commits["key"][place].as_py(), values[place].as_py())
            if name := names.name_of(topic_id):
                self._firsts[topic_id] = (*at, name)

    def report(self) -> list[tuple[object, ...]]:
        """For `names_in_reports`."""
        return [(topic_id.hex(), *first) for topic_id, first in self._firsts.items()]


def names_in_reports(reports: Iterable[Sequence[Any]]) -> list[TopicName]:
    """The names that tasks report, the first of each id in the log."""
    names: dict[bytes, str] = {}
    for topic_id, _, _, name in sorted(reports, key=itemgetter(1, 2)):
        names.setdefault(bytes.fromhex(topic_id), name)
    return [
        TopicName(topic_id, name, TopicNameSource.OFFSET_COMMIT, None)
        for topic_id, name in names.items()
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


def _names_in(key: bytes, value: bytes) -> TopicNames:
    names, record = TopicNames(), decode_record(key, value)
    if isinstance(record, Record):
        names.add_record(record.key, record.value, NO_TIMESTAMP_MS)
    return names


def _listed(given: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    for name in _names_in(given["key"], given["value"]).values():
        yield {
            "topic_id": name.topic_id,
            "topic": name.name,
            "source": name.source.value,
            "partition": given["partition"],
            "offset": given["offset"],
        }
