from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from rebalance_audit.lake.run import run_audit
from tests.spark.lakes import Whole, request_of
from tests.spark.mixed_log import write_log
from tests.support.spark_sessions import spark_session


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in this folder needs the session, and lives with the sockets that pyspark leaves to the collector."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.spark)
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"))


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The one session of all tests."""
    with spark_session() as session:
        yield session


@pytest.fixture(scope="session")
def whole(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Whole:
    """One run of all layers over the mixed log into a new lake: nobody changes more of it than what tells of runs."""
    folder = tmp_path_factory.mktemp("whole")
    log, lake = write_log(folder / "log"), folder / "lake"
    return Whole(log, lake, run_audit(spark, request_of(f"segments:{log}", lake)))
