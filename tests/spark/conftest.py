import os
import pickle
from collections.abc import Callable, Iterator
from fcntl import LOCK_EX, flock
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, TypeAlias, TypeVar

import pytest
from pyspark.sql import SparkSession

from rebalance_audit.lake.runs.run import run_audit
from tests.spark.lakes import Earlier, Whole, empty_lake, request_of
from tests.spark.mixed_log import write_log
from tests.spark.pieces import Pieces
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


Made = TypeVar("Made")
Once: TypeAlias = Callable[[str, Callable[[Path], Made]], Made]


@pytest.fixture(scope="session")
def once(tmp_path_factory: pytest.TempPathFactory) -> Once[Any]:
    """Makes something under a name, in a folder of its own, in one process; the others have it from there."""
    common = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        common = common.parent

    def made_once(name: str, make: Callable[[Path], Made]) -> Made:
        made = common / f"{name}.pickle"
        with (common / f"{name}.lock").open("w") as lock:
            flock(lock, LOCK_EX)
            if not made.exists():
                made.write_bytes(pickle.dumps(make(Path(mkdtemp(prefix=f"{name}-", dir=common)))))
            result: Made = pickle.loads(made.read_bytes())  # noqa: S301 - our own, of a minute ago
            return result

    return made_once


@pytest.fixture(scope="session")
def whole(spark: SparkSession, once: Once[Whole]) -> Whole:
    """One run of all layers over the mixed log into a new lake, which all processes read and nobody changes."""

    def make(folder: Path) -> Whole:
        log, lake = write_log(folder / "log"), folder / "lake"
        return Whole(log, lake, run_audit(spark, request_of(f"segments:{log}", lake)))

    return once("whole", make)


@pytest.fixture(scope="session")
def earlier(spark: SparkSession, whole: Whole, once: Once[Earlier]) -> Earlier:
    """Two runs over growing pieces of the same log, cut inside of writes and transactions; nobody changes it either."""

    def make(folder: Path) -> Earlier:
        pieces = Pieces(spark, whole.lake, folder, seed=1)
        lake = empty_lake(folder / "lake", whole.lake)
        reports = [run_audit(spark, request_of(pieces.until(share), lake)) for share in (0.3, 0.6)]
        return Earlier(lake, *reports)

    return once("earlier", make)
