"""What bumps a group epoch and what does not, by Kafka's rules and by a real broker driven by hand."""

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest

from rebalance_audit.audit.causes.bump_rules import (
    BUMP_RULES,
    RELEASES,
    Effect,
    Occasion,
    effect_of,
)
from rebalance_audit.audit.log_audit import LogAudit, audit_log
from rebalance_audit.audit.options import AuditOptions
from rebalance_audit.audit.rows import Row
from rebalance_audit.replay.changes import GroupType
from tests.dsl import TOPIC_NAMES, log
from tests.support.log_entries import records_of

BY_HAND = Path(__file__).parents[2] / "golden" / "by_hand" / "broker-4.3"
TRUTH = [json.loads(line) for line in (BY_HAND / "truth.jsonl").read_text("utf-8").splitlines()]

A_JOINS = (1_000, "5 A; 3 2 h7; 7 A 0-5; 6 2; 8 A 2/0 0-5")
ANSWERED = (2_700, "7 B -; 6 3; 8 B 3/2 -")


@cache
def by_hand() -> dict[str, list[Row]]:
    """Tables of the broker that was driven by hand."""
    log = LogAudit()
    for record, position in records_of(BY_HAND / "segments"):
        log.feed(record, position)
    return log.tables()


def causes(got: dict[str, list[Row]], epoch: int, group: str = "g") -> list[tuple[str, str]]:
    """What began an epoch, in order."""
    rows = [
        row
        for row in got["rebalance_causes"]
        if (row["epoch"], row["group_id"], row["role"]) == (epoch, group, "began")
    ]
    rows.sort(key=lambda row: row["cause_seq"])
    return [(row["cause"], row["certainty"]) for row in rows]


def causes_of(epoch: int, *writes: tuple[int, str]) -> list[tuple[str, str]]:
    """Causes of an epoch in a log of (time, write) pairs."""
    return causes(audit_log(log(*writes), AuditOptions(topic_name=TOPIC_NAMES.get)), epoch)


@pytest.mark.parametrize("truth", TRUTH, ids=lambda row: f"{row['group']}-{row['epoch']}")
def test_what_the_broker_did_by_hand(truth: Row) -> None:
    """Each story holds all else still, so its cause is known; nothing else is called proven."""
    found = causes(by_hand(), truth["epoch"], truth["group"])
    assert found[0][0] == truth["cause"], truth["why"]
    proven = {cause for cause, certainty in found if certainty == "proven"}
    assert proven <= {truth["cause"], "group_created"}, truth["why"]


def test_nothing_is_missing_from_a_whole_log() -> None:
    """From 4.3 on a member that joins first and without topics leaves no epoch: no gap."""
    assert {row["completeness"] for row in by_hand()["epochs"]} == {"complete"}


def test_every_occasion_has_its_rule() -> None:
    """One row for each, its releases in order."""
    assert {rule.occasion for rule in BUMP_RULES} == set(Occasion)
    for rule in BUMP_RULES:
        assert list(rule.effects) == [each for each in RELEASES if each in rule.effects]


def test_an_effect_that_releases_do_not_share_is_open() -> None:
    """Often the records do not show which release wrote them."""
    change = Occasion.ASSIGNOR_CHANGED
    assert effect_of(change, GroupType.CONSUMER, ["4.3"]) is Effect.NEVER
    assert effect_of(change, GroupType.CONSUMER, ["4.3", "4.4"]) is Effect.MAY_BUMP
    assert effect_of(change, GroupType.SHARE, RELEASES) is Effect.NEVER


def test_an_expression_that_others_have_resolved_bumps() -> None:
    """The same join is the cause where its expression is resolved already, and none where it is not."""
    resolved = [(2_000, "5 B regex=^f; 8 B 2/0 -"), (2_500, "16 ^f foo; 3 3 h7")]
    join = (9_000, "5 C regex={0}; 3 4 {1}; 7 C -; 6 4; 8 C 4/0 -")
    known = (join[0], join[1].format("^f", "h7"))
    fresh = (join[0], join[1].format("^new", "h8"))
    assert causes_of(4, A_JOINS, *resolved, known) == [("member_joined", "proven")]
    assert causes_of(4, A_JOINS, *resolved, fresh) == [("topic_metadata_changed", "proven")]


def test_an_assignor_may_have_any_name() -> None:
    """A broker can be given assignors of its own."""
    writes = [A_JOINS, (9_000, "5 A assignor=org.acme.Nearest; 3 3 h7; 7 A 0-5; 6 3; 8 A 3/2 0-5")]
    assert causes_of(3, *writes) == [("assignor_changed", "proven")]
    assert audit_log(log(*writes))["epochs"][-1]["assignor"] == "org.acme.Nearest"


def test_an_assignor_is_a_cause_only_where_nothing_else_is_left() -> None:
    """Up to 4.3 another preference bumps nothing; with the same hash only 4.4 can have written the epoch."""
    write = "5 A assignor=range; 3 3 {0}; 7 A 0-5; 6 3; 8 A 3/2 0-5"
    assert causes_of(3, A_JOINS, (9_000, write.format("h7"))) == [("assignor_changed", "proven")]
    assert causes_of(3, A_JOINS, (9_000, write.format("h8"))) == [
        ("topic_metadata_changed", "proven"),
        ("assignor_changed", "possible"),
    ]


def test_what_a_returning_static_member_prefers_bumps_nothing_in_4_0() -> None:
    """That release lists the topics' metadata instead of a hash: the list says what bumped."""
    joins = "5 A instance=i; 4 foo:6; 3 1 h0; 7 A 0-5; 6 1; 8 A 1/0 0-5"
    back = (
        "8t A; 7t A; 5t A; 5 A2 instance=i; 7 A2 0-5; 8 A2 0/0 0-5; 5 A2 instance=i assignor=range; "
        "4 foo:9; 3 2 h0; 7 A2 0-8; 6 2; 8 A2 2/0 0-8"
    )
    assert causes_of(2, (1_000, joins), (5_000, "8 A -2/1 0-5"), (7_000, back)) == [
        ("topic_metadata_changed", "proven")
    ]


OVER = (5_000, "2t; 5 A session=6000 instance=i; 3 1 h0; 7 A 0-5; 6 1; 8 A 1/1 0-5")
BEATS = "7 A 0-5; 6 2; 8 A 2/1 0-5"
GENERATION = [(1_000, "2 0 state_at=1000"), (4_000, "2 1 range A@i=0-5")]


@pytest.mark.parametrize(
    ("writes", "cause"),
    [
        # 3.8 to 4.0.0 convert a group without its topics: they are recorded with the next epoch.
        ((*GENERATION, OVER, (6_000, f"4 foo:6; 3 2 h0; {BEATS}")), ("protocol_upgraded", "proven")),
        # The list is there: it differs.
        (
            ((1_000, "5 A; 4 foo:6; 3 1 h0; 7 A 0-5; 6 1; 8 A 1/0 0-5"), (6_000, f"4 foo:7; 3 2 h0; {BEATS}")),
            ("topic_metadata_changed", "proven"),
        ),
        # There was no list, for no topic existed.
        (
            ((1_000, "5 A; 3 1 h0; 6 1; 8 A 1/0 -"), (6_000, f"4 foo:6; 3 2 h0; {BEATS}")),
            ("topic_metadata_changed", "proven"),
        ),
        # A coordinator of 4.0 takes over from one of 4.1, which recorded a hash.
        (
            ((1_000, "5 A; 3 1 h7; 7 A 0-5; 6 1; 8 A 1/0 0-5"), (6_000, f"4 foo:6; 3 2 h0; {BEATS}")),
            ("topic_metadata_changed", "probable"),
        ),
        # Up to 4.0 no hash is recorded: the first one is no other one.
        (
            ((1_000, "5 A; 3 1 h0; 7 A 0-5; 6 1 t=0; 8 A 1/0 0-5"), (6_000, f"3 2 h7; {BEATS}")),
            ("topic_metadata_changed", "probable"),
        ),
        # The time of the target shows a release that records hashes: no topic existed, and now one does.
        (
            ((1_000, "5 A; 3 1 h0; 6 1 t=1000; 8 A 1/0 -"), (6_000, f"3 2 h7; {BEATS}")),
            ("topic_metadata_changed", "proven"),
        ),
    ],
)  # fmt: skip
def test_a_first_value_is_no_change(
    writes: Sequence[tuple[int, str]], cause: tuple[str, str]
) -> None:
    """What is compared with nothing proves nothing about topics."""
    assert causes_of(2, *writes) == [cause]


def test_an_altered_offset_raises_the_epoch_of_a_share_group_without_members() -> None:
    """From 4.5 on; also where the request makes the group, which then begins without a join."""
    alters = "11 {0} h0; 15 foo"
    gone = (2_000, "14t A; 13t A; 10t A; 11 3 h0; 12 3")
    joins = (1_000, "10 A; 11 2 h7; 13 A 0-5; 12 2; 14 A 2/0 0-5")
    assert causes_of(4, joins, gone, (9_000, alters.format(4))) == [("offsets_altered", "proven")]
    whole = AuditOptions(is_whole=lambda _: True)
    rows = audit_log(log((1_000, alters.format(2))), whole)
    assert [(row["cause"], row["certainty"]) for row in rows["rebalance_causes"]] == [
        ("offsets_altered", "proven")
    ]
    assert [row["completeness"] for row in rows["epochs"]] == ["complete"]
    (state,) = rows["group_states"]
    assert (state["group_state"], state["epoch"], state["assignment_epoch"]) == ("Empty", 2, None)


def test_an_expression_given_up_shows_when_metadata_are_looked_at_again() -> None:
    """The hash counts fewer topics behind a fail-over though no topic changed: no proof of another shape."""
    resolved = [(2_000, "5 B regex=^b; 8 B 2/0 -"), (2_500, "16 ^b bar; 3 3 h8"), ANSWERED]
    changed = (3_000, "5 B regex=^z; 16t ^b; 8 B 3/3 -")
    got = causes_of(4, A_JOINS, *resolved, changed, (90_000, "3 4 h7; 6 4; 8 A 4/2 0-5"))
    assert got == [("subscription_changed", "probable")]


def test_a_topic_that_others_still_name_is_not_given_up() -> None:
    """The expression goes, its topic stays subscribed by name: only its shape is left."""
    resolved = [(2_000, "5 B regex=^f; 8 B 2/0 -"), (2_500, "16 ^f foo; 3 3 h8"), ANSWERED]
    changed = (3_000, "5 B regex=^z; 16t ^f; 8 B 3/3 -")
    got = causes_of(4, A_JOINS, *resolved, changed, (90_000, "3 4 h9; 6 4; 8 A 4/2 0-5"))
    assert got == [("topic_metadata_changed", "proven")]


def test_an_upgrade_does_not_begin_the_generation_that_it_ends() -> None:
    """A join phase began it; the member that came over and was in no generation is the likely reason."""
    taken_over = (
        "2t; 5 A session=6000; 5 B session=6000; 3 2 h7; 7 A 0-5; 7 B -; 6 2; 8 A 2/2 0-5; 8 B 2/2 -; "
        "5 C; 3 3 h7; 7 A 0-1; 7 B 2-3; 7 C 4-5; 6 3; 8 C 3/0 UNRELEASED -"
    )
    writes = [(1_000, "2 0 state_at=1000"), (4_000, "2 1 range A=0-5"), (9_000, taken_over)]
    assert causes_of(2, *writes) == [("member_joined", "probable")]
    assert causes_of(3, *writes)[0] == ("member_joined", "proven")
    assert ("protocol_upgraded", "proven") not in causes_of(3, *writes)


def test_a_static_member_of_3_7_comes_back_with_other_topics() -> None:
    """Its only record has the new topics, so that is a changed subscription, whatever the topics' metadata say."""
    writes = (
        (
            1_000,
            "5 A instance=i1 topics=foo,bar; 4 foo:6 bar:6; 3 1; 7 A 0-5; 6 1 t=0; 8 A 1/0 0-5",
        ),
        (
            5_000,
            "8t A; 7t A; 5t A; 5 B instance=i1 topics=foo; 4 foo:6; 3 2; 7 B 0-5; 6 2 t=0; 8 B 2/0 0-5",
        ),
    )
    got = audit_log(log(*writes), AuditOptions(topic_name=TOPIC_NAMES.get))
    rows = [row for row in got["rebalance_causes"] if row["epoch"] == 2]
    assert [(row["role"], row["cause"], row["certainty"]) for row in rows] == [
        ("began", "subscription_changed", "proven"),
        ("meanwhile", "static_member_replaced", "probable"),
    ]
