"""Spark that ends during the work: its Java process, or a Python worker, was killed or ran out of memory.

What the program sees depends on what it was doing: a refused connection, an empty answer, a stack trace.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from rebalance_audit.errors import LakeError, SparkEnded
from rebalance_audit.wire.segments.folder import SourceNotReadable

WORKER_GONE: Final = re.compile(
    r"Python worker (exited unexpectedly|failed to connect back)|pyspark[.]daemon's (stdout|standard output)"
)
NO_MEMORY: Final = re.compile(r"java\.lang\.OutOfMemoryError: ([\w -]+)")
TOO_SMALL: Final = re.compile(r"(?:System|Executor) memory \d+ must be at least (\d+)")
"""Spark's words for a heap in which it does not start."""
CUT_OFF: Final = re.compile(r"Stream closed|Broken pipe|Connection reset|java\.io\.EOFException")
"""What Java says about a worker, or the daemon that starts workers, that disappeared between two tasks."""
IN_PYTHON: Final = "org.apache.spark.api.python."
"""The classes that talk to Python, as they appear in a stack trace."""
REPAIR: Final = (
    "Was it killed, or did the machine run out of memory? The next run finishes the work."
)
NEVER_THERE: Final = "JAVA_GATEWAY_EXITED"
"""pyspark's error condition if Java ends before it listens."""


@contextmanager
def reporting_a_failed_start() -> Iterator[None]:
    """Raises SparkEnded if the Java process ends while it is starting, or has too little memory for that."""
    try:
        yield
    except Exception as error:
        text = str(error)
        if found := TOO_SMALL.search(text):
            raise SparkEnded(
                f"Spark does not start in so small a heap: give spark.driver.memory at least {int(found[1]) >> 20} MB"
                " under [spark.settings], better 2g."
            ) from error
        if isinstance(error, ConnectionError) or NEVER_THERE in text:
            raise SparkEnded(
                "Spark's Java process ended while it was starting; its own messages, if any, are above."
            ) from error
        raise


@contextmanager
def stopping(spark: SparkSession, *, when: bool = True) -> Iterator[SparkSession]:
    """The session, stopped at the end of the block, if `when` holds.

    Raises SparkEnded instead of the error that Spark's end caused.
    """
    try:
        yield spark
    except Exception as error:
        ended = _end_of(spark, error) or worker_end(error)
        if ended is None:
            raise
        raise ended from error
    finally:
        if when:
            stop(spark)


def worker_end(error: Exception) -> SparkEnded | None:
    """A sentence for a task that lost its Python process, or for Java without memory; None for any other error."""
    text = str(error)
    if found := NO_MEMORY.search(text):
        return SparkEnded(
            f"Java ran out of memory ({found[1]}): raise spark.driver.memory, on a cluster spark.executor.memory too,"
            " under [spark.settings]. The next run finishes the work."
        )
    is_cut_off = IN_PYTHON in text and CUT_OFF.search(text) is not None
    if not is_cut_off and WORKER_GONE.search(text) is None:
        return None
    return SparkEnded(f"A Python worker of Spark ended during its work. {REPAIR}")


def stop(spark: SparkSession) -> None:
    """Stop the session, or forget it if its Java process is gone."""
    if is_alive(spark):
        spark.stop()
        return
    with suppress(Exception):
        spark.stop()


def is_alive(spark: SparkSession) -> bool:
    """Whether the session's Java process answers."""
    try:
        spark.conf.get("spark.app.name", "")
    except Exception:  # noqa: BLE001 - of a lost connection pyspark has no error of its own
        return False
    return True


def _end_of(spark: SparkSession, error: Exception) -> SparkEnded | None:
    """A sentence if the Java process is gone; it does not matter to an error that explains itself, or is Java's own."""
    if isinstance(error, LakeError | SourceNotReadable | PySparkException) or is_alive(spark):
        return None
    return SparkEnded(f"Spark's Java process ended during the work. {REPAIR}")
