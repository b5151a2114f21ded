"""What all steps of one run use: the session, the lake and its tables, the log of the run, and its report."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cached_property
from hashlib import sha256
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.errors import two_histories
from rebalance_audit.lake.bronze.end_offsets import StoredEndOffsets
from rebalance_audit.lake.bronze.ledger import partitions_seen
from rebalance_audit.lake.gold import topics
from rebalance_audit.lake.gold.broker_logs import StoredBrokerLogs
from rebalance_audit.lake.runs.progress import ALL, RunEntry, RunLog
from rebalance_audit.lake.runs.request import GOLD, RunRequest
from rebalance_audit.lake.runs.run_report import RunReport, Timeline
from rebalance_audit.lake.session.settings import temporary_settings
from rebalance_audit.lake.silver.offset_commits import WrittenCommits
from rebalance_audit.lake.storage.sinks import Sink
from rebalance_audit.lake.storage.table_log import new_run_id
from rebalance_audit.lake.storage.table_writer import Written
from rebalance_audit.lake.storage.tables import Lake
from rebalance_audit.steps import OnProgress
from rebalance_audit.tables.schemas import TableName
from rebalance_audit.version import __version__
from rebalance_audit.wire.topic_names import TopicName, TopicNames, names_in_table

DESCRIPTION: Final = "spark.job.description"
LEFT_OUT_NAMED: Final = 20
"""Groups in several partitions of the log that a run names."""


class RunContext:
    """One run."""

    def __init__(self, spark: SparkSession, request: RunRequest, on_progress: OnProgress) -> None:
        """Nothing is read or written yet."""
        self.spark = spark
        self.request = request
        self.on_progress = on_progress
        self.started_at = datetime.now(UTC)
        self.run_id = new_run_id(self.started_at)
        self.rules = rules_digest(request)
        self.lake = Lake(spark, request.lake, request.options)
        self.sink = Sink(self.lake, request.cluster, self.run_id)
        self.log = RunLog(self.lake, self._entry())
        self.report = RunReport(self.run_id)
        self._timeline = Timeline()

    @property
    def attempts(self) -> int:
        """How often the run has begun its work: after the first time some of it may be done already."""
        return self.log.retries + 1

    @property
    def run_number(self) -> int:
        """Known as soon as the run log has the run."""
        assert self.log.run_number is not None
        return self.log.run_number

    @contextmanager
    def step(self, what: str) -> Iterator[None]:
        """Report the current step, and add up how long it takes; a step may have several parts in a row."""
        seconds = self.report.seconds
        if what not in seconds:
            self.on_progress(what)
        began = time.monotonic()
        try:
            # Spark's page and event log then show the step of each job, not a line of Java.
            named = temporary_settings(self.spark, {DESCRIPTION: what})
            with self._timeline.part_of(what), named:
                yield
        finally:
            seconds[what] = seconds.get(what, 0.0) + time.monotonic() - began

    def for_cluster(self, name: str) -> DataFrame:
        """A table's rows of the cluster."""
        return self.sink.for_cluster(name)

    def bronze(self, name: str, version: int) -> DataFrame:
        """The cluster's rows of a table as of a version."""
        return self.lake.read(name, version=version).where(F.col("cluster") == self.request.cluster)

    def replace(self, name: str, rows: DataFrame, scope: Column) -> None:
        """Replace the cluster's rows of a table within a scope."""
        self.note(name, self.sink.replace(name, rows, scope))

    def note(self, name: str, written: Written) -> None:
        """Add up the rows that changed: a run writes quarantine twice, from the source and from the replay."""
        self.report.rows[name] = self.report.rows.get(name, 0) + written.rows

    def retry(self) -> None:
        """Forget what was read so far. What was written stays, and its counts add up."""
        self.log.retries += 1
        self.report = RunReport(self.run_id, rows=self.report.rows, notes=self.report.notes)
        for cached in ("known_topics", "broker_logs", "end_offsets"):
            self.__dict__.pop(cached, None)

    def explain(self) -> None:
        """Put into the report what the steps cost."""
        self.report.writer = self.lake.writer.kind
        self.report.costs = self._timeline.costs(self.lake, self.run_id)

    def add_warning(self, sentence: str) -> None:
        """Report a warning at once, and once more at the end: a run that starts over meets it again."""
        self.on_progress(sentence)
        if sentence not in self.report.notes:
            self.report.notes.append(sentence)

    def warn_of_left_out(self, groups: DataFrame) -> None:
        """Report the groups that have records in several partitions; columns `group_id` and `partitions`."""
        named = groups.orderBy("group_id").limit(LEFT_OUT_NAMED + 1).collect()
        for row in named[:LEFT_OUT_NAMED]:
            self.add_warning(two_histories(row["group_id"], row["partitions"]))
        if len(named) > LEFT_OUT_NAMED:
            self.add_warning("More groups have records in several partitions and are not audited.")

    def partitions_seen(self) -> frozenset[int]:
        """Those whose missing offsets were all requested from a source that shows markers."""
        return partitions_seen(self.lake, self.request.cluster)

    @property
    def constants(self) -> dict[str, str | datetime]:
        """The columns that are the same in all rows that the run makes of groups."""
        return {
            "cluster": self.request.cluster,
            "rules": self.rules,
            "run_id": self.run_id,
            "updated_at": self.started_at,
        }

    @cached_property
    def known_topics(self) -> list[TopicName]:
        """What gold.topics had before the run."""
        rows = self.lake.read_small(TableName.TOPICS, self.request.cluster, topics.COLUMNS)
        return names_in_table(rows)

    def topic_names(self, small: DataFrame, commits: WrittenCommits | None) -> TopicNames:
        """Names from the source, from earlier runs, from records that list topics, and from decoded commits."""
        source = self.request.source
        names = TopicNames() if source is None else source.topic_names(self.request.cluster)
        names.merge(self.known_topics)
        names.merge(topics.names_in_topic_lists(small.where(F.col("key").isNotNull())))
        if commits is not None:
            # The weakest of all sources: known names stay.
            names.merge(topics.names_in_silver(commits.rows, frozenset(names)))
        return names

    @cached_property
    def broker_logs(self) -> StoredBrokerLogs:
        """What brokers logged, as given to this run and earlier ones; available once the run log has the run."""
        return StoredBrokerLogs(self.sink, self.run_number, self.run_id)

    @cached_property
    def end_offsets(self) -> StoredEndOffsets:
        """Samples of end offsets, as they were when the run asked first."""
        return StoredEndOffsets(self.sink)

    def _entry(self) -> RunEntry:
        request = self.request
        return RunEntry(
            self.run_id,
            self.started_at,
            request.cluster,
            request.command,
            request.source_spec,
            request.config,
            request.from_ms,
            request.to_ms,
            request.full,
            ALL if request.with_silver else GOLD,
            self.rules,
            request.groups_regex,
        )


def rules_digest(request: RunRequest) -> str:
    """Digest of what the rows depend on besides the log: the thresholds, and the release of this program."""
    given = (__version__, request.rules, request.findings)
    return sha256(repr(given).encode()).hexdigest()[:16]
