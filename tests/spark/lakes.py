"""Lakes compared row for row."""

import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession

from rebalance_audit.audit.findings import kinds
from rebalance_audit.audit.thresholds import FindingRules
from rebalance_audit.lake.runs.context import RunReport
from rebalance_audit.lake.runs.request import RunRequest
from rebalance_audit.lake.sources.source import Source
from rebalance_audit.lake.sources.source_spec import parse_source
from rebalance_audit.tables.schemas import GOLD_TABLES, TableName, table_schemas
from tests.spark.in_process import Rows, in_order, plain

CLUSTER = "blue"
OF_COMMITS = {kind.kind for kind in kinds.OF_COMMITS}
FINDINGS = FindingRules(growth_records=40)
"""So little that even the small logs of the tests have findings of offset commits."""
OF_THE_AUDIT = tuple(name for name in GOLD_TABLES if name != TableName.COMMIT_PROGRESS)
"""What the audit in one process has too, unless progress is asked for."""
SILVER_TABLES = ("silver.offset_commits", "silver.group_records", "silver.quarantine")
TABLES = (*GOLD_TABLES, *SILVER_TABLES, "bronze.records")
"""All that a log decides; the others record runs."""
OF_RUNS = {"bronze.records": ("source", "ingested_at"), "silver.quarantine": ("detail",)}
"""Columns that say where and when something was read."""


class Whole(NamedTuple):
    """A finished run over all of a log, with its log and lake."""

    log: Path
    lake: Path
    report: RunReport


class Earlier(NamedTuple):
    """A lake after two runs that found parts of a log."""

    lake: Path
    first: RunReport
    second: RunReport


def request_of(source: str | Source | None, lake: Path | str, **fields: Any) -> RunRequest:
    """A run over a source or the SPEC of one, or over what bronze holds."""
    given = parse_source(source) if isinstance(source, str) else source
    return RunRequest(given, str(lake), CLUSTER, **{"findings": FINDINGS, **fields})


def empty_lake(lake: Path, like: Path, *layers: str) -> Path:
    """A lake as a run leaves it that ended as soon as it had made its tables: those of a finished lake, or of layers.

    Making them is a fifth of what a run over a small log takes.
    """
    for layer in layers or ("bronze", "silver", "gold", "meta"):
        for made in like.glob(f"{layer}/*/_delta_log/{0:020d}.*"):
            copy = lake / made.relative_to(like)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(made, copy)
    return lake


def frame_of(spark: SparkSession, name: str, rows: Iterable[Mapping[str, Any]]) -> DataFrame:
    """Rows as a table has them, without the cluster; columns that are not given are null."""
    columns = [column for column in table_schemas()[name].columns if column.name != "cluster"]
    return spark.createDataFrame(
        [tuple(row.get(column.name) for column in columns) for row in rows],
        ", ".join(f"`{column.name}` {column.type}" for column in columns),
    )


def table(lake: Path, name: str, cluster: str | None = CLUSTER) -> Rows:
    """The rows of a cluster, None for all, in order of the key, without the cluster and when they were ingested.

    Read without Spark, which takes a hundred times as long for so little.
    """
    layer, folder = name.split(".")
    found = DeltaTable(str(lake / layer / folder)).to_pyarrow_table().to_pylist()
    rows = in_order(name, (plain(row) for row in found if cluster in {None, row.get("cluster")}))
    for row in rows:
        row.pop("ingested_at", None)
    return rows


def without_commits(rows: Rows) -> Rows:
    """Rows without the findings that offset commits show, which only a run with silver or `inspect` makes."""
    return [row for row in rows if row.get("kind") not in OF_COMMITS]


def difference(
    name: str, one: Path, other: Path, among: Callable[[Mapping[str, Any]], bool] = bool
) -> list[tuple[str, ...]]:
    """Rows that one of two lakes has, or has more often than the other, a few of each; of all, or of some."""
    sides = []
    for lake in (one, other):
        rows = [row for row in table(lake, name) if among(row)]
        for row in rows:
            for column in OF_RUNS.get(name, ()):
                row.pop(column, None)
        sides.append(Counter(map(repr, rows)))
    left, right = sides
    only_left, only_right = [*(left - right).elements()], [*(right - left).elements()]
    return (
        [("only in the first", *only_left[:3]), ("only in the second", *only_right[:3])]
        if (only_left or only_right)
        else []
    )
