"""Bronze: the source as it is, appended."""

import threading
from contextlib import suppress
from datetime import datetime
from typing import Any, Final, NamedTuple

from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from rebalance_audit.lake.record_columns import DAMAGE, PASSED_OVER, RECORD
from rebalance_audit.lake.sinks import Sink

RECORDS: Final = "bronze.records"
QUARANTINED: Final = "silver.quarantine"
OBSERVATION_SECONDS: Final = 10.0
"""How long to wait for a count that Spark reports on the side; without it the source is looked through again."""


class Ingested(NamedTuple):
    """What came out of a source."""

    records: int
    """Rows that are new in bronze."""
    damaged_stretches: int = 0
    """Of the source, new or not."""
    damage_rows: int = 0
    """Rows that are new in quarantine."""


def ingest(source: DataFrame, sink: Sink, spec: str, ingested_at: datetime) -> Ingested:
    """Append the source's new records to bronze, and its damaged stretches to quarantine."""
    observed = Observation()
    rows = source
    if DAMAGE in source.columns:
        rows = source.observe(observed, F.count(DAMAGE).alias("damaged"))
    records = rows.where(_is_record(rows)).select(
        *RECORD, F.lit(spec).alias("source"), F.lit(ingested_at).alias("ingested_at")
    )
    written = sink.insert_new(RECORDS, records).rows
    # Segments are looked through a second time only if there was damage.
    if DAMAGE not in source.columns or _count(observed) == 0:
        return Ingested(written)
    damaged = damaged_stretches(source).persist()
    try:
        found = damaged.count()
        added = sink.insert_new(QUARANTINED, damaged).rows if found else 0
        return Ingested(written, found, added)
    finally:
        damaged.unpersist()


def damaged_stretches(rows: DataFrame) -> DataFrame:
    """Rows of silver.quarantine (without the cluster) for the damaged stretches among a source's rows."""
    absent = {"timestamp": "timestamp", "key": "binary", "value": "binary"}
    absent |= {"record_type": "int", "value_version": "int"}
    return rows.where(F.col(DAMAGE).isNotNull()).select(
        "partition",
        "offset",
        *[F.lit(None).cast(kind).alias(name) for name, kind in absent.items()],
        f"{DAMAGE}.*",
    )


def _is_record(rows: DataFrame) -> Any:
    """What is a record of the log, and neither damage nor a count."""
    marks = [name for name in (DAMAGE, PASSED_OVER) if name in rows.columns]
    return F.expr(" and ".join(f"{name} is null" for name in marks) or "true")


def _count(observed: Observation) -> int | None:
    """What was counted on the side; None when Spark does not report it, as where the rows were joined and cached."""
    found: list[int] = []

    def wait() -> None:
        with suppress(Py4JJavaError):
            found.append(observed.get["damaged"])

    waiting = threading.Thread(target=wait, daemon=True)
    waiting.start()
    waiting.join(OBSERVATION_SECONDS)
    return found[0] if found else None
