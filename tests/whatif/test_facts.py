"""The facts that decide a migration: what real logs show, and what they mean in a sentence."""

from dataclasses import replace

import pytest

from rebalance_audit.local.audit import audit_segments
from rebalance_audit.whatif.extraction import script_of
from rebalance_audit.whatif.group_rows import group_rows
from rebalance_audit.whatif.history import fact_sentences
from rebalance_audit.whatif.script import GroupFacts, Script, Settings
from tests.cli.call import segments
from tests.whatif.paired import Paired, paired
from tests.whatif.scripts import CLASSIC, CONSUMER, STATIC, instance, script

EAGER = GroupFacts(("classic",), ("range",), 3, 0, (45_000,), (300_000,), (), (), 1, 4, ())


@pytest.fixture(scope="module")
def churn() -> Paired:
    """Five groups to which the same happened."""
    return paired("paired-churn-a")


@pytest.mark.parametrize(
    ("group_id", "assignors", "is_static", "sessions_ms", "words"),
    [
        ("same-eager", ("range",), False, (6_000,), "an eager one"),
        ("same-coop", ("cooperative-sticky",), False, (6_000,), "only what moves stops already"),
        ("same-static", ("range",), True, (30_000,), "Its instances are static"),
        ("same-848", ("uniform",), False, (), "uses the consumer protocol already"),
        ("same-848-static", ("uniform",), True, (), "Its instances are static"),
    ],
)
def test_facts_are_what_the_clients_had(
    churn: Paired,
    group_id: str,
    assignors: tuple[str, ...],
    is_static: bool,
    sessions_ms: tuple[int, ...],
    words: str,
) -> None:
    """Assignors, membership, timeouts; records of the consumer protocol have no session timeout."""
    of = churn.script(group_id)
    facts = of.facts
    assert facts is not None
    assert facts.assignors == assignors
    assert facts.static_instances == (facts.instances if is_static else 0)
    assert facts.session_timeouts_ms == sessions_ms
    assert facts.restarts > 0
    assert words in " ".join(fact_sentences(of))


def test_a_group_that_went_there_and_back_shows_both_protocols() -> None:
    """And the findings that bear on another attempt."""
    audit = audit_segments(segments("migration"))
    of = script_of(group_rows(audit.tables, "mover", audit.facts.last_ms))
    assert of.facts is not None
    assert set(of.facts.protocols) == {"classic", "consumer"}
    assert "protocol_downgraded" in of.facts.findings
    assert "went back to the classic protocol" in " ".join(fact_sentences(of))


def sentences_of(facts: GroupFacts, settings: Settings = CLASSIC) -> str:
    """The sentences about a group with these facts."""
    return " ".join(fact_sentences(_with(facts, settings)))


def _with(facts: GroupFacts, settings: Settings) -> Script:
    return replace(script(instance("pod-0"), settings=settings), facts=facts)


@pytest.mark.parametrize(
    ("facts", "settings", "words"),
    [
        (EAGER._replace(assignors=("range", "mine")), CLASSIC, "mine, which runs in the clients"),
        (EAGER._replace(static_instances=1), CLASSIC, "1 of 3 instances are static"),
        (EAGER._replace(static_instances=3), STATIC, "a restart within the session costs no"),
        (EAGER, CLASSIC, "within the session timeout of 10.0 s"),
        (EAGER, replace(CLASSIC, session_timeout_ms=3_000), "until it is raised"),
        (EAGER._replace(session_timeouts_ms=(6_000, 30_000)), CLASSIC, "timeouts (6.0 s, 30.0 s)"),
        (EAGER._replace(session_timeouts_ms=(6_000,)), CLASSIC, "brokers use 45.0 s"),
        (EAGER._replace(rebalance_timeouts_ms=(1, 2)), CLASSIC, "different rebalance timeouts"),
        (EAGER._replace(subscriptions=2), CLASSIC, "2 different subscriptions"),
        (EAGER._replace(findings=("half_finished_migration",)), CLASSIC, "half done"),
        (EAGER, CLASSIC, "do not show patterns, libraries"),
        (EAGER._replace(regexes=("a.*",)), CONSUMER, "1 regular expression"),
        (EAGER._replace(server_assignors=("mine",)), CONSUMER, "only where it is installed"),
    ],
)
def test_each_fact_has_a_sentence(facts: GroupFacts, settings: Settings, words: str) -> None:
    """With what it means for a change."""
    assert words in sentences_of(facts, settings)


def test_usual_facts_need_no_sentence() -> None:
    """The default session timeout, one subscription, no findings."""
    assert "session timeout is" not in sentences_of(EAGER)
    assert "subscriptions" not in sentences_of(EAGER)
    assert fact_sentences(script(instance("pod-0"))) == []
