"""Spark's settings on one machine."""

from rebalance_audit.lake.session.spark_session import (
    DIGITS,
    DRIVER_OPTIONS,
    SERIAL,
    local_settings,
)


def test_few_cores_are_not_shared_with_a_collector() -> None:
    """Java refuses two collectors: where the user has options for it, there may be one among them."""
    of_two, of_four = (
        local_settings(master)[DRIVER_OPTIONS] for master in ("local[2]", "local[4]")
    )
    settings = local_settings("local[2]", leaves_java_alone=True)[DRIVER_OPTIONS]
    assert of_two.startswith(f"{SERIAL} {DIGITS} -Dlog4j2.configurationFile=")
    assert "GC" not in of_four + settings


def test_a_shuffle_has_as_many_tasks_as_two_rounds_of_the_cores() -> None:
    """Of two hundred, Spark's default, most would be empty."""
    assert local_settings("local[3]")["spark.sql.shuffle.partitions"] == "6"
    assert local_settings("local")["spark.sql.shuffle.partitions"] == "2"
