"""The dashboard for Grafana over an exported SQLite file, by the plugin frser-sqlite-datasource."""

import json
from pathlib import Path
from typing import Any, Final

from workshop.dashboards.charts import CHARTS, NAMES_OF_ONE_CLUSTER, ROWS_MAX, Chart, column_types

_PLUGIN: Final = "frser-sqlite-datasource"
_HEIGHT: Final = 9
_WIDTH: Final = 24
_UNITS: Final = {"_ms": "ms"}


def files(folder: Path) -> dict[Path, str]:
    """Path -> text."""
    text = json.dumps(_dashboard(), indent=2, ensure_ascii=False) + "\n"
    return {folder / "rebalance-audit.json": text}


def _dashboard() -> dict[str, Any]:
    panels, across, down = [], 0, 0
    for number, chart in enumerate(CHARTS, start=1):
        width = _WIDTH if chart.wide else _WIDTH // 2
        if across + width > _WIDTH:
            across, down = 0, down + _HEIGHT
        panels.append(
            _panel(chart, number) | {"gridPos": {"x": across, "y": down, "w": width, "h": _HEIGHT}}
        )
        across += width
    return {
        "__inputs": [
            {
                "name": "DS_AUDIT",
                "label": "SQLite file of `rebalance-audit export --sqlite`",
                "type": "datasource",
                "pluginId": _PLUGIN,
                "pluginName": "SQLite",
            }
        ],
        "title": "Rebalances of consumer groups",
        "uid": "rebalance-audit",
        "tags": ["kafka", "rebalance-audit"],
        "timezone": "utc",
        "schemaVersion": 39,
        "time": {"from": "now-7d", "to": "now"},
        "panels": panels,
    }


def _panel(chart: Chart, number: int) -> dict[str, Any]:
    datasource = {"type": _PLUGIN, "uid": "${DS_AUDIT}"}
    query, times = (_over_time(chart), ["time"]) if chart.value else (_rows(chart), _times(chart))
    return {
        "id": number,
        "type": "timeseries" if chart.value else "table",
        "title": chart.title,
        "description": chart.description,
        "datasource": datasource,
        "targets": [
            {
                "refId": "A",
                "datasource": datasource,
                "queryType": "time series" if chart.value else "table",
                "queryText": query,
                "rawQueryText": query,
                "timeColumns": times,
            }
        ],
        "fieldConfig": {"defaults": _defaults(chart), "overrides": _overrides(chart)},
        "options": {},
    }


def _defaults(chart: Chart) -> dict[str, Any]:
    """How a series looks: named after what it is of, without the name of the value that all series share."""
    if not chart.value:
        return {}
    bars = {"drawStyle": "bars", "fillOpacity": 80, "stacking": {"mode": "normal", "group": "A"}}
    points = {"drawStyle": "points", "pointSize": 6}
    return {
        "displayName": "${__field.labels.metric}",
        "unit": chart.unit,
        "min": 0,
        "custom": bars if chart.bars else points,
    }


def _rows(chart: Chart) -> str:
    order = ", ".join(f"{column} desc" for column in chart.order_by)
    return f"select {', '.join(chart.columns)} from {chart.view} order by {order} limit {ROWS_MAX}"  # noqa: S608 - our own names


def _over_time(chart: Chart) -> str:
    return (
        f'select {chart.over} as time, {_series(chart)} as metric, {chart.value} as "{chart.label}"'  # noqa: S608 - our own names
        f" from {chart.view} group by 1, 2 order by 1"
    )


def _series(chart: Chart) -> str:
    """The name of a series; with its cluster where the view has several, for a name is unique only within one."""
    if chart.by not in NAMES_OF_ONE_CLUSTER:
        return chart.by
    several = f"(select count(distinct cluster) from {chart.view}) > 1"  # noqa: S608 - our own names
    return f"case when {several} then cluster || ' / ' else '' end || {chart.by}"


def _times(chart: Chart) -> list[str]:
    kinds = column_types()[chart.view]
    return [column for column in chart.columns if kinds[column].startswith("TIMESTAMP")]


def _overrides(chart: Chart) -> list[dict[str, Any]]:
    return [
        {
            "matcher": {"id": "byName", "options": column},
            "properties": [{"id": "unit", "value": unit}],
        }
        for column in chart.columns
        for ending, unit in _UNITS.items()
        if column.endswith(ending)
    ]
