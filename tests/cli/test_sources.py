"""What is wrong with the source of a command: the same sentence and exit code whichever command is asked."""

import tarfile
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import pytest

from rebalance_audit.cli.exit_codes import BAD_ARGUMENTS, NOT_READABLE
from rebalance_audit.local.audit import audit_segments
from tests.cli.call import call, segments
from tests.support.lake_without_spark import arrow_table, write_as_made, write_lake

LOG = segments("failover")

COMMANDS = {
    "inspect": (),
    "state": (),
    "report": ("--out", "PLACE/page.html"),
    "export": ("--csv", "PLACE/csv"),
    "notify": ("--sent", "PLACE/sent.json", "--url", "http://127.0.0.1:1/", "--dry-run"),
    "metrics": (),
    "mcp": (),
    "explain": ("neu",),
    "what-if": ("neu",),
    "what-if --group": ("--group", "neu"),
    "watch": (),
}
"""Command -> what it needs beside a source."""

READS = {
    "what-if": "SEGMENTS, --lake DIR or --script FILE",
    "watch": "SEGMENTS or kafka:HOST:PORT",
}
"""Command -> what it can read, where that is not SEGMENTS or --lake DIR."""

NO_LAKE = "`watch` cannot read a lake: give SEGMENTS or kafka:HOST:PORT."

MISTAKES: dict[str, tuple[Sequence[str], int, str]] = {
    "nothing": ((), BAD_ARGUMENTS, "No source given: give READS."),
    "a log and a lake": (
        ("LOG", "--lake", "PLACE/lake"),
        BAD_ARGUMENTS,
        "Give SEGMENTS or --lake, not both.",
    ),
    "no such path": (("PLACE/no",), NOT_READABLE, "PLACE/no does not exist."),
    "no such path, with its kind": (
        ("segments:PLACE/no",),
        NOT_READABLE,
        "PLACE/no does not exist.",
    ),
    "no such lake": (
        ("--lake", "PLACE/no"),
        NOT_READABLE,
        "PLACE/no does not exist: --lake is the folder that `rebalance-audit run` writes.",
    ),
    "a lake as a log": (
        ("PLACE/lake",),
        NOT_READABLE,
        "PLACE/lake is a lake and holds no segments: commands that read a lake take it as --lake.",
    ),
    "a log as a lake": (
        ("--lake", "LOG"),
        NOT_READABLE,
        "LOG holds segments and is no lake: leave --lake out.",
    ),
    "an archive as a lake": (
        ("--lake", "PLACE/log.tgz"),
        NOT_READABLE,
        "PLACE/log.tgz holds segments and is no lake: leave --lake out.",
    ),
    "no such cluster": (
        ("--lake", "PLACE/lake", "--cluster", "green"),
        NOT_READABLE,
        "PLACE/lake has no run of cluster green; it has blue.",
    ),
    "a live cluster": (
        ("kafka:127.0.0.1:1",),
        BAD_ARGUMENTS,
        "`COMMAND` cannot read kafka:127.0.0.1:1: give READS.",
    ),
    "a table": (
        ("delta:PLACE/lake",),
        BAD_ARGUMENTS,
        "`COMMAND` cannot read delta:PLACE/lake: give READS.",
    ),
    "an object store": (
        ("s3://bucket/log",),
        BAD_ARGUMENTS,
        "`COMMAND` cannot read s3://bucket/log: give READS.",
    ),
}
"""Mistake -> source, exit code, sentence."""

OWN = {
    ("state", "no such cluster"): (
        NOT_READABLE,
        "PLACE/lake has no records of cluster green in bronze; it has blue.",
    ),
    **{
        ("watch", mistake): (BAD_ARGUMENTS, NO_LAKE)
        for mistake, (source, _, _) in MISTAKES.items()
        if source[:1] == ("--lake",)
    },
}
"""Where a command reads what others do not."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake, with the bronze that `state` reads, and an archive of a log."""
    folder = tmp_path_factory.mktemp("sources")
    write_lake(folder / "lake", audit_segments(LOG).tables, "blue")
    bronze = arrow_table("bronze.records", [{"partition": 0, "offset": 0}], "blue")
    write_as_made(str(folder / "lake" / "bronze" / "records"), bronze)
    with tarfile.open(folder / "log.tgz", "w:gz") as archive:
        archive.add(LOG, "segments")
    return folder


@pytest.mark.parametrize(
    ("command", "mistake"), sorted(set(product(COMMANDS, MISTAKES)) - {("watch", "a live cluster")})
)
def test_a_mistake_has_one_sentence_and_one_exit_code(
    command: str, mistake: str, place: Path
) -> None:
    """Of every command; nothing goes to stdout."""
    name = command.partition(" ")[0]
    source, code, sentence = MISTAKES[mistake]
    code, sentence = OWN.get((name, mistake), (code, sentence))
    sentence = sentence.replace("COMMAND", name)
    sentence = sentence.replace("READS", READS.get(name, "SEGMENTS or --lake DIR"))

    def filled(text: str) -> str:
        return text.replace("PLACE", str(place)).replace("LOG", str(LOG))

    outcome = call(name, *map(filled, (*source, *COMMANDS[command])))
    assert (outcome.code, outcome.out) == (code, "")
    assert outcome.err.splitlines()[-1].startswith(f"Error: {filled(sentence)}")


@pytest.mark.parametrize("command", ["explain", "what-if"])
def test_a_group_is_named_after_its_log_or_by_an_option(command: str, place: Path) -> None:
    """The answer is the same, also of an archive and of a path with its kind."""
    answer = call(command, LOG, "neu")
    assert (answer.code, answer.err) == (0, "")
    assert call(command, "--group", "neu", f"segments:{LOG}").out == answer.out
    assert call(command, place / "log.tgz", "neu").out == answer.out
    lake = ("--lake", place / "lake")
    assert call(command, *lake, "neu").out == call(command, *lake, "--group", "neu").out != ""
    bad: Sequence[tuple[Sequence[str | Path], str]] = (
        ((LOG,), "No group given: give GROUP after the source; `inspect` lists the groups."),
        (lake, "No group given: give GROUP after the source;"),
        ((LOG, "neu", "--group", "neu"), "Give GROUP or --group, not both."),
        ((LOG, "neu", "neu"), "Got unexpected extra argument (neu)"),
        ((LOG, "nue"), "Invalid value for GROUP: no group 'nue' in this log; did you mean 'neu'?"),
    )
    for words, sentence in bad:
        outcome = call(command, *words)
        assert (outcome.code, outcome.out) == (BAD_ARGUMENTS, "")
        assert outcome.err.splitlines()[-1].startswith(f"Error: {sentence}")
