"""`what-if`: what its options do, what programs and people read, from segments, a lake and a file."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from rebalance_audit.local.audit import audit_segments
from tests.cli.call import call, process, segments
from tests.support.lake_without_spark import write_lake
from tests.whatif.paired import unpacked
from tests.workshop.test_json_schemas import checked

GROUP = ("--group", "same-848", "--seeds", "3")


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The segments of one paired capture."""
    path = tmp_path_factory.mktemp("paired") / "segments"
    with unpacked("paired-roll-a2") as folder:
        (folder / "segments").rename(path)
    return path


def asked(*arguments: str | Path) -> dict[str, Any]:
    """What --json prints."""
    outcome = call("what-if", *arguments, "--json")
    assert outcome.code == 0, outcome.err
    found: dict[str, Any] = json.loads(outcome.out)
    checked("what-if", found)
    return found


def test_one_change_is_answered_with_its_control(log: Path) -> None:
    """The settings as asked, and all ranges; the same command prints the same bytes."""
    change = (*GROUP, "--static", "--session-timeout", "30s", "--heartbeat", "1s")
    found = asked(log, *change)
    assert found["refused"] is None
    assert found["as_logged"]["rebalances"] > 20
    [predicted] = found["predicted"]
    assert predicted["settings"]["static"] is True
    assert predicted["settings"]["session_timeout_ms"] == 30_000
    assert predicted["rebalances"]["median"] < found["control"]["rebalances"]["median"]
    again = call("what-if", log, *change, "--json")
    assert json.loads(again.out) == found


@pytest.mark.parametrize("group_id", ["same-coop", "same-848-static"])
def test_every_process_prints_the_same_bytes(log: Path, group_id: str) -> None:
    """Whatever the order of sets in it, with the table of variants and the script."""
    ways = ("--json", "--markdown")
    asked_of = ("what-if", log, "--group", group_id, "--seeds", "2")
    printed = [
        [
            process(*asked_of, way, env={**os.environ, "PYTHONHASHSEED": hash_seed}).stdout
            for way in ways
        ]
        for hash_seed in ("1", "2")
    ]
    assert printed[0] == printed[1]
    assert all(printed[0])


def test_a_window_limits_what_counts(log: Path) -> None:
    """Half of the log has fewer rebalances."""
    whole = asked(log, *GROUP, "--protocol", "classic")
    half = asked(log, *GROUP, "--protocol", "classic", "--from", "2026-11-23T00:18:30Z")
    assert 0 < half["as_logged"]["rebalances"] < whole["as_logged"]["rebalances"]
    assert half["from"] == "2026-11-23T00:18:30.000Z"


def test_without_a_change_a_table_of_variants_is_ranked(log: Path) -> None:
    """For people, with what the best ones come from and cost."""
    outcome = call("what-if", log, *GROUP)
    assert outcome.code == 0, outcome.err
    assert "as logged" in outcome.out
    assert "control: simulated as it was" in outcome.out
    assert "static members" in outcome.out
    assert "Taken for granted" in outcome.out
    text = call("what-if", log, *GROUP, "--markdown").out
    assert "|---|--:|" in text


def test_a_script_can_be_written_edited_and_played(log: Path, tmp_path: Path) -> None:
    """The same answer as from the log; an edited one gives another."""
    file = tmp_path / "script.json"
    change = ("--protocol", "classic", "--assignor", "cooperative-sticky")
    of_log = asked(log, *GROUP, *change, "--write-script", file)
    of_file = asked("--script", file, "--seeds", "3", *change)
    assert of_file == of_log
    file.write_text(file.read_text().replace('"latency_ms":', '"latency_ms": 1'))
    assert asked("--script", file, "--seeds", "3", *change) != of_log


def test_a_lake_answers_as_the_log_does(log: Path, tmp_path: Path) -> None:
    """From its gold tables alone."""
    audit = audit_segments(log)
    write_lake(tmp_path, dict(audit.tables), "blue")
    change = ("--protocol", "classic", "--to", "2026-11-23T00:19:00Z")
    of_lake = asked("--lake", tmp_path, *GROUP, *change)
    assert of_lake == asked(log, *GROUP, *change)


def test_a_group_that_cannot_be_asked_is_refused_in_a_sentence() -> None:
    """Nothing failed: the answer is that there is none."""
    found = asked(segments("compacted"), "--group", "churn")
    assert found["refused"].startswith("The log was compacted")
    assert found["predicted"] == []
    outcome = call("what-if", segments("offsets"), "--group", "manual")
    assert outcome.code == 0
    assert "assigns partitions itself" in outcome.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--group", "same-848", "--json", "--markdown"), "not both"),
        ((), "No group given"),
        (("--group", "missing"), "no group 'missing'"),
        (("--group", "same-848", "--lake", "x"), "Give SEGMENTS or --lake, not both"),
        (("--group", "same-848", "--session-timeout", "soon"), "'soon' is not a duration"),
        (("--group", "same-848", "--deploy", "blue-green"), "Write rolling:30s or at-once"),
        (("--group", "same-848", "--assignor", "sticky"), "no assignor 'sticky'"),
        (("--group", "same-848", "--from", "2030-01-01"), "the log ends at"),
        (
            ("--group", "same-848", "--from", "2026-11-23", "--to", "2026-11-22"),
            "--from must be before --to",
        ),
    ],
)
def test_bad_arguments_are_named(log: Path, arguments: tuple[str, ...], message: str) -> None:
    """Exit code 2 and one sentence."""
    outcome = call("what-if", log, *arguments)
    assert outcome.code == 2
    assert message in " ".join(outcome.err.split())


def test_options_of_a_log_do_not_go_with_a_script(log: Path, tmp_path: Path) -> None:
    """The file has what they say; one that is no script is named."""
    file = tmp_path / "script.json"
    asked(log, *GROUP, "--protocol", "classic", "--write-script", file)
    outcome = call("what-if", "--script", file, "--from", "2026-11-23")
    assert outcome.code == 2
    assert "--from goes with a log" in outcome.err
    file.write_text("{}")
    outcome = call("what-if", "--script", file)
    assert outcome.code == 2
    assert "script.json: its format is not 'rebalance-audit what-if script 1'." in " ".join(
        outcome.err.split()
    )
