"""Reasons: every code has a sentence, every sentence is used, and ids in it are slots."""

import ast
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from rebalance_audit.audit.findings.kinds import KINDS
from rebalance_audit.audit.findings.of_broker_logs import TROUBLES
from rebalance_audit.audit.group.time_account import HeldUpWhy
from rebalance_audit.audit.verdicts.cause import Evidence, RebalanceCause, stated
from rebalance_audit.report.names import MemberNames
from rebalance_audit.report.row_sentences import detail_of
from rebalance_audit.sentences.of_advice import OF_ADVICE
from rebalance_audit.sentences.of_departures import ENDS, OF_DEPARTURES
from rebalance_audit.sentences.of_evidence import LOGGED
from rebalance_audit.sentences.reason import CodedReason, because
from rebalance_audit.sentences.render import TEMPLATES, reason_text, slots_of
from tests.support.modules import PACKAGE, tree_of

MAKERS = {"because": 0, "evidence_at": 1}
"""Function -> place of the code among its arguments."""
BY_RULE = {
    LOGGED,
    *OF_DEPARTURES,
    *(f"advice.{kind.kind}" for kind in KINDS),
    *(f"trouble.{kind.value}" for kind in TROUBLES),
    *(f"silent_until_{how}" for how in ("gone", "deleted", "taken_over", "resumed")),
    *(code for code in OF_ADVICE if code.rpartition(".")[2] in {why.value for why in HeldUpWhy}),
}
"""Codes that the audit and the report put together."""


@cache
def sources() -> list[Any]:
    """All nodes of the code that gives reasons; the templates are text, whose codes are no nodes."""
    return [node for path in sorted(PACKAGE.rglob("*.py")) for node in ast.walk(tree_of(path))]


def given() -> Iterator[tuple[str, frozenset[str]]]:
    """Codes and the names of their facts, of all calls that spell both out."""
    for node in sources():
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            continue
        place = MAKERS.get(node.func.id)
        if place is None or len(node.args) <= place:
            continue
        code = node.args[place]
        names = [keyword.arg for keyword in node.keywords]
        if isinstance(code, ast.Constant) and None not in names:
            yield str(code.value), frozenset(name for name in names if name)


def test_every_reason_has_the_facts_that_its_sentence_needs() -> None:
    """A missing one would end an audit when the row is written."""
    found = list(given())
    assert len(found) > 100
    assert [(code, names) for code, names in found if set(slots_of(code)) != names] == []


def test_every_sentence_is_used() -> None:
    """What nothing says is deleted."""
    named = {node.value for node in sources() if isinstance(node, ast.Constant)}
    assert TEMPLATES.keys() - named - BY_RULE == set()
    assert TEMPLATES.keys() >= BY_RULE
    assert {RebalanceCause(cause) for cause in ENDS}


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        (because("group_began", members=1), "The group started with 1 member."),
        (because("group_began", members=10_000), "The group started with 10,000 members."),
        (because("new_topics", topics=["a"]), "subscribe to: a."),
        (because("new_topics", topics=list("abcde")), "subscribe to: a, b, c and 2 more."),
        (because("storm", epochs=2, took=110_100, causes=[("member_joined", 12)]), "1 min 50 s"),
        (because("storm", epochs=2, took=9, causes=[("member_joined", 12)]), "member joined 12×."),
        (because("dead_group", ms=604_800_000), "for at least 7 d."),
        (because("blocked_by_topic", member="m", topics=["t"], timeout=20_000), "of 20.0 s;"),
        (because("leader_rejoined", member="m", why=None), "The leader m rejoined."),
        (because("leader_rejoined", member="m", why="{x}"), "The leader m rejoined ({x})."),
        (
            because(
                "undecided", member="m", ends=[("member_left", 70), ("member_session_expired", 30)]
            ),
            "it left (70 %) or its session expired (30 %).",
        ),
        (
            because("partitions_unassigned", topic="t", lasted=None, gaps=[(0, 2**31 - 2)]),
            "t 0, 1, 2, 3, 4, 5, 6, 7 and 2147483639 more.",
        ),
        (
            because("worker_runs", member="w", tasks=[("sink", (-1, 0, 1, 2)), ("x", (4,))]),
            "w runs the connector and tasks 0 to 2 of sink, task 4 of x",
        ),
        (
            because("flapping", client=because("instance", instance="i"), times=3, took=1),
            "Instance i left",
        ),
    ],
)
def test_facts_are_written_by_their_types(reason: CodedReason, text: str) -> None:
    """One format of durations and of counts, with plurals that agree."""
    assert text in reason_text(reason)


ID = "app-5c1d8a37-58b1-4c54-8a1e-0d7f4a0d9c11"
NAMES = MemberNames(
    [
        {"group_id": "g", "member_id": ID, "client_id": "web", "instance_id": None},
        {"group_id": "g", "member_id": "The", "client_id": "evil", "instance_id": None},
    ]
)


@pytest.mark.parametrize(
    ("lost", "shown"),
    [((), "Member web joined."), (("facts",), f"Member {ID} joined.")],
)
def test_people_read_names_where_a_row_has_its_facts(lost: tuple[str, ...], shown: str) -> None:
    """Tables of earlier releases have only the text; nothing in it is searched for ids."""
    row = stated([because("member_joined", member=ID)], [])
    assert (row["reason"], row["detail"]) == ("member_joined", f"Member {ID} joined.")
    row = {name: value for name, value in row.items() if name not in lost}
    assert NAMES.in_sentence("g", detail_of(row)) == shown


@pytest.mark.parametrize(
    "facts",
    ['{"detail":[["no_such_code",{}]]}', '{"detail":[["member_joined",{}]]}', "{", "3", "[]"],
)
def test_facts_that_cannot_be_read_leave_the_stored_text(facts: str) -> None:
    """A later release may have other codes, and a table may be damaged."""
    row = {**stated([because("member_joined", member="m")], []), "facts": facts}
    assert detail_of(row) == "Member m joined."


def test_evidence_of_a_row_is_text() -> None:
    """Rows hold whole ids, for programs."""
    item = Evidence(2, 7, 1_000, because("last_commit", member=ID, partition="orders-3"))
    row = stated([because("last_member_gone")], [item])
    fact = f"last commit of {ID}, for orders-3"
    assert row["evidence"] == [{"partition": 2, "offset": 7, "at": 1_000, "fact": fact}]
