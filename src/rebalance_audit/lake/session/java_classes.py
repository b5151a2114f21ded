"""Java classes by name, looked up once.

To py4j a name such as `org` could be a class: it asks Java's class loader, which looks into each of Spark's 300 jars
to find that there is none, and so on with `org.apache`. Nothing is remembered, and pyspark itself asks some thousand
times a run. This was a tenth of the driver's time.
"""

from typing import Any, Final

from pyspark.sql import SparkSession

from rebalance_audit.lake.session.private_spark import driver_jvm

ASKED_BY_PYSPARK: Final = (
    "functions",
    "PythonUtils",
    "PythonSQLUtils",
    "org.apache.spark.sql.functions",
    "org.apache.spark.sql.classic.SparkSession",
)
"""The names as pyspark writes them."""

HADOOP_PATH: Final = "org.apache.hadoop.fs.Path"
IO_UTILS: Final = "org.apache.commons.io.IOUtils"


def java_class(spark: SparkSession, name: str) -> Any:
    """A class of the driver's JVM by its full name: call it for an instance, and its attributes for what is static."""
    jvm = driver_jvm(spark)
    found = vars(jvm).get(name)
    if found is None:
        found = getattr(jvm, name)
        setattr(jvm, name, found)
    return found


def remember_classes(spark: SparkSession) -> None:
    """Spare pyspark its own look-ups."""
    for name in ASKED_BY_PYSPARK:
        java_class(spark, name)
