"""The page's section on what would have been: numbers and sentences of `what-if --json`, hostile files."""

import json
from pathlib import Path
from typing import Any

import pytest

from rebalance_audit.cli import exit_codes
from rebalance_audit.report.html.what_if import what_if_section
from tests.cli.call import call, segments
from tests.cli.page import Page

HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(1)>\u202e"


def outcome(number: int) -> dict[str, Any]:
    """Ranges around a number."""
    spread = {"median": number, "low": number - 1, "high": number + 1}
    names = ("rebalances", "partitions_moved", "unowned_ms", "longest_stop_ms")
    return {**dict.fromkeys(names, spread), "records_delayed": None}


def answer(group_id: str = "mover", **changes: Any) -> dict[str, Any]:
    """As `what-if --json` prints it."""
    prediction = {"label": "static members", "because": ["It is calmer."], "costs": ["A name."]}
    settings = {"protocol": "classic", "assignor": "range", "static": False}
    return {
        "group_id": group_id,
        "refused": None,
        "from": "2026-11-21T09:10:20.912Z",
        "to": "2026-11-21T09:12:16.510Z",
        "settings": {**settings, "session_timeout_ms": 6_000, "members": 10},
        "seeds": 5,
        "facts": {"sentences": ["Its assignor is range."]},
        "as_logged": {
            "rebalances": 15,
            "partitions_moved": 103,
            "unowned_ms": {"low": 8_000, "high": 90_000},
            "records_delayed": {"estimate": 41, "low": None, "high": None},
        },
        "control": outcome(16),
        "predicted": [{**prediction, **outcome(7)}],
        "assumptions": ["Clients behave."],
        **changes,
    }


def page_with(tmp_path: Path, *answers: Any) -> str:
    """The page of a real log with these answers."""
    files = [tmp_path / f"{number}.json" for number in range(len(answers))]
    for file, each in zip(files, answers, strict=True):
        file.write_text(json.dumps(each), encoding="utf-8")
    flags = [flag for file in files for flag in ("--what-if", file)]
    out = tmp_path / "report.html"
    done = call("report", segments("migration"), "--out", out, *flags)
    assert done.code == 0, done.err
    return Page(out).source


def test_the_page_shows_the_variants_beside_log_and_control(tmp_path: Path) -> None:
    """Medians with their ranges, what they come from and cost, and what is taken for granted."""
    html = page_with(tmp_path, answer()).replace("\N{NO-BREAK SPACE}", " ")
    for words in (
        "as logged",
        "control: simulated as it was",
        "Static members",
        '<span class="bounds">15 – 17</span>',
        "8.0 s – 1 min 30 s",
        "<li>It is calmer.</li><li>Cost: A name.</li>",
        "<li>Its assignor is range.</li>",
        "<li>Clients behave.</li>",
        '<a href="#group=mover">mover</a>',
    ):
        assert words in html, words
    assert 'id="what-if"' not in page_with(tmp_path)


def test_what_the_command_prints_is_what_the_page_takes(tmp_path: Path) -> None:
    """An answer, and a refusal, whose sentence is all that there is."""
    log = segments("migration")
    made = [
        json.loads(call("what-if", source, "--group", group, "--seeds", "2", "--json").out)
        for source, group in ((log, "mover"), (segments("compacted"), "churn"))
    ]
    html = page_with(tmp_path, *made)
    assert "The log was compacted" in html
    assert made[1]["control"] is None
    assert what_if_section(made[1], ())["rows"] == []
    assert len(what_if_section(made[0], ())["rows"]) == 2 + len(made[0]["predicted"])


def test_names_are_text(tmp_path: Path) -> None:
    """Whoever wrote the file, nothing in it becomes part of the page."""
    prediction = {"label": HOSTILE, "because": [HOSTILE], "costs": [HOSTILE], **outcome(7)}
    hostile = answer(HOSTILE, predicted=[prediction], assumptions=[HOSTILE], refused=HOSTILE)
    hostile["settings"]["assignor"] = HOSTILE
    html = page_with(tmp_path, hostile)
    assert "<script>alert" not in html
    assert "<img src=x" not in html
    assert "\u202e" not in html


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "is not JSON"),
        ("[]", "is not what `what-if --json` prints"),
        ("{}", "'group_id' is missing"),
        (json.dumps(answer(7)), "7 is not a text"),  # type: ignore[arg-type]
        (json.dumps(answer(control={**outcome(1), "rebalances": "many"})), "is not what"),
        (json.dumps(answer(control={**outcome(1), "rebalances": {"low": -1}})), "is not what"),
        (json.dumps(answer(predicted=None)), "is not what"),
        (" " * (1 << 20) + "{}", "is larger than an answer"),
    ],
)
def test_what_is_no_answer_is_refused(tmp_path: Path, text: str, words: str) -> None:
    """In one sentence that names the file."""
    file = tmp_path / "answer.json"
    file.write_text(text)
    done = call("report", segments("migration"), "--out", tmp_path / "r.html", "--what-if", file)
    assert done.code == exit_codes.BAD_ARGUMENTS
    assert "answer.json" in done.err
    assert words in done.err
    assert not (tmp_path / "r.html").exists()


def test_an_answer_of_any_length_keeps_the_page_small() -> None:
    """Further predictions and sentences are left out."""
    many = [{"label": "x", "because": ["y"] * 1_000, "costs": [], **outcome(1)}] * 1_000
    section = what_if_section(answer(predicted=many), ())
    assert len(section["rows"]) == 22
    assert sum(len(sentences) for _, sentences in section["lists"]) <= 2 + 20 * 40
