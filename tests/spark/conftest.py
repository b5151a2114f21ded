from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from rebalance_audit.lake.session import build_session

ROOT = Path(__file__).resolve().parents[2]
TEST_SETTINGS = {
    # Two cores, two tasks: the tests' data is small, each task has its price.
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
    # Plans of some hundred queries a run: in 1g every third second goes into collecting them.
    "spark.driver.memory": "2g",
    # A JVM of four minutes: what the second compiler would make faster it would not live to see.
    # Without it the JVM makes room for 48 MB of compiled code, which all these tests together outgrow.
    "spark.driver.extraJavaOptions": (
        "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=256m"
    ),
}


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
    session = build_session(
        "tests", master="local[2]", settings=TEST_SETTINGS, jars_folder=ROOT / "jars" / "spark"
    )
    yield session
    session.stop()
