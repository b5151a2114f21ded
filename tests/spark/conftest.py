import os
import pickle
from collections.abc import Iterator
from fcntl import LOCK_EX, flock
from pathlib import Path
from tempfile import mkdtemp

import pytest
from pyspark.sql import SparkSession

from rebalance_audit.lake.runs.run import run_audit
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
    # Two processes end at about the same time if what takes long does not come last.
    items.sort(key=lambda item: here / "runs" not in item.path.parents)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The one session of all tests."""
    with spark_session() as session:
        yield session


@pytest.fixture(scope="session")
def whole(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Whole:
    """One run of all layers over the mixed log into a new lake, which all processes read and nobody changes."""
    common = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        common = common.parent
    made = common / "whole.pickle"
    with (common / "whole.lock").open("w") as lock:
        flock(lock, LOCK_EX)
        if made.exists():
            whole: Whole = pickle.loads(made.read_bytes())  # noqa: S301 - our own, of a minute ago
            return whole
        folder = Path(mkdtemp(prefix="whole-", dir=common))
        log, lake = write_log(folder / "log"), folder / "lake"
        whole = Whole(log, lake, run_audit(spark, request_of(f"segments:{log}", lake)))
        made.write_bytes(pickle.dumps(whole))
        return whole
