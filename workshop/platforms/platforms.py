"""Where the smoke suite runs: Spark releases with an environment each, and other ways to reach the newest."""

from typing import Final, Literal, NamedTuple, TypeAlias

Reach: TypeAlias = Literal["local", "s3", "catalog", "standalone", "connect"]


class SparkEnvironment(NamedTuple):
    """Packages of one Spark release, in build/platforms/<name>."""

    name: str
    spark: str
    """Minor release."""
    python: str
    requirements: tuple[str, ...]
    versions: tuple[str, ...] = ()
    """Options of `uv pip compile` that choose among the versions that pyproject.toml allows; else the newest."""


class Platform(NamedTuple):
    """An environment, and how commands reach Spark in it."""

    name: str
    environment: SparkEnvironment
    reach: Reach
    what: str


OLDEST: Final = SparkEnvironment(
    "spark-3.5", "3.5", "3.11", ("pyspark==3.5.*",), ("--resolution", "lowest-direct")
)
MIDDLE: Final = SparkEnvironment("spark-4.0", "4.0", "3.11", ("pyspark==4.0.*",))
RECENT: Final = SparkEnvironment("spark-4.1", "4.1", "3.11", ("pyspark==4.1.*",))
NEWEST: Final = SparkEnvironment("spark-4.2", "4.2", "3.11", ("pyspark[connect]==4.2.*",))
# Apart from the others: botocore asks for older packages than they have.
WITH_S3: Final = SparkEnvironment(
    "spark-4.2-s3", "4.2", "3.11", ("pyspark==4.2.*", "s3fs", "moto[server]")
)

PLATFORMS: Final = (
    Platform("newest", NEWEST, "local", "local Spark, a lake in a folder"),
    Platform(
        "spark-3.5", OLDEST, "local", "local Spark, the lowest versions that the package allows"
    ),
    Platform("spark-4.0", MIDDLE, "local", "local Spark, a lake in a folder"),
    Platform("spark-4.1", RECENT, "local", "local Spark, a lake in a folder"),
    Platform("s3", WITH_S3, "s3", "local Spark, segments in an object store (moto's S3)"),
    Platform("catalog", NEWEST, "catalog", "local Spark, a lake in a Hive metastore (Derby)"),
    Platform("standalone", NEWEST, "standalone", "a master and a worker on this machine"),
    Platform("connect", NEWEST, "connect", "Spark Connect, server on this machine"),
)
REFERENCE: Final = PLATFORMS[0]
"""The other platforms' tables must equal its tables."""
