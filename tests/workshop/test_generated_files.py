"""Generated files are as their sources make them, and the command line says which are not."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from rebalance_audit.resources import checkout_root
from workshop import generated_files
from workshop.codegen import __main__ as codegen
from workshop.dashboards import __main__ as dashboards
from workshop.pages import broker_logs as broker_logs_page
from workshop.pages import causes as causes_page
from workshop.pages import findings as findings_page
from workshop.pages import glossary as glossary_page
from workshop.pages import tables as tables_page

ROOT = checkout_root()


@pytest.mark.parametrize(
    ("due", "names"),
    [
        (codegen.due, ["messages.py"]),
        (tables_page.due, ["tables.md", "README.md"]),
        (findings_page.due, ["findings.md"]),
        (causes_page.due, ["causes.md"]),
        (broker_logs_page.due, ["broker-logs.md"]),
        (glossary_page.due, ["glossary.md"]),
    ],
    ids=["codegen", "tables_page", "findings_page", "causes_page", "broker_logs_page", "glossary"],
)
def test_what_is_checked_in_is_fresh(
    due: Callable[[], Mapping[Path, str]], names: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    """Code and pages say what schemas and tables say; `make codegen` writes them."""
    assert [path.name for path in due()] == names
    assert generated_files.main(due, ["--check"]) == 0, capsys.readouterr().err


def test_a_stale_file_is_reported_and_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """--check ends with 1 and names the file, one that is missing too; --write writes these and no others."""
    due = {tmp_path / name: f"text of {name}" for name in ("fresh", "stale", "missing")}
    (tmp_path / "fresh").write_text("text of fresh")
    (tmp_path / "stale").write_text("old")
    assert generated_files.main(lambda: due, ["--check"]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert [line.partition(" is stale")[0] for line in lines] == [
        str(tmp_path / "stale"),
        str(tmp_path / "missing"),
    ]
    assert (tmp_path / "stale").read_text() == "old"
    assert generated_files.main(lambda: due, ["--write"]) == 0
    assert capsys.readouterr().out.count("written") == 2
    assert generated_files.main(lambda: due, ["--check"]) == 0


def test_the_dashboards_are_fresh(capsys: pytest.CaptureFixture[str]) -> None:
    """A view or a chart that has changed is in both kinds, and no file is left over from one that is gone."""
    assert generated_files.main(dashboards.due, ["--check"]) == 0, capsys.readouterr().err
    folder = ROOT / "dashboards"
    assert {path for path in folder.rglob("*.*") if path.is_file()} == set(dashboards.due())


@pytest.mark.parametrize("arguments", [[], ["--write", "--check"], ["--force"]])
def test_anything_else_is_refused(arguments: list[str]) -> None:
    """Nothing is written by mistake: one of the two flags has to be said."""
    with pytest.raises(SystemExit, match="2"):
        generated_files.main(dict, arguments)
