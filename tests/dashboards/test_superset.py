"""The bundle for Superset, imported into a Superset of its own, and the rows of every chart."""

import json
import os
import subprocess
import zipfile
from pathlib import Path
from typing import Any, Final

import duckdb
import pytest

from rebalance_audit.resources import checkout_root
from rebalance_audit.tables.views import views
from tests.dashboards.exported import exported

ROOT: Final = checkout_root()
BIN: Final = ROOT / ".venv-superset" / "bin"
ROWS: Final = Path(__file__).with_name("superset_rows.py")
CONFIG: Final = """
SECRET_KEY = "of a test, on this machine alone"
SQLALCHEMY_DATABASE_URI = "sqlite:///{folder}/superset.db?check_same_thread=false"
WTF_CSRF_ENABLED = False
TALISMAN_ENABLED = False
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With a Superset that knows its administrator."""
    folder = tmp_path_factory.mktemp("superset")
    (folder / "superset_config.py").write_text(CONFIG.format(folder=folder))
    admin = "--username admin --firstname a --lastname b --email a@example.org --password admin"
    for command in ("db upgrade", f"fab create-admin {admin}", "init"):
        run(folder, BIN / "superset", *command.split())
    return folder


def run(folder: Path, *command: str | Path) -> str:
    """Its output; it must succeed."""
    environment = {
        **{name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        "SUPERSET_CONFIG_PATH": str(folder / "superset_config.py"),
        "SUPERSET_HOME": str(folder),
        "SCARF_ANALYTICS": "false",
        "FLASK_APP": "superset.app:create_app()",
    }
    done = subprocess.run(
        [*map(str, command)], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return done.stdout


def bundled(target: Path, database: Path) -> Path:
    """The files of the project as an import wants them, over a database of ours."""
    source = ROOT / "dashboards" / "superset"
    with zipfile.ZipFile(target, "w") as bundle:
        for file in sorted(source.rglob("*.yaml")):
            text = file.read_text(encoding="utf-8")
            text = text.replace("/srv/rebalance-audit/audit.duckdb", str(database))
            bundle.writestr(f"rebalance-audit/{file.relative_to(source)}", text)
    return target


def test_every_chart_has_the_rows_of_its_view(folder: Path) -> None:
    """Titles are the questions; tables have all rows, sums over time the sum of the view's column."""
    database = exported("duckdb", folder)
    out = run(folder, BIN / "python", ROWS, bundled(folder / "bundle.zip", database))
    found: dict[str, Any] = json.loads(out.splitlines()[-1])
    assert set(found) == {view.question for view in views()}
    with duckdb.connect(str(database), read_only=True) as sql:
        for view in views():
            rows = found[view.question]
            assert isinstance(rows, list), rows
            assert rows, view.name
            if view.name == "causes_by_hour":
                expected = sql.execute(
                    "select sum(rebalances) from views.causes_by_hour"
                ).fetchall()
                assert sum(row["rebalances"] for row in rows) == expected[0][0]
            elif "hour" not in rows[0] and "day" not in rows[0]:
                expected = sql.execute(f"select count(*) from views.{view.name}").fetchall()  # noqa: S608 - our own names
                assert len(rows) == expected[0][0]
