"""silver.offset_commits written by the tasks that decode: see `storage.data_files`."""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import Final

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
KEPT: Final = ("partition", "offset", "timestamp", "producer_id")
"""The columns of READ that the table has too."""


def files_of_commits(
    records: DataFrame, regex: str | None, files: DataFiles, cluster: str
) -> DataFrame:
    """What tasks tell that decode the commits of some groups, none of them in a transaction, and write them.

    They note how many could not be decoded.
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
    return files.write(decoded, {"cluster": cluster}, lambda: decoded.undecodable)


class _Decoded:
    """Batches of commits with the columns of the table but the cluster; how many were no commits after all."""

    def __init__(self, batches: Iterable[pa.RecordBatch]) -> None:
        self._batches = batches
        self.undecodable = 0

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
            self.undecodable += undecodable
            yield rows.filter(reasons.is_null()) if undecodable else rows
