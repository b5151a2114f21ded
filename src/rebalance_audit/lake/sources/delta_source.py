"""A Delta table as a source: `delta:PATH`."""

from collections.abc import Mapping, Sequence
from typing import Final

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError
from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the usual name
from pyspark.sql.types import StructType

from rebalance_audit.lake.records.record_columns import RECORD
from rebalance_audit.lake.sources.source import Source
from rebalance_audit.lake.storage.table_log import LogByName, first_line
from rebalance_audit.lake.storage.tables import plain_rows
from rebalance_audit.location import local_path
from rebalance_audit.moments import MILLIS_MAX, MILLIS_MIN, NO_TIMESTAMP_MS
from rebalance_audit.tables.schemas import table_schemas
from rebalance_audit.wire.segments.folder import OFFSETS_TOPIC, SourceNotReadable
from rebalance_audit.wire.topic_names import TopicNames, names_in_table

IN_LAKE: Final = ("bronze", "records")
"""How the path of a lake's own table of records ends."""


class DeltaSource(Source):
    """A Delta table of records: our own bronze.records, or one written from Spark's Kafka source.

    Of each list in ACCEPTED the first name that the table has is used; case does not matter.
    """

    def is_at(self, path: str) -> bool:
        """Whether the table is the one at a path."""
        mine, other = local_path(self.location), local_path(path)
        if mine is None or other is None:
            return self.location.rstrip("/") == path.rstrip("/")
        return mine.resolve() == other.resolve()

    def check(self) -> None:
        """Look for a local table's log; a table on other storage is left to Spark."""
        path = local_path(self.location)
        if path is None:
            return
        if not path.exists():
            raise SourceNotReadable(f"{path} does not exist.")
        if not (path / "_delta_log").is_dir():
            raise SourceNotReadable(f"{path} is not a Delta table: it has no folder _delta_log.")

    def records(self, spark: SparkSession, cluster: str) -> DataFrame:
        """The table as it is now, without later writes."""
        try:
            version = LogByName(spark, f"delta.`{self.location}`").version()
            if version is None:
                raise SourceNotReadable(f"{self.location} is not a Delta table.")
            table = spark.read.format("delta").option("versionAsOf", version).load(self.location)
        except (AnalysisException, OSError) as error:
            raise SourceNotReadable(
                f"{self.location} cannot be read: {first_line(error)}."
            ) from error
        names = {name.lower(): name for name in table.columns}
        if "topic" in names:
            table = self._only(table, names["topic"], OFFSETS_TOPIC, "topic", OFFSETS_TOPIC)
        if "cluster" in names:
            table = self._only(table, names["cluster"], cluster, "cluster", f"cluster {cluster}")
        return table.select(*self._columns(table.schema, names))

    def topic_names(self, cluster: str = "") -> TopicNames:
        """Those that a lake on this machine knows beside its own bronze.records, which do not have them all."""
        names, path = TopicNames(), local_path(self.location)
        if path is None or path.parts[-2:] != IN_LAKE:
            return names
        table = str(path.parents[1] / "gold" / "topics")
        try:
            if not DeltaTable.is_deltatable(table):
                return names
            rows = plain_rows(DeltaTable(table).to_pyarrow_table())
        except (DeltaError, OSError) as error:
            raise SourceNotReadable(f"{table} cannot be read: {first_line(error)}.") from error
        # A lake of an earlier release lacks columns: what they would say is unknown.
        unknown = dict.fromkeys(column.name for column in table_schemas()["gold.topics"].columns)
        names.merge(names_in_table(unknown | row for row in rows if row["cluster"] == cluster))
        return names

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
                    f"Column {found} of {self.location} is {given}; {kind} is needed."
                )
            columns.append(expression.cast(kind).alias(wanted))
        return columns

    def _only(self, table: DataFrame, column: str, value: str, what: str, shown: str) -> DataFrame:
        """The rows with our value: a table may have several. Raises SourceNotReadable if it has none with ours."""
        ours = table.where(F.col(f"`{column}`") == value)
        if ours.isEmpty():
            others = [row[0] for row in table.select(f"`{column}`").distinct().limit(5).collect()]
            has = f"has {what} {', '.join(map(str, others))}" if others else "is empty"
            raise SourceNotReadable(f"{self.location} has no records of {shown}; it {has}.")
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
"""Column of RECORD -> its value for a table without the column: the topic's default."""


def _read_as(wanted: str, given: str, column: Column) -> Column | None:
    """A column of RECORD made from one of a given type; None if the type does not fit."""
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
