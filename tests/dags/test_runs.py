"""The DAGs, run by a real Airflow, with our Spark, over a real log, into a lake that all of them share, in order."""

import json
import subprocess
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.dag_processing.dagbag import DagBag
from airflow.models.asset import AssetEvent
from airflow.utils.session import create_session
from conftest import DAGS, VENV, Site
from deltalake import DeltaTable, write_deltalake
from rebalance_audit_airflow.assets import GOLD
from rebalance_audit_airflow.window import windows_of_events

HOUR = {"from": "2026-11-21T09:00:00.000Z", "to": "2026-11-21T10:00:00.000Z"}
"""The hour that the log is from."""
LOGICAL_DATE = datetime(2026, 11, 21, 10, 30, tzinfo=UTC)
"""A run at this time is about the hour before: 09:05 to 10:05."""

KILLED_ONCE = """#!/bin/bash
# spark-submit, but its first audit is killed in the middle of writing, as by a machine that dies.
if [[ "$*" == *jobs/audit.py* && ! -e {folder}/killed ]]; then
  setsid {submit} "$@" &
  until ls {lake}/gold/*/_delta_log/*1.json >/dev/null 2>&1; do
    kill -0 $! 2>/dev/null || exit 1
    sleep 0.05
  done
  touch {folder}/killed
  kill -KILL -- -$!
  exit 137
fi
exec {submit} "$@"
"""


@pytest.fixture(scope="module")
def bag(site: Site) -> DagBag:
    """The DAGs, without the pauses between retries."""
    found = DagBag(str(DAGS), safe_mode=False)
    for dag in found.dags.values():
        for task in dag.tasks:
            task.retry_delay = timedelta(0)
    return found


def run(
    bag: DagBag, name: str, conf: dict[str, Any] | None = None, **fields: Any
) -> SimpleNamespace:
    """One run to its end: its state, and states, tries and results of its tasks."""
    dag_run = bag.dags[f"rebalance_audit_{name}"].test(run_conf=conf or {}, **fields)
    tasks = dag_run.get_task_instances()
    return SimpleNamespace(
        state=str(dag_run.state),
        run_id=dag_run.run_id,
        tasks={ti.task_id: str(ti.state) for ti in tasks},
        tries={ti.task_id: ti.try_number for ti in tasks},
        result=lambda task_id: _result(next(ti for ti in tasks if ti.task_id == task_id)),
    )


def _result(ti: Any) -> Any:
    """What a task has returned; of a mapped one the first of its kind."""
    return ti.xcom_pull(task_ids=ti.task_id, map_indexes=ti.map_index)


def events(run_id: str) -> list[SimpleNamespace]:
    """The asset events of a run."""
    with create_session() as session:
        rows = session.query(AssetEvent).filter(AssetEvent.source_run_id == run_id).all()
        return [SimpleNamespace(name=row.asset.name, extra=row.extra) for row in rows]


def table(lake: Path, name: str) -> DeltaTable:
    """A table as it is now."""
    return DeltaTable(str(lake.joinpath(*name.split("."))))


def versions(lake: Path) -> dict[str, int]:
    """Of the gold tables."""
    return {name: table(lake, f"gold.{name}").version() for name in GOLD}


def test_an_hour_whose_audit_is_killed_comes_out_as_it_should(site: Site, bag: DagBag) -> None:
    """The killed job is tried again; gold has the rows of `inspect`, and is published with window, counts, versions."""
    wrapper = site.folder / "spark-submit"
    text = KILLED_ONCE.format(
        folder=site.folder, lake=site.lake, submit=site.fields["spark_submit"]
    )
    wrapper.write_text(text)
    wrapper.chmod(0o755)
    site.set(spark_submit=str(wrapper))
    done = run(bag, "hourly", logical_date=LOGICAL_DATE)
    site.set()
    assert (site.folder / "killed").exists()
    assert done.state == "success"
    assert done.tries == {"ingest": 1, "audit": 2, "check": 1, "publish": 1}

    segments = site.fields["source"].removeprefix("segments:")
    inspected = subprocess.run(
        [VENV / "bin" / "rebalance-audit", "inspect", segments, "--json"],
        check=True,
        capture_output=True,
    )
    expected = json.loads(inspected.stdout)
    for name in ("epochs", "rebalance_causes", "convergence", "rebalances", "members", "ownership"):
        assert table(site.lake, f"gold.{name}").to_pyarrow_table().num_rows == len(expected[name])

    published = {event.name: event.extra for event in events(done.run_id)}
    assert set(published) == {f"rebalance_audit.gold.{name}" for name in GOLD}
    extra = published["rebalance_audit.gold.rebalances"]
    assert extra == {
        "lake": str(site.lake),
        "cluster": "blue",
        "from": "2026-11-21T09:05:00.000Z",
        "to": "2026-11-21T10:05:00.000Z",
        "rows_changed": extra["rows_changed"],
        "table_version": table(site.lake, "gold.rebalances").version(),
        "run_id": done.result("audit")["run_id"],
        "check_id": done.result("check")["check_id"],
    }
    assert windows_of_events([SimpleNamespace(extra=extra)]) == [
        {name: extra[name] for name in ("lake", "cluster", "from", "to")}
    ]


def test_a_backfill_of_an_hour_that_was_done_changes_no_row(site: Site, bag: DagBag) -> None:
    """Everything is replayed, and no gold table has a new version; without a source nothing is ingested."""
    before = versions(site.lake)
    done = run(bag, "backfill", HOUR)
    assert done.tasks == {
        "ingest": "skipped",
        "audit": "success",
        "check": "success",
        "publish": "success",
    }
    assert versions(site.lake) == before
    assert {event.extra["from"] for event in events(done.run_id)} == {HOUR["from"]}


def test_the_page_is_written_for_the_window_of_the_event(site: Site, bag: DagBag) -> None:
    """A run without a logical date, as those that an asset sets off: the page is there, for the days before the end."""
    done = run(bag, "report", {"to": HOUR["to"], "days": 2}, logical_date=None)
    assert done.state == "success"
    page = site.lake / "reports" / "blue.html"
    assert "Rebalances of consumer groups" in page.read_text()
    assert done.result("report")["groups"] == 3
    assert done.result("report")["from"] == "2026-11-19T10:00:00.000Z"


def test_maintenance_changes_no_row(site: Site, bag: DagBag) -> None:
    """Files are laid out and counted; the tables say the same as before."""
    before = {name: table(site.lake, f"gold.{name}").to_pyarrow_table() for name in GOLD}
    done = run(bag, "maintenance", {"tables": ["bronze.records", "gold.epochs"]})
    assert done.state == "success"
    assert set(done.result("maintain")["tables"]) == {"bronze.records", "gold.epochs"}
    for name, rows in before.items():
        now = table(site.lake, f"gold.{name}").to_pyarrow_table()
        assert now.sort_by("cluster").num_rows == rows.num_rows


def test_a_broken_expectation_stops_publishing(
    site: Site, bag: DagBag, capfd: pytest.CaptureFixture[str]
) -> None:
    """The check fails once and for all, says which expectation and where to look; not published."""
    # Every topic twice: delta-rs can write into this table, not into clustered ones.
    topics = table(site.lake, "gold.topics").to_pyarrow_table()
    write_deltalake(str(site.lake / "gold" / "topics"), topics, mode="append")
    done = run(bag, "hourly", logical_date=LOGICAL_DATE, mark_success_pattern="ingest|audit")
    assert done.state == "failed"
    assert done.tasks["check"] == "failed"
    assert done.tasks["publish"] == "upstream_failed"
    assert done.tries["check"] == 1
    assert events(done.run_id) == []
    said = "".join(capfd.readouterr())
    assert "expectation(s) broken" in said
    assert "rows of gold.topics" in said
    assert "table meta.checks, check_id = " in said


def test_bad_arguments_are_not_tried_again(site: Site, bag: DagBag) -> None:
    """A source of no kind that we know stays one, however often it is tried."""
    site.set(source="paper:tape")
    done = run(bag, "hourly", logical_date=LOGICAL_DATE)
    site.set()
    assert done.state == "failed"
    assert done.tries["ingest"] == 1
    assert done.tasks == {
        "ingest": "failed",
        "audit": "upstream_failed",
        "check": "upstream_failed",
        "publish": "upstream_failed",
    }


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"lake": None}, "lacks lake: see docs/airflow.md"),
        ({"lakes": "x"}, "has lakes, which are not settings"),
    ],
)
def test_a_site_that_is_not_set_up_is_an_error(
    fields: dict[str, Any],
    sentence: str,
    site: Site,
    bag: DagBag,
    capfd: pytest.CaptureFixture[str],
) -> None:
    """Which field of the Variable is missing or misspelled, at once and without a retry."""
    site.set(**fields)
    done = run(bag, "maintenance", {})
    site.set()
    assert (done.state, done.tries) == ("failed", {"maintain": 1})
    assert sentence in "".join(capfd.readouterr())
