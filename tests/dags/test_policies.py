"""What holds for every DAG, and for the folder they lie in."""

import ast
import re
import subprocess
import sys
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from airflow.dag_processing.dagbag import DagBag
from airflow.sdk import DAG
from airflow.serialization.serialized_objects import DagSerialization

ROOT = Path(__file__).resolve().parents[2]
DAGS = ROOT / "airflow_dags"
FILES = sorted(DAGS.rglob("*.py"))
DAG_IDS = {
    "rebalance_audit_hourly",
    "rebalance_audit_backfill",
    "rebalance_audit_maintenance",
    "rebalance_audit_report",
    "rebalance_audit_what_if",
}
PARAMS = {
    "rebalance_audit_hourly": {"cluster", "groups", "from", "to"},
    "rebalance_audit_backfill": {"cluster", "groups", "source", "from", "to"},
    "rebalance_audit_maintenance": {"cluster", "dry_run", "tables"},
    "rebalance_audit_report": {"cluster", "from", "to", "days"},
    "rebalance_audit_what_if": {"cluster", "from", "to"},
}


@pytest.fixture(scope="module")
def bag(airflow_home: Path) -> DagBag:
    """Every file of the folder: safe mode would pass over one that does not look like a DAG, errors and all."""
    return DagBag(str(DAGS), safe_mode=False)


@pytest.fixture(params=sorted(DAG_IDS))
def dag(bag: DagBag, request: pytest.FixtureRequest) -> DAG:
    """One of them."""
    return bag.dags[request.param]


def test_the_folder_has_exactly_these_dags(bag: DagBag) -> None:
    """All files load, and none brings a DAG that is not known."""
    assert bag.import_errors == {}
    assert set(bag.dags) == DAG_IDS


def test_a_dag_says_what_it_is_and_whose(dag: DAG) -> None:
    """Documentation with a heading, a description, tags, an owner: for whom it wakes at night."""
    assert dag.doc_md is not None
    assert dag.doc_md.startswith("# ")
    assert dag.description
    assert {"rebalance-audit", "kafka"} < set(dag.tags)
    assert {task.owner for task in dag.tasks} == {"rebalance-audit"}


def test_the_pages_deadline_is_one_that_airflow_takes(airflow_home: Path) -> None:
    """The policy of docs/airflow.md gives the hourly DAG, and no other, a deadline that can be stored."""
    page = (ROOT / "docs" / "airflow.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    settings: dict[str, Any] = {}
    exec(example, settings)  # noqa: S102 - our own page
    alerts: dict[str, Any] = {}
    for dag_id, dag in DagBag(str(DAGS), safe_mode=False).dags.items():
        settings["dag_policy"](dag)
        stored = DagSerialization.to_dict(dag)["dag"].get("deadline")
        alerts |= {dag_id: stored} if stored else {}
    assert set(alerts) == {"rebalance_audit_hourly"}
    (alert,) = alerts["rebalance_audit_hourly"]
    assert "3600" in str(alert)
    assert "SmtpNotifier" in str(alert)


def test_a_dag_runs_alone_and_not_for_ever(dag: DAG) -> None:
    """No catching up, one run at a time, a time limit for runs and tasks, retries with a pause."""
    assert not dag.catchup
    assert dag.max_active_runs == 1
    assert dag.dagrun_timeout is not None
    for task in dag.tasks:
        assert task.execution_timeout is not None, task.task_id
        assert task.execution_timeout < dag.dagrun_timeout
        assert task.retries, task.task_id
        assert task.retry_delay >= timedelta(minutes=1)


def test_a_trigger_may_set_only_these(dag: DAG) -> None:
    """No program, path, host or retention. Each has a sentence that the form for a run by hand shows."""
    assert set(dag.params) == PARAMS[dag.dag_id]
    assert all(dag.params.get_param(name).description for name in dag.params)


def test_whatever_writes_into_the_lake_takes_turns(bag: DagBag) -> None:
    """One pool for all that submits a job, but for the page, which only reads."""
    pools = {
        (dag.dag_id, task.task_id): task.pool
        for dag in bag.dags.values()
        for task in dag.tasks
        if task.task_id not in {"publish", "windows"}
    }
    assert {key for key, pool in pools.items() if pool != "rebalance_audit"} == {
        ("rebalance_audit_report", "report")
    }


def test_the_chain_is_ingest_audit_check_publish(bag: DagBag) -> None:
    """One task each, and publishing comes only after the check."""
    for name in ("rebalance_audit_hourly", "rebalance_audit_backfill"):
        upstream = {task.task_id: task.upstream_task_ids for task in bag.dags[name].tasks}
        assert upstream.pop("publish") == {"audit", "check"}
        assert upstream == {"ingest": set(), "audit": {"ingest"}, "check": {"audit"}}
        assert bag.dags[name].get_task("publish").trigger_rule == "all_success"


def test_the_page_is_set_off_by_what_is_published(bag: DagBag) -> None:
    """The asset that the report waits for is one of those that publish emits."""
    published = {
        asset.name for asset in bag.dags["rebalance_audit_hourly"].get_task("publish").outlets
    }
    assert len(published) == 10
    assert all(re.fullmatch(r"rebalance_audit\.gold\.[a-z_]+", name) for name in published)
    condition: Any = bag.dags["rebalance_audit_report"].timetable.asset_condition
    awaited = {asset.name for asset in condition.objects}
    assert awaited == {"rebalance_audit.gold.rebalances"}


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_a_file_imports_airflow_and_nothing_else(file: Path) -> None:
    """Airflow's environment has neither Spark nor our package; standard library and the shared modules aside."""
    imported = set()
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.Import):
            imported |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            imported.add((node.module or "").partition(".")[0])
    assert imported - set(sys.stdlib_module_names) <= {"airflow", "rebalance_audit_airflow"}


LOADING = """
import sys, time
# What Airflow itself does when it is imported is not ours.
from airflow.sdk import DAG, Asset, CronDataIntervalTimetable, Metadata, Param, Variable, task
import airflow.sdk.exceptions, airflow.providers.apache.spark.operators.spark_submit

watched, found, loading = ("subprocess.Popen", "socket.connect", "sqlite3.connect", "open"), [], False

def hook(event, arguments):
    if loading and event in watched and not str(arguments[0]).endswith((".py", ".pyc", ".pth")):
        found.append((event, str(arguments[0])))

sys.addaudithook(hook)
sys.path.insert(0, sys.argv[1])
for name in sys.argv[2:]:
    began, loading = time.process_time(), True
    __import__(name)
    loading = False
    assert time.process_time() - began < 1, name
assert found == [], found
"""


def test_loading_a_file_is_quick_and_needs_no_network(airflow_home: Path) -> None:
    """Under a second, and no Variable, connection or file is read, no process started: it is done all day long."""
    subprocess.run([sys.executable, "-c", LOADING, str(DAGS), *sorted(DAG_IDS)], check=True)
