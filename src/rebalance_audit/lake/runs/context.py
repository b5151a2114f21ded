"""What all steps of one run use: the session, the lake and its tables, the log of the run, and its report.

The report says where the records went, which tables changed, how long the steps took.
"""

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from hashlib import sha256
from typing import Any, Final, NamedTuple

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.errors import two_histories
from rebalance_audit.lake.bronze.end_offsets import StoredEndOffsets
from rebalance_audit.lake.bronze.ledger import partitions_seen
from rebalance_audit.lake.gold.broker_logs import StoredBrokerLogs
from rebalance_audit.lake.records import topics
from rebalance_audit.lake.runs.progress import ALL, RunLog
from rebalance_audit.lake.runs.request import GOLD, RunRequest
from rebalance_audit.lake.session.spark_session import temporary_settings
from rebalance_audit.lake.silver.log_reading import LogRead
from rebalance_audit.lake.storage.sinks import Sink
from rebalance_audit.lake.storage.table_log import TableCommit, new_run_id
from rebalance_audit.lake.storage.table_writer import Written
from rebalance_audit.lake.storage.tables import Lake
from rebalance_audit.moments import utc_datetime
from rebalance_audit.steps import OnProgress
from rebalance_audit.tables.schemas import TableName, table_schemas
from rebalance_audit.version import __version__
from rebalance_audit.wire.topic_names import TopicName, TopicNames, names_in_table


@dataclass(slots=True)
class Counts:
    """Where the records went."""

    decoded: int = 0
    quarantined: int = 0
    controls: int = 0
    passed_over: int = 0
    """Records of groups that were not asked for, and offset commits if silver was not."""
    damaged_stretches: int = 0
    """Parts of segment files with an unknown number of records."""

    @property
    def read(self) -> int:
        """Records that the run read."""
        return self.decoded + self.quarantined + self.controls + self.passed_over


BETWEEN: Final = "between the steps"


class StepPart(NamedTuple):
    """When a part of a step ran, epoch milliseconds."""

    step: str
    from_ms: float
    to_ms: float


@dataclass(slots=True)
class StepCost:
    """What one step made."""

    step: str
    seconds: float = 0.0
    commits: int = 0
    """Commits to all tables of the lake."""


@dataclass(slots=True)
class RunReport:
    """What a run did."""

    run_id: str
    counts: Counts = field(default_factory=Counts)
    resumed: int = 0
    """Groups that were resumed from a snapshot."""
    rebuilt: int = 0
    """Groups that were replayed from their first record."""
    rows: Counter[str] = field(default_factory=Counter)
    """Full table name -> rows that are new or differ from before."""
    versions: dict[str, int] = field(default_factory=dict)
    """Full table name -> its Delta version at the end of the run."""
    newest_record_ms: int | None = None
    """Time of the newest record that the tables cover, epoch milliseconds; None if the log has none."""
    seconds: dict[str, float] = field(default_factory=dict)
    """Step -> how long it took, seconds."""

    costs: list[StepCost] = field(default_factory=list)
    """What each step cost, if that was asked for."""
    writer: str | None = None
    """What changed the tables, if that was asked for."""
    notes: list[str] = field(default_factory=list)
    """Warnings."""

    @property
    def groups(self) -> int:
        """Groups that were audited."""
        return self.resumed + self.rebuilt

    def columns(self) -> dict[str, Any]:
        """What meta.runs says of it."""
        counts = self.counts
        return {
            "records_read": counts.read,
            "records_decoded": counts.decoded,
            "records_quarantined": counts.quarantined,
            "control_records": counts.controls,
            "records_passed_over": counts.passed_over,
            "batches_quarantined": counts.damaged_stretches,
            "groups": self.groups,
            "newest_record_at": utc_datetime(self.newest_record_ms),
            "rows_written": self.rows,
            "table_versions": self.versions,
        }


def step_costs(spans: Sequence[StepPart], commits: Sequence[TableCommit]) -> list[StepCost]:
    """Each commit added to the step in which it was made; a part within another one counts in that one."""
    costs = {span.step: StepCost(span.step) for span in sorted(spans, key=lambda span: span[1])}
    costs[BETWEEN] = StepCost(BETWEEN)
    for span in spans:
        costs[span.step].seconds += (span.to_ms - span.from_ms) / 1000
    for commit in commits:
        within = (span.step for span in spans if span.from_ms <= commit.at_ms <= span.to_ms)
        costs[next(within, BETWEEN)].commits += 1
    return list(costs.values())


DESCRIPTION: Final = "spark.job.description"
LEFT_OUT_NAMED: Final = 20
"""Groups in several partitions of the log that a run names."""


class RunContext:
    """One run."""

    def __init__(self, spark: SparkSession, request: RunRequest, on_progress: OnProgress) -> None:
        self.spark = spark
        self.request = request
        self.on_progress = on_progress
        self.started_at = datetime.now(UTC)
        self.run_id = new_run_id(self.started_at)
        self.rules = rules_digest(request)
        self.lake = Lake(spark, request.lake, request.options)
        self.sink = Sink(self.lake, request.cluster, self.run_id)
        self.log = RunLog(
            self.lake,
            request.cluster,
            self.run_id,
            {
                "started_at": self.started_at,
                "command": request.command,
                "source": request.source_spec,
                "config": request.config,
                "from_at": utc_datetime(request.from_ms),
                "to_at": utc_datetime(request.to_ms),
                "full": request.full,
                "layers": ALL if request.with_silver else GOLD,
                "rules": self.rules,
                "groups_regex": request.groups_regex,
            },
        )
        self.report = RunReport(self.run_id)
        self._parts: list[StepPart] = []

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
        began, began_ms = time.monotonic(), time.time() * 1000
        try:
            # Spark's page and event log then show the step of each job, not a line of Java.
            with temporary_settings(self.spark, {DESCRIPTION: what}):
                yield
        finally:
            self._parts.append(StepPart(what, began_ms, time.time() * 1000))
            seconds[what] = seconds.get(what, 0.0) + time.monotonic() - began

    def bronze(self, name: str, version: int) -> DataFrame:
        """The cluster's rows of a table as of a version."""
        return self.lake.read(name, version=version).where(F.col("cluster") == self.request.cluster)

    def replace(self, name: str, rows: DataFrame, scope: Column) -> None:
        """Replace the cluster's rows of a table within a scope."""
        self.note(name, self.sink.replace(name, rows, scope))

    def note(self, name: str, written: Written) -> None:
        """Add up the rows that changed: a run writes quarantine twice, from the source and from the replay."""
        self.report.rows[name] += written.rows

    def retry(self) -> None:
        """Forget what was read so far. What was written stays, and its counts add up."""
        self.log.retries += 1
        self.report = RunReport(self.run_id, rows=self.report.rows, notes=self.report.notes)
        for cached in ("known_topics", "broker_logs", "end_offsets"):
            self.__dict__.pop(cached, None)

    def explain(self) -> None:
        """Put into the report what the steps cost."""
        self.report.writer = self.lake.writer.kind
        names = self.lake.versions(table_schemas())
        commits = [made for name in names for made in self.lake.commits_of_run(name, self.run_id)]
        self.report.costs = step_costs(self._parts, commits)

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

    def topic_names(self, read: LogRead) -> TopicNames:
        """Names from the source, from earlier runs, from records that list topics, and from offset commits."""
        source = self.request.source
        names = TopicNames() if source is None else source.topic_names(self.request.cluster)
        names.merge(self.known_topics)
        names.merge(topics.names_in_topic_lists(read.small.where(F.col("key").isNotNull())))
        # The weakest of all sources: known names stay.
        names.merge(read.topics)
        return names

    @cached_property
    def broker_logs(self) -> StoredBrokerLogs:
        """What brokers logged, as given to this run and earlier ones; available once the run log has the run."""
        return StoredBrokerLogs(self.sink, self.run_number, self.run_id)

    @cached_property
    def end_offsets(self) -> StoredEndOffsets:
        """Samples of end offsets, as they were when the run asked first."""
        return StoredEndOffsets(self.sink)


def rules_digest(request: RunRequest) -> str:
    """Digest of what the rows depend on besides the log: the thresholds, and the release of this program."""
    given = (__version__, request.rules, request.findings)
    return sha256(repr(given).encode()).hexdigest()[:16]
