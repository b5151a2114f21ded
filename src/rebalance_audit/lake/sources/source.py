"""What a source of a log is: the records as a DataFrame, and what can be known without reading them.

Every source gives the columns of `record_columns.RECORD`, null where it does not tell. What can be checked without
Spark is checked before Spark starts.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Collection

from pyspark.sql import DataFrame, SparkSession

from rebalance_audit.wire.segments.folder import SourceNotReadable
from rebalance_audit.wire.topic_names import TopicNames


class Source(ABC):
    """A log."""

    def __init__(self, spec: str, location: str) -> None:
        """`spec` is the whole of what the user wrote, `location` what follows its kind."""
        self.spec = spec
        self.location = location

    counts_what_it_leaves_out = False
    """Whether `records` can leave out record types and say how many records that were."""
    can_be_followed = False
    """Whether there is more to come, and a stream can wait for it."""
    shows_markers = False
    """Whether the markers that end transactions are among the records: then an offset that is missing was compacted."""

    @abstractmethod
    def check(self) -> None:
        """Raises SourceNotReadable for what is wrong and can be seen without Spark."""

    @abstractmethod
    def records(
        self, spark: SparkSession, cluster: str, without_record_types: Collection[int] = ()
    ) -> DataFrame:
        """Every record, with the columns of RECORD.

        Rows of damaged stretches have DAMAGE set besides, where the source can have any; rows that stand for records of
        `without_record_types` have PASSED_OVER set, where the source can leave them out by itself. Raises
        SourceNotReadable.
        """

    def topic_names(self) -> TopicNames:
        """Names that the source holds apart from the records. Raises SourceNotReadable."""
        return TopicNames()

    def first_offsets(self) -> dict[int, int] | None:
        """For each partition an offset in front of which it has nothing; None where only the records tell."""
        return None

    def explain(self, error: Exception) -> SourceNotReadable | None:
        """What of an error of Spark's is the source's doing; None where nothing is."""
        match = re.search(r"\bSourceNotReadable: (.+)", str(error))
        return SourceNotReadable(match[1].strip()) if match else None
