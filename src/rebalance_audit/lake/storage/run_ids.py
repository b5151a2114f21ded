"""Ids of runs: how they are made, and how each commit says which run made it."""

import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Final

from pyspark.sql import SparkSession

RUN_ID: Final = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{8}")
OWN_COMMIT: Final = re.compile(rf"{RUN_ID.pattern}(/\d+)?")
"""`userMetadata` of this program's commits; an ingest counts its commits after a slash."""
USER_METADATA: Final = "spark.databricks.delta.commitInfo.userMetadata"


def appends_of(cluster: str) -> str:
    """Transaction id of a cluster's appends to a table: Delta refuses the second of two with one number."""
    return f"rebalance-audit/{cluster}"


def new_run_id(started_at: datetime) -> str:
    """An id that no other run has; ids of runs that started in different seconds sort by time. `started_at` is UTC."""
    return f"{started_at:%Y%m%dT%H%M%SZ}-{uuid.uuid4().hex[:8]}"


def run_of(spark: SparkSession) -> str:
    """The id in `userMetadata` of the session's commits now; empty outside of `commit_metadata`."""
    return spark.conf.get(USER_METADATA, "") or ""


@contextmanager
def commit_metadata(spark: SparkSession, run_id: str) -> Iterator[None]:
    """Put the id into `userMetadata` of every commit inside the block, also those that make tables or add columns."""
    spark.conf.set(USER_METADATA, run_id)
    try:
        yield
    finally:
        spark.conf.unset(USER_METADATA)
