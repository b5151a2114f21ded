from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from rebalance_audit.lake.session.spark_session import DRIVER_OPTIONS, SHORT_LIVED
from tests.support.spark_sessions import SETTINGS, spark_session


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in this folder needs the session, and lives with what pyspark and the suites' library warn of."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.quality)
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"))


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The one session of all tests, with a Hive metastore of its own."""
    folder = tmp_path_factory.mktemp("metastore")
    settings = {
        **SETTINGS,
        "spark.sql.catalogImplementation": "hive",
        "spark.sql.warehouse.dir": f"{folder}/warehouse",
        "spark.hadoop.javax.jdo.option.ConnectionURL": (
            f"jdbc:derby:;databaseName={folder}/derby;create=true"
        ),
        # Else Derby writes its log into the current folder.
        DRIVER_OPTIONS: f"{SHORT_LIVED} -Dderby.stream.error.file={folder}/derby.log",
    }
    with spark_session(settings) as session:
        yield session
