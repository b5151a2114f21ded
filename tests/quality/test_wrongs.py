"""A lake that a run has left, and in copies of it whatever may go wrong with its rows: `check` tells of each."""

import json
from collections import defaultdict
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import SparkSession

from rebalance_audit.lake.checks.scope import Scope
from rebalance_audit.lake.runs.run import run_audit
from rebalance_audit.lake.storage.tables import Lake
from rebalance_audit.quality.check import CheckRequest, run_check
from rebalance_audit.tables.schemas import TableSchema, table_schemas
from tests.quality.wrongs import WRONGS, Wrong
from tests.spark.lakes import request_of
from tests.spark.mixed_log import write_log

SOUND = "sound"
"""The cluster whose rows are as the run has left them."""
MANY_KEYS = 10_000


@pytest.fixture(scope="module")
def made(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """All tables, made by one run over a real log with damage and holes."""
    folder = tmp_path_factory.mktemp("made")
    log = write_log(folder / "log")
    run_audit(spark, request_of(f"segments:{log}", folder / "lake"))
    return folder / "lake"


@pytest.fixture(scope="module")
def told(
    spark: SparkSession, made: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, set[str]]:
    """Wrong -> tables whose rows one check points at, of a lake in which each wrong has a cluster of its own."""
    lake = tmp_path_factory.mktemp("wrong")
    for schema in table_schemas().values():
        folder = schema.full_name.replace(".", "/")
        if not (made / folder).is_dir():
            continue
        table = DeltaTable(str(made / folder)).to_pyarrow_table()
        table = table.sort_by([(name, "ascending") for name in schema.key])
        rows = {SOUND: table} | {
            wrong.name: pa.Table.from_pylist(wrong.change(table.to_pylist()), table.schema)
            if wrong.table == schema.full_name
            else table
            for wrong in WRONGS
        }
        copies = [_named(schema, copy, name) for name, copy in rows.items()]
        write_deltalake(str(lake / folder), pa.concat_tables(copies))
    report = run_check(Lake(spark, str(lake)), CheckRequest(Scope(), sample_keys=MANY_KEYS))
    tables = defaultdict(set)
    for result in report.broken:
        for key in map(json.loads, result.sample_keys):
            tables[key.get("cluster", key.get("run_id"))].add(result.table)
    return tables


def _named(schema: TableSchema, rows: pa.Table, name: str) -> pa.Table:
    """The rows as rows of a cluster of this name, and of a run of this name where that is the key."""
    for column in {"cluster", *schema.key[:1]}:
        at = rows.schema.get_field_index(column)
        rows = rows.set_column(at, rows.schema.field(at), pa.array([name] * len(rows), pa.string()))
    return rows


@pytest.mark.parametrize("wrong", WRONGS, ids=lambda wrong: wrong.name)
def test_each_wrong_is_told_where_it_shows(told: dict[str, set[str]], wrong: Wrong) -> None:
    """`check` points at rows of the table that is named."""
    assert wrong.told_by in told[wrong.name]


def test_nothing_is_told_of_what_a_run_has_left(told: dict[str, set[str]]) -> None:
    """Batches that could not be decoded are a warning of the run that met them."""
    assert told[SOUND] <= {"meta.runs"}
