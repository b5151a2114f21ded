"""What a check looks at: windows, clusters, tables that are absent or older; and that it keeps to this machine."""

import socket
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from rebalance_audit.errors import BadRequest, LakeNotReadable
from rebalance_audit.lake.checks.check_frames import Scope, TableFrames
from rebalance_audit.lake.storage.tables import Lake
from rebalance_audit.quality.check import CheckReport, CheckRequest, run_check
from tests.quality.planted import Row
from tests.support.lake_without_spark import arrow_table, write_as_made

NOON_MS = 1_795_262_400_000
DAY_MS = 86_400_000
LOOPBACK = ("127.0.0.1", "::1", "localhost")


def epoch(number: int, started_at: int, **changes: Any) -> Row:
    """An epoch of a group, whole and sound."""
    row = {"group_id": "checkout", "incarnation": 0, "epoch": number, "protocol": "consumer"}
    row |= {"previous_epoch": number - 1 or None, "log_partition": 0, "first_offset": number}
    row |= {"started_at": started_at, "outcome": "open", "completeness": "complete"}
    return row | {"cluster": "blue", "primary_cause": "member_joined"} | changes


def write(lake: Path, name: str, rows: list[Row], drop: str | None = None) -> None:
    """A table, without one of its columns if that is wanted."""
    table = arrow_table(name, rows, None)
    table = table if drop is None else table.drop_columns([drop])
    write_as_made(str(lake / name.replace(".", "/")), table)


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two tables of an older lake: one epoch of yesterday is wrong, and topics have no source."""
    folder = tmp_path_factory.mktemp("lake")
    yesterday = epoch(1, NOON_MS - DAY_MS, outcome="lost")
    write(folder, "gold.epochs", [yesterday, epoch(2, NOON_MS), epoch(3, NOON_MS + 1)])
    topic = {"cluster": "blue", "topic_id": "AAAAAAAAAAAAAAAAAAAAAQ", "topic": "orders"}
    write(folder, "gold.topics", [topic], drop="source")
    return folder


HOSTILE = (
    "<script>alert('7')</script>",
    "<img src=x onerror=alert(7)>",
    "[alert](javascript:alert(7)) **alert** `alert` $column ${alert}",
    "alert" + "x" * 40_000 + "<b>",
    "alert\x1b[31m\u202egro\x00",
)
"""Names that a group or a topic may be given."""
ACTIVE = (
    "<script>alert",
    "<img src=x",
    "<strong>alert",
    'href="javascript:',
    "x" * 600,
    "\u202e",
    "\x1b",
)
"""What a page must not contain: script, markup, a line of any length, controls."""


@pytest.mark.parametrize("name", HOSTILE, ids=["script", "image", "markdown", "long", "controls"])
def test_data_docs_show_names_as_text(spark: SparkSession, tmp_path: Path, name: str) -> None:
    """A value that breaks an expectation is shown, and is text."""
    topic = {"cluster": "blue", "topic_id": "AAAAAAAAAAAAAAAAAAAAAQ", "topic": name}
    lake, pages = tmp_path / "lake", tmp_path / "pages"
    write(lake, "gold.topics", [{**topic, "source": name}])
    request = CheckRequest(Scope(), ("gold.topics",), docs=pages)
    assert run_check(Lake(spark, str(lake)), request).failed
    texts = [page.read_text() for page in pages.rglob("*.html")]
    assert [(active, len(text)) for text in texts for active in ACTIVE if active in text] == []
    assert any("alert" in text.replace("alert-", "") for text in texts)


def checked(spark: SparkSession, lake: Path, *tables: str, **scope: Any) -> CheckReport:
    """One check."""
    return run_check(Lake(spark, str(lake)), CheckRequest(Scope(**scope), tables))


def broken(report: CheckReport) -> set[str]:
    """Names of what is broken, but for what the tables that these lakes lack would say."""
    return {result.expectation for result in report.broken if result.severity == "fail"}


def test_absent_tables_and_columns_are_passed_over_with_a_reason(
    spark: SparkSession, lake: Path
) -> None:
    """An older lake is checked as far as it goes: neither a false alarm nor a silent pass."""
    report = checked(spark, lake)
    assert broken(report) == {"gold.epochs in_set(outcome)"}
    assert report.failed
    why = {
        result.expectation: result.detail
        for result in report.results
        if result.outcome == "passed_over"
    }
    assert why["gold.members not_null(group_id)"] == "the lake has no such table"
    assert why["gold.topics in_set(source)"] == (
        "the table is from an earlier release and lacks source"
    )
    assert (
        why["gold.epochs refers(cluster, group_id, incarnation, rebalance_seq) gold.rebalances"]
        == "the lake has no gold.rebalances"
    )
    held = {result.expectation for result in report.results if result.outcome == "held"}
    assert "gold.topics not_null(topic)" in held


def test_a_window_takes_rows_by_when_they_begin(spark: SparkSession, lake: Path) -> None:
    """Yesterday's row is not judged today; today's rows are still compared with it."""
    report = checked(spark, lake, "gold.epochs", from_ms=NOON_MS)
    assert not report.failed
    assert {result.rows_checked for result in report.results if result.rows_checked} == {2}
    assert broken(checked(spark, lake, "gold.epochs", to_ms=NOON_MS)) == {
        "gold.epochs in_set(outcome)"
    }


@pytest.mark.parametrize(
    ("scope", "tables", "error", "sentence"),
    [
        ({"cluster": "bleu"}, ("gold.epochs",), LakeNotReadable, "has no row of cluster bleu"),
        ({}, ("gold.epoch",), BadRequest, "There is no table gold.epoch"),
        ({"from_ms": 2, "to_ms": 2}, (), BadRequest, "The window is empty"),
    ],
)
def test_what_cannot_be_meant_is_an_error(
    spark: SparkSession,
    lake: Path,
    scope: dict[str, Any],
    tables: tuple[str, ...],
    error: type[Exception],
    sentence: str,
) -> None:
    """A mistyped name must not pass as a lake without faults."""
    with pytest.raises(error, match=sentence):
        checked(spark, lake, *tables, **scope)


def test_a_folder_that_is_no_lake_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    """Neither is an empty folder a lake without faults."""
    with pytest.raises(LakeNotReadable, match="has none of its tables"):
        checked(spark, tmp_path)


def test_the_size_of_the_scope_is_known_before(spark: SparkSession, lake: Path) -> None:
    """The files of all tables that are there: few of them are read without compiled code."""
    tables = TableFrames(Lake(spark, str(lake)), Scope())
    files = (lake / "gold" / "epochs").glob("*.parquet")
    sizes = [file.stat().st_size for file in files]
    assert tables.size_bytes(["gold.epochs", "meta.broker_log"]) == sum(sizes) > 0


def test_retention_takes_the_counterpart_of_old_rows_away(
    spark: SparkSession, tmp_path: Path
) -> None:
    """A row older than its counterpart is kept for is not judged by it; a younger one is."""
    rows = [
        epoch(number, NOON_MS - age, rebalance_seq=7)
        for number, age in ((1, 3 * DAY_MS), (2, DAY_MS))
    ]
    write(tmp_path, "gold.epochs", rows)
    write(tmp_path, "gold.rebalances", [])
    now = datetime.fromtimestamp(NOON_MS / 1000, UTC)
    report = checked(
        spark, tmp_path, "gold.epochs", now=now, kept_ms={"gold.rebalances": 2 * DAY_MS}
    )
    name = "gold.epochs refers(cluster, group_id, incarnation, rebalance_seq) gold.rebalances"
    (result,) = [result for result in report.broken if result.expectation == name]
    assert result.unexpected_count == 1
    assert '"epoch":2' in result.sample_keys[0]


def test_pages_on_demand_and_nothing_leaves_the_machine(
    spark: SparkSession, lake: Path, tmp_path: Path
) -> None:
    """Data Docs are written, every expectation with its words; no socket is opened but to this machine's own JVM."""
    seen: list[str] = []
    watching = True

    def watch(event: str, arguments: tuple[Any, ...]) -> None:
        if watching and event == "socket.connect" and isinstance(arguments[1], tuple):
            seen.append(str(arguments[1][0]))
        elif watching and event == "socket.getaddrinfo":
            seen.append(str(arguments[0]))

    sys.addaudithook(watch)
    with socket.socket() as control:
        control.settimeout(0.01)
        control.connect_ex(("192.0.2.1", 9))
    assert seen == ["192.0.2.1"]
    seen.clear()
    pages = tmp_path / "pages"
    request = CheckRequest(Scope(), ("gold.topics",), docs=pages)
    run_check(Lake(spark, str(lake)), request)
    watching = False
    assert [address for address in seen if address not in LOOPBACK] == []
    assert (pages / "index.html").is_file()
    texts = [page.read_text() for page in pages.rglob("*.html")]
    assert any("topic_id" in text and "gold.topics" in text for text in texts)
