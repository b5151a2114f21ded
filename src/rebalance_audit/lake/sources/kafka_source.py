"""A live cluster as a source, through Spark's Kafka connector: a stretch of the log at a time.

The connector delivers key, value, partition, offset and timestamp of data records. It does not deliver leader epochs,
producer ids, whether a record belongs to a transaction, or the markers that end transactions: these columns are null.
"""

import json
import re
from collections.abc import Mapping
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.errors import BadRequest, LakeError
from rebalance_audit.lake.records.record_columns import RECORD
from rebalance_audit.lake.sources.source import Source
from rebalance_audit.live_cluster.kafka_cluster import ClusterView, KafkaCluster, KafkaSettings
from rebalance_audit.moments import NO_TIMESTAMP_MS
from rebalance_audit.wire.segments.folder import OFFSETS_TOPIC, SourceNotReadable
from rebalance_audit.wire.topic_names import TopicNames

OFFSET_FETCHING: Final = "spark.sql.streaming.kafka.useDeprecatedOffsetFetching"
"""Must be true, see spark_session.REQUIRED: otherwise the connector silently ignores internal topics."""
EARLIEST: Final = "earliest"
LATEST: Final = "latest"
TIMESTAMP_TYPES: Final = ("none", "CreateTime", "LogAppendTime")
"""Names of the connector's -1, 0 and 1."""
OF_KAFKA: Final = re.compile(r"org\.apache\.kafka\.|org\.apache\.spark\.sql\.kafka010|KAFKA_")
"""Appears in a Java stack trace if the cluster, or what the connector found there, ended the query."""


class KafkaSource(Source):
    """`__consumer_offsets` of a cluster that is up."""

    can_be_followed = True

    def __init__(self, spec: str, location: str, settings: KafkaSettings | None = None) -> None:
        """`location` is `HOST:PORT,…`. Raises BadRequest."""
        super().__init__(spec, location)
        self.settings = settings or KafkaSettings()
        self.cluster = KafkaCluster(location, self.settings)
        self._view: ClusterView | None = None
        given_offsets(self.settings.start)

    def check(self) -> None:
        """Ask the cluster for its id, to find out whether it answers before Spark starts."""
        self.view()

    def view(self) -> ClusterView:
        """The cluster as it was when it was first asked. Raises SourceNotReadable."""
        if self._view is None:
            self._view = self.cluster.view()
        return self._view

    def records(
        self,
        spark: SparkSession,
        cluster: str,  # noqa: ARG002 - it has one cluster's log
    ) -> DataFrame:
        """The log from where the settings say to the end that it had when the cluster was first asked."""
        ends = {number: each.end for number, each in self.view().partitions.items()}
        return self.between(spark, self.begins(), ends)

    def begins(self) -> dict[int, int]:
        """Partition -> offset at which the settings say to begin."""
        view = self.view()
        if self.settings.start_ms is not None:
            return self.cluster.offsets_at(self.settings.start_ms, view)
        given = given_offsets(self.settings.start)
        return {
            number: ends.end
            if given is None
            else min(max(given.get(number, ends.begin), ends.begin), ends.end)
            for number, ends in view.partitions.items()
        }

    def between(
        self, spark: SparkSession, begins: Mapping[int, int], ends: Mapping[int, int]
    ) -> DataFrame:
        """The records of each partition in `begins` up to, not including, its end, with the columns of RECORD."""
        reader = spark.read.format("kafka").options(**self.connector_options(begins))
        try:
            frame = reader.option(
                "endingOffsets", _offsets({number: ends[number] for number in begins})
            ).load()
        except Exception as error:  # noqa: BLE001 - of a missing connector pyspark has no error of its own
            raise self._not_loaded(error) from None
        return as_records(frame)

    def topic_names(self, cluster: str = "") -> TopicNames:  # noqa: ARG002 - it has one
        """Names of all topics that exist now and that the user may describe."""
        return self.cluster.topic_names()

    def explain(self, error: Exception) -> SourceNotReadable | None:
        """A sentence for an error of Spark's that the cluster caused; None for any other."""
        text = str(error)
        if not OF_KAFKA.search(text):
            return None
        if "Assigned: Set()" in text:
            return self.unseen(self.begins())
        return SourceNotReadable(
            f"{self.cluster} cannot be read: {self.cluster.hide(_root(text))}."
        )

    def unseen(self, reached: Mapping[int, int]) -> SourceNotReadable:
        """The error for a read that missed records; `reached` has the offset that it reached by partition."""
        number, ends = next(
            (number, ends)
            for number, ends in self.view().partitions.items()
            if reached.get(number, ends.begin) < ends.end
        )
        at = reached.get(number, ends.begin)
        return SourceNotReadable(
            f"Spark read nothing of partition {number} of {OFFSETS_TOPIC} at {self.cluster}, which has offsets {at} to"
            f" {ends.end - 1}: the setting {OFFSET_FETCHING} must be true, else Spark does not see internal topics."
        )

    def connector_options(self, begins: Mapping[int, int]) -> dict[str, str]:
        """Options of the connector, including secrets as plain text."""
        settings = self.settings
        wanted = {f"kafka.{name}": value for name, value in self.cluster.options.items()}
        wanted.setdefault("kafka.default.api.timeout.ms", str(settings.timeout_ms))
        wanted |= {
            "kafka.bootstrap.servers": ",".join(self.cluster.servers),
            # By name and number: a pattern finds no internal topics, and a subscription would add a member of a group
            # to the very log that is read.
            "assign": json.dumps({OFFSETS_TOPIC: sorted(begins)}),
            "startingOffsets": _offsets(begins),
            "groupIdPrefix": settings.group_id_prefix,
            "kafkaConsumer.pollTimeoutMs": str(settings.timeout_ms),
        }
        if settings.min_partitions:
            wanted["minPartitions"] = str(settings.min_partitions)
        return wanted

    def _not_loaded(self, error: Exception) -> Exception:
        text = str(error)
        if "KAFKA" in text or "kafka" in text.partition("\n")[0]:
            if "deploy" in text or "find data source" in text or "DATA_SOURCE_NOT_FOUND" in text:
                return LakeError(
                    "Spark's Kafka connector is not on the class path: run `rebalance-audit jars`, or give"
                    " org.apache.spark:spark-sql-kafka-0-10_2.13 with --packages."
                )
            return self.explain(error) or SourceNotReadable(
                f"{self.cluster} cannot be read: {self.cluster.hide(_root(text))}."
            )
        return error


def as_records(frame: DataFrame) -> DataFrame:
    """The connector's rows with the columns of RECORD."""
    names = F.array(*map(F.lit, TIMESTAMP_TYPES))
    known = {
        "timestamp": F.nullif("timestamp", F.timestamp_millis(F.lit(NO_TIMESTAMP_MS))),
        "timestamp_type": F.element_at(names, F.col("timestampType") + 2),
    }
    return frame.select(
        *(
            known.get(
                name,
                F.col(name) if name in frame.columns else F.lit(None).cast(kind),
            ).alias(name)
            for name, kind in RECORD.items()
        )
    )


def given_offsets(start: str) -> dict[int, int] | None:
    """Partition -> offset that a `start` names; empty for earliest, None for latest. Raises BadRequest."""
    if start == EARLIEST:
        return {}
    if start == LATEST:
        return None
    try:
        given = json.loads(start)
        if isinstance(given, dict) and all(
            type(each) is int and each >= 0 for each in given.values()
        ):
            return {int(number): offset for number, offset in given.items()}
    except ValueError:
        pass
    raise BadRequest(
        f"{start!r} is not a start position: use earliest, latest, or offsets by partition such as"
        ' {"0": 1200, "1": 3400}.'
    )


def _offsets(offsets: Mapping[int, int]) -> str:
    return json.dumps({OFFSETS_TOPIC: {str(number): at for number, at in sorted(offsets.items())}})


def _root(text: str) -> str:
    """The innermost message of a Java stack trace."""
    causes = re.findall(r"Caused by: (?:[\w$]+\.)*([\w$]+: .+)", text)
    found = causes[-1] if causes else re.sub(r"^.*?: ", "", text.strip().splitlines()[0])
    return str(found).strip().rstrip(".")
