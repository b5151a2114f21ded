"""Spark that ends during the work: its Java process, or a Python worker, was killed or ran out of memory.

What the program sees depends on what it was doing: a refused connection, an empty answer, a stack trace.
"""

import logging
import re
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError
from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from rebalance_audit.errors import SparkEnded
from rebalance_audit.lake.session.private_spark import counts_receiver, driver_gateway, java_trace

WORKER_GONE: Final = re.compile(r"Python worker exited unexpectedly")
CUT_OFF: Final = re.compile(r"Stream closed|Broken pipe|Connection reset|java\.io\.EOFException")
"""What Java says about a worker, or the daemon that starts workers, that disappeared between two tasks."""
IN_PYTHON: Final = "org.apache.spark.api.python."
"""The classes that talk to Python, as they appear in a stack trace."""
REPAIR: Final = (
    "Was it killed, or did the machine run out of memory? The next run completes what is half done."
)
NEVER_THERE: Final = "JAVA_GATEWAY_EXITED"
"""pyspark's error condition if Java ends before it listens."""
ANSWER_SECONDS: Final = 5.0
ASKED_AGAIN_SECONDS: Final = 0.1
ENDING_SECONDS: Final = 10.0
LINE_LOST: Final = (Py4JNetworkError, ConnectionError, EOFError)
"""What a call to Java raises when the connection is lost."""


@contextmanager
def reporting_a_failed_start() -> Iterator[None]:
    """Raises SparkEnded if the Java process ends while it is starting."""
    try:
        yield
    except (ConnectionError, Py4JError, PySparkRuntimeError) as error:
        if isinstance(error, Py4JJavaError):
            raise
        if isinstance(error, PySparkRuntimeError) and error.getCondition() != NEVER_THERE:
            raise
        raise SparkEnded(
            "Spark's Java process ended while it was starting; its own messages, if any, are above."
        ) from error


@contextmanager
def stopping(spark: SparkSession) -> Iterator[SparkSession]:
    """The session, stopped at the end of the block. Raises SparkEnded instead of the error that Spark's end caused."""
    _silence_the_end(spark)
    try:
        yield spark
    except Exception as error:
        ended = _end_of(spark, error) or worker_end(error)
        if ended is None:
            raise
        raise ended from error
    finally:
        stop(spark)


def worker_end(error: Exception) -> SparkEnded | None:
    """A sentence for a task that lost its Python process; None for any other error."""
    text = with_java_trace(error)
    is_cut_off = IN_PYTHON in text and CUT_OFF.search(text) is not None
    if not is_cut_off and WORKER_GONE.search(text) is None:
        return None
    return SparkEnded(f"A Python worker of Spark ended during its work. {REPAIR}")


def with_java_trace(error: Exception) -> str:
    """The error with its Java stack trace."""
    return f"{error}\n{java_trace(error)}"


def stop(spark: SparkSession) -> None:
    """Stop the session, or forget it if its Java process is gone."""
    if not _is_gone(spark):
        try:
            spark.stop()
        except LINE_LOST:
            if not _is_soon_gone(spark):
                raise
        return
    # Otherwise each Java object that is released now would log an error.
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
    with suppress(Exception):
        spark.stop()


def end_java(spark: SparkSession) -> None:
    """Let the Java process of a stopped session end as it does when this process ends, and wait for it.

    Only for one that this process started; no session can follow. Raises SparkEnded if it ends with an error.
    """
    process = driver_gateway(spark).proc
    process.stdin.close()
    if code := process.wait():
        raise SparkEnded(
            f"Spark's Java process ended with exit code {code}; see its messages above."
        )


def _silence_the_end(spark: SparkSession) -> None:
    """Let the thread that receives counts from Java end without a stack trace when Java ends."""
    server = counts_receiver(spark)
    if server is None:
        return
    tell = server.handle_error

    def tell_others(*request: object) -> None:
        if not isinstance(sys.exception(), EOFError | ConnectionError):
            tell(*request)

    server.handle_error = tell_others


def _end_of(spark: SparkSession, error: Exception) -> SparkEnded | None:
    if not (_is_soon_gone(spark) if isinstance(error, LINE_LOST) else _is_gone(spark)):
        return None
    gateway = driver_gateway(spark)
    process = getattr(gateway, "proc", None)
    code = None if process is None else process.wait(ENDING_SECONDS)
    how = "" if code is None else f" (by signal {-code})" if code < 0 else f" (exit code {code})"
    return SparkEnded(f"Spark's Java process ended during the work{how}. {REPAIR}")


def _is_soon_gone(spark: SparkSession) -> bool:
    """The same within ANSWER_SECONDS: a process that is being killed loses its connections one after the other."""
    deadline = time.monotonic() + ANSWER_SECONDS
    while not _is_gone(spark):
        if time.monotonic() > deadline:
            return False
        time.sleep(ASKED_AGAIN_SECONDS)
    return True


def _is_gone(spark: SparkSession) -> bool:
    """Whether nothing listens any more at the Java process's address."""
    gateway = driver_gateway(spark)
    assert gateway is not None
    given = gateway.gateway_parameters
    try:
        with socket.create_connection((given.address, given.port), ANSWER_SECONDS):
            return False
    except ConnectionRefusedError:
        return True
    except OSError:
        return False
