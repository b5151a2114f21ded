"""Files whose statistics lack the bounds of long texts: written no more, and mended where an earlier release did."""

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from deltalake import DeltaTable, QueryBuilder
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from rebalance_audit.lake.runs.maintain import MaintainReport, MaintainRequest, maintain
from rebalance_audit.lake.runs.missing_bounds import tables_without_bounds, write_again_alone
from rebalance_audit.lake.runs.request import RunRequest
from rebalance_audit.lake.runs.run import run_audit
from rebalance_audit.lake.runs.run_report import RunReport
from rebalance_audit.lake.sources.source_spec import parse_source
from rebalance_audit.lake.storage.lock import sole_run
from rebalance_audit.lake.storage.tables import Lake
from rebalance_audit.readers.tables import open_table
from rebalance_audit.tables.schemas import table_schemas
from tests.spark.lakes import table
from tests.spark.runs.test_maintain import LATER, quiet
from tests.support.long_ids import (
    CLUSTER,
    IDS,
    OF_EARLIER_LAKE,
    TABLES,
    named_columns,
    unpack_earlier_lake,
    write_log,
)

OF_RUNS = ("meta.ingested", "meta.progress", "meta.runs")
"""A run writes them where nothing is new, too."""


class Mended(NamedTuple):
    """A lake of an earlier release, and this release's runs over it, the log being the same."""

    before: Path
    lake: Path
    first: RunReport
    versions: dict[str, int | None]
    """After the first run."""
    second: RunReport


def audit(spark: SparkSession, log: Path, lake: Path) -> RunReport:
    """One run."""
    return run_audit(spark, RunRequest(parse_source(f"segments:{log}"), str(lake), CLUSTER))


def versions(lake: Lake) -> dict[str, int | None]:
    """Of every table."""
    return {name: lake.version(name) for name in table_schemas()}


@pytest.fixture(scope="module")
def mended(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Mended:
    """Two runs."""
    log = write_log(tmp_path_factory.mktemp("log"), OF_EARLIER_LAKE)
    before, lake = (
        unpack_earlier_lake(tmp_path_factory.mktemp(name)) for name in ("before", "after")
    )
    first = audit(spark, log, lake)
    return Mended(before, lake, first, versions(Lake(spark, str(lake))), audit(spark, log, lake))


@pytest.fixture(scope="module")
def new(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake that this release has made."""
    folder = tmp_path_factory.mktemp("new")
    audit(spark, write_log(folder / "log"), folder / "lake")
    return folder / "lake"


def assert_found(
    spark: SparkSession,
    path: Path,
    ids: Mapping[str, str],
    open_dataset: Callable[[str], ds.Dataset],
) -> None:
    """Each group in each table, by the cluster and each column with its id: in Spark, SQL of delta-rs, a dataset."""
    for name in TABLES:
        folder = str(path / name.replace(".", "/"))
        dataset, table = open_dataset(name), DeltaTable(folder)
        rows = spark.read.format("delta").load(folder).where(F.col("cluster") == CLUSTER)
        of_cluster = ds.field("cluster") == CLUSTER
        assert rows.count() == dataset.count_rows(filter=of_cluster) == dataset.count_rows() > 0
        sql = QueryBuilder().register("t", table)
        for column in named_columns(name):
            known = dataset.to_table([column]).column(column).drop_null()
            of_each = len(known) // len(ids)
            for each in ids.values():
                found = dataset.count_rows(filter=of_cluster & (ds.field(column) == each))
                assert found == of_each, (name, column, each[:40])
                if "\0" not in each:
                    query = f"select {column} from t where cluster = '{CLUSTER}' and {column} = '{each}'"  # noqa: S608
                    assert pa.table(sql.execute(query)).num_rows == of_each, (
                        name,
                        column,
                        each[:40],
                    )
            # A query for each would take minutes; files are skipped all the same.
            counts = rows.where(F.col(column).isin(*ids.values())).groupBy(column).count().collect()
            assert {row[0]: row[1] for row in counts} == (
                dict.fromkeys(ids.values(), of_each) if of_each else {}
            ), (name, column)


def hides_nothing(path: Path) -> Callable[[str], ds.Dataset]:
    """delta-rs' own dataset, which skips files by the log's statistics."""
    return lambda name: DeltaTable(str(path / name.replace(".", "/"))).to_pyarrow_dataset()


def test_a_new_lake_hides_no_group(spark: SparkSession, new: Path) -> None:
    """Whoever reads it, and whatever they filter by."""
    assert tables_without_bounds(Lake(spark, str(new))) == []
    assert_found(spark, new, IDS, partial(open_table, str(new)))


def test_a_run_mends_an_earlier_lake(spark: SparkSession, mended: Mended) -> None:
    """All tables, as one sentence says; their rows are the same, and no change feed has them again."""
    lacking = tables_without_bounds(Lake(spark, str(mended.before)))
    assert {name.partition(".")[0] for name in lacking} == {"bronze", "silver", "gold", "meta"}
    (note,) = mended.first.notes
    assert all(name in note for name in lacking)
    assert_found(spark, mended.lake, OF_EARLIER_LAKE, hides_nothing(mended.lake))
    lake, before = Lake(spark, str(mended.lake)), Lake(spark, str(mended.before))
    assert tables_without_bounds(lake) == []
    for name in sorted({*lacking} - {*OF_RUNS}):
        # This release decodes and judges some of it in another way than the one that wrote the lake.
        columns = set[str]() if name.startswith("bronze.") else {*table_schemas()[name].key}
        assert cells(mended.lake, name, columns) == cells(mended.before, name, columns), name
        was, now = before.version(name), lake.version(name)
        assert was is not None
        assert now is not None
        changes = [{*data_changes(mended.lake, name, each)} for each in range(was + 1, now + 1)]
        assert {False} in changes, name


def cells(lake: Path, name: str, columns: Collection[str]) -> list[dict[str, object]]:
    """These columns of all rows, but for the cluster; all columns if none are named."""
    rows = table(lake, name, None)
    return [{key: row[key] for key in row if not columns or key in columns} for row in rows]


def data_changes(lake: Path, name: str, version: int) -> Iterator[bool]:
    """What the actions of a commit say of themselves."""
    commit = lake / name.replace(".", "/") / "_delta_log" / f"{version:020d}.json"
    for action in map(json.loads, commit.read_text().splitlines()):
        for change in (action.get("add"), action.get("remove")):
            if change is not None:
                yield change["dataChange"]


def test_what_is_mended_stays_as_it_is(spark: SparkSession, mended: Mended) -> None:
    """The next run says nothing, and writes no table but those of runs."""
    assert mended.second.notes == []
    after = versions(Lake(spark, str(mended.lake)))
    changed = {name for name in after if after[name] != mended.versions[name]}
    assert changed <= {*OF_RUNS}


def care(lake: Lake, **fields: bool) -> MaintainReport:
    """One maintenance."""
    return maintain(lake, MaintainRequest(**fields), LATER, quiet)  # type: ignore[arg-type]


def test_maintenance_mends_an_earlier_lake(spark: SparkSession, tmp_path: Path) -> None:
    """A dry run says which tables, and leaves them; the second maintenance has nothing to do."""
    lake = Lake(spark, str(unpack_earlier_lake(tmp_path)))
    lacking, before = tables_without_bounds(lake), versions(lake)
    planned = care(lake, dry_run=True)
    assert versions(lake) == before
    done = care(lake)
    for report, told in ((planned, "would be rewritten"), (done, "were rewritten")):
        (note,) = report.notes
        assert told in note
        assert all(name in note for name in lacking)
    assert tables_without_bounds(lake) == []
    path = Path(lake.path)
    assert_found(spark, path, OF_EARLIER_LAKE, hides_nothing(path))
    after = versions(lake)
    again = care(lake)
    assert versions(lake) == after
    assert again.notes == []


def test_no_file_is_written_again_beside_another_run(spark: SparkSession, tmp_path: Path) -> None:
    """One of the two would fail; readers of this release find all rows meanwhile."""
    path = unpack_earlier_lake(tmp_path)
    lake = Lake(spark, str(path))
    lacking, before = tables_without_bounds(lake), versions(lake)
    with sole_run(lake.path, CLUSTER, "its run"):
        told = write_again_alone(lake, lacking, "green", "ours")
    assert "a later run or `rebalance-audit maintain` will rewrite them" in told
    assert versions(lake) == before
