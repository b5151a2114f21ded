"""What Spark is told on one machine."""

from rebalance_audit.lake.session.spark_session import (
    DRIVER_OPTIONS,
    SERIAL,
    SHORT_LIVED,
    local_settings,
)


def test_a_short_life_is_not_spent_compiling() -> None:
    """Both compilers are for logs that take long enough."""
    short, long = (local_settings("local[2]", is_short=each) for each in (True, False))
    assert short[DRIVER_OPTIONS].startswith(f"{SHORT_LIVED} -Dlog4j2")
    assert SHORT_LIVED not in long[DRIVER_OPTIONS]
    assert {**short, DRIVER_OPTIONS: ""} == {**long, DRIVER_OPTIONS: ""}


def test_few_cores_are_not_shared_with_a_collector() -> None:
    """Java refuses two collectors: where the user has options for it, there may be one among them."""
    of_two, of_four = (
        local_settings(master)[DRIVER_OPTIONS] for master in ("local[2]", "local[4]")
    )
    told = local_settings("local[2]", is_short=True, leaves_java_alone=True)[DRIVER_OPTIONS]
    assert of_two.startswith(f"{SERIAL} ")
    assert "GC" not in of_four + told


def test_a_shuffle_has_as_many_tasks_as_two_rounds_of_the_cores() -> None:
    """Of two hundred, Spark's default, most would be empty."""
    assert local_settings("local[3]")["spark.sql.shuffle.partitions"] == "6"
    assert local_settings("local")["spark.sql.shuffle.partitions"] == "2"
