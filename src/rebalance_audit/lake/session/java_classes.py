"""Java classes by name, looked up once, and so are their methods.

To py4j a name such as `org` could be a class: it asks Java's class loader, which looks into each of Spark's 300 jars
to find that there is none, and so on with `org.apache`. Of a method, too, it asks Java each time whether the class has
one of that name. Nothing is remembered, and pyspark itself asks some thousand times a run.
"""

from functools import reduce
from typing import Any, Final

from py4j.java_gateway import JavaClass, JavaMember
from pyspark.sql import SparkSession

from rebalance_audit.lake.session.private_spark import driver_jvm

ASKED_BY_PYSPARK: Final = (
    "functions",
    "PythonUtils",
    "PythonSQLUtils",
    "SimplePythonFunction",
    "org.apache.spark.sql.functions",
    "org.apache.spark.sql.classic.SparkSession",
    "org.apache.spark.sql.execution.python.UserDefinedPythonFunction",
    "org.apache.spark.sql.expressions.Window",
    "org.apache.spark.storage.StorageLevel",
)
"""The names as pyspark writes them."""
TYPE_UTIL: Final = ("py4j", "reflection", "TypeUtil")
"""The way to what an object is an instance of, which pyspark asks a dozen times for each exception."""

HADOOP_PATH: Final = "org.apache.hadoop.fs.Path"
IO_UTILS: Final = "org.apache.commons.io.IOUtils"


class RememberingClass(JavaClass):  # type: ignore[misc] # py4j has no types
    """A class of Java that looks each of its static methods up once; values of static fields are read anew."""

    def __getattr__(self, name: str) -> Any:
        """Called for what is not remembered."""
        found = super().__getattr__(name)
        if isinstance(found, JavaMember):
            setattr(self, name, found)
        return found


def java_class(spark: SparkSession, name: str) -> Any:
    """A class of the driver's JVM by its full name: call it for an instance, and its attributes for what is static."""
    return _remembered(driver_jvm(spark), name)


def remember_classes(spark: SparkSession) -> None:
    """Spare pyspark its own look-ups."""
    for name in ASKED_BY_PYSPARK:
        java_class(spark, name)
    reduce(_remembered, TYPE_UTIL, driver_jvm(spark))


def _remembered(place: Any, name: str) -> Any:
    """What the JVM or one of its packages has by this name."""
    found = vars(place).get(name)
    if found is None:
        found = getattr(place, name)
        if isinstance(found, JavaClass):
            found.__class__ = RememberingClass
        setattr(place, name, found)
    return found
