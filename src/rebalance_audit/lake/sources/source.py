"""What a source of a log is: the records as a DataFrame, and what can be known without reading them.

Every source gives the columns of `record_columns.RECORD`, null if it has none. What can be checked without
Spark is checked before Spark starts.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Collection
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from rebalance_audit.lake.records.commit_packs import commit_packs
from rebalance_audit.lake.session.splits import Splits
from rebalance_audit.wire.segments.folder import SourceNotReadable
from rebalance_audit.wire.topic_names import TopicNames


class Source(ABC):
    """A log."""

    def __init__(self, spec: str, location: str) -> None:
        """`spec` is all that the user wrote, `location` what follows the kind and the colon."""
        self.spec = spec
        self.location = location

    counts_what_it_leaves_out = False
    """Whether `records` can leave out record types and say how many records that were."""
    can_be_followed = False
    """Whether the log grows, and a stream can wait for more."""
    shows_markers = False
    """Whether the markers that end transactions are among the records: then a missing offset was compacted."""

    @abstractmethod
    def check(self) -> None:
        """Raises SourceNotReadable for what can be found wrong without Spark."""

    @abstractmethod
    def records(
        self, spark: SparkSession, cluster: str, without_record_types: Collection[int] = ()
    ) -> DataFrame:
        """Every record of the cluster, with the columns of RECORD.

        A source that can have damaged stretches has rows for them, with DAMAGE set. One that can leave out
        `without_record_types` by itself has rows with PASSED_OVER that say how many records these were. Raises
        SourceNotReadable.
        """

    def to_store(self, spark: SparkSession, cluster: str) -> DataFrame | Splits[Any]:
        """The records for bronze, with the columns of RECORD and perhaps DAMAGE. Raises SourceNotReadable."""
        return self.records(spark, cluster)

    def offsets(self, spark: SparkSession, cluster: str) -> DataFrame:
        """The columns partition and offset of every record of the cluster. Raises SourceNotReadable."""
        return self.records(spark, cluster).select("partition", "offset")

    def commit_packs(
        self, spark: SparkSession, cluster: str, groups_regex: str | None
    ) -> DataFrame:
        """Packs of the offset commits of some groups, see `records.commit_packs`. Raises SourceNotReadable."""
        return commit_packs(self.records(spark, cluster), groups_regex)

    def topic_names(self, cluster: str = "") -> TopicNames:  # noqa: ARG002 - for those with several
        """Names of topics of a cluster that the source has besides the records. Raises SourceNotReadable."""
        return TopicNames()

    def first_offsets(self) -> dict[int, int] | None:
        """Partition -> an offset before which it has no record; None if only the records show it."""
        return None

    def explain(self, error: Exception) -> SourceNotReadable | None:
        """A sentence for an error of Spark's that the source caused; None for any other."""
        match = re.search(r"\bSourceNotReadable: (.+)", str(error))
        return SourceNotReadable(match[1].strip()) if match else None
