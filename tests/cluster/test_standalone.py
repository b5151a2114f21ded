"""Audit and check on a standalone cluster, submitted with the zip alone, and workers and executors lost on the way."""

import json
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from deltalake import DeltaTable

from rebalance_audit.cli import exit_codes
from rebalance_audit.lake.storage.stage import FOLDER
from rebalance_audit.local.audit import audit_segments
from rebalance_audit.readers.tables import read_rows
from rebalance_audit.tables.order import in_key_order
from rebalance_audit.tables.schemas import table_schemas
from tests.cluster.standalone import Cluster, environment, start
from tests.wire.golden import capture

pytestmark = pytest.mark.cluster

CLUSTER = "blue"
SEGMENTS = capture("broker-4.0").segments
KILLS = 3
COMMITS_APART = 3
"""The run makes some twenty after it has replayed."""
AUDITED = ("epochs", "rebalance_causes", "convergence", "rebalances", "members", "ownership")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """One master, two workers of one core."""
    running = start(tmp_path_factory.mktemp("cluster"), workers=2)
    yield running
    running.stop()


@pytest.fixture(scope="module")
def audited(cluster: Cluster) -> Path:
    """The lake of an audit that has lost a worker while it replayed, and then every executor, again and again."""
    lake = cluster.folder / "lake"
    done = threading.Event()
    killer = threading.Thread(target=kill_executors_after_commits, args=(cluster, lake, done))

    def lose_a_worker(line: str) -> None:
        if "replaying groups" in line and len(cluster.workers) > 1:
            cluster.kill_worker()
            killer.start()

    arguments = ("--source", f"segments:{SEGMENTS}", "--lake", str(lake), "--cluster", CLUSTER)
    try:
        submitted = cluster.submit("audit", *arguments, on_line=lose_a_worker)
    finally:
        done.set()
    assert submitted.code == exit_codes.DONE, submitted.said
    assert len(cluster.workers) == 1
    killer.join()
    return lake


def kill_executors_after_commits(cluster: Cluster, lake: Path, done: threading.Event) -> None:
    """Each time that the run has got on by some commits its executors end, with the rows that they hold for it."""
    kills, seen = 0, commits(lake)
    while kills < KILLS and not done.wait(0.05):
        if commits(lake) >= seen + COMMITS_APART and cluster.kill_executors():
            kills, seen = kills + 1, commits(lake)


def commits(lake: Path) -> int:
    """How many commits all tables of a lake have."""
    return sum(1 for _ in lake.glob("*/*/_delta_log/*.json"))


def test_the_jobs_see_the_project_in_the_zip_alone(cluster: Cluster) -> None:
    """The interpreter of driver and executors has the dependencies, but no rebalance_audit."""
    done = subprocess.run(
        [str(cluster.folder / "python"), "-c", "import pyarrow, aiokafka, rebalance_audit"],
        env=environment(cluster.folder),
        capture_output=True,
        text=True,
        check=False,
    )
    assert "No module named 'rebalance_audit'" in done.stderr


def test_a_lost_worker_changes_no_row(audited: Path) -> None:
    """Every gold table has the rows of the audit in one process, to the last column."""
    expected = audit_segments(SEGMENTS).tables
    for name in AUDITED:
        columns = table_schemas()[f"gold.{name}"].column_names
        wanted = [
            {column: row.get(column) for column in columns} | {"cluster": CLUSTER}
            for row in expected[name]
        ]
        rows = read_rows(str(audited), f"gold.{name}", cluster=CLUSTER)
        assert in_key_order(name, rows) == in_key_order(name, wanted), name
        assert rows


def test_what_executors_leave_for_later_steps_outlives_them(audited: Path) -> None:
    """The run lost every executor several times and did nothing twice; its files are gone with it."""
    (run,) = read_rows(str(audited), "meta.runs", cluster=CLUSTER)
    assert (run["outcome"], run["retries"]) == ("done", 0)
    assert [*(audited / FOLDER).glob("[0-9]*")] == []


def test_a_check_on_what_is_left_of_the_cluster_finds_what_was_planted(
    cluster: Cluster, audited: Path
) -> None:
    """Exit code 4 is for a scheduler, the output for people: which rows; all else that the run has written holds."""
    topics = DeltaTable(str(audited / "gold" / "topics"))
    topics.update(updates={"source": "'hearsay'"})
    summary = cluster.folder / "check.json"
    done = cluster.submit("check", "--lake", str(audited), "--summary", str(summary))
    assert done.code == exit_codes.CHECK_FAILED, done.said
    result = json.loads(summary.read_text())
    failed = [one for one in result["broken"] if one["severity"] == "fail"]
    assert [one["expectation"] for one in failed] == ["gold.topics in_set(source)"]
    assert result["success"] is False
    assert result["expectations"]["held"] > 250
    assert "FAIL gold.topics in_set(source)" in done.said
    assert "the first: source is hearsay" in done.said
    assert 'look at {"cluster":"blue","topic_id":' in done.said
