from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

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
