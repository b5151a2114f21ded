"""What is written to files: who may read it, and what a spreadsheet makes of names."""

import csv
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from rebalance_audit.new_file import replacing
from tests.cli.call import call, segments
from tests.support.lake_without_spark import empty_gold, write_lake

LOG = segments("classic-static")


@pytest.fixture
def private() -> Iterator[None]:
    """Files of this process are its user's alone."""
    before = os.umask(0o077)
    yield
    os.umask(before)


@pytest.mark.parametrize(
    "words",
    [
        ("report", LOG, "--out", "page.html"),
        ("metrics", LOG, "--out", "metrics.prom"),
        ("export", LOG, "--duckdb", "audit.duckdb"),
        ("export", LOG, "--sqlite", "audit.sqlite"),
        ("export", LOG, "--csv", "csv"),
        ("export", LOG, "--parquet", "parquet", "--summary", "summary.json"),
        ("notify", LOG, "--sent", "sent.json", "--url", "http://127.0.0.1:9/"),
    ],
    ids=lambda words: " ".join(map(str, words[::2])),
)
@pytest.mark.usefixtures("private")
def test_no_other_user_reads_what_a_private_process_writes(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its umask holds for files and folders of every command."""
    monkeypatch.chdir(tmp_path)
    assert call(*words).code == 0
    made = list(tmp_path.rglob("*"))
    assert made
    assert [path for path in made if stat.S_IMODE(path.stat().st_mode) & 0o077] == []


def test_a_replaced_file_keeps_its_permissions(tmp_path: Path) -> None:
    """Whoever has made it private or open need not do so after each run; a link is replaced, not followed."""
    file, link = tmp_path / "file", tmp_path / "link"
    for mode in (0o600, 0o664):
        file.touch()
        file.chmod(mode)
        with replacing(file) as new:
            new.write_text("new")
        assert stat.S_IMODE(file.stat().st_mode) == mode
    link.symlink_to(file)
    with replacing(link) as new:
        new.write_text("other")
    assert file.read_text() == "new"
    assert not link.is_symlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "link"]


FORMULAS = ['=HYPERLINK("//evil")', "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "\n=1", "\uff1d1"]
TEXTS = ["plain", "a=1", "'=1", "ü-1"]


def test_a_name_is_no_formula_in_a_spreadsheet(tmp_path: Path) -> None:
    """With --guard-formulas an apostrophe stands before what would be one; all else stays as it is."""
    tables = empty_gold()
    tables["findings"] = [
        {"group_id": name, "finding_id": str(n), "kind": "dead_group", "severity": "info"}
        for n, name in enumerate([*FORMULAS, *TEXTS])
    ]
    write_lake(tmp_path / "lake", tables, "blue")
    for flags, expected in (
        ([], {*FORMULAS, *TEXTS}),
        (["--guard-formulas"], {*(f"'{name}" for name in FORMULAS), *TEXTS}),
    ):
        where = ("--lake", tmp_path / "lake", "--csv", tmp_path / "csv")
        assert call("export", *where, *flags).code == 0
        with (tmp_path / "csv" / "findings.csv").open(newline="", encoding="utf-8") as lines:
            assert {row["group_id"] for row in csv.DictReader(lines)} == expected


def test_formulas_are_guarded_in_csv_only(tmp_path: Path) -> None:
    """Elsewhere a text is a text."""
    outcome = call("export", LOG, "--sqlite", tmp_path / "x", "--guard-formulas")
    assert outcome.code == 2
    assert "--guard-formulas goes with --csv." in outcome.err
