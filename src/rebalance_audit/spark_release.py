"""Which jars a Spark needs besides its own: the configurations of conf/jars/ivy.xml.

There is one for each minor release of Spark and of Scala, such as `spark-4.1_2.13`. A release of Delta Lake is made for
one minor release of Spark, and a jar of Scala's for one of Scala.
"""

import os
import re
import xml.etree.ElementTree as ET
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Final, NamedTuple

from rebalance_audit.errors import LakeError
from rebalance_audit.resources import read_text

IVY_FILE: Final = "conf/jars/ivy.xml"
_NAME: Final = re.compile(r"spark-(?P<spark>\d+\.\d+)_(?P<scala>\d+\.\d+)")
_CORE: Final = re.compile(r"spark-core_(?P<scala>\d+\.\d+)-(?P<spark>\d+\.\d+)\..*\.jar")
_DELTA: Final = "delta-spark"
_KAFKA_SOURCE: Final = "spark-sql-kafka"


class Jar(NamedTuple):
    """A jar in a Maven repository."""

    organisation: str
    artifact: str
    release: str

    @property
    def coordinates(self) -> str:
        """The artifact as `spark.jars.packages` takes it."""
        return ":".join(self)


class SparkRelease(NamedTuple):
    """A minor release of Spark and of Scala, and its jars."""

    spark: str
    """Such as 4.1."""
    scala: str
    """Such as 2.13."""
    jars: tuple[Jar, ...]

    @property
    def configuration(self) -> str:
        """Its name in conf/jars/ivy.xml."""
        return f"spark-{self.spark}_{self.scala}"

    @property
    def delta(self) -> Jar:
        """The jar of Delta Lake."""
        return next(jar for jar in self.jars if jar.artifact.startswith(_DELTA))

    @property
    def kafka_source(self) -> Jar:
        """The jar of Spark's Kafka source."""
        return next(jar for jar in self.jars if jar.artifact.startswith(_KAFKA_SOURCE))

    def has_delta(self, name: str) -> bool:
        """Whether a file is this jar of Delta Lake, in this or another release of the same major version."""
        major = self.delta.release.partition(".")[0]
        return name.startswith(f"{self.delta.artifact}-{major}.")


@cache
def spark_releases() -> tuple[SparkRelease, ...]:
    """All of them, oldest Spark first."""
    module = ET.fromstring(read_text(IVY_FILE))  # noqa: S314 - of this package
    found = []
    for configuration in module.iter("conf"):
        name = configuration.attrib["name"]
        if parsed := _NAME.fullmatch(name):
            jars = tuple(
                Jar(jar.attrib["org"], jar.attrib["name"], jar.attrib["rev"])
                for jar in module.iter("dependency")
                if name in jar.attrib["conf"].removesuffix("->default").split(",")
            )
            found.append(SparkRelease(parsed["spark"], parsed["scala"], jars))
    return tuple(found)


def installed_spark_release() -> SparkRelease:
    """That of the Spark that is installed. Raises LakeError for a release that is not in the table."""
    spark, scala = _installed()
    for each in spark_releases():
        if (each.spark, each.scala) == (spark, scala):
            return each
    known = ", ".join(f"{each.spark} (Scala {each.scala})" for each in spark_releases())
    raise LakeError(
        f"There are no jars for Spark {spark} (Scala {scala}), only for {known}: install one of these, or set"
        " spark.jars.packages."
    )


def jars_of_spark() -> Path:
    """The folder of the jars that Spark brings itself."""
    home = os.environ.get("SPARK_HOME")
    if home:
        return Path(home) / "jars"
    spec = find_spec("pyspark")
    assert spec is not None
    assert spec.submodule_search_locations
    return Path(spec.submodule_search_locations[0]) / "jars"


def _installed() -> tuple[str, str]:
    """Minor releases of Spark and of Scala, by the name of Spark's own jar."""
    folder = jars_of_spark()
    for jar in folder.glob("spark-core_*.jar"):
        if parsed := _CORE.fullmatch(jar.name):
            return parsed["spark"], parsed["scala"]
    raise LakeError(f"{folder} has no spark-core jar: is Spark installed there?")
