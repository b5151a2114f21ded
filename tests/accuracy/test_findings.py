"""The findings against scripts: some of them played, and that what is wrong is counted as such."""

from typing import Any

import pytest

from rebalance_audit.sim.options import Protocol
from workshop.accuracy.churn import churn
from workshop.accuracy.findings import (
    COUNTED,
    KINDS,
    RECORDS,
    WITH_BROKER_LOG,
    false_alarms,
    judge,
    sections,
    tally_of_script,
)
from workshop.accuracy.script import CHURN, SCRIPTED, Script
from workshop.accuracy.scripts import SCRIPTS
from workshop.accuracy.stage import BYSTANDER, SUBJECT
from workshop.accuracy.tally import Tally, merged

pytestmark = pytest.mark.swarm

QUICK = (
    "8 minutes to give up partitions",
    "an assignor that forgets a partition",
    "cooperative members that take 70 s to give up partitions",
    "a static member back with another topic",
    "a process that exceeds max.poll.interval.ms every 6 minutes for two hours",
    "twelve members that subscribe to one more topic in turn",
    "an instance id contested every 90 s for two hours",
    "an instance id asked for in vain",
    "a process that stops working for 30 minutes until it leaves",
    "nothing more to consume, librdkafka, auto commits",
    "a rolling restart of six",
    "half of six members move to the consumer protocol",
    "a broker that dies, and one of six processes restarts",
)
WRONG = ("missed", *(what for what in COUNTED.values() if what != "beside"))
"""What must not be counted."""


def test_every_kind_has_a_script() -> None:
    """All kinds that a log can show, each in a log of its own, and as many logs that show none."""
    assert {kind for script in SCRIPTS for kind in script.expected} == set(KINDS)
    assert sum(not script.expected for script in SCRIPTS) >= 20
    assert len({script.name for script in SCRIPTS}) == len(SCRIPTS)


@pytest.mark.parametrize("name", QUICK)
def test_what_a_script_does_is_found_and_nothing_else(name: str) -> None:
    """In the group that it is done to, with its end and its culprit."""
    (script,) = [script for script in SCRIPTS if script.name == name]
    tally = tally_of_script(script, script.protocols[0], 1)
    assert {kind: tally.examples[kind] for kind in tally.examples} == {}
    where = f"{SCRIPTED}, {WITH_BROKER_LOG}"
    assert all(tally.get("finding", where, kind, "found") for kind in script.expected)


def test_random_churn_is_no_single_deed() -> None:
    """No deploy, no change of topics, no move."""
    tally = merged(
        tally_of_script(churn(seed), churn(seed).protocols[0], seed) for seed in (49, 73)
    )
    assert tally.get("finding scripts", f"{CHURN}, {RECORDS}") == 2
    assert false_alarms(tally) == 0, tally.examples


def row(kind: str, group_id: str = SUBJECT, **columns: Any) -> dict[str, Any]:
    """A row of gold.findings."""
    base = {"kind": kind, "group_id": group_id, "member_ids": ["M"], "to_at": 5, "detail": "…"}
    return base | columns


@pytest.mark.parametrize(
    ("rows", "kind", "what"),
    [
        ([], "slow_sync", "missed"),
        ([row("slow_sync")], "slow_sync", "found"),
        ([row("slow_sync"), row("slow_sync")], "slow_sync", "split"),
        ([row("slow_sync", to_at=None)], "slow_sync", "end wrong"),
        ([row("slow_sync", member_ids=["N"])], "slow_sync", "other culprit"),
        ([row("slow_sync"), row("log_gap")], "log_gap", "false alarm"),
        ([row("slow_sync"), row("slow_sync", BYSTANDER)], "slow_sync", "false alarm"),
        ([row("slow_sync"), row("two_owners")], "two_owners", "beside"),
    ],
)
def test_what_is_wrong_is_counted(rows: list[dict[str, Any]], kind: str, what: str) -> None:
    """Against a script whose deed is one slow sync, by the process C."""
    script = Script("x", expected=frozenset({"slow_sync"}), also=frozenset({"two_owners"}))
    members = [{"member_id": "M", "client_id": "C"}, {"member_id": "N", "client_id": "D"}]
    tally = Tally()
    judge(tally, RECORDS, script, {"findings": rows, "members": members}, "C", "about")
    where = f"{SCRIPTED}, {RECORDS}"
    assert tally.get("finding", where, kind, what) == 1
    wrong = {each for each in WRONG for kind in KINDS if tally.get("finding", where, kind, each)}
    assert wrong == ({what} if what in WRONG else set())


def test_the_page_has_rows_for_exceptions_alone() -> None:
    """Scripts in one table, churn in another; neither where none was played, and no row of a kind without exception."""
    (script,) = [script for script in SCRIPTS if script.name == "one restart"]
    tally = tally_of_script(script, Protocol.CONSUMER, 0)
    (scripted, _), none = sections(tally), sections(Tally())
    title, explanation, table = scripted
    assert (title, none) == ("Findings", ())
    assert explanation.startswith("1 scripted simulations")
    assert table[1:] == []
