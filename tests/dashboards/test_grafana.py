"""The dashboard for Grafana: its queries, over an exported SQLite file, in SQLite; and Grafana's own models of it."""

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from grafana_foundation_sdk.cog.encoder import JSONEncoder
from grafana_foundation_sdk.cog.plugins import register_default_plugins
from grafana_foundation_sdk.models.dashboard import Dashboard, Panel

from rebalance_audit.resources import checkout_root
from rebalance_audit.tables.views import views
from tests.dashboards.exported import exported

OF_IMPORTS = "__inputs"
"""What the form asks for that imports a dashboard; no part of the dashboard."""
RFC_3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def dashboard() -> dict[str, Any]:
    """The file to import."""
    page = checkout_root() / "dashboards" / "grafana" / "rebalance-audit.json"
    found: dict[str, Any] = json.loads(page.read_text(encoding="utf-8"))
    return found


def test_grafana_knows_every_setting() -> None:
    """Its models keep all that the file says, in the types of the panels; what they do not know they drop."""
    register_default_plugins()
    given = dashboard()
    (asked,) = given.pop(OF_IMPORTS)
    known = Dashboard.from_json(given)
    assert left_out(given, json.loads(json.dumps(known, cls=JSONEncoder))) == []
    assert known.panels is not None
    for panel in known.panels:
        assert isinstance(panel, Panel)
        assert panel.datasource is not None
        assert panel.datasource.uid == f"${{{asked['name']}}}"
        assert panel.grid_pos is not None
        assert panel.grid_pos.x + panel.grid_pos.w <= 24
        assert panel.options is None or not isinstance(panel.options, dict)


def left_out(given: Any, kept: Any, where: str = "") -> list[str]:
    """What of a JSON value another one does not have, or has differently."""
    if isinstance(given, dict):
        return [
            each
            for key, value in given.items()
            for each in (
                left_out(value, kept[key], f"{where}/{key}")
                if isinstance(kept, dict) and key in kept
                else [f"{where}/{key}"]
            )
        ]
    if isinstance(given, list):
        if not isinstance(kept, list) or len(kept) != len(given):
            return [where]
        pairs = enumerate(zip(given, kept, strict=True))
        return [
            each for at, (one, other) in pairs for each in left_out(one, other, f"{where}/{at}")
        ]
    return [] if given == kept else [where]


def test_every_panel_has_rows_and_its_question(tmp_path: Path) -> None:
    """A panel for each view; times are what the plugin reads as times."""
    panels = dashboard()["panels"]
    assert sorted(panel["title"] for panel in panels) == sorted(view.question for view in views())
    with closing(sqlite3.connect(exported("sqlite", tmp_path))) as sql:
        sql.row_factory = sqlite3.Row
        for panel in panels:
            (target,) = panel["targets"]
            rows = sql.execute(target["rawQueryText"]).fetchall()
            assert rows, panel["title"]
            for row in rows:
                for column in target["timeColumns"]:
                    assert row[column] is None or RFC_3339.fullmatch(row[column]), column


def test_series_of_two_clusters_keep_apart(tmp_path: Path) -> None:
    """Two clusters have a group and topics of the same names; one cluster alone goes without its name."""
    with closing(sqlite3.connect(exported("sqlite", tmp_path))) as sql:
        for view in ("stability_by_day", "unowned_by_topic"):
            alone = series(sql, view)
            sql.execute(f"create temp table copied as select * from {view}")  # noqa: S608 - our own names
            sql.execute("update copied set cluster = 'green'")
            sql.execute(f"insert into {view} select * from copied")  # noqa: S608 - our own names
            sql.execute("drop table copied")
            assert alone
            assert series(sql, view) == sorted(
                (time, f"{cluster} / {name}", value)
                for cluster in ("blue", "green")
                for time, name, value in alone
            )


def series(sql: sqlite3.Connection, view: str) -> list[tuple[str, str, float]]:
    """(time, name, value) of the panel over a view, sorted."""
    (question,) = (each.question for each in views() if each.name == view)
    (panel,) = (each for each in dashboard()["panels"] if each["title"] == question)
    return sorted(sql.execute(panel["targets"][0]["rawQueryText"]).fetchall())
