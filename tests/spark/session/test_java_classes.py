from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.lake.session.java_classes import java_class
from rebalance_audit.lake.session.private_spark import SAVE_MODE, driver_jvm


def test_methods_are_looked_up_once_by_pyspark_too(spark: SparkSession) -> None:
    """Each time Java would be asked whether the class has a method of this name."""
    found = java_class(spark, "org.apache.spark.sql.functions")
    F.col("key")
    assert vars(found)["col"] is found.col
    assert getattr(driver_jvm(spark), "org.apache.spark.sql.functions") is found


def test_values_of_fields_are_not_remembered(spark: SparkSession) -> None:
    """They may change."""
    modes = java_class(spark, SAVE_MODE)
    assert str(modes.Append) == "Append"
    assert "Append" not in vars(modes)
