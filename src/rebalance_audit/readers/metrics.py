"""What monitoring asks of the gold tables, as OpenMetrics text. Imports DuckDB and the Prometheus client.

Values are those at the end of what was read, without timestamps, as a node exporter's text files must be. Every number
about the whole cluster counts all groups; series of single groups are bounded.

All but the histograms are gauges, sums as well: retention and compaction take rows away, and PromQL's `rate` would
take the smaller number for a counter that began anew.
"""

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any, Final

import duckdb
from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.openmetrics.exposition import generate_latest
from prometheus_client.registry import Collector

from rebalance_audit.figures.groups import DurationCounts
from rebalance_audit.readers.gold_sql import gold_sql, names_in
from rebalance_audit.readers.lake_reader import LakeReader
from rebalance_audit.readers.metric_queries import (
    CHOSEN,
    HISTOGRAMS,
    METRICS,
    METRICS_OF_BRONZE,
    METRICS_OF_PROGRESS,
    METRICS_OF_RUNS,
    PREFIX,
    RUNS,
    duration_histogram,
)
from rebalance_audit.tables.rows import GoldRows
from rebalance_audit.tables.schemas import TableName

_LABELS: Final = {"group_id": "group"}
"""Column -> label where they differ."""

_TABLES: Final = (
    TableName.GROUP_STATES,
    TableName.EPOCHS,
    TableName.REBALANCES,
    TableName.MEMBERS,
    TableName.OWNERSHIP,
    TableName.FINDINGS,
    TableName.COMMIT_PROGRESS,
)
"""All that is asked of an audit: a tenant makes any number of generations, and rows of members and causes for each."""


def metrics_text(rows: GoldRows, groups_max: int) -> bytes:
    """The metrics of every cluster in OpenMetrics format, with series of at most `groups_max` groups in each.

    Raises LakeNotReadable.
    """
    registry = CollectorRegistry(auto_describe=False)
    with _answers(rows, groups_max) as answers:
        registry.register(answers)
        return bytes(generate_latest(registry))  # type: ignore[no-untyped-call]


def metrics_shape(rows: GoldRows, groups_max: int) -> list[dict[str, Any]]:
    """The metrics for programs that read no OpenMetrics: each with its meaning and its series.

    Raises LakeNotReadable.
    """
    with _answers(rows, groups_max) as answers:
        return [
            {
                "name": name,
                "meaning": family.documentation,
                "series": [
                    {"labels": sample.labels, "value": sample.value}
                    for sample in family.samples
                    if sample.name == name
                ],
            }
            for family in answers.collect()
            # A histogram has samples of three names.
            for name in dict.fromkeys(sample.name for sample in family.samples) or [family.name]
        ]


@contextmanager
def _answers(rows: GoldRows, groups_max: int) -> Iterator["_Answers"]:
    """Answers to all questions that these rows can be asked; the database is closed afterwards."""
    with closing(gold_sql(rows, _TABLES)) as sql:
        sql.execute(CHOSEN.format(groups_max=int(groups_max)))
        asked = dict(METRICS)
        if TableName.COMMIT_PROGRESS in names_in(sql):
            asked |= METRICS_OF_PROGRESS
        if isinstance(rows, LakeReader):
            sql.register("runs", rows.table(TableName.RUNS).to_arrow())
            sql.execute(RUNS)
            asked |= METRICS_OF_RUNS
            if rows.has(TableName.INGESTED):
                sql.register("ingested", rows.table(TableName.INGESTED).to_arrow())
                asked |= METRICS_OF_BRONZE
        yield _Answers(sql, asked)


class _Answers(Collector):
    """The answers to a table of questions."""

    def __init__(
        self, sql: duckdb.DuckDBPyConnection, asked: Mapping[str, tuple[str, str]]
    ) -> None:
        self._sql = sql
        self._asked = asked

    def collect(self) -> Iterator[Metric]:
        """A family for each question, its series in order of their labels."""
        yield from self._gauges()
        for name, (_, query) in HISTOGRAMS.items():
            found = self._sql.sql(query)
            columns = found.columns[: found.columns.index("sum_ms")]
            series = {
                row[: len(columns)]: DurationCounts(
                    row[len(columns) + 1 :], sum_ms=row[len(columns)]
                )
                for row in found.fetchall()
            }
            labels = [_LABELS.get(column, column) for column in columns]
            yield duration_histogram(name, labels, series)

    def _gauges(self) -> Iterator[GaugeMetricFamily]:
        for name, (meaning, query) in self._asked.items():
            found = self._sql.sql(query)
            *columns, _ = found.columns
            labels = [_LABELS.get(column, column) for column in columns]
            family = GaugeMetricFamily(PREFIX + name, meaning, labels=labels)
            for *values, value in sorted(found.fetchall(), key=str):
                if value is not None:
                    family.add_metric(values, float(value))
            yield family
