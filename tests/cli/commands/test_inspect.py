import contextlib
import json
import os
import pty
import re
import shutil
import subprocess
import sys
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from rebalance_audit.cli import main
from rebalance_audit.local import byte_ranges as ranges
from rebalance_audit.tables.schemas import table_schemas
from tests.cli.call import CAPTURES, call, segments

ALL = sorted(path.name for path in CAPTURES.iterdir())
GOLD_OF_SEGMENTS = {
    "group_hours",
    "epochs",
    "rebalance_causes",
    "convergence",
    "rebalances",
    "members",
    "ownership",
    "group_states",
    "findings",
    "topics",
}
ISO_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
COLOUR = "\x1b["


def tables(*arguments: str | Path) -> dict[str, list[dict[str, Any]]]:
    """What --json prints."""
    outcome = call("inspect", *arguments, "--json")
    assert outcome.code == 0, outcome.err
    found: dict[str, list[dict[str, Any]]] = json.loads(outcome.out)
    return found


@cache
def groups_of(source: Path) -> list[str]:
    """Groups that have an epoch."""
    return sorted({row["group_id"] for row in tables(source)["epochs"]})


# --- for programs --------------------------------------------------------------------------------


@pytest.mark.parametrize("capture", ALL)
def test_json_has_every_column_of_every_gold_table(capture: str) -> None:
    """Columns are those of the table contract, in its order; times are ISO 8601 in UTC with milliseconds."""
    found = tables(segments(capture), "--cluster", "blue")
    assert set(found) == GOLD_OF_SEGMENTS
    assert found["epochs"]
    for name, rows in found.items():
        columns = table_schemas()[f"gold.{name}"].columns
        for row in rows:
            assert list(row) == [column.name for column in columns]
            assert row["cluster"] == "blue"
            for column in columns:
                value = row[column.name]
                assert value is not None or column.nullable, (name, column.name, row)
                if column.type == "timestamp" and value is not None:
                    assert ISO_TIME.fullmatch(value)
    for cause in found["rebalance_causes"]:
        assert all(ISO_TIME.fullmatch(fact["at"]) for fact in cause["evidence"])


@pytest.mark.parametrize("capture", ["consumer-protocol", "classic-cooperative", "classic-static"])
def test_every_epoch_is_there_at_the_brokers_own_time(capture: str) -> None:
    """Each epoch and generation that the broker logged has its row, within 50 ms."""
    started = {
        (row["group_id"], row["epoch"]): row["started_at"]
        for row in reversed(tables(segments(capture))["epochs"])
    }
    truth: dict[tuple[str, int], int] = {}
    for row in map(json.loads, (CAPTURES / capture / "truth.jsonl").read_text().splitlines()):
        if row["epoch"] is not None:
            truth.setdefault((row["group"], row["epoch"]), row.get("stabilized_ms") or row["t_ms"])
    assert len(truth) > 8
    assert set(truth) <= set(started)
    for epoch, theirs in truth.items():
        assert abs(to_ms(started[epoch]) - theirs) <= 50


def to_ms(iso: str) -> int:
    """Epoch milliseconds of our own ISO form."""
    return round(datetime.fromisoformat(iso).timestamp() * 1000)


def test_rows_are_in_the_order_of_the_tables_key() -> None:
    """The same log gives the same text, in whatever order groups ended; the latest life comes first."""
    found = tables(segments("migration"))
    for name, rows in found.items():
        key = table_schemas()[f"gold.{name}"].key
        keys = [
            [
                (row[column] is not None, -row[column] if column == "incarnation" else row[column])
                for column in key
            ]
            for row in rows
        ]
        assert keys == sorted(keys)
    assert tables(segments("migration")) == found


def test_many_workers_find_what_one_finds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reading byte ranges in several processes changes nothing."""
    alone = call("inspect", segments("migration"), "--json")
    monkeypatch.setattr(ranges, "PARALLEL_FROM_BYTES", 0)
    monkeypatch.setattr(ranges, "RANGE_BYTES", 1000)
    assert call("inspect", segments("migration"), "--json") == alone


def test_group_leaves_the_rows_of_that_group() -> None:
    """The answer for one group is its part of the full answer."""
    everything = tables(segments("migration"))
    one = tables(segments("migration"), "--group", "mover")
    for name in GOLD_OF_SEGMENTS - {"topics"}:
        assert one[name] == [row for row in everything[name] if row["group_id"] == "mover"]


def test_the_version_is_printed_where_it_is_asked_for() -> None:
    """Before the tables, so that a reader of a stream knows it first; without the flag there are tables alone."""
    plain, versioned = (
        call("inspect", segments("migration"), "--json", *flag).out
        for flag in ((), ("--versioned",))
    )
    assert versioned.startswith('{"schema_version":1,\n')
    assert json.loads(versioned) == {"schema_version": 1, **json.loads(plain)}


def test_a_table_that_is_not_there_names_the_one_that_was_meant() -> None:
    """Or all that there are."""
    for name, sentence in (("epoch", "did you mean 'epochs'?"), ("x", "there are epochs, ")):
        outcome = call("inspect", segments("migration"), "--json", "--table", name)
        assert outcome.code == 2
        assert f"There is no table '{name}'; {sentence}" in outcome.err


def test_topics_say_where_their_name_is_from() -> None:
    """With the metadata log next to it, every id of an assignment has its name."""
    found = tables(segments("consumer-protocol"))
    assert {row["source"] for row in found["topics"]} == {"cluster_metadata"}
    named = {row["topic_id"]: row["topic"] for row in found["topics"]}
    assert all(row["topic"] == named[row["topic_id"]] for row in found["ownership"])


def test_names_come_from_offset_commits_where_there_is_no_metadata_log(tmp_path: Path) -> None:
    """A copy of the offsets topic alone still names the topics whose ids are in commits."""
    for folder in segments("consumer-protocol").glob("__consumer_offsets-*"):
        shutil.copytree(folder, tmp_path / folder.name)
    found = tables(tmp_path)
    assert {row["source"] for row in found["topics"]} <= {"offset_commit", "partition_metadata"}
    assert {row["topic"] for row in found["ownership"]} >= {"orders", "payments"}


# --- for people ----------------------------------------------------------------------------------


def test_the_overview_fits_on_a_screen_and_says_why() -> None:
    """What a person sees first: what was read, the group, its rebalances with cause and certainty."""
    text = call("inspect", segments("failover")).out
    assert "139 records, 81 of them offset commits, in 1 partition" in text
    assert "times in UTC" in text
    assert re.search(r"● (static )?member joined: \S+", text)
    assert "● proven  ◐ probable  ○ possible" in text
    assert len(text.splitlines()) < 56


def test_a_group_in_detail_has_causes_evidence_convergence_and_gaps() -> None:
    """The answer first; --epochs adds the story from the newest epoch back to the first."""
    text = call("inspect", segments("consumer-protocol"), "--group", "stuck", "--epochs").out
    assert "stuck: a consumer group, Stable with 2 members at the end. Last epoch 5" in text
    why = "Member stuck-0 kept partitions that it had to revoke for its whole rebalance timeout, 6.0 s."
    assert f"member rebalance timeout, probable: {why}" in text
    assert "not excluded: member session expired, member left, member removed by admin" in text
    assert re.search(r"0@203 +09:25:16\.421 +member stuck-0 is gone", text)
    assert re.search(r"stuck-0 +09:25:25\.652 +1\.1 s +– +free-0, 1\.1 s +0 → 4", text)
    assert re.search(r"09:25:25\.652 +787 ms +orders 5-8 +free-0 +stuck-0", text)
    assert "_f99JxbjQ4WkFKMWrGQGwQ" in text.partition("Members")[2]


def test_epochs_are_shown_on_demand_the_newest_first() -> None:
    """Without --epochs the answer alone, in both commands; --all has them too."""
    log = segments("consumer-protocol")
    short = call("inspect", log, "--group", "stuck").out
    assert "stuck-0 at 127.0.0.1 held it up" in short
    assert "\nEpoch " not in short
    for option in ("--epochs", "--all"):
        shown = re.findall(
            r"^Epoch (\d+)", call("inspect", log, "--group", "stuck", option).out, re.MULTILINE
        )
        assert shown == ["5", "4", "3", "2"]
    epochs = call("explain", log, "stuck", "--epochs").out.partition("Every epoch")[2]
    assert re.findall(r"^  Epoch (\d+)", epochs, re.MULTILINE) == ["5", "4", "3", "2"]
    assert call("inspect", log, "--epochs").code == 2
    assert call("explain", log, "stuck", "--epochs", "--epoch", "5").code == 2


def test_a_classic_rebalance_is_given_by_its_bounds() -> None:
    """The log does not show when a classic group began to rebalance: no figure claims that it does."""
    text = call("inspect", segments("classic-static")).out
    assert re.search(r"not stable for \d+ ms – [\d.]+", text)
    assert re.search(r"fleet +1 +1\.0 s \(30 ms – 1\.0 s\) +[●◐○] [a-z ]+: pod-0", text)


@pytest.mark.usefixtures("shared_audits")
@pytest.mark.parametrize("capture", ["migration", "share-streams", "oddities"])
def test_no_line_is_wider_than_the_screen(capture: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables and sentences wrap at the width of the terminal; nothing in them is cut off."""
    source = segments(capture)
    for flags in ([], *(["--group", group_id] for group_id in groups_of(source))):
        for width in (80, 120, 200):
            monkeypatch.setenv("COLUMNS", str(width))
            text = call("inspect", source, "--all", *flags).out
            assert max(map(len, text.splitlines()[1:])) <= width
            assert "…" not in re.sub(r" …|named \S+…|\w-\d\s*…\w+", "", text)


def test_long_tables_are_cut_with_a_word_and_all_shows_them() -> None:
    """Twenty rows are shown; the heading gives the total, --all prints the rest."""
    short, full = (
        call("inspect", segments("consumer-protocol"), *flags).out for flags in ([], ["--all"])
    )
    assert "Rebalances: the 20 longest of 32" in short
    assert "longest of" not in full
    assert len(full.splitlines()) - len(short.splitlines()) >= 12


@pytest.mark.parametrize(
    ("environment", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)]
)
def test_colour_is_for_terminals_that_want_it(
    environment: dict[str, str], coloured: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On a terminal there is colour, unless NO_COLOR or the terminal itself rules it out."""
    main_end, other_end = pty.openpty()
    monkeypatch.delenv("NO_COLOR", raising=False)
    for name, value in {"TERM": "xterm", **environment}.items():
        monkeypatch.setenv(name, value)
    with os.fdopen(other_end, "w") as terminal, contextlib.redirect_stdout(terminal):
        assert main.run(["inspect", str(segments("failover"))]) == 0
    text = b""
    while True:
        try:
            read = os.read(main_end, 1 << 16)
        except OSError:
            break
        if not read:
            break
        text += read
    os.close(main_end)
    assert (COLOUR in text.decode()) is coloured


def test_pipes_get_plain_text() -> None:
    """No escape codes and no trailing blanks where the output is no terminal."""
    text = call("inspect", segments("failover")).out
    assert COLOUR not in text
    assert not [line for line in text.splitlines() if line != line.rstrip()]


def test_an_output_that_knows_ascii_only_gets_ascii() -> None:
    """Where standard output has an ASCII encoding the marks and lines are ASCII too."""
    done = call("inspect", segments("classic-static"), encoding="ascii")
    assert done.code == 0, done.err
    assert done.out.isascii()
    assert "! proven  ~ probable  ? possible  - bounds: no record" in done.out


# --- damaged logs --------------------------------------------------------------------------------


def damaged(tmp_path: Path, capture: str, position: int) -> Path:
    """A copy of the capture with one bit of its first partition's first segment flipped."""
    shutil.copytree(segments(capture), tmp_path, dirs_exist_ok=True)
    victim = min(tmp_path.glob("__consumer_offsets-*/*.log"))
    data = bytearray(victim.read_bytes())
    data[position] ^= 0x10
    victim.chmod(0o644)
    victim.write_bytes(data)
    return tmp_path


def test_damage_is_named_and_makes_what_follows_incomplete(tmp_path: Path) -> None:
    """An unreadable batch is reported with file and position, and no epoch directly after it is called proven."""
    folder = damaged(tmp_path, "consumer-static", 70)
    text = " ".join(call("inspect", folder).out.split())
    assert "What to know about this log" in text
    assert re.search(r"- The batch at byte 0 of \S+0\.log with base offset 0 has a wrong", text)
    found = tables(folder)
    first = min(found["epochs"], key=lambda row: row["first_offset"])
    assert first["completeness"] == "gap"
    assert first["primary_certainty"] != "proven"


# --- quick and light -----------------------------------------------------------------------------


def test_inspect_loads_no_spark_and_no_data_frames() -> None:
    """The quick look starts without the libraries that the lake needs."""
    heavy = "pyspark|py4j|pandas|pyarrow|delta|deltalake|duckdb|pydantic"
    script = (
        "import re, sys; from rebalance_audit.cli.main import run; "
        "codes = [run([command, sys.argv[1]]) for command in ('inspect', 'state', 'decode')]; "
        f"print(codes, [m for m in sys.modules if re.fullmatch('({heavy})', m)], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(segments("failover"))],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr.strip() == "[0, 0, 0] []"
