"""A run: from a source to the tables of a lake.

With all layers the source goes into bronze, and silver and gold are made from bronze, which remembers what Kafka's
compaction has taken from the source since. With gold alone the source is read once and nothing but gold is written.
Either way a log is looked through a few times, and every table is written by one commit.
"""

import re
import time
import uuid
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from typing import Final, TypeAlias

from py4j.protocol import Py4JJavaError
from pyspark import StorageLevel
from pyspark.errors import IllegalArgumentException, PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from rebalance_audit.audit.rows import GOLD_OF_GROUP
from rebalance_audit.lake import split, topics
from rebalance_audit.lake.census import Census, take_census
from rebalance_audit.lake.delta_log import java_message
from rebalance_audit.lake.errors import BadRequest
from rebalance_audit.lake.gaps import gaps_of
from rebalance_audit.lake.gold import in_window, rows_of
from rebalance_audit.lake.ingest import QUARANTINED, RECORDS, damaged_stretches, ingest
from rebalance_audit.lake.output_rows import GROUP_RECORDS, OUTPUTS, QUARANTINE
from rebalance_audit.lake.record_columns import DAMAGE
from rebalance_audit.lake.reducer import Gaps, ReducerOptions, reduce_groups
from rebalance_audit.lake.request import ALL_LAYERS, RunRequest, check_request
from rebalance_audit.lake.run_log import PROGRESS, RUNS, RunLog, RunReport
from rebalance_audit.lake.sinks import Sink, Written
from rebalance_audit.lake.sources import DeltaSource
from rebalance_audit.lake.tables import WRITERS, Lake
from rebalance_audit.wire.log_folder import SourceNotReadable
from rebalance_audit.wire.topic_names import TopicNames

COMMITS: Final = "silver.offset_commits"
TOPICS: Final = "gold.topics"
GOLD_TABLES: Final = (*(f"gold.{name}" for name in GOLD_OF_GROUP), TOPICS)
META_TABLES: Final = (RUNS, PROGRESS)
LAYER_TABLES: Final = (RECORDS, COMMITS, f"silver.{GROUP_RECORDS}")
USER_METADATA: Final = "spark.databricks.delta.commitInfo.userMetadata"

Progress: TypeAlias = Callable[[str], None]
"""Told what is being done now."""


def run_audit(
    spark: SparkSession, request: RunRequest, progress: Progress = lambda _: None
) -> RunReport:
    """Run, and leave a row in meta.runs.

    Raises BadRequest, SourceNotReadable, LakeNotReadable and LakeNotWritable, each with one sentence.
    """
    check_request(request)
    _check_regex(spark, request.groups_regex)
    run = _Run(spark, request, progress)
    with _commit_metadata(spark, run.run_id):
        return run.execute()


class _Run:
    """One run and what its steps hand to each other."""

    def __init__(self, spark: SparkSession, request: RunRequest, progress: Progress) -> None:
        self.spark = spark
        self.request = request
        self.progress = progress
        self.started_at = datetime.now(UTC)
        self.run_id = f"{self.started_at:%Y%m%dT%H%M%SZ}-{uuid.uuid4().hex[:8]}"
        self.lake = Lake(spark, request.lake)
        self.sink = Sink(self.lake, request.cluster, self.run_id)
        self.log = RunLog(self.lake, request, self.run_id, self.started_at)
        self.report = RunReport(self.run_id)
        self.with_silver = frozenset(request.layers) == ALL_LAYERS

    def execute(self) -> RunReport:
        """All steps, in order; the run log's row is the first commit and the last."""
        tables = [*META_TABLES, *GOLD_TABLES, QUARANTINED]
        with self._step("creating tables"):
            self.lake.create([RUNS])
            self.lake.create([*tables, *LAYER_TABLES] if self.with_silver else tables)
            self.log.start()
        try:
            self._replay()
            self._finish()
        except (PySparkException, Py4JJavaError) as error:
            known = source_error(error)
            self.log.fail(known or error)
            if known is not None:
                raise known from error
            raise
        except Exception as error:
            self.log.fail(error)
            raise
        return self.report

    def _replay(self) -> None:
        request = self.request
        source = self._source()
        small = split.small_side(source).persist(StorageLevel.MEMORY_AND_DISK)
        try:
            with self._step("counting records"):
                # A source that leaves out the commits says in the small side how many they are.
                counted = not self.with_silver and request.source.counts_what_it_leaves_out
                census = take_census(small if counted else source)
            undecodable = self._write_commits(source, small, census) if self.with_silver else None
            with self._step("finding topic names"):
                names = self._topic_names(small)
            self._replay_groups(small, census, names, undecodable)
            if self.with_silver and self._is_whole:
                self._upsert(PROGRESS, self.log.progress_rows(census))
        finally:
            small.unpersist()

    def _replay_groups(
        self, small: DataFrame, census: Census, names: TopicNames, undecodable: DataFrame | None
    ) -> None:
        records = split.group_records(small, self.request.groups_regex)
        with self._step("replaying groups"):
            gaps = self._gaps(small)
            stream = self._reduce(records, names, gaps, census.last_ms)
            if not self.with_silver and self._learn_from_commits(names, topics.unnamed(stream)):
                stream.unpersist()
                stream = self._reduce(records, names, gaps, census.last_ms)
        try:
            found = stream.groupBy("table").count().collect()
            outputs = {row["table"]: row["count"] for row in found}
            self._count(records, census, outputs)
            with self._step("writing tables"):
                self._write_outputs(stream, outputs, small, undecodable)
                self._upsert(TOPICS, topics.topic_rows(self.spark, names), given=len(names))
        finally:
            stream.unpersist()

    # -- steps ----------------------------------------------------------------------------------

    def _source(self) -> DataFrame:
        """Every record that the run goes through."""
        request = self.request
        if not self.with_silver:
            return request.source.records(self.spark, request.cluster, split.COMMIT_TYPES)
        source = request.source
        if not (isinstance(source, DeltaSource) and source.is_at(self.lake.table_path(RECORDS))):
            with self._step("reading the source into bronze"):
                records = source.records(self.spark, request.cluster)
                ingested = ingest(records, self.sink, source.spec, self.started_at)
            self.report.rows[RECORDS] = ingested.records
            self.report.rows[QUARANTINED] = ingested.damage_rows
            self.report.counts.damaged_stretches = ingested.damaged_stretches
        return self.lake.read(RECORDS, pinned=True).where(F.col("cluster") == request.cluster)

    def _write_commits(
        self, source: DataFrame, small: DataFrame, census: Census
    ) -> DataFrame | None:
        """Write silver.offset_commits; returns quarantine rows of commits that cannot be decoded, None for none."""
        regex = self.request.groups_regex
        decoded = split.decoded_commits(source, regex)
        with self._step("decoding offset commits"):
            markers = small.where(split.is_control()) if census.has_transactions else None
            scope = split.in_groups(regex, F.col("group_id"))
            given = census.commits if regex is None else split.commits(source, regex).count()
            self._replace(COMMITS, split.offset_commits(decoded, markers), scope, given=given)
            written = self.lake.read(COMMITS).where(F.col("cluster") == self.request.cluster)
            self.report.counts.decoded = written.where(scope).count()
            self.report.counts.quarantined = given - self.report.counts.decoded
        return split.undecodable_commits(decoded) if self.report.counts.quarantined else None

    def _reduce(
        self, records: DataFrame, names: TopicNames, gaps: Gaps, log_end_ms: int | None
    ) -> DataFrame:
        """The reducer's stream, computed and kept."""
        request = self.request
        options = ReducerOptions(
            names, request.rules, request.findings, log_end_ms, gaps, self.with_silver
        )
        stream = reduce_groups(records, options).persist(StorageLevel.MEMORY_AND_DISK)
        stream.count()
        return stream

    def _learn_from_commits(self, names: TopicNames, missing: Collection[bytes]) -> bool:
        """Look through all offset commits for names of topics that are still without; whether it found one.

        Without silver nobody has looked at the commits, and where the metadata log is there nobody need.
        """
        if not missing:
            return False
        records = self.request.source.records(self.spark, self.request.cluster)
        names.merge(topics.names_in_commits(records))
        return any(names.name_of(topic_id) is not None for topic_id in missing)

    def _topic_names(self, small: DataFrame) -> TopicNames:
        request = self.request
        names = request.source.topic_names()
        known = self.lake.read(TOPICS).where(F.col("cluster") == request.cluster)
        names.merge(topics.names_in_table(known))
        names.merge(topics.names_in_topic_lists(small.where(F.col("key").isNotNull())))
        if self.with_silver:
            commits = self.lake.read(COMMITS).where(F.col("cluster") == request.cluster)
            names.merge(topics.names_in_silver(commits))
        return names

    def _gaps(self, small: DataFrame) -> Gaps:
        """Where records of any group may be missing: damaged stretches, and records that tell no group."""
        lost = split.group_records(small, None).where(F.col("group_id").isNull())
        places = lost.select("partition", F.col("offset").alias("before_offset"))
        if self.with_silver:
            quarantined = self.lake.read(QUARANTINED)
            damaged = quarantined.where(F.col("cluster") == self.request.cluster)
        elif DAMAGE in small.columns:
            damaged = damaged_stretches(small)
        else:
            return gaps_of(places)
        damaged = damaged.where(F.col("before_offset").isNotNull())
        return gaps_of(places.unionByName(damaged.select("partition", "before_offset")))

    def _count(self, records: DataFrame, census: Census, outputs: Mapping[str, int]) -> None:
        """Say of every record where it went, and make sure that none is missing."""
        given = records.agg(F.count(F.lit(1)), F.count_distinct("partition", "group_id")).first()
        assert given is not None
        counts = self.report.counts
        quarantined = outputs.get(QUARANTINE, 0)
        decoded = given[0] - quarantined
        self.report.groups = given[1]
        counts.decoded += decoded
        counts.quarantined += quarantined
        counts.controls = census.controls
        counts.passed_over = census.records - counts.read
        if self.with_silver and outputs.get(GROUP_RECORDS, 0) != decoded:
            raise RuntimeError(f"{decoded} group records gave {outputs.get(GROUP_RECORDS, 0)} rows")
        if self.request.groups_regex is None:
            expected = 0 if self.with_silver else census.commits
            if counts.passed_over != expected:
                raise RuntimeError(
                    f"{counts.passed_over - expected} records went nowhere: {counts}"
                )

    def _write_outputs(
        self,
        stream: DataFrame,
        outputs: Mapping[str, int],
        small: DataFrame,
        undecodable: DataFrame | None,
    ) -> None:
        request = self.request
        records = split.group_records(small, request.groups_regex)
        groups = records.where("group_id is not null").select("group_id").distinct()
        writes: list[Callable[[], None]] = []
        for output in (*GOLD_OF_GROUP, *([GROUP_RECORDS] if self.with_silver else [])):
            window = F.lit(True)
            if output in GOLD_OF_GROUP:
                window = in_window(output, request.from_ms, request.to_ms)
            write = partial(self._replace, OUTPUTS[output], scope=window, groups=groups)
            rows = rows_of(stream, output).where(window)
            writes.append(partial(write, rows=rows, given=outputs.get(output, 0)))
        writes.append(partial(self._write_quarantine, stream, outputs, small, undecodable))
        with ThreadPoolExecutor(WRITERS) as pool:
            list(pool.map(lambda write: write(), writes))

    def _write_quarantine(
        self,
        stream: DataFrame,
        outputs: Mapping[str, int],
        small: DataFrame,
        undecodable: DataFrame | None,
    ) -> None:
        rows = rows_of(stream, QUARANTINE)
        given = outputs.get(QUARANTINE, 0)
        if undecodable is not None:
            rows = rows.unionByName(undecodable, allowMissingColumns=True)
            given += 1
        if self.with_silver and self.request.groups_regex is None:
            # Damaged stretches came with the source; bronze, from which the others come, does not have them.
            single = F.col("source_file").isNull()
            self._replace(QUARANTINED, rows, single, given=given)
            return
        if DAMAGE in small.columns:
            damaged = damaged_stretches(small)
            self.report.counts.damaged_stretches = damaged.count()
            rows = rows.unionByName(damaged)
            given += self.report.counts.damaged_stretches
        self._upsert(QUARANTINED, rows, given=given)

    def _finish(self) -> None:
        tables = [*GOLD_TABLES, QUARANTINED, *(LAYER_TABLES if self.with_silver else ())]
        versions = {name: self.lake.version(name) for name in sorted(tables)}
        self.report.versions = {name: at for name, at in versions.items() if at is not None}
        self.log.end(self.report)

    # -- helpers --------------------------------------------------------------------------------

    @property
    def _is_whole(self) -> bool:
        """Whether every group and every moment was asked for."""
        request = self.request
        return request.groups_regex is None and request.from_ms is None and request.to_ms is None

    def _replace(
        self,
        name: str,
        rows: DataFrame,
        scope: Column,
        groups: DataFrame | None = None,
        *,
        given: int = 1,
    ) -> None:
        """Write a table of which `given` rows are there to write, as far as that is known."""
        if given or not self.sink.is_empty(name):
            self._note(name, self.sink.replace(name, rows, scope, groups))

    def _upsert(self, name: str, rows: DataFrame, *, given: int = 1) -> None:
        if given:
            self._note(name, self.sink.upsert(name, rows))

    def _note(self, name: str, written: Written) -> None:
        """A table may be written twice in a run: quarantine, from the source and from the replay."""
        self.report.rows[name] = self.report.rows.get(name, 0) + written.rows

    @contextmanager
    def _step(self, what: str) -> Iterator[None]:
        """Tell what is being done, and note how long it took."""
        self.progress(what)
        began = time.monotonic()
        try:
            yield
        finally:
            self.report.seconds[what] = time.monotonic() - began


def source_error(error: Exception) -> SourceNotReadable | None:
    """The sentence of a SourceNotReadable that a Python worker raised; None for any other error."""
    match = re.search(r"\bSourceNotReadable: (.+)", str(error))
    return SourceNotReadable(match[1].strip()) if match else None


def _check_regex(spark: SparkSession, regex: str | None) -> None:
    """Raises BadRequest: Java judges, since Java will match."""
    if regex is None:
        return
    jvm = spark.sparkContext._jvm  # noqa: SLF001 - there is no other door to java.util.regex
    assert jvm is not None
    try:
        jvm.java.util.regex.Pattern.compile(regex)
    except (Py4JJavaError, IllegalArgumentException) as error:
        # pyspark turns the exceptions that it knows into its own, of any Java call.
        why = java_message(error) if isinstance(error, Py4JJavaError) else str(error)
        raise BadRequest(f"{regex!r} is no regular expression: {why.splitlines()[0]}.") from None


@contextmanager
def _commit_metadata(spark: SparkSession, run_id: str) -> Iterator[None]:
    """The run's id in every commit's `userMetadata`."""
    spark.conf.set(USER_METADATA, run_id)
    try:
        yield
    finally:
        spark.conf.unset(USER_METADATA)
