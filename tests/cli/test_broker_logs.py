"""`--broker-log`: what the brokers' logs settle, and what is reported about their clocks, groups and faults."""

import gzip
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tests.cli.call import call, segments

CAPTURE = segments("consumer-static")
LOG = CAPTURE.parent / "server.log.gz"


def tables(*arguments: str | Path) -> dict[str, list[dict[str, Any]]]:
    """What `inspect --json` prints."""
    outcome = call("inspect", CAPTURE, "--json", *arguments)
    assert outcome.code == 0, outcome.err
    found: dict[str, list[dict[str, Any]]] = json.loads(outcome.out)
    return found


def in_kafkas_layout(hours: int, folder: Path) -> Path:
    """The log with the times of a clock that is `hours` ahead of UTC, without a zone as brokers write them."""
    lines = []
    for line in gzip.decompress(LOG.read_bytes()).decode().splitlines():
        at_ms, rest = line.split(" ", 1)
        moment = datetime.fromtimestamp(int(at_ms) / 1000 + hours * 3600, UTC)
        lines.append(f"[{moment:%Y-%m-%d %H:%M:%S},{int(at_ms) % 1000:03d}] {rest}\n")
    path = folder / "server.log"
    path.write_text("".join(lines), encoding="utf-8")
    return path


def test_departures_are_settled() -> None:
    """Without the log no member's end is known, with it every one is."""
    for arguments, open_ends in (((), True), (("--broker-log", LOG), False)):
        rows = tables(*arguments)["members"]
        gone = [row for row in rows if row["left_how"] not in (None, "static_member_replaced")]
        assert any(row["left_certainty"] != "proven" for row in gone) is open_ends


def test_a_wrong_time_zone_is_noticed_and_a_given_one_heeded(tmp_path: Path) -> None:
    """The rows are the same either way; only a log that was not asked for is worth a note."""
    path = in_kafkas_layout(2, tmp_path)
    expected = tables("--broker-log", LOG)["epochs"]
    for arguments, note in (
        (("--broker-log", path), "2 h ahead of the records"),
        (("--broker-log", path, "--broker-log-time-zone", "+02:00"), ""),
    ):
        assert tables(*arguments)["epochs"] == expected
        printed = " ".join(call("inspect", CAPTURE, *arguments).out.split())
        assert ("2 h ahead of the records" in printed) == bool(note)


def test_groups_that_the_records_do_not_have_are_counted() -> None:
    """The log of other groups says nothing about these, and is reported."""
    other = CAPTURE.parents[1] / "migration" / "server.log.gz"
    printed = " ".join(call("inspect", CAPTURE, "--broker-log", other).out.split())
    assert "about groups that the records do not have: anchored, idle, mover and 1 more." in printed


def test_explain_names_the_line() -> None:
    """The broker's reason is in the sentences, its line in the evidence; a lake has it from `run`."""
    explained = call("explain", CAPTURE, "fleet", "--epoch", "5", "--broker-log", LOG)
    text = " ".join(explained.out.split())
    assert "as the broker logged: the member session expired." in text
    assert "Evidence: broker 1 logged (server.log:" in text
    for flag, value in (("--broker-log", LOG), ("--broker-log-time-zone", "Europe/Berlin")):
        refused = call("explain", "--lake", "somewhere", "fleet", flag, value)
        assert refused.code == 2
        assert f"{flag} goes with SEGMENTS; for a lake give it to `run`" in refused.err


def test_what_is_refused(tmp_path: Path) -> None:
    """Bad arguments are distinguished from unreadable files."""
    (tmp_path / "cut.gz").write_bytes(LOG.read_bytes()[:500])
    (tmp_path / "empty").mkdir()
    for arguments, code, words in (
        (("--broker-log", tmp_path / "gone.log"), 2, "does not exist"),
        (("--broker-log", LOG, "--broker-log-time-zone", "Mars"), 2, "'Mars' is not a time zone"),
        (("--broker-log", tmp_path / "cut.gz"), 3, "cut.gz: cannot be read"),
        (("--broker-log", tmp_path / "empty"), 3, "no file is in this folder"),
    ):
        outcome = call("inspect", CAPTURE, *arguments)
        assert outcome.code == code, outcome
        assert words in " ".join(outcome.err.split())


def test_simulated_brokers_log(tmp_path: Path) -> None:
    """server.log next to the segments is read, unless it is not wanted."""
    flags = ("simulate", "--seed", "3", "--minutes", "1", "--groups", "2", "--out")
    assert call(*flags, tmp_path / "with").code == 0
    assert call(*flags, tmp_path / "without", "--no-broker-log").code == 0
    assert not (tmp_path / "without" / "server.log").exists()
    log = tmp_path / "with" / "server.log"
    assert "[GroupCoordinator id=" in log.read_text(encoding="utf-8")
    assert call("inspect", tmp_path / "with", "--broker-log", log).code == 0
