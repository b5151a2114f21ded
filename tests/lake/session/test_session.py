"""What Spark is told on one machine."""

from rebalance_audit.lake.session.spark_session import DRIVER_OPTIONS, SERIAL, local_settings


def test_what_the_file_gives_java_stays() -> None:
    """The collector and the logging of this machine come after it."""
    options = local_settings("local[2]")[DRIVER_OPTIONS]
    assert options.startswith(f"-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m {SERIAL} ")
    assert " -Dlog4j2.configurationFile=" in options


def test_few_cores_are_not_shared_with_a_collector() -> None:
    """Java refuses two collectors: where the user has options for it, there may be one among them."""
    of_two, of_four = (
        local_settings(master)[DRIVER_OPTIONS] for master in ("local[2]", "local[4]")
    )
    told = local_settings("local[2]", leaves_java_alone=True)[DRIVER_OPTIONS]
    assert f" {SERIAL} " in of_two
    assert "GC" not in of_four + told


def test_a_shuffle_has_as_many_tasks_as_two_rounds_of_the_cores() -> None:
    """Of two hundred, Spark's default, most would be empty."""
    assert local_settings("local[3]")["spark.sql.shuffle.partitions"] == "6"
    assert local_settings("local")["spark.sql.shuffle.partitions"] == "2"
