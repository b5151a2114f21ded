"""`inspect --lake`: the words over segments, from the tables of a lake."""

import json
from pathlib import Path

import pytest

from rebalance_audit.cli import exit_codes
from rebalance_audit.local.audit import audit_segments
from tests.cli.call import call, segments
from tests.support.lake_without_spark import write_lake

LOG = segments("failover")


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The gold tables of a log whose files there is nothing to say about."""
    path = tmp_path_factory.mktemp("lake")
    write_lake(path, audit_segments(LOG).tables, "blue")
    return path


@pytest.mark.parametrize("question", [(), ("--all",), ("--group", "neu", "--group", "klassik")])
def test_a_lake_is_reported_as_its_segments_are(lake: Path, question: tuple[str, ...]) -> None:
    """Word for word, below the name of the source and, of segments, a line on what they hold."""
    there, here = (
        call("inspect", *where, *question).out.splitlines()
        for where in (("--lake", lake, "--cluster", "blue"), (LOG,))
    )
    assert there[0] == f"{lake}, cluster blue"
    end = (
        here.index("What to know about this log") - 1
        if "What to know about this log" in here
        else len(here)
    )
    assert there[1:] == here[2:end]
    assert len(there) > 20


@pytest.mark.parametrize("question", [(), ("--group", "neu")])
def test_a_lake_gives_programs_the_same_rows(lake: Path, question: tuple[str, ...]) -> None:
    """Its only cluster need not be named."""
    there = call("inspect", "--lake", lake, "--json", *question).out
    assert json.loads(there) == json.loads(
        call("inspect", LOG, "--json", "--cluster", "blue", *question).out
    )


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (["--group", "nue"], exit_codes.BAD_ARGUMENTS, "did you mean 'neu'"),
        (["--cluster", "b"], exit_codes.NOT_READABLE, "no run of cluster b; it has blue."),
        (["--broker-log", str(LOG)], exit_codes.BAD_ARGUMENTS, "for a lake give it to `run`"),
    ],
)
def test_what_the_lake_does_not_have(
    arguments: list[str], code: int, sentence: str, lake: Path
) -> None:
    """One sentence, as over segments."""
    outcome = call("inspect", "--lake", lake, *arguments)
    assert (outcome.code, outcome.out) == (code, "")
    assert sentence in outcome.err
