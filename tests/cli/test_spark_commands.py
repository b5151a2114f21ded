import io
import json
import shutil
from pathlib import Path

import pytest
from deltalake import DeltaTable

from rebalance_audit.audit.rows import GOLD_OF_LOG
from rebalance_audit.cli import exit_codes
from rebalance_audit.local.audit import audit_segments
from rebalance_audit.report.terminal.console import file_console
from rebalance_audit.report.terminal.extent import Extent
from rebalance_audit.report.terminal.layout import ConsoleReport
from rebalance_audit.report.terminal.overview import print_overview
from tests.cli.call import call, process
from tests.cli.page import Page
from tests.support.spark_sessions import configuration
from tests.workshop.test_json_schemas import checked

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    """The folder that a private `demo --spark` left with default settings, and what it printed on stdout and stderr."""
    out = tmp_path_factory.mktemp("demo") / "out"
    done = process("demo", "--spark", "--out", out, "--summary", out / "summary.json", umask=0o077)
    assert done.returncode == 0, done.stderr
    return out, done.stdout, done.stderr


def test_demo_prints_what_happened_and_what_to_do_next(demo: tuple[Path, str, str]) -> None:
    """The answer on stdout, progress on stderr, and command lines that work on the result."""
    out, text, progress = demo
    assert "10 groups, 168 epochs" in text
    assert "What to look at next:" in text
    assert "replaying groups" in progress
    commands = [
        line.split()[1:] for line in text.splitlines() if line.startswith("  rebalance-audit ")
    ]
    assert len(commands) == 3
    for command in commands[:2]:
        assert call(*command).code == 0
    assert (out / "gold" / "epochs" / "_delta_log").is_dir()
    summary = json.loads((out / "summary.json").read_bytes())
    checked("demo", summary)
    assert all(Path(summary[name]).exists() for name in ("log", "report", "page"))
    assert "report.html" in text
    assert "10 groups" in Page(out / "report.html").text


def test_a_private_process_makes_a_private_lake(demo: tuple[Path, str, str]) -> None:
    """Its umask holds for what Java, Python and Arrow write."""
    out, _, _ = demo
    made = [out, *out.rglob("*")]
    assert [path for path in made if path.stat().st_mode & 0o077] == []


def test_demo_finds_through_spark_what_inspect_finds_without(demo: tuple[Path, str, str]) -> None:
    """The report from the gold tables is, word for word, that of the audit in one process."""
    out, _, _ = demo
    audited = audit_segments(out / "log").tables
    tables = {name: audited[name] for name in GOLD_OF_LOG}
    expected = io.StringIO()
    print_overview(ConsoleReport(file_console(expected), tables), tables, Extent(everything=True))
    assert (out / "report.txt").read_text() == expected.getvalue()


def test_state_of_the_lake_is_that_of_the_segments(demo: tuple[Path, str, str]) -> None:
    """The same JSON, at the end and at a time in between; an unknown group is reported with those that exist."""
    out, _, _ = demo
    lake = ("state", "--lake", out, "--cluster", "demo")
    for moment in ((), ("--at", "2026-11-21T09:11:11Z")):
        assert call(*lake, *moment) == call("state", out / "log", *moment)
    unknown = call(*lake, "--group", "group-1-consume")
    assert unknown.code == exit_codes.BAD_ARGUMENTS
    assert "did you mean 'group-1-consumer'" in unknown.err
    other = call("state", "--lake", out, "--cluster", "blue")
    assert other.code == exit_codes.NOT_READABLE
    assert "no records of cluster blue" in other.err


def test_predict_writes_what_would_have_been(demo: tuple[Path, str, str], tmp_path: Path) -> None:
    """The groups that need attention most, readable without Spark; a second time nothing changes."""
    lake = tmp_path / "lake"
    shutil.copytree(demo[0], lake)
    asked = ("predict", "--lake", lake, "--worst", "2", "--seeds", "2", "--json")
    first, second = (process(*asked) for _ in range(2))
    assert first.returncode == 0, first.stderr
    summary = json.loads(first.stdout)
    checked("predict", summary)
    assert len(summary["groups"]) == 2
    assert summary["rows"] == summary["rows_changed"] > 6
    assert json.loads(second.stdout)["rows_changed"] == 0
    rows = DeltaTable(str(lake / "gold" / "what_if")).to_pyarrow_table().to_pylist()
    assert {row["group_id"] for row in rows} == {each["group_id"] for each in summary["groups"]}
    assert {row["scenario"] for row in rows} == {"as_logged", "control", "predicted"}
    assert {row["cluster"] for row in rows} == {"demo"}


def commits(lake: Path) -> int:
    """How many commits all tables of a lake have."""
    return sum(1 for _ in lake.glob("*/*/_delta_log/*.json"))


def test_run_repeated_changes_no_row(demo: tuple[Path, str, str], tmp_path: Path) -> None:
    """The same log again over the same lake: a summary that adds up, nothing new, and what the steps cost."""
    out, _, _ = demo
    where = ("--source", f"segments:{out / 'log'}", "--lake", out, "--cluster", "demo")
    before = commits(out)
    done = process("run", *where, "--config", configuration(tmp_path), "--json", "--explain-run")
    assert done.returncode == 0, done.stderr
    printed = done.stderr.splitlines()
    head = printed.index("Tables written with delta-rs.")
    steps = [line.rsplit(maxsplit=2) for line in printed[head + 2 :]]
    assert {"creating tables", "writing tables"} < {step[0] for step in steps}
    assert sum(int(step[2]) for step in steps) == commits(out) - before
    summary = json.loads(done.stdout)
    checked("run", summary)
    records = summary["records"]
    assert records.pop("read") == sum(records.values()) == 0
    changed = {table: rows for table, rows in summary["rows_changed"].items() if rows}
    assert set(changed) == {"meta.progress"}


def test_a_bad_regular_expression_is_a_2(demo: tuple[Path, str, str], tmp_path: Path) -> None:
    """Java matches the pattern, so Java judges it; the sentence says where it is wrong."""
    out, _, _ = demo
    where = ("--source", f"segments:{out / 'log'}", "--lake", out)
    done = process("run", *where, "--config", configuration(tmp_path), "--groups", "a(b")
    assert done.returncode == exit_codes.BAD_ARGUMENTS
    assert "Error: 'a(b' is no regular expression" in done.stderr
    assert "Traceback" not in done.stderr
