import json
from pathlib import Path

import click
import pytest

from rebalance_audit.cli.output import folded, hand_out

SUMMARY = {"run_id": "r1", "rows": {"gold.epochs": 3}}


@pytest.mark.parametrize("as_json", [False, True])
def test_the_file_holds_what_json_prints(
    as_json: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever is printed; its folder is created, an older file replaced, nothing else left, and others may read it."""
    file = tmp_path / "deep" / "summary.json"
    for epochs in (2, 3):
        summary = SUMMARY | {"rows": {"gold.epochs": epochs}}
        hand_out(summary, "three epochs", as_json=as_json, summary_file=file)
    printed = capsys.readouterr().out
    assert json.loads(file.read_bytes()) == {"schema_version": 1, **SUMMARY}
    assert list(file.parent.iterdir()) == [file]
    assert file.stat().st_mode & 0o777 == 0o644
    assert printed.endswith(file.read_text() if as_json else "three epochs\n")


def test_a_text_may_print_itself(capsys: pytest.CaptureFixture[str]) -> None:
    """A report lays itself out, and does nothing where a program wants the summary."""
    for as_json, expected in ((False, "laid out\n"), (True, '{\n  "schema_version": 1\n}\n')):
        hand_out({}, lambda: click.echo("laid out"), as_json=as_json, summary_file=None)
        assert capsys.readouterr().out == expected


def test_a_file_that_cannot_be_written_is_an_error_and_the_old_one_stays(tmp_path: Path) -> None:
    """Its folder is a file, or its name is that of a folder; no half-written file remains."""
    (tmp_path / "file").touch()
    (tmp_path / "folder").mkdir()
    for place in (tmp_path / "file" / "summary.json", tmp_path / "folder"):
        with pytest.raises(OSError, match=r"exists|directory"):
            hand_out(SUMMARY, "", as_json=False, summary_file=place)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "folder"]


@pytest.mark.parametrize("columns", [80, 100, 140])
def test_lines_break_between_words_at_the_width_that_is_asked_for(
    columns: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What `check` and `run` say; a file has each line whole."""
    key = '  look at {"cluster":"blue","group_id":"' + "a-long-name-" * 12 + '"}'
    line = "  passed over: " + "a reason of several words; " * 8
    monkeypatch.delenv("COLUMNS", raising=False)
    assert folded(f"{line}\n{key}") == f"{line}\n{key}"
    monkeypatch.setenv("COLUMNS", str(columns))
    pieces = folded(line).splitlines()
    assert max(map(len, pieces)) <= columns
    assert {len(piece) - len(piece.lstrip()) for piece in pieces[1:]} == {4}
    assert " ".join(map(str.strip, pieces)) == line.strip()
    assert key.rsplit(maxsplit=1)[-1] in folded(key).split()
