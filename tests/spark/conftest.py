import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final, cast

import pytest
from pyspark.sql import SparkSession

from rebalance_audit.lake.runs.run import run_audit
from rebalance_audit.lake.storage.stage import Stage, StageFolder
from rebalance_audit.lake.storage.table_place import KINDS, LakeOptions, WriterKind
from tests.spark.lakes import Earlier, Whole, empty_lake, request_of
from tests.spark.mixed_log import write_log
from tests.spark.pieces import Pieces

WRITER: Final = cast("WriterKind", os.environ.get("LAKE_WRITER", KINDS[0]))
"""What writes the lakes of tests that do not run with each writer; `make test-writers` sets the other one."""


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run tests of lakes with one writer, and those marked `each_writer` with both."""
    if "writer" in metafunc.fixturenames:
        is_each = metafunc.definition.get_closest_marker("each_writer") is not None
        metafunc.parametrize("writer", KINDS if is_each else (WRITER,), scope="session")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in this folder needs the session, and lives with the sockets that pyspark leaves to the collector."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.spark)
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"))


@pytest.fixture(scope="session")
def whole(
    spark: SparkSession, writer: WriterKind, tmp_path_factory: pytest.TempPathFactory
) -> Whole:
    """One run of all layers over the mixed log into a new lake, which no test changes."""
    folder = tmp_path_factory.mktemp("whole")
    log, lake = write_log(folder / "log"), folder / "lake"
    options = LakeOptions(writer=writer)
    return Whole(log, lake, run_audit(spark, request_of(f"segments:{log}", lake, options=options)))


@pytest.fixture
def stage(spark: SparkSession, tmp_path: Path) -> Iterator[Stage]:
    """A folder for intermediate rows."""
    with StageFolder(str(tmp_path / "stage")).of_run(spark, "run") as made:
        yield made


@pytest.fixture(scope="session")
def earlier(spark: SparkSession, whole: Whole, tmp_path_factory: pytest.TempPathFactory) -> Earlier:
    """Two runs over growing pieces of the same log, cut inside of writes and transactions; no test changes it."""
    folder = tmp_path_factory.mktemp("earlier")
    pieces = Pieces(spark, whole.lake, folder, seed=1)
    lake = empty_lake(folder / "lake", whole.lake)
    reports = [run_audit(spark, request_of(pieces.until(share), lake)) for share in (0.3, 0.6)]
    return Earlier(lake, *reports)
