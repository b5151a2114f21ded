"""The Spark session: built here and nowhere else."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from pyspark import SparkConf
from pyspark.sql import SparkSession

from rebalance_audit.errors import LakeError
from rebalance_audit.resources import read_text, resource

LOCAL_CONF: Final = "conf/spark/local.conf"
LOGGING_CONF: Final = "conf/spark/log4j2.properties"
DELTA_EXTENSION: Final = "io.delta.sql.DeltaSparkSessionExtension"
DRIVER_OPTIONS: Final = "spark.driver.extraJavaOptions"
WORKER_DAEMON: Final = "rebalance_audit.lake.worker_daemon"
SHORT_LIVED: Final = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=256m"
"""For a JVM of a minute or two: half of its processor time would go into compiling, a second time and better, what is
then hardly run. Without the second compiler the room for compiled code is by default too little."""
FEW_CORES: Final = 2
SERIAL: Final = "-XX:+UseSerialGC"
"""On few cores: Java's default collector works beside the program, and has its part in what the program itself writes.
Without it an increment takes an eighth less processor time, and less time by as much; a whole run a twentieth."""
JAVA_VARIABLES: Final = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")
"""Java takes options from these in the environment too, and will not start with two collectors."""
SUBMITTED: Final = "PYSPARK_GATEWAY_PORT"
"""Set in the environment of a driver that spark-submit started: its JVM runs already, with settings of its own."""

REQUIRED: Final[Mapping[str, str]] = {
    # MERGE, and CREATE TABLE with clustering.
    "spark.sql.extensions": DELTA_EXTENSION,
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    # Timestamps of the log are UTC, and so are those of the tables, whatever the machine's zone.
    "spark.sql.session.timeZone": "UTC",
    # A type 2 record of 10 000 members has megabytes: Arrow batches are limited by bytes and not by rows alone.
    "spark.sql.execution.arrow.maxBytesPerBatch": str(64 << 20),
    # Spark's Kafka source has asked an admin client for topics since 3.4, which leaves out internal ones: it would read
    # nothing of __consumer_offsets, and say nothing. The older way asks a consumer, which sees them.
    "spark.sql.streaming.kafka.useDeprecatedOffsetFetching": "true",
}
"""What the program's results or its memory bound depend on; wins over everything."""

PREFERRED: Final[Mapping[str, str]] = {
    # Offset commits go through Arrow: larger batches have less overhead; the limit in bytes holds all the same.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "32768",
    # Half the size of snappy for these tables, and as fast to write.
    "spark.sql.parquet.compression.codec": "zstd",
    # Parts of a union that have one partition each would become one: rows that are to lie in files of their own (see
    # layout) are such parts.
    "spark.sql.unionOutputPartitioning": "false",
    # Nothing here reads the list of files that Delta keeps in each commit's checksum. Where a zone is not UTC Delta
    # checks that list by reading the table's whole log again, with every commit.
    "spark.databricks.delta.allFilesInCrc.enabled": "false",
    # A stream that waits for a cluster that is gone cannot be interrupted; by default its end is waited for for ever.
    "spark.sql.streaming.stopTimeout": "10s",
    # Each of some hundred queries is written out for Spark's page, and one that reads what was kept in memory with all
    # that led to it: without a limit megabytes a query, of which the driver keeps a thousand.
    "spark.sql.maxPlanStringLength": "8192",
}
"""What is better than Spark's default for this work; a setting of the user wins."""

REDACTED: Final[Mapping[str, tuple[str, str]]] = {
    # Options of Kafka's client that hold secrets, beside those that Spark hides by itself.
    "spark.redaction.regex": (
        "(?i)secret|password|token|access[.]?key",
        "(?i)jaas|passphrase|credential|keystore[.]key|certificate",
    ),
    # In the plan of a query on Kafka stand all its options, as they are: in logs, event logs, Spark's page.
    "spark.sql.redaction.string.regex": (
        "",
        r"(?s)(?<=StreamingRelation DataSource)\(.*?\), kafka, (?=\[key#)",
    ),
}
"""Setting -> Spark's own default, and what is hidden besides: logs and plans must show no secret."""


def build_session(
    app_name: str,
    *,
    master: str | None = None,
    settings: Mapping[str, str] | None = None,
    jars_folder: Path | None = None,
    is_short: bool = False,
) -> SparkSession:
    """The session of this process.

    Under spark-submit, master, memory and jars are those of the submission. Else `master` starts one, local ones with
    conf/spark/local.conf, and Delta comes from the jars in `jars_folder` unless `settings` name jars or packages.
    `is_short`: it is for few records. `settings` win over all but REQUIRED. Raises LakeError when Delta is not on the
    class path.
    """
    wanted = dict(settings or {})
    conf = SparkConf()
    if SUBMITTED in os.environ:
        conf.setAll(list(wanted.items()))
    else:
        # Without it the workers would be whatever `python3` is first on the PATH.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        conf.setMaster(master or "local[*]")
        if (master or "local").startswith("local"):
            is_told = DRIVER_OPTIONS in wanted or any(
                "GC" in os.environ.get(name, "") for name in JAVA_VARIABLES
            )
            local = local_settings(
                master or "local[*]", is_short=is_short, leaves_java_alone=is_told
            )
            if DRIVER_OPTIONS in wanted:
                # Java takes the last of two equal options, so one that is wanted wins here too.
                wanted[DRIVER_OPTIONS] = f"{local.get(DRIVER_OPTIONS, '')} {wanted[DRIVER_OPTIONS]}"
            conf.setAll(list(local.items()))
        if jars_folder is not None and not {"spark.jars", "spark.jars.packages"} & wanted.keys():
            wanted["spark.jars"] = _jars(jars_folder)
        conf.setAll(list(wanted.items()))
    for name, value in PREFERRED.items():
        conf.setIfMissing(name, value)
    conf.setAll(list(REQUIRED.items()))
    for name, (default, ours) in REDACTED.items():
        others = conf.get(name, default)
        conf.set(name, f"{others}|{ours}" if others else ours)
    spark = SparkSession.builder.appName(app_name).config(conf=conf).getOrCreate()
    _require_delta(spark)
    return spark


def parse_conf(text: str) -> dict[str, str]:
    """Settings of a file in the form of spark-defaults.conf: name, blanks, value; lines of `#` are comments."""
    pairs = (line.split(None, 1) for line in map(str.strip, text.splitlines()))
    return {pair[0]: pair[1] for pair in pairs if pair and not pair[0].startswith("#")}


def local_settings(
    master: str, *, is_short: bool = False, leaves_java_alone: bool = False
) -> dict[str, str]:
    """Settings of a session on this machine, by their names.

    `leaves_java_alone`: it has options of the user's.
    """
    settings = parse_conf(read_text(LOCAL_CONF))
    # Only here: on a cluster, workers come by this package when their daemon runs already.
    settings["spark.python.daemon.module"] = WORKER_DAEMON
    # 200 by default: a shuffle on one machine needs as many tasks as keep its cores busy, no more.
    cores = _cores(master)
    settings["spark.sql.shuffle.partitions"] = str(2 * cores)
    options = []
    if not leaves_java_alone and (is_short or cores <= FEW_CORES):
        options.append(SHORT_LIVED if is_short else SERIAL)
    logging = resource(LOGGING_CONF)
    if isinstance(logging, Path):  # not inside a zip
        options.append(f"-Dlog4j2.configurationFile={logging.as_uri()}")
    if options:
        settings[DRIVER_OPTIONS] = " ".join(options)
    return settings


def _cores(master: str) -> int:
    """Cores of a master such as local, local[4], local[*] or local[2,1]."""
    count = master.partition("[")[2].rstrip("]").partition(",")[0]
    if count == "*":
        return os.cpu_count() or 1
    return int(count) if count.isdigit() else 1


def _jars(folder: Path) -> str:
    jars = sorted(folder.glob("*.jar"))
    if not any(jar.name.startswith("delta-spark") for jar in jars):
        raise LakeError(
            f"No jar of Delta Lake in {folder}: run `make jars`, or set spark.jars.packages."
        )
    return ",".join(str(jar) for jar in jars)


def _require_delta(spark: SparkSession) -> None:
    from py4j.protocol import Py4JJavaError  # noqa: PLC0415 - comes with pyspark, wanted here only

    jvm = spark.sparkContext._jvm  # noqa: SLF001 - no public way asks for a class
    assert jvm is not None
    try:
        jvm.java.lang.Thread.currentThread().getContextClassLoader().loadClass(DELTA_EXTENSION)
    except Py4JJavaError:
        raise LakeError(
            "Delta Lake is not on Spark's class path: give its jars with --jars or --packages."
        ) from None
