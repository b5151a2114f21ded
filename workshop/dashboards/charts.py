"""What the dashboards show: a chart for each view, titled with its question, for Superset and for Grafana."""

from dataclasses import dataclass
from functools import cache
from typing import Final

import duckdb

from rebalance_audit.readers.gold_sql import make_views
from rebalance_audit.tables.arrow_types import arrow_schema
from rebalance_audit.tables.schemas import GOLD_TABLES, table_schemas
from rebalance_audit.tables.views import VIEWS_SCHEMA, View, views

ROWS_MAX: Final = 1000
NAMES_OF_ONE_CLUSTER: Final = frozenset({"group_id", "topic"})
"""Columns whose names are unique only within one cluster."""


@dataclass(frozen=True, slots=True)
class Chart:
    """A table of rows, or where `value` is given, a sum over time."""

    view: str
    order_by: tuple[str, ...] = ()
    """Columns, the largest first."""
    columns: tuple[str, ...] = ()
    """Those shown; empty for all."""
    over: str = ""
    """The column of time."""
    value: str = ""
    """An aggregate of SQL."""
    label: str = ""
    unit: str = "short"
    """Of the value, by Grafana's name."""
    by: str = ""
    """A series for each value of this column."""
    bars: bool = False
    wide: bool = False

    @property
    def title(self) -> str:
        """The question."""
        return self._view.question

    @property
    def description(self) -> str:
        """What a row is."""
        return self._view.description

    @property
    def _view(self) -> View:
        return next(view for view in views() if view.name == self.view)


CHARTS: Final = (
    Chart(
        "groups_now",
        ("critical_findings", "warning_findings", "not_stable_estimate_ms"),
        (
            "cluster",
            "group_id",
            "group_state",
            "since",
            "members",
            "rebalancing_since",
            "critical_findings",
            "warning_findings",
            "rebalances",
            "commonest_cause",
            "not_stable_estimate_ms",
        ),
        wide=True,
    ),
    Chart(
        "open_findings",
        ("from_at",),
        ("cluster", "group_id", "severity", "kind", "from_at", "detail", "advice"),
        wide=True,
    ),
    Chart(
        "causes_by_hour",
        over="hour",
        value="SUM(rebalances)",
        label="rebalances",
        by="cause",
        bars=True,
    ),
    Chart(
        "stability_by_day",
        over="day",
        value="MIN(share_stable_estimate)",
        label="least share stable",
        unit="percentunit",
        by="group_id",
    ),
    Chart(
        "unowned_by_topic",
        over="day",
        value="SUM(unowned_partition_ms) / 1000.0",
        label="partition seconds without owner",
        unit="s",
        by="topic",
        bars=True,
    ),
    Chart(
        "lag_by_owner",
        ("lag_records_min", "lag_min_ms"),
        (
            "cluster",
            "group_id",
            "member",
            "client_id",
            "partitions",
            "lag_records_min",
            "lag_records_max",
            "lag_min_ms",
            "lag_max_ms",
            "committed_per_second",
            "records_lost",
            "last_commit_at",
        ),
        wide=True,
    ),
    Chart(
        "worst_members",
        ("held_up_ms", "longest_hold_ms"),
        (
            "cluster",
            "group_id",
            "member",
            "client_id",
            "client_host",
            "epochs",
            "held_up_ms",
            "rebalances_held_up",
            "times_not_released",
            "longest_hold_ms",
            "longest_latency_ms",
            "longest_wait_ms",
        ),
    ),
    Chart(
        "rebalance_list",
        ("began_at",),
        (
            "cluster",
            "group_id",
            "began_at",
            "duration_estimate_ms",
            "primary_cause",
            "primary_certainty",
            "why",
            "members_joined",
            "members_left",
            "partitions_moved",
            "unowned_partition_estimate_ms",
            "slowest_client_id",
            "outcome",
        ),
        wide=True,
    ),
)
"""From above to below."""


@cache
def column_types() -> dict[str, dict[str, str]]:
    """View -> column -> type in DuckDB."""
    with duckdb.connect() as sql:
        sql.execute("create schema gold")
        for name in GOLD_TABLES:
            sql.register("rows", arrow_schema(table_schemas()[name]).empty_table())
            sql.execute(f"create table {name} as from rows")
        make_views(sql, GOLD_TABLES)
        return {
            view.name: {
                column: kind
                for column, kind, *_ in sql.execute(
                    f"describe {VIEWS_SCHEMA}.{view.name}"
                ).fetchall()
            }
            for view in views()
        }
