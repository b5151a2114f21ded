"""`simulate`: what it writes, what it says, what it refuses."""

from pathlib import Path

import orjson
import pytest

from rebalance_audit.sim.options import GROUP_FAULTS
from tests.cli.call import call
from tests.workshop.test_json_schemas import checked


def test_it_writes_a_log_that_inspect_reads(tmp_path: Path) -> None:
    """Segments, metadata and truth; the options on stderr, one sentence on stdout."""
    out = tmp_path / "log"
    outcome = call("simulate", "--seed", "3", "--minutes", "1", "--groups", "2", "--out", out)
    assert outcome.code == 0, outcome.err
    assert outcome.out.startswith(f"{out}: ")
    assert "coordinator.dialect = " in outcome.err
    assert (out / "truth.jsonl").stat().st_size
    assert call("inspect", out).code == 0


def test_quiet_leaves_the_options_to_the_truth(tmp_path: Path) -> None:
    """A line for each of two hundred groups' options would hide what a script has to see."""
    out = tmp_path / "log"
    outcome = call("-q", "simulate", "--seed", "3", "--minutes", "1", "--groups", "1", "--out", out)
    assert (outcome.code, outcome.err) == (0, "")
    assert b"coordinator.dialect = " in (out / "truth.jsonl").read_bytes()


def test_its_summary_is_what_it_wrote(tmp_path: Path) -> None:
    """For programs, by its schema."""
    out = tmp_path / "log"
    outcome = call(
        "simulate", "--seed", "3", "--minutes", "1", "--groups", "2", "--out", out, "--json"
    )
    summary = orjson.loads(outcome.out)
    checked("simulate", summary)
    assert (summary["seed"], summary["groups"]) == (3, 2)
    assert summary["records"] == len(call("decode", out).out.splitlines())


def test_it_leaves_a_folder_alone_that_holds_something(tmp_path: Path) -> None:
    """Bad arguments, and nothing written."""
    (tmp_path / "mine").touch()
    assert call("simulate", "--seed", "3", "--out", tmp_path).code == 2
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_a_long_run_is_given_its_faults_and_commits(tmp_path: Path) -> None:
    """So many faults a day on a sound network, groups of one protocol only, and no commits."""
    outcome = call(
        *("simulate", "--seed", "3", "--minutes", "1", "--groups", "3", "--out", tmp_path / "calm"),
        *("--faults-per-day", "24", "--commit-interval", "0", "--protocol", "consumer"),
        *("--topic-partitions", "30", "--dialect", "4.4"),
    )
    assert outcome.code == 0, outcome.err
    options = dict(line.split(" = ", 1) for line in outcome.err.splitlines() if " = " in line)
    rates = [float(options[f"faults.{name}"]) for name in GROUP_FAULTS]
    assert sum(rates) * 24 * 60 == pytest.approx(24, rel=0.05)
    assert options["network.loss_probability"] == "0.0000"
    assert options["groups[2].protocol"] == "consumer"
    assert options["topics"].count(": 30") == options["topics"].count("topic-")
    keys = {row["key"]["type"] for row in map(orjson.loads, decoded(tmp_path / "calm"))}
    assert keys
    assert 1 not in keys


def decoded(folder: Path) -> list[str]:
    """What `decode` prints for a log."""
    return call("decode", folder).out.splitlines()


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (("--no-faults", "--faults-per-day", "3"), "exclude each other"),
        (("--protocol", "migrating", "--dialect", "3.9"), "3.9 has no migration"),
    ],
)
def test_options_that_contradict_each_other_are_refused(
    flags: tuple[str, ...], sentence: str, tmp_path: Path
) -> None:
    """Bad arguments, and nothing written."""
    outcome = call("simulate", "--seed", "3", "--out", tmp_path / "log", *flags)
    assert outcome.code == 2
    assert sentence in outcome.err
    assert not (tmp_path / "log").exists()
