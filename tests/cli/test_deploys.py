"""`--deploys`: a rolling restart of a real capture, whose timeline says which rebalances it began."""

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from rebalance_audit.local.audit import audit_segments
from rebalance_audit.local.given_files import read_deploys
from tests.cli.call import call, segments
from tests.support.lake_without_spark import write_lake
from tests.whatif.paired import unpacked
from tests.workshop.test_json_schemas import checked

GOLDEN = Path(__file__).parents[1] / "golden" / "deploys"
ROLLS = GOLDEN / "rolls.csv"
DYNAMIC = ("same-848", "same-coop", "same-eager")


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The segments of a capture with three rolling restarts of five groups."""
    path = tmp_path_factory.mktemp("paired") / "segments"
    with unpacked("paired-roll-a2") as folder:
        (folder / "segments").rename(path)
    return path


def tables(*arguments: str | Path) -> dict[str, list[dict[str, Any]]]:
    """What `inspect --json` prints."""
    outcome = call("inspect", *arguments, "--json")
    assert outcome.code == 0, outcome.err
    found: dict[str, list[dict[str, Any]]] = json.loads(outcome.out)
    checked("inspect", found)
    return found


def moment(text: str) -> datetime:
    """A time of JSON."""
    return datetime.fromisoformat(text)


def test_every_rebalance_of_a_rolling_restart_belongs_to_it(log: Path) -> None:
    """Nothing but the restarts happened to these groups, so the time alone says which one began what."""
    found = tables(log, "--deploys", ROLLS)
    starts = {deploy.name: deploy.started_ms for deploy in read_deploys([ROLLS]).deploys}
    matched = expected = 0
    for group in DYNAMIC:
        rows = [row for row in found["deploys"] if row["group_id"] == group]
        tied = {
            seq: row["workload"] + "@" + row["revision"]
            for row in rows
            if row["certainty"] == "likely"
            for seq in row["rebalance_seqs"]
        }
        for row in found["rebalances"]:
            if row["group_id"] != group:
                continue
            at_ms = moment(row["ended_at"]).timestamp() * 1000
            before = [
                name for name, ms in starts.items() if ms <= at_ms and name.startswith(f"{group}@")
            ]
            truth = max(before, key=starts.__getitem__, default=None)
            expected += truth is not None
            matched += truth is not None and tied.get(row["rebalance_seq"]) == truth
            assert tied.get(row["rebalance_seq"]) in (None, truth)
    # A follow-up of a cooperative rebalance, which no member began, is the one that is missing.
    assert (matched, expected) == (68, 69)


def test_nothing_is_proven_by_client_ids_that_may_be_numbers(log: Path) -> None:
    """`same-848-0` looks like a pod's name, and may be one of the application's own; all hosts are the same one."""
    assert {row["certainty"] for row in tables(log, "--deploys", ROLLS)["deploys"]} == {"likely"}


def test_static_members_show_the_late_restart_and_not_the_one_in_time() -> None:
    """The restart in time needed no rebalance; one by hand, which the file does not have, is not the rollout's.

    Nothing is proven: instance ids without a random part are used again by the next process.
    """
    fleet = (segments("consumer-static"), "--deploys", GOLDEN / "fleet.csv")
    rows = [row for row in tables(*fleet)["deploys"] if row["certainty"] != "during"]
    assert [(row["deploy_id"], row["certainty"], row["rebalances"]) for row in rows] == [
        ("csv:fleet@late", "likely", 2)
    ]
    assert [(item["change"], item["pod"]) for item in rows[0]["evidence"]] == [
        ("left", "pod-1"),
        ("joined", "pod-1"),
    ]


@pytest.mark.parametrize(
    ("arguments", "sentences"),
    [
        (
            (),
            [
                "Rollout fleet@late likely cost 2 rebalances, 1.2 s in total. It began at 2026-11-21 09:07:12.057",
                "Evidence: pod-1 joined at 2026-11-21 09:07:21.978 UTC; its client id or instance id names pod pod-1",
                "created at 2026-11-21 09:07:21.885 UTC.",
            ],
        ),
        (("--epoch", "7"), ["It likely belongs to rollout fleet@late."]),
    ],
)
def test_explain_says_what_a_rollout_cost(arguments: tuple[str, ...], sentences: list[str]) -> None:
    """The sentence, and the two times that suggest it."""
    fleet: list[str | Path] = [segments("consumer-static"), "fleet", *arguments]
    fleet += ["--deploys", GOLDEN / "fleet.csv"]
    outcome = call("explain", *fleet)
    printed = " ".join(outcome.out.split())
    for sentence in sentences:
        assert sentence in printed
    assert "2 deploys, 2 with pods; began between 2026-11-21 09:06:44.967 UTC and" in outcome.err
    explained = json.loads(call("explain", *fleet, "--json").out)
    checked("explain", explained)
    assert explained["deploys"]


def test_a_group_without_rebalances_then_is_distinguished(log: Path) -> None:
    """Static members that return in time cost nothing: that is an answer, too."""
    printed = call("explain", log, "same-static", "--deploys", ROLLS).out
    assert "No rebalance of this group fits any of the rollouts that were given." in printed
    assert "Deploys" not in call("explain", log, "same-static").out


def test_a_lake_is_matched_when_it_is_read(log: Path, tmp_path: Path) -> None:
    """The same rows as from segments; without files those that a run has stored."""
    audit = audit_segments(log, deploys=[ROLLS])
    bare, stored = tmp_path / "bare", tmp_path / "stored"
    write_lake(
        bare, {name: rows for name, rows in audit.tables.items() if name != "deploys"}, "blue"
    )
    write_lake(stored, audit.tables, "blue")
    of_log = tables(log, "--cluster", "blue", "--deploys", ROLLS)["deploys"]
    cluster = ("--cluster", "blue")
    assert tables("--lake", bare, *cluster, "--deploys", ROLLS)["deploys"] == of_log
    assert tables("--lake", stored, *cluster)["deploys"] == of_log
    assert "deploys" not in tables("--lake", bare, *cluster)
    explained = call("explain", "--lake", bare, *cluster, "same-848", "--deploys", ROLLS).out
    assert "Rollout same-848@1 likely cost 7 rebalances, 12.5 s in total" in " ".join(
        explained.split()
    )


def test_the_page_lists_what_deploys_cost(log: Path, tmp_path: Path) -> None:
    """A row for each rollout, with links to its groups; no section where none were given."""
    page = tmp_path / "page.html"
    assert call("report", log, "--deploys", ROLLS, "--out", page).code == 0
    html = page.read_text(encoding="utf-8")
    assert "What deploys cost" in html
    assert "<strong>same-coop@1</strong>" in html
    assert call("report", log, "--out", page).code == 0
    assert "What deploys cost" not in page.read_text(encoding="utf-8")


def test_names_are_escaped_where_they_are_shown(tmp_path: Path) -> None:
    """Whoever may create a Deployment or write the file chooses names."""
    hostile = "x\x1b[31m<script>alert(1)</script>\u202e" + "y" * 200
    path = tmp_path / "events.csv"
    path.write_text(
        f'name,revision,started_at,ended_at,group\n"{hostile}",1,2026-11-21T09:07:12Z,2026-11-21T09:07:22Z,fleet\n',
        encoding="utf-8",
    )
    where = (segments("consumer-static"), "--deploys", path)
    page = tmp_path / "page.html"
    assert call("report", *where, "--out", page).code == 0
    printed = call("inspect", *where).out + call("explain", where[0], "fleet", *where[1:]).out
    assert "likely cost" in printed
    assert "\x1b" not in printed
    assert "\u202e" not in printed
    assert "<script>alert" not in page.read_text(encoding="utf-8")


@pytest.mark.parametrize("command", ["inspect", "explain", "report"])
def test_a_file_that_is_none_ends_the_command(command: str, tmp_path: Path) -> None:
    """Exit code 3, and the file's name."""
    path = tmp_path / "events.json"
    path.write_text("{", encoding="utf-8")
    rest = {"inspect": (), "explain": ("fleet",), "report": ("--out", tmp_path / "page.html")}
    outcome = call(command, segments("consumer-static"), *rest[command], "--deploys", path)
    assert outcome.code == 3
    assert "events.json is no JSON" in outcome.err
