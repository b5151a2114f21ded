from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from rebalance_audit.lake.session import build_session
from tests.spark.conftest import ROOT, TEST_SETTINGS
from tests.support.broker import Broker, running_broker
from tests.support.live_groups import HASTE, make_topic, work


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """pyspark, kafka-python and py4j leave sockets to the collector."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"))


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The one session of all tests of this folder."""
    session = build_session(
        "tests", master="local[2]", settings=TEST_SETTINGS, jars_folder=ROOT / "jars" / "spark"
    )
    yield session
    session.stop()


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A broker with a topic, and with groups that have come and gone."""
    with running_broker(tmp_path_factory.mktemp("live") / "broker", settings=HASTE) as running:
        make_topic(running)
        work(running, "first")
        yield running
