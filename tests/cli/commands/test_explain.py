"""`explain`: the words an operator reads, from segments and from a lake."""

import json
from pathlib import Path
from typing import Any

import pytest

from rebalance_audit.local.audit import audit_segments
from rebalance_audit.report.explained import markdown_of
from rebalance_audit.report.explanation import Explanation
from rebalance_audit.report.names import MemberNames
from rebalance_audit.sentences.sentence import Sentence
from tests.cli.call import call, segments
from tests.support.lake_without_spark import write_lake

SLOW = (segments("consumer-protocol"), "slow")
OF_COMMITS = {
    "finding_id": "a",
    "kind": "topic_growth",
    "incarnation": None,
    "detail": "It wrote much.",
    "facts": None,
}
"""Additional findings of a run that decodes offset commits, which do not carry their life of the group."""


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake with the gold tables of one capture, under the cluster name blue."""
    path = tmp_path_factory.mktemp("lake")
    tables = dict(audit_segments(SLOW[0]).tables)
    like = next(row for row in tables["findings"] if row["group_id"] == SLOW[1])
    tables["findings"] = [*tables["findings"], like | OF_COMMITS]
    write_lake(path, tables, "blue")
    return path


def explained(*arguments: str | Path) -> dict[str, Any]:
    """What --json prints, sentences by section."""
    outcome = call("explain", *arguments, "--json")
    assert outcome.code == 0, outcome.err
    found: dict[str, Any] = json.loads(outcome.out)
    found["by_title"] = {part["title"]: part["sentences"] for part in found["sections"]}
    return found


def test_an_epoch_in_words_says_why_how_long_who_and_which_partitions() -> None:
    """A join that waited for a slow revoker: cause with evidence, wait, blocker, partitions without owner."""
    outcome = call("explain", *SLOW, "--epoch", "4")
    text = " ".join(outcome.out.split())
    assert outcome.code == 0
    assert "Epoch 4 of slow began at 2026-11-21 09:25:10.274 UTC." in text
    assert "member joined. Member fast-1 joined. The records admit no other cause." in text
    assert "Evidence: group epoch 4 (1@142, 2026-11-21 09:25:10.274 UTC)." in text
    assert "Every member had reached it 9.0 s later" in text
    assert "fast-1 waited 9.0 s for slow-0 to release partitions." in text
    assert "slow-0 took 10.0 s to give up 2 partitions." in text
    assert "orders 5-7 stood still for 497 ms" in text
    assert "warning: slow revoker." in text


def test_the_group_as_a_whole_has_its_longest_and_its_last_rebalance() -> None:
    """Without --epoch and --at: how often, why mostly, the longest rebalance, and what the log cannot show."""
    sections = explained(segments("classic-static"), "fleet")["by_title"]
    assert sections["How often"][0].startswith("It went through 8 generations in 8 rebalances")
    assert "each took 47.7 s or less, as far as the log shows" in sections["In short"][0]
    assert any("static subscription ignored" in sentence for sentence in sections["Findings"])
    assert any(
        "each leaves one record, at its end" in sentence for sentence in sections["Not known"]
    )


def test_a_moment_has_the_state_and_the_owners_then() -> None:
    """The epoch at that time, the state, and who had which partitions; an uncertain cause has its alternatives."""
    sections = explained(segments("classic-static"), "fleet", "--at", "2026-11-21T09:07:06Z")[
        "by_title"
    ]
    then = sections["At 2026-11-21 09:07:06.000 UTC"]
    assert then[0].startswith("The group was Stable in generation 5, since")
    assert then[0].endswith(
        "or was already rebalancing: the join phase of generation 6 began at 2026-11-21 09:07:12.474 UTC at the latest,"
        " and no record says when."
    )
    assert sum("had orders" in sentence for sentence in then) == 3
    assert (
        "not excluded: member session expired, member left, member removed by admin"
        in sections["Why"][0]
    )
    assert any(
        "The brokers' logs would say (--broker-log)" in sentence
        for sentence in sections["Not known"]
    )
    assert any("so the rebalance took between 4 ms and" in text for text in sections["How long"])


def test_programs_get_the_rows_behind_the_sentences() -> None:
    """--json has the epoch, its causes and each member's progress towards it, with the columns of the contract."""
    found = explained(*SLOW, "--epoch", "4")
    assert found["epoch"]["epoch"] == 4
    assert found["epoch"]["started_at"] == "2026-11-21T09:25:10.274Z"
    assert [row["cause"] for row in found["causes"]] == ["member_joined"]
    assert len(found["convergence"]) == 3
    assert found["rebalance"]["first_epoch"] == 3


@pytest.mark.parametrize(
    "question", [(), ("--epoch", "4"), ("--at", "2026-11-21T09:25:12Z")], ids=" ".join
)
def test_a_lake_answers_as_the_segments_do(lake: Path, question: tuple[str, ...]) -> None:
    """The same sentences, whether the rows come from this process or from Delta tables."""
    here = explained(*SLOW, *question, "--cluster", "blue")
    there = explained("--lake", lake, "--cluster", "blue", SLOW[1], *question)
    for found in (here, there):
        found["by_title"].pop("Findings", None)
    assert there["by_title"] == here["by_title"]


@pytest.mark.parametrize("question", [(), ("--epoch", "4")], ids=" ".join)
def test_what_offset_commits_show_is_explained_too(lake: Path, question: tuple[str, ...]) -> None:
    """A finding without a life of the group belongs to the epoch that it overlaps."""
    sentences = explained("--lake", lake, "--cluster", "blue", SLOW[1], *question)["by_title"][
        "Findings"
    ]
    assert any("It wrote much." in sentence for sentence in sentences)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ((SLOW[0], "slo"), 2, "did you mean 'slow'"),
        ((*SLOW, "--epoch", "99"), 2, "no epoch 99; this group has 3, from 2 to 4"),
        ((*SLOW, "--epoch", "2", "--incarnation", "9"), 2, "no incarnation 9; the last of this"),
        ((*SLOW, "--incarnation", "0"), 2, "--incarnation goes with --epoch"),
        ((*SLOW, "--epoch", "2", "--at", "2026-11-21"), 2, "Give --epoch or --at"),
        ((*SLOW, "--at", "2020-01-01"), 2, "first epoch of this group began at 2026-11-21"),
        ((*SLOW, "extra"), 2, "unexpected extra argument (extra)"),
        (("slow",), 2, "No source given"),
        (("/nowhere", "slow"), 3, "/nowhere"),
        (("--lake", "/nowhere", "slow"), 3, "/nowhere"),
    ],
    ids=[
        "near name",
        "no epoch",
        "no incarnation",
        "an incarnation without an epoch",
        "two questions",
        "too early",
        "too much",
        "no log",
        "bad log",
        "bad lake",
    ],
)
def test_what_cannot_be_answered_is_one_sentence(
    arguments: tuple[str | Path, ...], code: int, said: str
) -> None:
    """Bad arguments exit with 2, an unreadable log or lake with 3."""
    outcome = call("explain", *arguments)
    assert (outcome.code, outcome.out) == (code, "")
    assert said in outcome.err


@pytest.mark.parametrize(
    ("cluster", "group_id", "code", "said"),
    [("blue", "nix", 2, "'slow'"), ("bleu", "slow", 3, "no run of cluster bleu; it has blue.")],
)
def test_a_group_or_cluster_that_the_lake_does_not_have(
    cluster: str, group_id: str, code: int, said: str, lake: Path
) -> None:
    """The error names those that exist."""
    outcome = call("explain", "--lake", lake, "--cluster", cluster, group_id)
    assert outcome.code == code
    assert said in outcome.err


def test_markdown_for_a_ticket() -> None:
    """The sentences of the terminal under headings; what looks like markup in a name stays text."""
    markdown = call("explain", *SLOW, "--markdown").out
    lines = markdown.splitlines()
    assert lines[0].startswith("**slow is ")
    assert "### How often" in lines
    plain = " ".join(call("explain", *SLOW).out.split())
    for line in lines:
        if line.startswith("- "):
            assert " ".join(line[2:].replace("\\", "").split()) in plain
    assert call("explain", *SLOW, "--markdown", "--json").code == 2


def test_names_are_no_markup() -> None:
    """Markdown leaves them as they are."""
    explanation = Explanation(Sentence.plain("a*b* is Stable."), [], {})
    assert markdown_of(explanation, "a*b*", MemberNames([])) == "**a\\*b\\* is Stable.**\n"
