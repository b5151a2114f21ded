"""Series of the charts for Superset, by their own queries, over clusters with groups and topics of the same names."""

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import duckdb
import pytest

from rebalance_audit.resources import checkout_root
from tests.dashboards.exported import exported

CHARTS = checkout_root() / "dashboards" / "superset" / "charts"


def series(sql: duckdb.DuckDBPyConnection, view: str) -> dict[tuple[str, ...], list[Any]]:
    """Name of a series -> its points in order of time, as the chart's query has them."""
    chart = json.loads((CHARTS / f"{view}.yaml").read_text())
    (query,) = json.loads(chart["query_context"])["queries"]
    axis, *names = query["columns"]
    assert names == chart["params"]["groupby"]
    (metric,) = query["metrics"]
    rows = sql.execute(
        f"select {', '.join(names)}, {axis['sqlExpression']}, {metric['sqlExpression']}"  # noqa: S608 - our own names
        f" from {view} group by all order by all"
    )
    found = defaultdict(list)
    for row in rows.fetchall():
        found[row[: len(names)]].append(row[len(names) :])
    return found


@pytest.mark.parametrize("view", ["stability_by_day", "unowned_by_topic"])
def test_series_of_two_clusters_keep_apart(tmp_path: Path, view: str) -> None:
    """A second cluster with the same rows doubles the series, and changes none."""
    with duckdb.connect(str(exported("duckdb", tmp_path))) as sql:
        sql.execute(f"create table {view} as from views.{view}")
        alone = series(sql, view)
        sql.execute(f"insert into {view} select * replace ('green' as cluster) from {view}")  # noqa: S608 - our own names
        assert alone
        assert series(sql, view) == {
            (cluster, name): points
            for cluster in ("blue", "green")
            for (_, name), points in alone.items()
        }
