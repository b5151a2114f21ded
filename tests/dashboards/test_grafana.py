"""The dashboard for Grafana: its queries, over an exported SQLite file, in SQLite."""

import json
import re
import sqlite3
from contextlib import closing
from pathlib import Path

from rebalance_audit.resources import checkout_root
from rebalance_audit.tables.views import views
from tests.dashboards.exported import exported

RFC_3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


def test_every_panel_has_rows_and_its_question(tmp_path: Path) -> None:
    """A panel for each view; times are what the plugin reads as times."""
    page = checkout_root() / "dashboards" / "grafana" / "rebalance-audit.json"
    panels = json.loads(page.read_text(encoding="utf-8"))["panels"]
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
