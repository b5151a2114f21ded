"""The Spark of the tests: small, on two cores, without the network."""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from pyspark.sql import SparkSession

from rebalance_audit.lake.session.spark_session import DRIVER_OPTIONS, build_session
from rebalance_audit.resources import checkout_root
from tests.support import local_files

os.environ |= local_files.CLASS_PATH  # also for the processes that tests start

SETTINGS: Final[Mapping[str, str]] = {
    **local_files.SETTINGS,
    # Two cores, two tasks: the tests' data is small, each task has its price.
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
    # Plans of some hundred queries a run: in 1g every third second goes into collecting them.
    "spark.driver.memory": "2g",
    # Thousands of small plans: a class for each stage takes longer to compile than to do without (82 s of CPU become 48
    # for a run over what is new). The tests that go through spark-submit run with it.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    # The same of plans that are recreated stage by stage.
    "spark.sql.adaptive.enabled": "false",
    # Each plan is also written down for the user interface, which no test opens.
    "spark.sql.ui.explainMode": "simple",
}
HEAP: Final = "-Xms2g -Xmn1200m"
"""A run makes garbage by the hundred megabytes. With all of the heap from the start, and more than half of it for what
is new, collections are a fifth as many (4 runs: 83 s instead of 92 s of processor time)."""
SHORT: Final[Mapping[str, str]] = {**SETTINGS, DRIVER_OPTIONS: HEAP}
"""For a session of one or two commands."""
LONG: Final[Mapping[str, str]] = {
    **SETTINGS,
    # Some hundred tests in one session pay for the second compiler and room for its code.
    DRIVER_OPTIONS: f"-XX:TieredStopAtLevel=4 -XX:ReservedCodeCacheSize=512m {HEAP}",
}
"""For the session that the tests share."""
ONE_WRITER: Final[Mapping[str, str]] = {
    # By default each commit starts eight processes for `readlink`, which make a race with another writer less likely.
    # Without them one in 300 commits of two processes at the same moment was lost: for tests of one process alone.
    "spark.delta.logStore.file.impl": "io.delta.storage.LocalLogStore",
}


@contextmanager
def spark_session(settings: Mapping[str, str] = LONG) -> Iterator[SparkSession]:
    """A session of this process."""
    jars = checkout_root() / "jars" / "spark"
    session = build_session(
        "tests", master="local[2]", settings={**settings, **ONE_WRITER}, jars_folder=jars
    )
    try:
        yield session
    finally:
        session.stop()


def configuration(folder: Path, more: str = "") -> Path:
    """A file for `--config`: the same settings for a process of its own, and `more` sections in front of them."""
    # What a text is in JSON it is in TOML.
    settings = [f"{json.dumps(name)} = {json.dumps(value)}" for name, value in SHORT.items()]
    path = folder / "own.toml"
    path.write_text("\n".join([more, "[spark.settings]", *settings, ""]))
    return path
