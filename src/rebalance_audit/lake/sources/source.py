"""What a source of a log is: the records as a DataFrame, and what can be known without reading them.

Every source gives the columns of `record_columns.RECORD`, null if it has none. What can be checked without
Spark is checked before Spark starts.
"""

import re
from abc import ABC, abstractmethod
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from rebalance_audit.lake.session.splits import Splits
from rebalance_audit.wire.segments.folder import SourceNotReadable
from rebalance_audit.wire.topic_names import TopicNames


class Source(ABC):
    """A log."""

    def __init__(self, spec: str, location: str) -> None:
        """`spec` is all that the user wrote, `location` what follows the kind and the colon."""
        self.spec = spec
        self.location = location

    can_be_followed = False
    """Whether the log grows, and a stream can wait for more."""
    shows_markers = False
    """Whether the markers that end transactions are among the records: then a missing offset was compacted."""

    @abstractmethod
    def check(self) -> None:
        """Raises SourceNotReadable for what can be found wrong without Spark."""

    @abstractmethod
    def records(self, spark: SparkSession, cluster: str) -> DataFrame:
        """Every record of the cluster, with the columns of RECORD. Raises SourceNotReadable.

        A source that can have damaged stretches has rows for them, with DAMAGE set.
        """

    def log(self, spark: SparkSession, cluster: str) -> DataFrame | Splits[Any]:
        """The same, perhaps for tasks that go on with what they read. Raises SourceNotReadable."""
        return self.records(spark, cluster)

    def offsets(self, spark: SparkSession, cluster: str) -> DataFrame:
        """The columns partition and offset of every record of the cluster. Raises SourceNotReadable."""
        return self.records(spark, cluster).select("partition", "offset")

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
