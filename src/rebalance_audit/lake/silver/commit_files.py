"""silver.offset_commits written by the tasks that decode: see `storage.data_files`."""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, SparkSession

from rebalance_audit.lake.records import routing
from rebalance_audit.lake.records.commit_columns import COMMIT, decode_commits
from rebalance_audit.lake.records.commit_packs import are_commits
from rebalance_audit.lake.storage.data_files import FILE_DDL, DataFiles
from rebalance_audit.lake.storage.table_files import TableFiles

READ: Final = (
    "partition",
    "offset",
    "timestamp",
    "producer_id",
    "is_transactional",
    "key",
    "value",
)
TOPICS_MAX: Final = 10_000
"""A task notes up to so many topics: the driver holds what all tasks have noted."""
GROUPS_MAX: Final = 10_000
"""The same of groups."""
KEPT: Final = ("partition", "offset", "timestamp", "producer_id")
"""The columns of READ that the table has too."""


def files_of_commits(
    records: DataFrame, regex: str | None, files: DataFiles, cluster: str
) -> DataFrame:
    """What tasks tell that decode the commits of some groups, none of them in a transaction, and write them.

    They note what `Noted` has.
    """
    write = partial(written_commits, files=files, cluster=cluster)
    return routing.commits(records, regex).select(*READ).mapInArrow(write, FILE_DDL)


def files_of_files(spark: SparkSession, records: TableFiles, files: DataFiles) -> DataFrame:
    """The same of all records in files of bronze, which the tasks read themselves."""

    def write(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        commits = (batch.filter(are_commits(batch)) for batch in batches)
        return written_commits(commits, files=files, cluster=records.cluster)

    return records.made_of(spark, [*READ, "is_control"], write, FILE_DDL)


def written_commits(
    batches: Iterable[pa.RecordBatch], *, files: DataFiles, cluster: str
) -> Iterator[pa.RecordBatch]:
    """Write a task's commits, batches with the columns READ, and tell of them, see FILE_DDL."""
    decoded = _Decoded(batches)
    return files.write(decoded, {"cluster": cluster}, lambda: decoded.noted)


class Noted(NamedTuple):
    """What a task tells of its commits; a list in JSON."""

    undecodable: int
    """How many were no commits after all."""
    topics: Sequence[tuple[str, str, int, int]] | None
    """Id and name of each topic, and partition and offset of the first commit with them; None for too many."""
    groups: Sequence[tuple[int, str]] | None
    """Log partition and id of each group that has committed; None for too many."""


def first_names(tasks: Iterable[Sequence[Any]]) -> dict[str, str] | None:
    """Topic id -> the first name that all tasks together have seen with it, from what they noted; None for too many."""
    found: dict[str, tuple[int, int, str]] = {}
    for task in map(Noted._make, tasks):
        if task.topics is None:
            return None
        for topic_id, name, partition, offset in task.topics:
            first = (partition, offset, name)
            found[topic_id] = min(first, found.get(topic_id, first))
    return {topic_id: name for topic_id, (_, _, name) in found.items()}


def groups_noted(tasks: Iterable[Sequence[Any]]) -> list[tuple[int, str]] | None:
    """Log partition and id of each group with commits, from what tasks noted; None for too many."""
    found: set[tuple[int, str]] = set()
    for task in map(Noted._make, tasks):
        if task.groups is None:
            return None
        found.update((partition, group) for partition, group in task.groups)
    return sorted(found) if len(found) <= GROUPS_MAX else None


class _Decoded:
    """Batches of commits with the columns of the table but the cluster."""

    def __init__(self, batches: Iterable[pa.RecordBatch]) -> None:
        self._batches = batches
        self._undecodable = 0
        self._topics: dict[tuple[str, str], tuple[int, int]] = {}
        self._groups: set[tuple[int, str]] = set()

    @property
    def noted(self) -> Noted:
        """Of the batches that have gone through."""
        topics = [(*topic, *first) for topic, first in self._topics.items()]
        return Noted(
            self._undecodable,
            topics if len(topics) <= TOPICS_MAX else None,
            [*self._groups] if len(self._groups) <= GROUPS_MAX else None,
        )

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        for batch in self._batches:
            commits = decode_commits(batch["key"], batch["value"])
            rows = pa.RecordBatch.from_pydict(
                {
                    **{name: batch[name] for name in KEPT},
                    **{name: pc.struct_field(commits, name) for name in COMMIT},
                    "tombstone": batch["value"].is_null(),
                    "transaction_state": pc.if_else(
                        batch["is_transactional"].is_null(), "unknown", "none"
                    ),
                }
            )
            reasons = pc.struct_field(commits, "reason")
            undecodable = len(reasons) - reasons.null_count
            self._undecodable += undecodable
            rows = rows.filter(reasons.is_null()) if undecodable else rows
            if len(self._topics) <= TOPICS_MAX:
                self._note_topics(rows)
            if len(self._groups) <= GROUPS_MAX:
                self._note_groups(rows)
            yield rows

    def _note_groups(self, rows: pa.RecordBatch) -> None:
        names = ["partition", "group_id"]
        pairs = pa.Table.from_batches([rows.select(names)]).group_by(names).aggregate([])
        self._groups.update(zip(*(pairs[name].to_pylist() for name in names), strict=True))

    def _note_topics(self, rows: pa.RecordBatch) -> None:
        named = rows.select(["topic_id", "topic", "partition", "offset"])
        named = pa.Table.from_batches([named.filter(named["topic_id"].is_valid())])
        firsts = named.group_by(["topic_id", "topic", "partition"]).aggregate([("offset", "min")])
        for topic_id, topic, partition, offset in zip(
            *(
                firsts[name].to_pylist()
                for name in ("topic_id", "topic", "partition", "offset_min")
            ),
            strict=True,
        ):
            first = (partition, offset)
            self._topics[topic_id, topic] = min(first, self._topics.get((topic_id, topic), first))
