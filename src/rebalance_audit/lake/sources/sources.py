"""Where a log comes from: the words of `--source`, and the records they stand for as a DataFrame.

Every source gives the columns of `record_columns.RECORD`, null where it does not tell. What can be checked without
Spark is checked before Spark starts.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it
from pyspark.sql.types import StructType

from rebalance_audit.errors import BadRequest
from rebalance_audit.lake.records.record_columns import DAMAGE, PASSED_OVER, RECORD
from rebalance_audit.lake.sources.segment_source import DEFAULT_SPLIT_BYTES, read_segments
from rebalance_audit.lake.storage.arrow_types import MILLIS_MAX, MILLIS_MIN
from rebalance_audit.lake.storage.delta_log import latest_version
from rebalance_audit.location import local_path
from rebalance_audit.replay.positions import NO_TIMESTAMP_MS
from rebalance_audit.wire.segments.batches import Batch
from rebalance_audit.wire.segments.folder import (
    OFFSETS_TOPIC,
    FileMark,
    Segment,
    SourceNotReadable,
    not_readable,
    open_log_folder,
)
from rebalance_audit.wire.segments.segment_file import read_batches
from rebalance_audit.wire.topic_names import TopicNames, read_topic_names

if TYPE_CHECKING:
    from rebalance_audit.lake.sources.kafka_cluster import KafkaSettings

KnownFiles: TypeAlias = Mapping[int, Collection[FileMark]]
"""Log partition -> segment files that need not be read."""
SPELLINGS: Final = "segments:DIR, delta:PATH or kafka:HOST:PORT"


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


class SegmentsSource(Source):
    """A folder of segment files; every worker must see it under the same path."""

    counts_what_it_leaves_out = True
    shows_markers = True

    def __init__(
        self, spec: str, location: str, split_target_bytes: int = DEFAULT_SPLIT_BYTES
    ) -> None:
        """Large files are cut into pieces of about `split_target_bytes`."""
        super().__init__(spec, str(Path(location).absolute()))
        self._split_target_bytes = split_target_bytes
        self._known: KnownFiles = {}

    def without(self, known: KnownFiles) -> "SegmentsSource":
        """The same folder without files that are known."""
        other = SegmentsSource(self.spec, self.location, self._split_target_bytes)
        other._known = known
        return other

    def files(self) -> dict[int, frozenset[FileMark]]:
        """The segment files of each partition, those that are known among them."""
        return {
            number: frozenset(segment.mark for segment in segments)
            for number, segments in open_log_folder(self.location).segments.items()
        }

    @property
    def size_bytes(self) -> int:
        """Of all its files. Raises SourceNotReadable."""
        return open_log_folder(self.location).size_bytes

    def check(self) -> None:
        """Opens the folder."""
        open_log_folder(self.location)

    def records(
        self,
        spark: SparkSession,
        cluster: str,  # noqa: ARG002 - a folder has one cluster's log
        without_record_types: Collection[int] = (),
    ) -> DataFrame:
        """With both DAMAGE and PASSED_OVER."""
        return read_segments(
            spark,
            self._unread(),
            columns=[*RECORD, DAMAGE, PASSED_OVER],
            split_target_bytes=self._split_target_bytes,
            without_record_types=without_record_types,
        )

    def first_offsets(self) -> dict[int, int]:
        """From the names of the files that are not known."""
        begins: dict[int, int] = {}
        for segment in self._unread():
            number, begin = segment.log_partition, segment.base_offset
            begins[number] = min(begin, begins.get(number, begin))
        return begins

    def has_records(self) -> bool:
        """Whether a file that is not known begins with a batch of them; none are sought behind damage.

        Raises SourceNotReadable.
        """
        return any(_begins_with_records(segment.path) for segment in self._unread())

    def _unread(self) -> list[Segment]:
        """The segments whose files are not known, in log order."""
        return [
            segment
            for number, segments in open_log_folder(self.location).segments.items()
            for segment in segments
            if segment.mark not in self._known.get(number, ())
        ]

    def topic_names(self) -> TopicNames:
        """From the `__cluster_metadata` log beside the segments, if there is one."""
        return read_topic_names(open_log_folder(self.location))


class DeltaSource(Source):
    """A Delta table with the records: our own bronze.records, or what Spark's Kafka source wrote.

    The first name of each list in ACCEPTED that the table has is taken; case does not matter.
    """

    def is_at(self, path: str) -> bool:
        """Whether the table lies at a path."""
        mine, other = local_path(self.location), local_path(path)
        if mine is None or other is None:
            return self.location.rstrip("/") == path.rstrip("/")
        return mine.resolve() == other.resolve()

    def check(self) -> None:
        """Looks for a local table's log; a table on other storage is left to Spark."""
        path = local_path(self.location)
        if path is None:
            return
        if not path.exists():
            raise SourceNotReadable(f"{path} does not exist.")
        if not (path / "_delta_log").is_dir():
            raise SourceNotReadable(f"{path} is no Delta table: it has no folder _delta_log.")

    def records(
        self,
        spark: SparkSession,
        cluster: str,
        without_record_types: Collection[int] = (),  # noqa: ARG002 - Spark filters by itself
    ) -> DataFrame:
        """The table as it is now: later writes are not seen."""
        try:
            version = latest_version(spark, self.location)
            table = spark.read.format("delta").option("versionAsOf", version).load(self.location)
        except (AnalysisException, OSError) as error:
            raise SourceNotReadable(
                f"{self.location} cannot be read: {_first_line(error)}"
            ) from error
        names = {name.lower(): name for name in table.columns}
        if "topic" in names:
            table = self._of_topic(table, names["topic"])
        if "cluster" in names:
            table = self._of_cluster(table, names["cluster"], cluster)
        return table.select(*self._columns(table.schema, names))

    def _columns(self, schema: StructType, names: Mapping[str, str]) -> list[Column]:
        columns = []
        for wanted, accepted in ACCEPTED.items():
            found = next((names[name] for name in accepted if name in names), None)
            kind = RECORD[wanted]
            if found is None:
                if wanted in NEEDED:
                    raise SourceNotReadable(
                        f"{self.location} has no column {wanted}; it needs {', '.join(NEEDED)}"
                        f" and has {', '.join(schema.fieldNames())}."
                    )
                columns.append(F.lit(DEFAULTS.get(wanted)).cast(kind).alias(wanted))
                continue
            given = schema[found].dataType.simpleString()
            expression = _read_as(wanted, given, F.col(f"`{found}`"))
            if expression is None:
                raise SourceNotReadable(
                    f"{self.location} has {found} as {given}; {kind} is needed."
                )
            columns.append(expression.cast(kind).alias(wanted))
        return columns

    def _of_topic(self, table: DataFrame, column: str) -> DataFrame:
        """A table may hold several topics; one without ours is another topic's."""
        ours = table.where(F.col(f"`{column}`") == OFFSETS_TOPIC)
        if ours.isEmpty():
            topics = [row[0] for row in table.select(f"`{column}`").distinct().limit(5).collect()]
            raise SourceNotReadable(
                f"{self.location} has no records of {OFFSETS_TOPIC}; {_found('topic', topics)}."
            )
        return ours

    def _of_cluster(self, table: DataFrame, column: str, cluster: str) -> DataFrame:
        """A lake's bronze may hold several clusters."""
        ours = table.where(F.col(f"`{column}`") == cluster)
        if ours.isEmpty():
            clusters = [row[0] for row in table.select(f"`{column}`").distinct().limit(5).collect()]
            raise SourceNotReadable(
                f"{self.location} has no records of cluster {cluster};"
                f" {_found('cluster', clusters)}."
            )
        return ours


ACCEPTED: Final[Mapping[str, Sequence[str]]] = {
    "partition": ("partition", "log_partition"),
    "offset": ("offset", "log_offset"),
    "timestamp": ("timestamp", "timestamp_ms"),
    "timestamp_type": ("timestamp_type", "timestamptype"),
    "leader_epoch": ("leader_epoch", "leaderepoch"),
    "producer_id": ("producer_id", "producerid"),
    "producer_epoch": ("producer_epoch", "producerepoch"),
    "is_transactional": ("is_transactional", "istransactional"),
    "is_control": ("is_control", "iscontrol"),
    "key": ("key",),
    "value": ("value",),
}
"""Column of RECORD -> names under which a table may have it."""
NEEDED: Final = ("key", "value", "partition", "offset", "timestamp")
DEFAULTS: Final[Mapping[str, str]] = {"timestamp_type": "CreateTime"}
"""What a table without the column means: the topic's default."""


def parse_source(
    spec: str,
    split_target_bytes: int = DEFAULT_SPLIT_BYTES,
    kafka: "KafkaSettings | None" = None,
) -> Source:
    """The source that a SPEC names; `kafka` is how to read a live cluster. Raises BadRequest."""
    kind, colon, location = spec.partition(":")
    if not colon or not location:
        raise BadRequest(f"{spec!r} names no source: write {SPELLINGS}.")
    match kind:
        case "segments":
            return SegmentsSource(spec, location, split_target_bytes)
        case "delta":
            return DeltaSource(spec, location)
        case "kafka":
            from rebalance_audit.lake.sources.kafka_source import KafkaSource  # noqa: PLC0415 - made of Source

            return KafkaSource(spec, location, kafka)
        case _:
            raise BadRequest(f"{spec!r} names no kind of source that is known: write {SPELLINGS}.")


def _begins_with_records(path: Path) -> bool:
    try:
        first = next(read_batches(path), None)
    except OSError as error:
        raise not_readable(path, error) from error
    return isinstance(first, Batch) and bool(first.header.record_count)


def _read_as(wanted: str, given: str, column: Column) -> Column | None:
    """A column of RECORD from one of a given type; None where the type does not fit."""
    whole_numbers = {"smallint", "int", "bigint"}
    match wanted:
        case "timestamp" if given == "bigint":
            plausible = column.between(MILLIS_MIN, MILLIS_MAX)
            return F.when(plausible & (column != NO_TIMESTAMP_MS), F.timestamp_millis(column))
        case "timestamp" if given in {"timestamp", "timestamp_ntz"}:
            return F.nullif(column.cast("timestamp"), F.timestamp_millis(F.lit(NO_TIMESTAMP_MS)))
        case "timestamp_type" if given == "int":
            names = F.array(*map(F.lit, ("none", "CreateTime", "LogAppendTime")))
            return F.try_element_at(names, column + 2)
        case _ if given == RECORD[wanted] or {given, RECORD[wanted]} <= whole_numbers:
            return column
        case _:
            return None


def _found(what: str, values: Sequence[object]) -> str:
    return f"it has {what} {', '.join(map(str, values))}" if values else "it is empty"


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]
