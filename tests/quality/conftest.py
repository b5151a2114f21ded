from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from rebalance_audit.lake.checks.check_frames import Scope
from rebalance_audit.lake.runs.run import run_audit
from rebalance_audit.lake.session.spark_session import DRIVER_OPTIONS
from rebalance_audit.lake.storage.tables import Lake
from rebalance_audit.quality.check import CheckRequest, run_check
from tests.quality.judged import EVERY_KEY, LIMITS, Judged, write_rows
from tests.spark.lakes import request_of
from tests.spark.mixed_log import write_log
from tests.support.spark_sessions import SHORT, spark_session


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Everything in this folder needs the session, and lives with what pyspark and the suites' library warn of."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.quality)
            item.add_marker(pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"))


@pytest.fixture(scope="session")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkSession]:
    """The one session of all these tests, with a Hive metastore of its own.

    In a process where other tests had theirs, it is in the same JVM, whose code is compiled by then.
    """
    if (before := SparkSession.getActiveSession()) is not None:
        before.stop()
    folder = tmp_path_factory.mktemp("metastore")
    settings = {
        **SHORT,
        # Else Derby writes its log into the current folder.
        DRIVER_OPTIONS: f"{SHORT[DRIVER_OPTIONS]} -Dderby.stream.error.file={folder}/derby.log",
        "spark.sql.catalogImplementation": "hive",
        "spark.sql.warehouse.dir": f"{folder}/warehouse",
        "spark.hadoop.javax.jdo.option.ConnectionURL": (
            f"jdbc:derby:;databaseName={folder}/derby;create=true"
        ),
    }
    with spark_session(settings) as session:
        yield session


@pytest.fixture(scope="session")
def judged(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Judged:
    """One check of a lake with everything in it; what a run made is of a real log with damage and holes."""
    folder = tmp_path_factory.mktemp("judged")
    made, lake = folder / "made", folder / "lake"
    run_audit(spark, request_of(f"segments:{write_log(folder / 'log')}", made))
    write_rows(lake, made)
    request = CheckRequest(Scope(limits=LIMITS), sample_keys=EVERY_KEY)
    return Judged(lake, run_check(Lake(spark, str(lake)), request))
