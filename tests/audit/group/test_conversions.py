"""Groups that change their protocol, members that return under the same id, and how a group's first epoch is found."""

from typing import Any

import pytest

from rebalance_audit.audit.log_audit import audit_log
from rebalance_audit.audit.options import AuditOptions
from rebalance_audit.audit.rows import Row
from tests.dsl import TOPIC_NAMES, log

CREATED = (1_000, "2 0 state_at=1000")
ALONE = (4_000, "2 1 range A=0-5")
TAKEN_OVER = "2t; 5 A session=6000; 3 {0}; 7 A 0-5; 6 {0}; 8 A {0}/{0} 0-5"
B_JOINS = "5 B; 3 {0}; 7 A 0-2; 7 B 3-5; 6 {0}; 8 B {0}/0 UNRELEASED -"
B_GOES = "8t A; 8t B; 7t A; 7t B; 6t; 5t A; 5t B; 3t; 2 2 range A=0-2"


def tables(*writes: tuple[int, str]) -> dict[str, list[Row]]:
    """Audit a log of (time, write) pairs."""
    return audit_log(log(*writes), AuditOptions(topic_name=TOPIC_NAMES.get))


def causes(got: dict[str, list[Row]], epoch: int) -> list[tuple[str, str]]:
    """Causes of an epoch in order."""
    rows = [row for row in got["rebalance_causes"] if row["epoch"] == epoch]
    rows.sort(key=lambda row: row["cause_seq"])
    return [(row["cause"], row["certainty"]) for row in rows]


def intervals(got: dict[str, list[Row]], number: int) -> list[tuple[Any, ...]]:
    """(member, from, to, topic, is the topic's id known) of one partition."""
    return sorted(
        (
            row["member_id"],
            row["from_at"],
            row["to_at"],
            row["topic"],
            row["topic_id"] is not None,
        )
        for row in got["ownership"]
        if row["topic_partition"] == number
    )


def test_who_has_a_partition_goes_on_having_it_over_an_upgrade_and_a_downgrade() -> None:
    """Classic groups know topics by name, consumer groups by id; the interval is one, under both."""
    upgrade = (9_000, f"{TAKEN_OVER.format(1)}; {B_JOINS.format(2)}")
    answers = [(9_500, "8 A 2/1 0-2"), (9_600, "8 B 2/2 3-5")]
    got = tables(CREATED, ALONE, upgrade, *answers, (20_000, B_GOES))
    assert causes(got, 2)[:2] == [("member_joined", "proven"), ("protocol_upgraded", "probable")]
    assert intervals(got, 0) == [("A", 4_000, None, "foo", True)]
    assert intervals(got, 3) == [
        ("A", 4_000, 9_500, "foo", True),
        ("B", 9_600, 20_000, "foo", True),
    ]


def test_an_upgrade_in_the_middle_of_a_rebalance() -> None:
    """The generation that waited for its assignment becomes an epoch; what began its join phase left no record."""
    upgrade = (9_000, f"{TAKEN_OVER.format(2)}; {B_JOINS.format(3)}")
    got = tables(CREATED, ALONE, upgrade, (9_500, "8 A 3/2 0-2"), (9_600, "8 B 3/3 3-5"))
    assert causes(got, 2) == [("unknown", "possible")]
    assert causes(got, 3)[:2] == [("member_joined", "proven"), ("protocol_upgraded", "probable")]
    assert [
        (row["epoch"], row["outcome"], row["converged_at"], row["completeness"])
        for row in got["epochs"]
    ] == [
        (1, "converged", 4_000, "complete"),
        (2, "superseded", None, "complete"),
        (3, "converged", 9_600, "complete"),
    ]


def test_an_upgrade_of_members_that_no_generation_showed() -> None:
    """Members that still waited for their first assignment come over: one of them had begun a join phase."""
    upgrade = (9_000, f"{TAKEN_OVER.format(1)}; {B_JOINS.format(2)}")
    assert causes(tables(CREATED, upgrade), 1) == [("member_joined", "probable")]


@pytest.mark.parametrize(
    ("before", "epochs"),
    [([], [(0, 0), (0, 1)]), ([(4_000, "2 1")], [(0, 1), (0, 2)])],
    ids=["no generation yet", "behind an empty generation"],
)
def test_an_upgrade_finds_a_join_phase_without_members(
    before: list[tuple[int, str]], epochs: list[tuple[int, int]]
) -> None:
    """Who had joined has gone, and the join phase goes on until its delay is over: the group is not deleted."""
    number = epochs[0][1]
    joins = f"5 D; 3 {number + 1}; 7 D 0-5; 6 {number + 1}; 8 D {number + 1}/0 0-5"
    got = tables(CREATED, *before, (9_000, f"2t; 3 {number}; 6 {number}; {joins}"))
    assert [(row["incarnation"], row["epoch"]) for row in got["epochs"]] == epochs
    assert {row["completeness"] for row in got["epochs"]} == {"complete"}
    assert ("member_joined", "proven") in causes(got, number + 1)


@pytest.mark.parametrize("recorded", ["2 1 range Z=0-5", "2 1"], ids=["others", "no owner"])
def test_an_upgrade_of_members_that_the_last_record_lacks_deletes_no_group(recorded: str) -> None:
    """Its counter goes on: A had joined generation 2 and waited for it, the members of generation 1 had gone."""
    upgrade = (9_000, f"{TAKEN_OVER.format(2)}; {B_JOINS.format(3)}")
    got = tables(CREATED, (4_000, recorded), upgrade)
    assert [(row["incarnation"], row["epoch"]) for row in got["epochs"]] == [(0, 1), (0, 2), (0, 3)]
    assert causes(got, 2) == [("member_joined", "probable")]
    assert all(row["left_how"] != "group_deleted" for row in got["members"])


def test_a_consumer_group_in_place_of_an_empty_classic_one_counts_anew() -> None:
    """No member comes over: the tombstone of the classic group is its deletion."""
    anew = (9_000, "2t; 5 A; 3 2; 7 A 0-5; 6 2; 8 A 2/0 0-5")
    got = tables(CREATED, ALONE, (6_000, "2 2"), anew)
    assert [(row["incarnation"], row["epoch"]) for row in got["epochs"]] == [(0, 1), (0, 2), (1, 2)]


def test_a_static_member_that_takes_over_with_another_subscription_begins_a_rebalance() -> None:
    """Its bump is overtaken by the downgrade that it asks for: no member keeps what the target has."""
    joins = (1_000, "5 A instance=i1; 3 2; 7 A 0-5; 6 2; 8 A 2/0 0-5")
    static = "8t A; 7t A; 5t A; 5 C instance=i1; 7 C 0-5; 8 C 0/0 0-5"
    downgrade = "5 C instance=i1 session=6000 topics=bar; 3 3; 8t C; 7t C; 6t; 5t C; 3t"
    returns = (9_000, f"{static}; {downgrade}; 2 2 range C@i1=0-5 state_at=9000")
    got = tables(joins, returns, (12_000, "2 3 range C@i1=bar:0 topics=bar"))
    (row,) = [row for row in got["epochs"] if row["epoch"] == 3]
    assert (row["join_started_earliest"], row["join_started_latest"]) == (9_000, 9_000)
    assert ("protocol_downgraded", "probable") in causes(got, 3)


def test_members_are_those_before_and_who_came_without_who_went() -> None:
    """Who went in the join phase that an upgrade broke off counts for the next epoch; who was replaced, for none."""
    classic = [CREATED, (4_000, "2 1 range A=0-2 B=3-5"), (9_000, TAKEN_OVER.format(1))]
    static = (1_000, "5 A instance=i1; 3 2; 7 A 0-5; 6 2; 8 A 2/0 0-5")
    returns = "8t A; 7t A; 5t A; 5 C instance=i1 session=6000; 7 C 0-5; 8 C 2/2 0-5"
    downgrade = (9_000, f"{returns}; 8t C; 7t C; 6t; 5t C; 3t; 2 2 range C@i1=0-5")
    for log_before, next_epoch in (
        (classic, (12_000, B_JOINS.format(2).replace("5 B;", "5 D;").replace(" B ", " D "))),
        ([static, downgrade], (30_000, "2 3 range C@i1=0-2 D=3-5")),
    ):
        got = tables(*log_before, next_epoch)
        first, last = got["epochs"]
        assert last["members"] == first["members"] + last["members_joined"] - last["members_left"]
    replaced, heir = sorted(got["members"], key=lambda row: row["member_id"])[:2]
    assert (replaced["left_how"], replaced["left_certainty"]) == (
        "static_member_replaced",
        "proven",
    )
    assert (replaced["next_member_id"], heir["previous_member_id"]) == ("C", "A")


def test_the_next_joiner_of_an_emptied_group_gives_its_epoch_no_target() -> None:
    """Both in one millisecond: the target is of who joined behind the epoch in which everybody had gone."""
    gone = "8t A; 7t A; 5t A; 3 3"
    joins = "5 B; 7 B 0-5; 6 3; 8 B 3/0 0-5; 3 4"
    got = tables((1_000, "5 A; 3 2; 7 A 0-5; 6 2; 8 A 2/0 0-5"), (9_000, f"{gone}; {joins}"))
    (emptied,) = [row for row in got["epochs"] if row["epoch"] == 3]
    assert (emptied["outcome"], emptied["target_installed_at"]) == ("emptied", None)


def test_a_static_member_that_takes_over_from_another_protocol_needs_no_rebalance() -> None:
    """The group is downgraded and everybody keeps what the target has: the next join phase began on its own."""
    joins = (1_000, "5 A instance=i1; 3 2; 7 A 0-5; 6 2; 8 A 2/0 0-5")
    downgrade = "8t C; 7t C; 6t; 5t C; 3t; 2 2 range C@i1=0-5"
    returns = (
        9_000,
        f"8t A; 7t A; 5t A; 5 C instance=i1 session=6000; 7 C 0-5; 8 C 2/2 0-5; {downgrade}",
    )
    got = tables(joins, returns, (30_000, "2 3 range C@i1=0-2 D=3-5 state_at=29900"))
    (row,) = [row for row in got["epochs"] if row["epoch"] == 3]
    assert (row["join_started_earliest"], row["join_started_latest"]) == (8_990, 29_900)
    assert causes(got, 3)[0] == ("member_joined", "probable")


def test_a_bump_that_its_own_request_overtakes_never_was() -> None:
    """A classic member takes the last instance and subscribes to something else: the group ends before its epoch."""
    joins = (1_000, "5 A instance=i1; 3 2; 7 A 0-5; 6 2; 8 A 2/0 0-5")
    downgrade = "8t C; 7t C; 6t; 5t C; 3t; 2 2 range C@i1=0-5"
    renamed = "8t A; 7t A; 5t A; 5 C instance=i1 session=6000; 7 C 0-5; 8 C 2/2 0-5"
    changed = "5 C instance=i1 session=6000 topics=bar; 3 3"
    next_generation = (20_000, "2 3 range C@i1=0-5")
    got = tables(joins, (9_000, f"{renamed}; {changed}; {downgrade}"), next_generation)
    assert [(row["incarnation"], row["epoch"], row["protocol"]) for row in got["epochs"]] == [
        (0, 2, "consumer"),
        (0, 3, "classic"),
    ]
    assert "proven" not in {certainty for _, certainty in causes(got, 3)}


def test_a_bump_of_classic_members_that_another_request_follows_stays() -> None:
    """The tombstones right after it, in the same millisecond, are those of a member that leaves."""
    joins = (
        1_000,
        "5 A session=6000; 5 B session=6000; 3 2; 7 A 0-2; 7 B 3-5; 6 2; 8 A 2/0 0-2; 8 B 2/0 3-5",
    )
    both = (9_000, "5 A session=6000 topics=bar; 3 3; 8t B; 7t B; 5t B; 3 4")
    got = tables(joins, both)
    assert sorted(row["epoch"] for row in got["epochs"]) == [2, 3, 4]
    assert causes(got, 3)[0][0] == "subscription_changed"


def test_a_static_member_that_returns_under_its_old_id_keeps_its_partitions() -> None:
    """Tombstones and records of the same member in one write: nothing was given up in between."""
    returns = "8t A; 7t A; 5t A; 5 A instance=i1; 7 A 0-5; 8 A 0/0 0-5; 8 A 2/0 0-5"
    got = tables(
        (1_000, "5 A instance=i1; 3 2; 7 A 0-5; 6 2; 8 A 2/0 0-5"),
        (5_000, "8 A -2/0 0-5"),
        (7_000, returns),
        (9_000, f"{returns}; 3 3 h2; 7 A 0-6; 6 3; 8 A 3/2 0-6"),
    )
    assert intervals(got, 0) == [("A", 1_000, None, "foo", True)]
    assert not [name for name, _ in causes(got, 3) if name == "static_member_joined"]


@pytest.mark.parametrize(
    ("number", "is_early", "completeness", "created"),
    [
        (1, True, "complete", "proven"),
        (2, False, "complete", "proven"),
        (2, True, "gap", None),
        (3, False, "gap", None),
    ],
)
def test_the_first_epoch_of_a_group_has_the_number_of_its_release(
    number: int, is_early: bool, completeness: str, created: str | None
) -> None:
    """1 before release 4.3, 2 from it on; the second epoch of an early one looks like a first behind the cleaner."""
    held = "0-5@-" if is_early else "0-5"
    got = tables((1_000, f"5 A; 3 {number}; 7 A 0-5; 6 {number}; 8 A {number}/0 {held}"))
    assert [row["completeness"] for row in got["epochs"]] == [completeness]
    assert dict(causes(got, number)).get("group_created") == created


def test_what_was_kept_over_an_upgrade_is_not_unowned() -> None:
    """The target comes before the assignment, so for a moment it has no member: that moment ends."""
    upgrade = (9_000, "2t; 5 A session=6000; 3 2; 7 A 0-5; 6 2; 8 A 2/2 0-5")
    joined = (10_000, B_JOINS.format(3))
    answers = [(10_500, "8 A 3/2 0-2"), (10_600, "8 B 3/3 3-5")]
    last = (90_000, "5 C; 3 4; 7 A 0-1; 7 C 2; 6 4; 8 C 4/0 UNRELEASED -")
    got = tables(CREATED, ALONE, upgrade, joined, *answers, last)
    unowned = {row["epoch"]: row["unowned_partition_ms"] for row in got["epochs"]}
    assert unowned[3] == 300
