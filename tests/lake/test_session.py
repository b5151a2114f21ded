"""What Spark is told on one machine."""

from rebalance_audit.lake.session import DRIVER_OPTIONS, SHORT_LIVED, local_settings


def test_a_short_life_is_not_spent_compiling() -> None:
    """Both compilers are for logs that take long enough."""
    short, long = (local_settings("local[2]", is_short=each) for each in (True, False))
    assert short[DRIVER_OPTIONS].startswith(f"{SHORT_LIVED} -Dlog4j2")
    assert SHORT_LIVED not in long[DRIVER_OPTIONS]
    assert {**short, DRIVER_OPTIONS: ""} == {**long, DRIVER_OPTIONS: ""}


def test_a_shuffle_has_as_many_tasks_as_two_rounds_of_the_cores() -> None:
    """Of two hundred, Spark's default, most would be empty."""
    assert local_settings("local[3]")["spark.sql.shuffle.partitions"] == "6"
    assert local_settings("local")["spark.sql.shuffle.partitions"] == "2"
