"""Exports are read back by the libraries that tools use."""

import csv
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import duckdb
import pyarrow.parquet as pq
import pytest

from rebalance_audit.local.audit import Audit
from rebalance_audit.readers import export
from tests.cli.audited import audited_once
from tests.cli.call import call, segments

CAPTURE: Final = segments("classic-static")
LONGEST: Final = "order by duration_ms desc limit 1"


@pytest.fixture(scope="module")
def audit() -> Audit:
    """Of a log with one group."""
    return audited_once(CAPTURE)


def of_duckdb(path: Path, name: str) -> list[dict[str, Any]]:
    """Times are moments, lists are lists."""
    with duckdb.connect(str(path), read_only=True) as connection:
        connection.execute("set timezone = 'UTC'")
        found: list[dict[str, Any]] = connection.sql(f"from {name}").to_arrow_table().to_pylist()
        return found


def of_parquet(path: Path, name: str) -> list[dict[str, Any]]:
    """The same."""
    found: list[dict[str, Any]] = pq.read_table(
        path / f"{name.partition('.')[2]}.parquet"
    ).to_pylist()
    return found


def of_sqlite(path: Path, name: str) -> list[dict[str, Any]]:
    """Times are text, lists are JSON."""
    query = f"select * from {name.partition('.')[2]}"  # noqa: S608 - our own names
    with closing(sqlite3.connect(path)) as connection:
        connection.row_factory = sqlite3.Row
        return [dict(row) for row in connection.execute(query)]


def of_csv(path: Path, name: str) -> list[dict[str, Any]]:
    """Everything is text."""
    with (path / f"{name.partition('.')[2]}.csv").open(newline="") as lines:
        return list(csv.DictReader(lines))


READERS: Final[dict[str, Callable[[Path, str], list[dict[str, Any]]]]] = {
    "duckdb": of_duckdb,
    "parquet": of_parquet,
    "csv": of_csv,
    "sqlite": of_sqlite,
}


@pytest.mark.parametrize("kind", export.EXPORTERS)
def test_an_export_has_all_rows_of_the_audit(kind: str, audit: Audit, tmp_path: Path) -> None:
    """Tables and views, under their names; values are those of the audit, in the words of the format."""
    target = tmp_path / "made" / f"audit.{kind}"
    counts = export.export_gold(audit, kind, target)
    found = {name: READERS[kind](target, name) for name in counts}
    assert {name: len(rows) for name, rows in found.items()} == counts
    assert counts["gold.epochs"] == len(audit.epochs) > 10
    assert counts["views.groups_now"] == len(audit.group_ids)
    assert counts["gold.group_hours"] == len(audit.group_hours) > 0
    for theirs, ours in zip(found["gold.rebalances"], audit.rebalances, strict=True):
        started, causes, took = (theirs[name] for name in ("started_at", "causes", "duration_ms"))
        if isinstance(started, str):
            assert started == ours["started_at"].isoformat(timespec="milliseconds")[:-6] + "Z"
            assert json.loads(causes) == ours["causes"]
        else:
            assert (started, causes) == (ours["started_at"], ours["causes"])
        assert int(took) == ours["duration_ms"]


def test_a_file_is_replaced_only_by_a_whole_one(
    audit: Audit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who reads while an export fails still has the former one, and nothing is left beside it."""
    target = tmp_path / "audit.sqlite"
    target.write_text("the former one")
    monkeypatch.setattr(export, "_flat", lambda _columns, _name: "select 1")
    with pytest.raises(sqlite3.ProgrammingError):
        export.export_gold(audit, "sqlite", target)
    assert [file.read_text() for file in tmp_path.iterdir()] == ["the former one"]


def test_the_command_says_what_it_wrote(tmp_path: Path) -> None:
    """One format at a time; the summary counts rows by table."""
    summary = json.loads(call("export", CAPTURE, "--sqlite", tmp_path / "a.sqlite", "--json").out)
    assert (summary["format"], summary["rows"]["gold.epochs"]) == ("sqlite", 12)
    refused = call("export", CAPTURE)
    assert (refused.code, "Give exactly one of --duckdb" in refused.err) == (2, True)
