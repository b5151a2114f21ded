"""`recover`: when it writes a plan, where, and what it answers."""

import json
from pathlib import Path

import pytest

from tests.cli.call import call, segments
from tests.support.damaged_log import damaged_copy
from tests.support.transactions import batches_of, steps_of, write_segment

LOG = segments("broker-4.0")


@pytest.fixture(scope="module")
def damaged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log whose partition 1 no coordinator loads."""
    folder = tmp_path_factory.mktemp("damaged") / "log"
    damaged_copy(LOG, folder, 1, 0.5)
    return folder


def test_a_plan_for_what_does_not_load(damaged: Path, tmp_path: Path) -> None:
    """Of the damaged partition alone; the summary has what the page has."""
    outcome = call("recover", damaged, "--out", tmp_path / "plan", "--json")
    assert (outcome.code, outcome.err) == (0, "")
    summary = json.loads(outcome.out)
    assert summary["partitions"] == [1]
    assert summary["files"] == ["offsets.csv", "uncertain.csv", "plan.json", "README.md"]
    shape = json.loads((tmp_path / "plan" / "plan.json").read_text())
    (partition,) = shape["partitions"]
    assert "unknown_value_version" in partition["problem"]
    certain = sum(len(group["certain"]) for group in partition["groups"])
    assert (
        certain
        == summary["certain"]
        == len((tmp_path / "plan" / "offsets.csv").read_text().splitlines())
    )


def test_nothing_is_written_where_all_loads(tmp_path: Path) -> None:
    """The sentence says so, and how to get a plan all the same."""
    outcome = call("recover", LOG, "--out", tmp_path / "plan")
    assert (outcome.code, outcome.err) == (0, "")
    assert "no plan is needed" in outcome.out.replace("\n", " ")
    assert not (tmp_path / "plan").exists()


def test_a_partition_that_loads_can_be_planned_for(tmp_path: Path) -> None:
    """All of its offsets are certain, but for those of open transactions."""
    log = write_segment(tmp_path / "log", [*batches_of(steps_of("40 41 7:50"), 1000)])
    outcome = call("recover", log, "--out", tmp_path / "plan", "--partition", "0")
    assert outcome.code == 0, outcome.err
    assert (tmp_path / "plan" / "offsets.csv").read_text() == '"foo",0,41\n'
    rows = (tmp_path / "plan" / "uncertain.csv").read_text().splitlines()
    assert rows[1].startswith("g,foo,0,open_transaction,41,50,")
    assert "loads. Its offsets are certain" in (tmp_path / "plan" / "README.md").read_text()


@pytest.mark.parametrize(
    ("release", "expected"), [("3.9", True), ("3.9 new", False), ("4.3", False)]
)
def test_a_classic_coordinator_goes_on_without_the_groups(
    damaged: Path, tmp_path: Path, release: str, expected: bool
) -> None:
    """Then consumers have started anew, and what they committed since is behind the damage."""
    assert call("recover", damaged, "--out", tmp_path / "plan", "--as", release).code == 0
    text = (tmp_path / "plan" / "README.md").read_text()
    assert ("then serves it without any of its groups" in text) == expected


def test_bytes_that_are_no_batch_end_what_is_certain(tmp_path: Path) -> None:
    """The coordinator fails where they begin; the commits behind them are shown as uncertain."""
    first, *commits = batches_of(steps_of("40 41 42"), 1000)
    zeros = bytes(len(commits[1]) - 61)
    log = write_segment(tmp_path / "log", [first, commits[0], commits[1][:61] + zeros, commits[2]])
    outcome = call("recover", log, "--out", tmp_path / "plan", "--as", "4.3")
    assert outcome.code == 0, outcome.err
    assert (tmp_path / "plan" / "offsets.csv").read_text() == '"foo",0,40\n'
    rows = (tmp_path / "plan" / "uncertain.csv").read_text().splitlines()
    assert rows[1].startswith("g,foo,0,after_damage,40,42,")


def test_a_log_that_is_not_opened_keeps_what_precedes_the_damage(tmp_path: Path) -> None:
    """The broker names no offset then, and serves nothing, with a classic coordinator either."""
    garbage = b"\xab" * 200
    log = write_segment(tmp_path / "log", [*batches_of(steps_of("40 41"), 1000), garbage])
    outcome = call("recover", log, "--out", tmp_path / "plan", "--as", "3.9")
    assert outcome.code == 0, outcome.err
    assert (tmp_path / "plan" / "offsets.csv").read_text() == '"foo",0,41\n'
    text = (tmp_path / "plan" / "README.md").read_text()
    assert "fails to load: a batch" in text
    assert "serves it without" not in text


def test_a_folder_that_is_not_empty_is_refused(damaged: Path, tmp_path: Path) -> None:
    """Nothing in it is touched; an empty one is taken."""
    (tmp_path / "offsets.csv").write_text("mine")
    outcome = call("recover", damaged, "--out", tmp_path)
    assert (outcome.code, "is not empty" in outcome.err) == (2, True)
    assert [path.name for path in tmp_path.iterdir()] == ["offsets.csv"]
    (tmp_path / "offsets.csv").unlink()
    assert call("recover", damaged, "--out", tmp_path).code == 0


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("--partition", "49"), 2, "no partition 49"),
        (("--as", "2.0"), 2, "no release whose coordinator is known"),
        ((), 2, "--out"),
    ],
)
def test_bad_arguments(
    damaged: Path, tmp_path: Path, arguments: tuple[str, ...], code: int, words: str
) -> None:
    """In one sentence."""
    out = ("--out", tmp_path / "plan") if arguments else ()
    outcome = call("recover", damaged, *out, *arguments)
    assert (outcome.code, words in outcome.err) == (code, True), outcome.err
    assert not (tmp_path / "plan").exists()


def test_a_log_that_is_not_there(tmp_path: Path) -> None:
    """As of every command that reads one."""
    assert call("recover", tmp_path / "nothing", "--out", tmp_path / "plan").code == 3
