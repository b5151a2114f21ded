"""`simulate`: what it writes, what it says, what it refuses."""

from pathlib import Path

from tests.cli.call import call


def test_it_writes_a_log_that_inspect_reads(tmp_path: Path) -> None:
    """Segments, metadata and truth; the options on stderr, one sentence on stdout."""
    out = tmp_path / "log"
    told = call("simulate", "--seed", "3", "--minutes", "1", "--groups", "2", "--out", out)
    assert told.code == 0, told.err
    assert told.out.startswith(f"{out}: ")
    assert "coordinator.dialect = " in told.err
    assert (out / "truth.jsonl").stat().st_size
    assert call("inspect", out).code == 0


def test_it_leaves_a_folder_alone_that_holds_something(tmp_path: Path) -> None:
    """Bad arguments, and nothing written."""
    (tmp_path / "mine").touch()
    assert call("simulate", "--seed", "3", "--out", tmp_path).code == 2
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]
