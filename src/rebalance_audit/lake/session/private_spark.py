"""The private parts of Spark and Delta that this program needs: each with its reason, and with what could stand in.

All of them exist in classic PySpark alone. A session of Spark Connect, and a platform that gives Python no gateway to
the driver's JVM, has none of them: `check_is_classic` says so before anything is done. One more is where it must be:
`pyspark.daemon`, in `worker_daemon`, which Spark starts instead of its own, with what workers import already there. In
its place: nothing; each new worker would take a second longer.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Final, NamedTuple
from weakref import WeakKeyDictionary

from py4j.protocol import Py4JError
from pyspark.errors.exceptions.captured import CapturedException
from pyspark.sql import DataFrame, SparkSession

from rebalance_audit.errors import BadRequest

REMOTE: Final = frozenset({"SPARK_REMOTE", "SPARK_CONNECT_MODE_ENABLED"})
"""Variables by which PySpark makes sessions of Spark Connect."""
DELTA_LOG: Final = "org.apache.spark.sql.delta.DeltaLog"
ACTION: Final = "org.apache.spark.sql.delta.actions.Action"
UPDATE: Final = "org.apache.spark.sql.delta.DeltaOperations$Update"
CREATE: Final = "org.apache.spark.sql.delta.DeltaOperations$CreateTable"
WRITE: Final = "org.apache.spark.sql.delta.DeltaOperations$Write"
METRICS: Final = "org.apache.spark.sql.execution.metric.SQLMetrics"
SAVE_MODE: Final = "org.apache.spark.sql.SaveMode"
OPTION: Final = "scala.Option"
SOME: Final = "scala.Some"
PYTHON_UTILS: Final = "org.apache.spark.api.python.PythonUtils"
JAVA_CLASS: Final = "java.lang.Class"
HADOOP_CONF: Final = "org.apache.hadoop.conf.Configuration"
JOB_CONF: Final = "org.apache.hadoop.mapred.JobConf"


_hadoop_confs: Final[WeakKeyDictionary[SparkSession, Any]] = WeakKeyDictionary()


def check_is_classic(environment: Collection[str]) -> None:
    """Raises BadRequest where the variables of the environment ask for Spark Connect."""
    if found := sorted(REMOTE.intersection(environment)):
        raise BadRequest(
            f"{found[0]} asks for Spark Connect, which has no way to Delta's log: unset it. run, ingest, check and"
            " maintain need a classic session; what only reads a lake, such as report and explain, needs no Spark."
        )


def driver_jvm(spark: SparkSession) -> Any:
    """The driver's classes.

    For Java's regular expressions, Kafka's client and Delta's log. In its place: the rules of Java's expressions in
    Python; a Kafka client of Python's; and for Delta's log `deltalake`, which does not reach every store that Spark
    reaches.
    """
    return spark.sparkContext._jvm  # noqa: SLF001 - see above


def driver_gateway(spark: SparkSession) -> Any:
    """The connection to the driver's process: whether that is alive, and how it ended.

    In its place: nothing. Without it a driver that was killed shows as an error of sockets.
    """
    return spark.sparkContext._gateway  # noqa: SLF001 - see above


def java_session(spark: SparkSession) -> Any:
    """The session as Java has it, with Hadoop's settings for file systems.

    For `hadoop_conf` and `table_metadata`, and without those for nothing.
    """
    return spark._jsparkSession  # noqa: SLF001 - see above


def hadoop_conf(spark: SparkSession) -> Any:
    """Hadoop's settings for file systems, as the session has them (`SessionState.newHadoopConf`).

    For the newest version of a table without a job, for files beside a stream's checkpoint, and for rows that a cluster
    keeps. In its place: `DeltaTable.history()`, which takes a job each time; `SparkContext.hadoopConfiguration`, which
    is private to Python too and lacks what the session has set. Made once for each session: it copies some thousand
    settings, and a run asks for it some hundred times.
    """
    if spark not in _hadoop_confs:
        _hadoop_confs[spark] = java_session(spark).sessionState().newHadoopConf()
    return _hadoop_confs[spark]


def forget_origins(spark: SparkSession, classes: Callable[[str], Any]) -> None:
    """Have Hadoop's settings forget which file each of them is from; nobody asks.

    They go to the tasks with each table that is read. Hadoop packs the origin of each of a thousand settings by itself,
    with gzip: 4 of 5 ms, and 2 of 3 to unpack. `classes` gives a class of Java by its full name. In its place: nothing.
    """
    conf = spark.sparkContext._jsc.hadoopConfiguration()  # noqa: SLF001 - see above
    try:
        classes(JAVA_CLASS).forName(JOB_CONF)  # all settings are read again when its own come
        conf.size()  # and are not read before they are used
        origins = classes(JAVA_CLASS).forName(HADOOP_CONF).getDeclaredField("updatingResource")
        origins.setAccessible(True)
        origins.get(conf).clear()
    except Py4JError:
        pass  # another release of Hadoop


def newest_snapshot(spark: SparkSession, logs: Any, path: str) -> tuple[Any, Any]:
    """The log of the Delta table at a path, and its newest version; `logs` is the class DELTA_LOG.

    For `table_metadata` and `small_table`.
    """
    found = logs.forTableWithSnapshot(java_session(spark), path)
    return found._1(), found._2()  # noqa: SLF001 - Scala's first and second of two


def table_metadata(spark: SparkSession, logs: Any, path: str) -> Any:
    """Id and properties of a Delta table, as an instance of Delta's `Metadata`; `logs` is the class DELTA_LOG.

    In its place: `DeltaTable.detail()`, which takes two jobs and some 300 ms each time.
    """
    return newest_snapshot(spark, logs, path)[1].metadata()


class SmallTable(NamedTuple):
    """A version of a Delta table by the list of its files that Delta keeps with the checksum of each commit.

    In its place: `spark.read` and MERGE, for which Delta makes the list anew from the table's log, by three queries for
    each version, and looks in the statistics for files to leave out.
    """

    log: Any
    snapshot: Any
    files: Any
    """A sequence of Scala, of `AddFile`."""

    @property
    def paths(self) -> list[str]:
        """Of the files, as Delta's log has them: relative to the table's folder, escaped as in a URI."""
        return [self.files.apply(number).path() for number in range(self.files.size())]

    def named(self, names: Iterable[str]) -> list[Any]:
        """The files with these names."""
        wanted = set(names)
        files = (self.files.apply(number) for number in range(self.files.size()))
        return [file for file in files if file.path().rpartition("/")[2] in wanted]


def property_of(snapshot: Any, name: str) -> str | None:
    """What TBLPROPERTIES have set for a version of a table."""
    found = snapshot.metadata().configuration().get(name)
    return str(found.get()) if found.isDefined() else None


def small_table(log: Any, snapshot: Any, bytes_max: int) -> SmallTable | None:
    """A version of a table.

    None where Delta keeps no list, since the table has more than fifty files or was written without it, and where the
    files are larger than `bytes_max`.
    """
    checksum = snapshot.checksumOpt()
    if checksum.isEmpty() or checksum.get().tableSizeBytes() > bytes_max:
        return None
    files = checksum.get().allFiles()
    if files.isEmpty() or files.get().size() != checksum.get().numFiles():
        return None
    return SmallTable(log, snapshot, files.get())


def rows_of_files(
    spark: SparkSession, classes: Callable[[str], Any], table: SmallTable, files: Any
) -> DataFrame:
    """The rows of some of a table's files, a sequence of Scala; `classes` gives a class of Java by its full name."""
    none = classes(OPTION).empty()
    return DataFrame(table.log.createDataFrame(table.snapshot, files, False, none), spark)


def bytes_expected(rows: DataFrame) -> int:
    """How many bytes Spark expects the rows to have; those of a Delta table as many as its files.

    For settings that depend on how much there is to read. In its place: `DeltaTable.detail()`, two jobs for each table.
    """
    plan = rows._jdf.queryExecution().optimizedPlan()  # noqa: SLF001 - see above
    return int(str(plan.stats().sizeInBytes()))


def sequence(classes: Callable[[str], Any], items: Iterable[Any]) -> Any:
    """A sequence of Scala; `classes` gives a class of Java by its full name."""
    return classes(PYTHON_UTILS).toSeq(list(items))


def counts_receiver(spark: SparkSession) -> Any:
    """The thread that receives counts from Java; None where there is none.

    So that it ends quietly when Java ends. In its place: nothing; a stack trace would follow our sentence.
    """
    return getattr(spark.sparkContext, "_accumulatorServer", None)


def begin_transaction(spark: SparkSession, logs: Any, path: str) -> Any:
    """A transaction on the newest version of a Delta table; `logs` is the class DELTA_LOG.

    In its place, and in that of `exchange_files`: an overwrite with `replaceWhere`, in ten queries instead of two.
    """
    return logs.forTable(java_session(spark), path).startTransaction()


def number_of_transaction(transaction: Any, application: str) -> int:
    """The number of the last transaction of an application, -1 for none; a later one conflicts with this transaction.

    By the list that Delta keeps with each commit's checksum. In its place: `txnVersion`, for which Delta makes the list
    anew from the table's log, by three queries for each version.
    """
    try:
        checksum = transaction.snapshot().checksumOpt()
        if checksum.isDefined() and checksum.get().setTransactions().isDefined():
            transaction.readTxn().addOne(application)
            known = checksum.get().setTransactions().get()
            found = [known.apply(place) for place in range(known.size())]
            numbers = [each.version() for each in found if each.appId() == application]
            return max(numbers, default=-1)
    except Py4JError:
        pass  # another release of Delta
    return int(transaction.txnVersion(application))


def create_table(
    transaction: Any,
    metadata: str,
    actions: Iterable[str],
    clustered_by: Iterable[str],
    classes: Callable[[str], Any],
) -> None:
    """Commit the first version of a table: its action `metaData`, and others, as lines of its log.

    `classes` gives a class of Java by its full name. In its place: CREATE TABLE, in twice the time.
    """
    transaction.updateMetadataForNewTable(logged_action(classes, metadata))
    by = sequence(classes, clustered_by)
    clustering = classes(OPTION).empty() if by.isEmpty() else classes(SOME)(by)
    made = classes(CREATE)(transaction.metadata(), False, False, clustering)
    transaction.commit(sequence(classes, (logged_action(classes, line) for line in actions)), made)


def exchange_files(
    transaction: Any, files: Iterable[Any], rows: DataFrame, classes: Callable[[str], Any]
) -> None:
    """Commit rows to the table in place of files, each an `AddFile`.

    `classes` gives a class of Java by its full name.
    """
    removed = sequence(classes, (file.remove() for file in files))
    written = transaction.writeFiles(rows._jdf)  # noqa: SLF001 - see above
    transaction.commit(written.appendedAll(removed), classes(UPDATE)(classes(OPTION).empty()))


def add_files(
    transaction: Any, rows: DataFrame, user_metadata: str, classes: Callable[[str], Any]
) -> None:
    """Commit rows to the table beside those that it has; no rows are no commit. `classes` as above.

    In its place: an append, which Delta lets pass whatever others have written since.
    """
    written = transaction.writeFiles(rows._jdf)  # noqa: SLF001 - see above
    if not written.isEmpty():
        transaction.commit(written, _append(user_metadata, classes))


def _append(user_metadata: str | None, classes: Callable[[str], Any]) -> Any:
    none = classes(OPTION).empty()
    metadata = none if user_metadata is None else classes(SOME)(user_metadata)
    return classes(WRITE)(classes(SAVE_MODE).Append, none, none, metadata, *[none] * 5)


def commit_files(
    transaction: Any,
    actions: Iterable[str],
    user_metadata: str | None,
    metrics: Mapping[str, int],
    spark: SparkSession,
    classes: Callable[[str], Any],
) -> None:
    """Commit files that are there already, as lines of the table's log; `metrics` are those that its history shows.

    `classes` as above. In its place: rows for Spark to write, in six times the time.
    """
    context = spark.sparkContext._jsc.sc()  # noqa: SLF001 - see above
    found = {}
    for name, value in metrics.items():
        found[name] = classes(METRICS).createMetric(context, name)
        found[name].set(value)
    transaction.registerSQLMetrics(java_session(spark), classes(PYTHON_UTILS).toScalaMap(found))
    added = sequence(classes, (logged_action(classes, line) for line in actions))
    transaction.commit(added, _append(user_metadata, classes))


def commit_exchange(
    transaction: Any, actions: Iterable[str], files: Iterable[Any], classes: Callable[[str], Any]
) -> None:
    """Commit files that are there already, as lines of the table's log, in place of files, each an `AddFile`.

    `classes` as above. In its place: MERGE, in ten queries.
    """
    done = [*(logged_action(classes, line) for line in actions), *(file.remove() for file in files)]
    transaction.commit(sequence(classes, done), classes(UPDATE)(classes(OPTION).empty()))


def logged_action(classes: Callable[[str], Any], line: str) -> Any:
    """The action of a line of a table's log, such as an `AddFile`; `classes` gives a class of Java by its full name."""
    return classes(ACTION).fromJson(line)


class Query(NamedTuple):
    """One SQL execution of Spark's."""

    at_ms: int
    """When it began, epoch milliseconds."""
    jobs: int
    description: str


def queries_since(spark: SparkSession, moment_ms: float) -> list[Query]:
    """The queries that Spark remembers among those that began at a moment or later, oldest first.

    For `--explain-run`. In its place: an event log, read after the session.
    """
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()  # noqa: SLF001 - see above
    known = java_session(spark).sharedState().statusStore().executionsList()
    found = (known.apply(number) for number in range(known.size()))
    return [
        Query(each.submissionTime(), each.jobs().size(), each.description())
        for each in found
        if each.submissionTime() >= moment_ms
    ]


def java_trace(error: Exception) -> str:
    """The stack trace of an exception that Java has thrown; empty for any other.

    It names the file that could not be read, and the disk that is full. In its place: nothing.
    """
    return error._stackTrace if isinstance(error, CapturedException) else ""  # noqa: SLF001 - see above
