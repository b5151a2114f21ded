"""Whether a lake that has been through a lot is what one undisturbed run makes of the same log."""

from collections.abc import Iterator
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from rebalance_audit.lake.sources.source_spec import parse_source
from rebalance_audit.lake.storage.tables import Lake
from tests.spark.lakes import CLUSTER, OF_RUNS, TABLES

RECORD = ("partition", "offset", "timestamp", "timestamp_type", "key", "value")
"""The columns of a record that every source has."""
EXAMPLES_MAX = 3


def differences(
    spark: SparkSession, segments: Path, lake: Path, clean: Path
) -> Iterator[tuple[str, int, int, int, list[str]]]:
    """For each comparison: its name, rows on the left, rows only on the left, only on the right, and examples.

    First bronze beside the broker's own files, where a record that is there twice counts as one too many; then each
    table beside that of the clean lake.
    """
    in_log = parse_source(f"segments:{segments}").records(spark, CLUSTER)
    in_log = in_log.where("damage is null and not is_control")
    bronze = _of(spark, lake, "bronze.records")
    yield _compared("bronze and the broker's files", bronze.select(*RECORD), in_log.select(*RECORD))
    for name in TABLES:
        sides = [
            _of(spark, each, name).drop("ingested_at", *OF_RUNS.get(name, ()))
            for each in (lake, clean)
        ]
        yield _compared(name, *sides)


def epochs_of_protocols(spark: SparkSession, lake: Path) -> dict[str, int]:
    """Protocol -> epochs: what the comparison is about."""
    counted = _of(spark, lake, "gold.epochs").groupBy("protocol").count()
    return {row["protocol"]: row["count"] for row in counted.collect()}


def _of(spark: SparkSession, lake: Path, name: str) -> DataFrame:
    return Lake(spark, str(lake)).read(name).where(F.col("cluster") == CLUSTER)


def _compared(name: str, left: DataFrame, right: DataFrame) -> tuple[str, int, int, int, list[str]]:
    one, other = (_as_text(side).persist() for side in (left, right))
    try:
        only_one, only_other = one.exceptAll(other), other.exceptAll(one)
        counts = [frame.count() for frame in (one, only_one, only_other)]
        examples = [
            f"{sign} {row[0]}"
            for sign, frame in (("-", only_one), ("+", only_other))
            for row in frame.take(EXAMPLES_MAX)
        ]
    finally:
        one.unpersist()
        other.unpersist()
    return name, counts[0], counts[1], counts[2], examples


def _as_text(rows: DataFrame) -> DataFrame:
    """Each row as JSON: rows with maps cannot be compared otherwise."""
    return rows.select(F.to_json(F.struct(*rows.columns)).alias("row"))
