"""What holds for all tests."""

from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, settings

from tests.support.examples import TIMES, examples

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

# A machine that has much else to do is no fault of the code, and neither is a test red today that was green yesterday:
# examples are drawn from the test itself, unless many are asked for.
settings.register_profile(
    "tests",
    max_examples=examples(50),
    deadline=None,
    derandomize=TIMES == 1,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("tests")


@pytest.fixture(scope="session")
def spark() -> "Iterator[SparkSession]":
    """The one session of all tests, but for those that need it set up in another way."""
    from tests.support.spark_sessions import spark_session  # noqa: PLC0415 - most tests need no Spark

    with spark_session() as session:
        yield session
