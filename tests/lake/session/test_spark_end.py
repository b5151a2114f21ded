"""Which errors mean that a Python worker was lost."""

import pytest

from rebalance_audit.errors import SparkEnded
from rebalance_audit.lake.session.spark_session import reporting_a_failed_start, worker_end

AT_PYTHON = "\tat org.apache.spark.api.python.PythonWorkerFactory.create(PythonWorkerFactory.scala)"
AT_FILES = "\tat org.apache.hadoop.fs.FSDataInputStream.read(FSDataInputStream.java)"


@pytest.mark.parametrize(
    ("lines", "is_lost"),
    [
        (["Job aborted: Lost task 0.0: Python worker exited unexpectedly (crashed)"], True),
        (["Job aborted: Lost task 0.0: java.io.IOException: Stream closed", AT_PYTHON], True),
        (["Python worker failed to connect back.", AT_PYTHON], True),
        (["Bad data in pyspark.daemon's standard output. Invalid port number:"], True),
        (["java.lang.OutOfMemoryError: Java heap space", AT_FILES], True),
        (["Caused by: java.net.SocketException: Connection reset", AT_PYTHON], True),
        (["Job aborted: Lost task 0.0: java.io.IOException: Stream closed", AT_FILES], False),
        (["org.apache.spark.api.python.PythonException: ValueError", AT_PYTHON], False),
    ],
)
def test_a_lost_worker_is_no_other_trouble(lines: list[str], is_lost: bool) -> None:
    """What Java says of a stream counts only where it was one to Python; an error in Python is none of it."""
    assert (worker_end(RuntimeError("\n".join(lines))) is not None) == is_lost


def test_too_small_a_heap_is_a_sentence() -> None:
    """Spark checks it when it starts."""
    words = "System memory 104857600 must be at least 471859200. Please increase heap size"
    with pytest.raises(SparkEnded, match="at least 450 MB"), reporting_a_failed_start():
        raise RuntimeError(words)
    with pytest.raises(SparkEnded, match="while it was starting"), reporting_a_failed_start():
        raise ConnectionError
    with pytest.raises(ValueError, match="other"), reporting_a_failed_start():
        raise ValueError("other")
