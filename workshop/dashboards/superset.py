"""The import bundle for Superset. Its files are JSON, which is YAML."""

import json
from pathlib import Path
from typing import Any, Final
from uuid import UUID, uuid5

from workshop.dashboards.charts import CHARTS, NAMES_OF_ONE_CLUSTER, ROWS_MAX, Chart, column_types

URI: Final = "duckdb:////srv/rebalance-audit/audit.duckdb?access_mode=read_only"
_NAMES: Final = UUID("6f1a3c52-0b7d-5c1e-9d2f-2f8d0c6f7a10")
"""Of this project's objects: the same names have the same ids in every import."""
_VERSION: Final = "1.0.0"
_DATABASE: Final = "rebalance-audit"
_GRAIN: Final = {"hour": "PT1H", "day": "P1D"}


def files(folder: Path) -> dict[Path, str]:
    """Path -> text."""
    found = {
        "metadata.yaml": {
            "version": _VERSION,
            "type": "Dashboard",
            "timestamp": "2026-01-01T00:00:00+00:00",
        },
        "databases/rebalance_audit.yaml": {
            "version": _VERSION,
            "database_name": _DATABASE,
            "sqlalchemy_uri": URI,
            "expose_in_sqllab": True,
            "allow_run_async": False,
            "extra": {"allows_virtual_table_explore": True},
            "uuid": _id("database"),
        },
        "dashboards/rebalance_audit.yaml": _dashboard(),
    }
    for chart in CHARTS:
        found[f"datasets/rebalance_audit/{chart.view}.yaml"] = _dataset(chart)
        found[f"charts/{chart.view}.yaml"] = _chart(chart)
    return {
        folder / name: json.dumps(content, indent=2, ensure_ascii=False) + "\n"
        for name, content in found.items()
    }


def _id(name: str) -> str:
    return str(uuid5(_NAMES, name))


def _dataset(chart: Chart) -> dict[str, Any]:
    return {
        "version": _VERSION,
        "table_name": chart.view,
        "schema": "views",
        "main_dttm_col": chart.over or None,
        "description": chart.description,
        "columns": [
            {"column_name": column, "type": kind, "is_dttm": kind.startswith("TIMESTAMP")}
            for column, kind in column_types()[chart.view].items()
        ],
        "metrics": [],
        "uuid": _id(f"dataset {chart.view}"),
        "database_uuid": _id("database"),
    }


def _chart(chart: Chart) -> dict[str, Any]:
    params, query = _over_time(chart) if chart.value else _rows(chart)
    context = {
        "datasource": {"id": 0, "type": "table"},
        "force": False,
        "queries": [query],
        "form_data": params,
        "result_format": "json",
        "result_type": "full",
    }
    return {
        "version": _VERSION,
        "slice_name": chart.title,
        "description": chart.description,
        "viz_type": params["viz_type"],
        "params": params,
        "query_context": json.dumps(context),
        "uuid": _id(f"chart {chart.view}"),
        "dataset_uuid": _id(f"dataset {chart.view}"),
    }


def _rows(chart: Chart) -> tuple[dict[str, Any], dict[str, Any]]:
    order = [[column, False] for column in chart.order_by]
    params = {
        "viz_type": "table",
        "query_mode": "raw",
        "all_columns": list(chart.columns),
        "order_by_cols": [json.dumps(each) for each in order],
        "row_limit": ROWS_MAX,
        "adhoc_filters": [],
        "table_timestamp_format": "smart_date",
        "include_search": True,
    }
    query = {"columns": list(chart.columns), "orderby": order, "row_limit": ROWS_MAX}
    return params, query


def _over_time(chart: Chart) -> tuple[dict[str, Any], dict[str, Any]]:
    series = ["cluster", chart.by] if chart.by in NAMES_OF_ONE_CLUSTER else [chart.by]
    metric = {
        "expressionType": "SQL",
        "sqlExpression": chart.value,
        "label": chart.label,
        "hasCustomLabel": True,
        "optionName": f"metric_{chart.view}",
    }
    params = {
        "viz_type": "echarts_timeseries_bar" if chart.bars else "echarts_timeseries_line",
        "x_axis": chart.over,
        "time_grain_sqla": _GRAIN[chart.over],
        "metrics": [metric],
        "groupby": series,
        "row_limit": 10 * ROWS_MAX,
        "adhoc_filters": [],
        "stack": "Stack" if chart.bars else None,
        "show_legend": True,
        "rich_tooltip": True,
        "y_axis_title": chart.label,
    }
    axis = {
        "columnType": "BASE_AXIS",
        "expressionType": "SQL",
        "sqlExpression": chart.over,
        "label": chart.over,
        "timeGrain": _GRAIN[chart.over],
    }
    query = {
        "columns": [axis, *series],
        "metrics": [metric],
        "orderby": [],
        "row_limit": 10 * ROWS_MAX,
        "extras": {"time_grain_sqla": _GRAIN[chart.over]},
    }
    return params, query


def _dashboard() -> dict[str, Any]:
    position: dict[str, Any] = {
        "DASHBOARD_VERSION_KEY": "v2",
        "ROOT_ID": {"type": "ROOT", "id": "ROOT_ID", "children": ["GRID_ID"]},
        "GRID_ID": {"type": "GRID", "id": "GRID_ID", "children": [], "parents": ["ROOT_ID"]},
        "HEADER_ID": {
            "type": "HEADER",
            "id": "HEADER_ID",
            "meta": {"text": "Rebalances of consumer groups"},
        },
    }
    room = 0
    for number, chart in enumerate(CHARTS, start=1):
        width = 12 if chart.wide else 6
        if room < width:
            row, room = f"ROW-{number}", 12
            position[row] = {
                "type": "ROW",
                "id": row,
                "children": [],
                "parents": ["ROOT_ID", "GRID_ID"],
                "meta": {"background": "BACKGROUND_TRANSPARENT"},
            }
            position["GRID_ID"]["children"].append(row)
        room -= width
        place = f"CHART-{chart.view}"
        position[row]["children"].append(place)
        position[place] = {
            "type": "CHART",
            "id": place,
            "children": [],
            "parents": ["ROOT_ID", "GRID_ID", row],
            "meta": {
                "chartId": number,
                "uuid": _id(f"chart {chart.view}"),
                "sliceName": chart.title,
                "width": width,
                "height": 50,
            },
        }
    return {
        "version": _VERSION,
        "dashboard_title": "Rebalances of consumer groups",
        "slug": "rebalance-audit",
        "published": True,
        "uuid": _id("dashboard"),
        "position": position,
        "metadata": {"color_scheme": "supersetColors", "cross_filters_enabled": True},
    }
