import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.broker import Broker, running_broker
from tests.support.live_groups import HASTE, make_topic, work


@pytest.hookimpl(tryfirst=True)  # before xdist looks at the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """pyspark, kafka-python and py4j leave sockets to the collector; one process has what all tests share."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"))
            if {"spark", "broker"} & set(getattr(item, "fixturenames", ())):
                item.add_marker(pytest.mark.xdist_group("shared"))
                item.add_marker(pytest.mark.live)


@pytest.fixture(autouse=True)
def collected() -> Iterator[None]:
    """Sockets that are left are collected with the test that left them, where its filter of warnings still holds."""
    yield
    gc.collect()


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Broker]:
    """A broker with a topic, and with groups that have come and gone."""
    with running_broker(tmp_path_factory.mktemp("live") / "broker", settings=HASTE) as running:
        make_topic(running)
        work(running, "first")
        yield running
