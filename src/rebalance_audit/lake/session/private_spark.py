"""The private parts of PySpark that this program needs: each with its reason, and with what could stand in for it.

All of them exist in classic PySpark alone. A session of Spark Connect, and a platform that gives Python no gateway to
the driver's JVM, has none of them: `check_is_classic` says so before anything is done.
"""

from collections.abc import Collection
from typing import Any, Final

from pyspark.errors.exceptions.captured import CapturedException
from pyspark.sql import SparkSession

from rebalance_audit.errors import BadRequest

REMOTE: Final = frozenset({"SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED"})
"""Variables by which PySpark makes sessions of Spark Connect."""


def check_is_classic(environment: Collection[str]) -> None:
    """Raises BadRequest where the variables of the environment ask for Spark Connect."""
    if found := sorted(REMOTE.intersection(environment)):
        raise BadRequest(
            f"{found[0]} asks for Spark Connect, which has no way to Delta's log: unset it. run, ingest, check and"
            " maintain need a classic session; what only reads a lake, such as report and explain, needs no Spark."
        )


def driver_jvm(spark: SparkSession) -> Any:
    """The driver's classes.

    For Java's regular expressions, Kafka's client and Delta's log. In its place: the rules of Java's expressions in
    Python; a Kafka client of Python's; and for Delta's log `deltalake`, which does not reach every store that Spark
    reaches.
    """
    return spark.sparkContext._jvm  # noqa: SLF001 - see above


def driver_gateway(spark: SparkSession) -> Any:
    """The connection to the driver's process: whether that is alive, and how it ended.

    In its place: nothing. Without it a driver that was killed shows as an error of sockets.
    """
    return spark.sparkContext._gateway  # noqa: SLF001 - see above


def java_session(spark: SparkSession) -> Any:
    """The session as Java has it, with Hadoop's settings for file systems.

    For the id, the properties and the newest version of a table without a job, and for files beside a stream's
    checkpoint. In its place: `DeltaTable.detail()` and `history()`, which take two jobs and some 300 ms each time.
    """
    return spark._jsparkSession  # noqa: SLF001 - see above


def java_trace(error: Exception) -> str:
    """The stack trace of an exception that Java has thrown; empty for any other.

    It names the file that could not be read, and the disk that is full. In its place: nothing.
    """
    return error._stackTrace if isinstance(error, CapturedException) else ""  # noqa: SLF001 - see above
