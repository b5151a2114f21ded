"""What the tests of live ingest share: an ingest in this process, and what must come out of it."""

import time
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from rebalance_audit.lake.bronze.ingest import ingest
from rebalance_audit.lake.bronze.record_table import Ingested
from rebalance_audit.lake.sources.source_spec import parse_source
from rebalance_audit.lake.storage.tables import Lake
from rebalance_audit.live_cluster.kafka_cluster import KafkaSettings
from tests.support.broker import Broker

CLUSTER = "blue"
RECORD = ("partition", "offset", "timestamp", "timestamp_type", "key", "value")
"""The columns of a record that every source has."""
PATIENCE_S = 600
"""With what comes by itself, on a machine that has much else to do."""

Rows: TypeAlias = list[tuple[Any, ...]]


def take(
    spark: SparkSession, spec: str, lake: Path, settings: KafkaSettings | None = None, **more: Any
) -> Ingested:
    """One ingest."""
    source = parse_source(spec, kafka=settings)
    return ingest(
        source, Lake(spark, str(lake)), CLUSTER, uuid.uuid4().hex, datetime.now(UTC), **more
    )


def kafka(broker: Broker) -> str:
    """The broker as a source."""
    return f"kafka:{broker.bootstrap_servers}"


def segments(broker: Broker) -> str:
    """The broker's folder as a source."""
    return f"segments:{broker.folder / 'data'}"


def bronze(spark: SparkSession, lake: Path) -> Rows:
    """Every record in bronze, in order; one that is there twice is here twice."""
    return in_order(Lake(spark, str(lake)).read("bronze.records"))


def batches(lake: Path) -> int:
    """How often something was appended to bronze."""
    commits = (lake / "bronze" / "records" / "_delta_log").glob("*.json")
    return max(0, len(list(commits)) - 1)  # the first one makes the table


def has_batches(lake: Path, count: int) -> Callable[[], bool]:
    """Whether so many batches are in bronze, or will never be there."""
    deadline = time.monotonic() + PATIENCE_S
    return lambda: batches(lake) >= count or time.monotonic() > deadline


def in_log(spark: SparkSession, broker: Broker) -> Rows:
    """Every record of the broker's folder that a consumer would see, in order."""
    records = parse_source(segments(broker)).records(spark, CLUSTER)
    return in_order(records.where(~F.col("is_control")))


def in_order(records: DataFrame) -> Rows:
    """Records as plain rows."""
    rows = records.select(*RECORD).orderBy("partition", "offset").collect()
    return [tuple(row) for row in rows]


def ledger(spark: SparkSession, lake: Path) -> dict[int, dict[str, Any]]:
    """Rows of meta.ingested by partition."""
    rows = Lake(spark, str(lake)).read("meta.ingested").collect()
    return {row["partition"]: row.asDict() for row in rows}
