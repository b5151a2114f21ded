"""The Spark session: built here and nowhere else, its settings, and how its end is reported.

It may end during the work: its Java process, or a Python worker, was killed or ran out of memory. What the program sees
then depends on what it was doing: a refused connection, an empty answer, a stack trace.
"""

import os
import re
import sys
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Final

from pyspark import SparkConf
from pyspark.errors import AnalysisException, PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.utils import is_remote

from rebalance_audit.errors import LakeError, SparkEnded
from rebalance_audit.resources import read_text, resource
from rebalance_audit.spark_release import installed_spark_release
from rebalance_audit.wire.segments.folder import SourceNotReadable

LOCAL_CONF: Final = "conf/spark/local.conf"
LOGGING_CONF: Final = "conf/spark/log4j2.properties"
DELTA_EXTENSION: Final = "io.delta.sql.DeltaSparkSessionExtension"
DRIVER_OPTIONS: Final = "spark.driver.extraJavaOptions"
NOWHERE: Final = "/nowhere/rebalance-audit"
NO_DELTA: Final = "DATA_SOURCE_NOT_FOUND"
"""Spark's error condition for a format whose class is missing."""
CONNECT: Final = "sc://"
"""How the address of a Spark Connect server begins."""
FEW_CORES: Final = 2
SERIAL: Final = "-XX:+UseSerialGC"
"""On few cores: Java's default collector works concurrently, and makes the program's own writes more expensive. Without
it an increment takes an eighth less processor time and elapsed time, a rebuild a twentieth."""
ONE_LOGGING: Final = (
    "-Dlog4j2.contextSelector=org.apache.logging.log4j.core.selector.BasicContextSelector"
)
"""By default each class loader may have a logging of its own. So each logger that is made, and Spark makes one for each
batch of rules of each plan, looks through the stack for the class that asks."""
DIGITS: Final = "-Duser.language=en -Duser.country=US"
"""Delta and Spark put numbers into names of files as the locale writes them, with its digits: elsewhere, and by other
readers, such a commit is not found."""
JAVA_VARIABLES: Final = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")
"""Environment variables from which Java takes options too; it does not start with two collectors."""
SUBMITTED: Final = "PYSPARK_GATEWAY_PORT"
"""Set in the environment of a driver that spark-submit started: its JVM already runs, with settings of its own."""

REQUIRED: Final[Mapping[str, str]] = {
    # For MERGE, and CREATE TABLE with clustering.
    "spark.sql.extensions": DELTA_EXTENSION,
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    # Timestamps of the log are UTC, and so are those of the tables, whatever the machine's time zone.
    "spark.sql.session.timeZone": "UTC",
    # Rows that the driver has become part of a plan through Arrow.
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    # What is staged is read without Spark as well. By default moments have 96 bits, a type that Parquet has given up.
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",
    # Errors then say which file could not be read, and which disk is full: pyspark shows only the first line.
    "spark.sql.pyspark.jvmStacktrace.enabled": "true",
    # A type 2 record of 10 000 members has megabytes: rows alone would not limit the memory of an Arrow batch.
    "spark.sql.execution.arrow.maxBytesPerBatch": str(64 << 20),
    # Since 3.4 Spark's Kafka source asks an admin client for topics, which leaves out internal ones: it would silently
    # read nothing of __consumer_offsets. The older way asks a consumer, which sees them.
    "spark.sql.streaming.kafka.useDeprecatedOffsetFetching": "true",
}
"""What the program's results or its bound on memory depend on; these win over the user's settings."""

PREFERRED: Final[Mapping[str, str]] = {
    # Offset commits go through Arrow: larger batches have less overhead, and the limit in bytes still holds.
    "spark.sql.execution.arrow.maxRecordsPerBatch": "32768",
    # For these tables half the size of snappy, and as fast to write.
    "spark.sql.parquet.compression.codec": "zstd",
    # By default Spark forgets the classes that it has generated from the hundredth on, and a run has some 450: the next
    # run in the session would generate and compile all of them again, a third of its processor time.
    "spark.sql.codegen.cache.maxEntries": "1000",
    # Spark's page describes each of some hundred queries, including the lineage of everything that was kept in memory:
    # without a limit megabytes for each, and the driver keeps a thousand of them.
    "spark.sql.maxPlanStringLength": "8192",
    # With each of some thousand expressions pyspark passes Java the line that it comes from, for messages of Spark
    # that no user sees: ours name the file or the table.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    # The same in Java, where each column looks at the whole stack for it.
    "spark.sql.dataFrameQueryContext.enabled": "false",
}
"""What suits this work better than Spark's defaults; a setting of the user's wins."""

HADOOP_UMASK: Final = 0o022
"""Hadoop's own default."""

REDACTED: Final[Mapping[str, tuple[str, str]]] = {
    # Options of Kafka's client that contain secrets, and all options of storages, besides what Spark hides by itself.
    "spark.redaction.regex": (
        "(?i)secret|password|token|access[.]?key",
        (
            "(?i)jaas|passphrase|credential|keystore[.]key|certificate|account[.]?key|signature|[.]sas[.]"
            "|(^|[.])fs[.](azure|s3a?|gs|adl|abfss?|wasbs?|oss|cos)[.]"
        ),
    ),
}
"""Setting -> Spark's own default, and the pattern that is added: logs and plans must not show secrets."""


def build_session(
    app_name: str,
    *,
    master: str | None = None,
    settings: Mapping[str, str] | None = None,
    jars_folder: Path | None = None,
) -> SparkSession:
    """The session of this process.

    Under spark-submit, master, memory and jars are those of the submission. A master `sc://HOST:PORT` is a Spark
    Connect server, which has Delta and the settings that a session cannot change. Otherwise a session of `master`
    starts, a local one with conf/spark/local.conf, and Delta comes from the jars in `jars_folder` unless `settings`
    name jars or packages. `settings` win over everything except REQUIRED. Raises LakeError if
    Delta is not on the class path.
    """
    wanted = dict(settings or {})
    present = active_session()
    if present is not None and is_remote():
        return _prepared(present, wanted)
    if is_connect(master):
        remote = SparkSession.builder.remote(str(master)).appName(app_name).getOrCreate()
        return _prepared(remote, wanted)
    conf = SparkConf()
    if SUBMITTED in os.environ:
        conf.setAll(list(wanted.items()))
    else:
        # Otherwise the workers would be the first `python3` on the PATH.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        conf.setMaster(master or "local[*]")
        if (master or "local").startswith("local"):
            is_configured = DRIVER_OPTIONS in wanted or any(
                "GC" in os.environ.get(name, "") for name in JAVA_VARIABLES
            )
            local = local_settings(master or "local[*]", leaves_java_alone=is_configured)
            if DRIVER_OPTIONS in wanted:
                # Java takes the last of two equal options, so the user's wins here too.
                wanted[DRIVER_OPTIONS] = f"{local[DRIVER_OPTIONS]} {wanted[DRIVER_OPTIONS]}"
            conf.setAll(list(local.items()))
        if jars_folder is not None and not {"spark.jars", "spark.jars.packages"} & wanted.keys():
            wanted["spark.jars"] = _jars(jars_folder)
        conf.setAll(list(wanted.items()))
    for name, value in {**PREFERRED, **_umask_settings()}.items():
        conf.setIfMissing(name, value)
    conf.setAll(list(REQUIRED.items()))
    for name, (default, ours) in REDACTED.items():
        others = conf.get(name, default)
        conf.set(name, f"{others}|{ours}" if others else ours)
    spark = SparkSession.builder.appName(app_name).config(conf=conf).getOrCreate()
    _require_delta(spark)
    return spark


def active_session() -> SparkSession | None:
    """The session that this process has: a notebook's, or one that a platform has started before the command."""
    return SparkSession.getActiveSession()


def is_connect(master: str | None) -> bool:
    """Whether a master is a Spark Connect server."""
    return (master or "").startswith(CONNECT)


def _prepared(spark: SparkSession, settings: Mapping[str, str]) -> SparkSession:
    """A remote session with the settings that it can have."""
    for name, value in {**PREFERRED, **settings, **REQUIRED}.items():
        if spark.conf.isModifiable(name):
            spark.conf.set(name, value)
        elif name in settings and spark.conf.get(name, None) != value:
            raise LakeError(
                f"A session cannot change {name}: start the Spark Connect server with it."
            )
    _require_delta(spark)
    return spark


def _umask_settings() -> dict[str, str]:
    """What has Hadoop honour this process's umask where that is stricter than its own default (022).

    Hadoop sets the permissions of each file that it makes, and does not ask the system for the umask.
    """
    umask = os.umask(HADOOP_UMASK)
    os.umask(umask)
    if not umask & ~HADOOP_UMASK:
        return {}
    return {"spark.hadoop.fs.permissions.umask-mode": f"{umask | HADOOP_UMASK:03o}"}


def parse_conf(text: str) -> dict[str, str]:
    """Settings in the form of spark-defaults.conf: name, blanks, value; lines that begin with `#` are comments."""
    pairs = (line.split(None, 1) for line in map(str.strip, text.splitlines()))
    return {pair[0]: pair[1] for pair in pairs if pair and not pair[0].startswith("#")}


def local_settings(master: str, *, leaves_java_alone: bool = False) -> dict[str, str]:
    """Settings of a session on this machine, by name.

    `leaves_java_alone`: no collector is chosen, because the user has given options for Java.
    """
    settings = parse_conf(read_text(LOCAL_CONF))
    # 200 by default: on one machine a shuffle needs only as many tasks as keep its cores busy.
    cores = _cores(master)
    settings["spark.sql.shuffle.partitions"] = str(2 * cores)
    options = [DIGITS] if leaves_java_alone or cores > FEW_CORES else [SERIAL, DIGITS]
    logging = resource(LOGGING_CONF)
    if isinstance(logging, Path):  # not inside a zip
        options.append(f"-Dlog4j2.configurationFile={logging.as_uri()} {ONE_LOGGING}")
    settings[DRIVER_OPTIONS] = " ".join(options)
    return settings


def _cores(master: str) -> int:
    """The number of cores of a master such as local, local[4], local[*] or local[2,1]."""
    count = master.partition("[")[2].rstrip("]").partition(",")[0]
    if count == "*":
        return os.cpu_count() or 1
    return int(count) if count.isdigit() else 1


def _jars(folder: Path) -> str:
    jars = sorted(folder.glob("*.jar"))
    release = installed_spark_release()
    if not any(release.has_delta(jar.name) for jar in jars):
        raise LakeError(
            f"No jar of Delta Lake for Spark {release.spark} in {folder}: run `rebalance-audit jars`, or set"
            f" spark.jars.packages to {release.delta.coordinates}."
        )
    return ",".join(str(jar) for jar in jars)


def _require_delta(spark: SparkSession) -> None:
    try:
        # A remote session looks for the table when it is asked for the columns.
        spark.read.format("delta").load(NOWHERE).schema  # noqa: B018
    except AnalysisException as error:
        if NO_DELTA not in str(error):
            return  # Delta says that nothing is there
    except Exception:  # noqa: BLE001, S110 - of a missing class pyspark has no error of its own
        pass
    raise LakeError(
        "Delta Lake is not on Spark's class path: give its jars with --jars or --packages, or to the Spark Connect"
        " server."
    )


WORKER_GONE: Final = re.compile(
    r"Python worker (exited unexpectedly|failed to connect back)|pyspark[.]daemon's (stdout|standard output)"
)
NO_MEMORY: Final = re.compile(r"java\.lang\.OutOfMemoryError: ([\w -]+)")
TOO_SMALL: Final = re.compile(r"(?:System|Executor) memory \d+ must be at least (\d+)")
"""Spark's words for a heap in which it does not start."""
CUT_OFF: Final = re.compile(r"Stream closed|Broken pipe|Connection reset|java\.io\.EOFException")
"""What Java says about a worker, or the daemon that starts workers, that disappeared between two tasks."""
IN_PYTHON: Final = "org.apache.spark.api.python."
"""The classes that talk to Python, as they appear in a stack trace."""
REPAIR: Final = (
    "Was it killed, or did the machine run out of memory? The next run finishes the work."
)
NEVER_THERE: Final = "JAVA_GATEWAY_EXITED"
"""pyspark's error condition if Java ends before it listens."""


@contextmanager
def reporting_a_failed_start() -> Iterator[None]:
    """Raises SparkEnded if the Java process ends while it is starting, or has too little memory for that."""
    try:
        yield
    except Exception as error:
        text = str(error)
        if found := TOO_SMALL.search(text):
            raise SparkEnded(
                f"Spark does not start in so small a heap: give spark.driver.memory at least {int(found[1]) >> 20} MB"
                " under [spark.settings], better 2g."
            ) from error
        if isinstance(error, ConnectionError) or NEVER_THERE in text:
            raise SparkEnded(
                "Spark's Java process ended while it was starting; its own messages, if any, are above."
            ) from error
        raise


@contextmanager
def stopping(spark: SparkSession, *, when: bool = True) -> Iterator[SparkSession]:
    """The session, stopped at the end of the block, if `when` holds.

    Raises SparkEnded instead of the error that Spark's end caused.
    """
    try:
        yield spark
    except Exception as error:
        ended = _end_of(spark, error) or worker_end(error)
        if ended is None:
            raise
        raise ended from error
    finally:
        if when:
            stop(spark)


def worker_end(error: Exception) -> SparkEnded | None:
    """A sentence for a task that lost its Python process, or for Java without memory; None for any other error."""
    text = str(error)
    if found := NO_MEMORY.search(text):
        return SparkEnded(
            f"Java ran out of memory ({found[1]}): raise spark.driver.memory, on a cluster spark.executor.memory too,"
            " under [spark.settings]. The next run finishes the work."
        )
    is_cut_off = IN_PYTHON in text and CUT_OFF.search(text) is not None
    if not is_cut_off and WORKER_GONE.search(text) is None:
        return None
    return SparkEnded(f"A Python worker of Spark ended during its work. {REPAIR}")


def stop(spark: SparkSession) -> None:
    """Stop the session, or forget it if its Java process is gone."""
    if is_alive(spark):
        spark.stop()
        return
    with suppress(Exception):
        spark.stop()


def is_alive(spark: SparkSession) -> bool:
    """Whether the session's Java process answers."""
    try:
        spark.conf.get("spark.app.name", "")
    except Exception:  # noqa: BLE001 - of a lost connection pyspark has no error of its own
        return False
    return True


def _end_of(spark: SparkSession, error: Exception) -> SparkEnded | None:
    """A sentence if the Java process is gone; it does not matter to an error that explains itself, or is Java's own."""
    if isinstance(error, LakeError | SourceNotReadable | PySparkException) or is_alive(spark):
        return None
    return SparkEnded(f"Spark's Java process ended during the work. {REPAIR}")


@contextmanager
def temporary_settings(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Set them for all queries of the session inside the block; afterwards the session has what it had before."""
    before = {name: spark.conf.get(name, None) for name in settings}
    try:
        for name, value in settings.items():
            spark.conf.set(name, value)
        yield
    finally:
        for name, earlier in before.items():
            if earlier is None:
                spark.conf.unset(name)
            else:
                spark.conf.set(name, earlier)


FEW_RECORDS: Final = 100_000
"""With up to this many new records a whole run is over before compiled code has paid for itself."""
FEW_BYTES: Final = 8 << 20
"""Size of segment files with about as many records."""

SETTINGS: Final[Mapping[str, str]] = {
    # By default a class for each stage, and for each projection and sort order, is compiled and then runs cold: half of
    # the time of tasks over some thousand rows.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    # By default as many tasks as there are cores read files of a few rows, and rows that the driver has. Every query on
    # a table begins with its log, which is two files or more.
    "spark.sql.leafNodeDefaultParallelism": "1",
    # By default a shuffle of a few rows becomes as many tasks as there are cores.
    "spark.sql.adaptive.coalescePartitions.parallelismFirst": "false",
    # By default MERGE stores its source once more, but ours is checkpointed already.
    "spark.databricks.delta.merge.materializeSource": "none",
}


def small_queries(spark: SparkSession, *, when: bool = True) -> AbstractContextManager[None]:
    """These settings for all queries of the session inside the block, if `when` holds."""
    return temporary_settings(spark, SETTINGS if when else {})
