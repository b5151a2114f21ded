"""What a trigger of a run can reach: a few settings of fixed types, and nothing that names a program or a path."""

import json
import os
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from airflow.dag_processing.dagbag import DagBag
from airflow.sdk.exceptions import AirflowFailException
from conftest import CONNECTION, DAGS, VARIABLE
from rebalance_audit_airflow.trigger import SETTINGS, checked

LOGICAL_DATE = datetime(2026, 11, 21, 10, 30, tzinfo=UTC)
RECORDER = """#!{python}
import json, os, sys
with open({log!r}, "a") as log:
    log.write(json.dumps(dict(arguments=sys.argv[1:], environment=dict(os.environ))) + "\\n")
"""
"""Stands for spark-submit: writes down how it was called."""


class RecordedSite:
    """A site whose spark-submit writes down how it is called."""

    def __init__(self, folder: Path) -> None:
        self.log = folder / "submitted.jsonl"
        self.pwned = folder / "pwned"
        self.submit = folder / "spark-submit"
        self.submit.write_text(RECORDER.format(python=sys.executable, log=str(self.log)))
        self.evil = folder / "evil"
        self.evil.write_text(f"#!/bin/sh\ntouch {self.pwned}\n")
        for program in (self.submit, self.evil):
            program.chmod(0o755)
        os.environ[CONNECTION] = json.dumps({"conn_type": "spark", "host": "local[1]"})
        os.environ[VARIABLE] = json.dumps(
            {
                "project": "/opt/project",
                "lake": "/data/lake",
                "cluster": "blue",
                "source": "segments:/data/blue",
                "spark_submit": str(self.submit),
                "python": "/opt/python",
                "sources": {"found": "segments:/data/found"},
                "clusters": {"green": {"lake": "/data/green", "source": "segments:/data/of-green"}},
            }
        )

    def calls(self) -> list[SimpleNamespace]:
        """The calls since the last time."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        self.log.unlink(missing_ok=True)
        return [SimpleNamespace(**json.loads(line)) for line in lines]


@pytest.fixture(scope="module")
def site(airflow_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RecordedSite]:
    """It, as the environment has it while these tests run."""
    yield RecordedSite(tmp_path_factory.mktemp("recorded"))
    del os.environ[CONNECTION], os.environ[VARIABLE]


@pytest.fixture(scope="module")
def bag(site: RecordedSite) -> DagBag:
    """The DAGs, without the pauses between retries."""
    found = DagBag(str(DAGS), safe_mode=False)
    for dag in found.dags.values():
        for task in dag.tasks:
            task.retry_delay = timedelta(0)
    return found


def run(bag: DagBag, name: str, conf: dict[str, Any]) -> tuple[str, dict[str, int]]:
    """One run to its end: its state, and tries of its tasks."""
    done = bag.dags[f"rebalance_audit_{name}"].test(run_conf=conf, logical_date=LOGICAL_DATE)
    return str(done.state), {ti.task_id: ti.try_number for ti in done.get_task_instances()}


@pytest.mark.parametrize(
    "field",
    ["spark_submit", "python", "project", "env", "conf", "lake", "report", "vacuum_hours"],
)
def test_a_trigger_cannot_set_what_is_the_sites(
    field: str, site: RecordedSite, bag: DagBag, capfd: pytest.CaptureFixture[str]
) -> None:
    """No program is named by whoever may trigger: the task fails at once, and nothing is submitted."""
    values = {
        "env": {"PYSPARK_PYTHON": str(site.evil)},
        "conf": {"spark.pyspark.python": str(site.evil)},
    }
    state, tries = run(bag, "maintenance", {field: values.get(field, str(site.evil))})
    assert (state, tries) == ("failed", {"maintain": 1})
    assert f"A run may set cluster, dry_run, tables, and not '{field}'" in "".join(
        capfd.readouterr()
    )
    assert site.calls() == []
    assert not site.pwned.exists()


def test_what_a_trigger_sets_arrives(site: RecordedSite, bag: DagBag) -> None:
    """Settings of the list become arguments; the program and everything else are the site's."""
    assert run(bag, "maintenance", {"dry_run": True, "tables": ["gold.epochs"]})[0] == "success"
    (call,) = site.calls()
    assert call.environment["PYSPARK_PYTHON"] == "/opt/python"
    at = call.arguments.index("/opt/project/jobs/maintain.py")
    assert call.arguments[at + 1 :][:5] == [
        "--lake", "/data/lake", "--table", "gold.epochs", "--dry-run",
    ]  # fmt: skip


def test_predictions_are_about_the_window(site: RecordedSite, bag: DagBag) -> None:
    """Of the week before, or of the window that the run names, in the site's lake."""
    week = {"from": "2026-11-16T00:00:00Z", "to": "2026-11-23T00:00:00Z"}
    assert run(bag, "what_if", week)[0] == "success"
    (call,) = site.calls()
    at = call.arguments.index("/opt/project/jobs/predict.py")
    assert call.arguments[at + 1 :][:8] == [
        "--lake", "/data/lake", "--cluster", "blue",
        "--from", "2026-11-16T00:00:00.000Z", "--to", "2026-11-23T00:00:00.000Z",
    ]  # fmt: skip


def test_a_trigger_names_clusters_and_sources_of_the_site(site: RecordedSite, bag: DagBag) -> None:
    """A name chooses lake and source; a name that the site lacks is refused, as is an address."""
    hours = {"from": "2026-11-21T09:00:00Z", "to": "2026-11-21T10:00:00Z"}
    run(bag, "hourly", {"cluster": "green"})
    ingest, audit, *_ = site.calls()
    assert {"segments:/data/of-green", "/data/green", "green"} < set(ingest.arguments)
    assert {"/data/green", "green"} < set(audit.arguments)

    run(bag, "backfill", {**hours, "source": "found"})
    assert {"segments:/data/found", "/data/lake", "blue"} < set(site.calls()[0].arguments)

    for conf in ({"cluster": "../../etc"}, {"source": "kafka:evil:9092"}):
        state, tries = run(bag, "backfill", {**hours, **conf})
        assert (state, tries["ingest"]) == ("failed", 1)
        assert site.calls() == []


@pytest.mark.parametrize(
    ("given", "declared", "sentence"),
    [
        ({"dry_run": "true"}, SETTINGS, "dry_run cannot be 'true'"),
        ({"tables": ["gold.epochs; drop"]}, SETTINGS, "tables cannot be"),
        ({"tables": "gold.epochs"}, SETTINGS, "tables cannot be"),
        ({"days": 0}, SETTINGS, "days cannot be 0"),
        ({"days": 10**30}, SETTINGS, "days cannot be 1000"),
        ({"from": "{{ var.value.password }}"}, SETTINGS, "from cannot be"),
        ({"from": "2026-11-21\n"}, SETTINGS, "from cannot be"),
        ({"groups": "a\nb"}, SETTINGS, "groups cannot be"),
        ({"groups": "a" * 1001}, SETTINGS, "groups cannot be"),
        ({"cluster": {"a": 1}}, SETTINGS, "cluster cannot be"),
        ({"source": "found"}, ["cluster"], "A run may set cluster, and not 'source'"),
        ({"spark_submit": "x"}, ["spark_submit", "days"], "A run may set days, and not 'spark_submit'"),
    ],
)  # fmt: skip
def test_a_setting_has_a_type(given: dict[str, Any], declared: list[str], sentence: str) -> None:
    """Also where the values do not come by way of Airflow's own check: the content of an event."""
    with pytest.raises(AirflowFailException) as refused:
        checked(given, declared)
    assert sentence in str(refused.value)


def test_empty_settings_are_the_sites(site: RecordedSite) -> None:
    """As the form for a run by hand leaves them."""
    assert checked(dict.fromkeys(SETTINGS), SETTINGS) == {}


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"lake": "/data/evil", "cluster": "blue"}, "has the lake /data/lake for cluster 'blue'"),
        ({"lake": "/data/lake", "cluster": "evil"}, "has no cluster 'evil'"),
        ({"lake": "/data/lake", "days": 3}, "and not 'days'"),
        ({"lake": "/data/lake", "spark_submit": "/data/evil"}, "and not 'spark_submit'"),
        ({"lake": "/data/lake", "from": "{{ 7 * 7 }}"}, "from cannot be"),
        ({"lake": "/data/lake", "from": "2026-13-01"}, "No window of time"),
    ],
)
def test_an_event_is_about_a_lake_of_the_site(
    given: dict[str, Any], sentence: str, site: RecordedSite, bag: DagBag
) -> None:
    """Whoever may create an event of an asset does not choose what is read or where a page is written."""
    mapped: Any = bag.dags["rebalance_audit_report"].get_task("report")
    task = mapped.unmap({"given": given})
    with pytest.raises(AirflowFailException) as refused:
        task.execute({"params": {}, "ti": SimpleNamespace(task_id="report")})
    assert sentence in str(refused.value)
    assert site.calls() == []
