"""Consumer groups: what an operator must see after each kind of event (reference scenarios S1 to S4 and more)."""

from typing import Any

import pytest

from rebalance_audit.audit.log_audit import audit_log
from rebalance_audit.audit.options import AuditOptions
from rebalance_audit.audit.rows import Row
from tests.dsl import TOPIC_NAMES, log

A_JOINS = (1000, "5 A; 3 2; 7 A 0-5; 6 2; 8 A 2/0 0-5")
B_JOINS = (2000, "5 B; 3 3; 7 A 0-2; 7 B 3-5; 6 3; 8 B 3/0 UNRELEASED -")
A_REVOKES = (2500, "8 A 2/2 UNREVOKED 0-2|3-5")
A_ACKS = (3000, "8 A 3/2 0-2")
B_GETS = (3400, "8 B 3/3 3-5")


def tables(*writes: tuple[int, str]) -> dict[str, list[Row]]:
    """Audit a log of (time, write) pairs."""
    return audit_log(log(*writes), AuditOptions(topic_name=TOPIC_NAMES.get))


def pick(rows: list[Row], *columns: str, **where: Any) -> list[tuple[Any, ...]]:
    """The named columns of the rows that match, in order."""
    found = [row for row in rows if all(row[name] == value for name, value in where.items())]
    return [tuple(row[column] for column in columns) for row in found]


def test_a_join_moves_half_of_the_partitions() -> None:
    """S1: epoch 3 begins with B's join, has its target at once and converges when B gets what A gave up."""
    got = tables(A_JOINS, B_JOINS, A_REVOKES, A_ACKS, B_GETS)
    assert pick(
        got["epochs"],
        "epoch",
        "started_at",
        "target_installed_at",
        "converged_at",
        "outcome",
        "members",
        "members_joined",
        "partitions",
        "partitions_moved",
        "partitions_added",
        "unowned_partition_ms",
        "slowest_member_id",
        "primary_cause",
        "primary_certainty",
    ) == [
        (2, 1000, 1000, 1000, "converged", 1, 1, 6, 0, 6, 0, "A", "member_joined", "proven"),
        (3, 2000, 2000, 3400, "converged", 2, 1, 6, 3, 0, 1200, "B", "member_joined", "proven"),
    ]
    ways = pick(
        got["convergence"],
        "member_id",
        "latency_ms",
        "revoke_ms",
        "waited_ms",
        "waited_for",
        "partitions_before",
        "partitions_after",
        "outcome",
        epoch=3,
    )
    assert sorted(ways) == [
        ("A", 1000, 500, 0, [], 6, 3, "reached"),
        ("B", 1400, None, 1400, ["A"], 0, 3, "reached"),
    ]
    assert pick(
        got["rebalances"],
        "first_epoch",
        "last_epoch",
        "duration_ms",
        "blocked_by",
        "partitions_moved",
    ) == [(2, 2, 0, [], 0), (3, 3, 1400, ["A"], 3)]


def test_a_rebalance_blames_only_its_own_epochs() -> None:
    """Members that others waited for in an earlier rebalance do not show up in the next one."""
    growth = (9000, "3 4 h2; 7 A 0-2,6; 6 4; 8 A 4/3 0-2,6; 8 B 4/3 3-5")
    got = tables(A_JOINS, B_JOINS, A_REVOKES, A_ACKS, B_GETS, growth)
    assert pick(got["rebalances"], "first_epoch", "blocked_by", "slowest_member_id")[1:] == [
        (3, ["A"], "A"),
        (4, [], None),
    ]


def test_who_owned_what() -> None:
    """A partition is owned until the record that shows it given up; the wait of the next owner counts as unowned."""
    got = tables(A_JOINS, B_JOINS, A_REVOKES, A_ACKS, B_GETS)
    assert sorted(
        pick(
            got["ownership"],
            "topic",
            "topic_partition",
            "member_id",
            "from_at",
            "to_at",
            "unowned_before_ms",
            "how_ended",
            topic_partition=3,
        )
    ) == [
        ("foo", 3, "A", 1000, 3000, 0, "revoked"),
        ("foo", 3, "B", 3400, None, 400, "open"),
    ]


def test_time_without_owner_belongs_to_the_epoch_in_which_it_passes() -> None:
    """B left before it took what A had released: 400 ms pass before epoch 4, 700 ms in it."""
    b_leaves = (3400, "8t B; 7t B; 5t B; 3 4")
    a_has_all = (4100, "7 A 0-5; 6 4; 8 A 4/3 0-5")
    got = tables(A_JOINS, B_JOINS, A_REVOKES, A_ACKS, b_leaves, a_has_all)
    assert pick(got["epochs"], "epoch", "unowned_partition_ms") == [(2, 0), (3, 1200), (4, 2100)]
    assert pick(got["rebalances"], "unowned_partition_ms") == [(0,), (3300,)]


@pytest.mark.parametrize(
    ("topics", "unowned_ms"), [("topics=foo", 3 * 5000), ("topics=bar", 0)], ids=["same", "other"]
)
def test_partitions_of_a_dead_member_wait_for_the_next_target(topics: str, unowned_ms: int) -> None:
    """The other member never asks for a target; it is known to want them by the topic that it subscribes to."""
    b_joins = (2000, f"5 B {topics}; 3 3; 7 A 0-2; 7 B 3-5; 6 3; 8 B 3/0 UNRELEASED -")
    b_expires = (4000, "8t B; 7t B; 5t B; 3 4")
    a_expires = (9000, "8t A; 7t A; 5t A; 3 5")
    a_with_topics = (1000, A_JOINS[1].replace("5 A", f"5 A {topics}"))
    got = tables(a_with_topics, b_joins, A_REVOKES, A_ACKS, B_GETS, b_expires, a_expires)
    assert pick(got["epochs"], "unowned_partition_ms", epoch=4) == [(unowned_ms,)]


def test_states_of_the_group_over_time() -> None:
    """A state that begins and ends inside one write leaves no row."""
    got = tables(A_JOINS, B_JOINS, A_REVOKES, A_ACKS, B_GETS, (9000, "8t A; 7t A; 5t A; 3 4"))
    assert pick(got["group_states"], "group_state", "from_at", "to_at") == [
        ("Stable", 1000, 2000),
        ("Reconciling", 2000, 3400),
        ("Stable", 3400, 9000),
        ("Assigning", 9000, None),
    ]


def test_an_epoch_superseded_before_its_target_gets_the_next_one() -> None:
    """Two joins within the assignment interval: the first has no target of its own, the later one serves both.

    A has no record in the first one's epoch: it is counted there, and has no row.
    """
    got = tables(
        A_JOINS,
        (2000, "5 B; 3 3; 8 B 2/0 -"),
        (2100, "5 C; 3 4; 8 C 2/0 -"),
        (3100, "7 A 0-1; 7 B 2-3; 7 C 4-5; 6 4; 8 A 2/2 UNREVOKED 0-1|2-5"),
    )
    assert pick(
        got["epochs"],
        "epoch",
        "target_installed_at",
        "converged_at",
        "outcome",
        "superseded_by",
        "partitions_moved",
        "members_unchanged",
    ) == [
        (2, 1000, 1000, "converged", None, 0, 0),
        (3, 3100, None, "superseded", 4, None, 1),
        (4, 3100, None, "open", None, 4, 0),
    ]
    assert pick(got["convergence"], "epoch", "member_id", "outcome", epoch=3) == [
        (3, "B", "superseded")
    ]
    assert pick(
        got["rebalances"],
        "first_epoch",
        "last_epoch",
        "epochs",
        "ended_at",
        "outcome",
        "blocked_by",
    )[1:] == [(3, 4, 2, None, "open", ["A"])]


def test_removal_is_never_called_proven() -> None:
    """Leave, expiry, timeout and removal write the same records; the audit names what the evidence leaves open."""
    got = tables(A_JOINS, B_JOINS, A_REVOKES, A_ACKS, B_GETS, (9200, "8t A; 7t A; 5t A; 3 4"))
    assert pick(
        got["rebalance_causes"], "cause", "certainty", "member_id", "alternatives", epoch=4
    ) == [
        (
            "member_departed",
            "probable",
            "A",
            ["member_session_expired", "member_left", "member_removed_by_admin"],
        )
    ]


def test_a_member_that_keeps_partitions_until_its_rebalance_timeout() -> None:
    """S2: a removal exactly one rebalance timeout after the revocation was requested points to that timer."""
    got = tables(A_JOINS, B_JOINS, A_REVOKES, (302500, "8t A; 7t A; 5t A; 3 4"))
    assert pick(got["rebalance_causes"], "cause", "certainty", epoch=4) == [
        ("member_rebalance_timeout", "probable")
    ]
    assert pick(
        got["convergence"], "member_id", "outcome", "revoke_started_at", epoch=3, member_id="A"
    ) == [("A", "left", 2500)]


def test_the_last_member_empties_the_group() -> None:
    """An epoch that leaves no member is emptied, not superseded or stuck."""
    got = tables(A_JOINS, (5000, "8t A; 7t A; 5t A; 3 3 h0"), (99000, "6t; 3t"))
    assert pick(got["epochs"], "epoch", "outcome", "members", "members_left")[1:] == [
        (3, "emptied", 0, 1)
    ]
    assert [cause for (cause,) in pick(got["rebalance_causes"], "cause", epoch=3)] == [
        "member_left",
        "group_emptied",
    ]
    assert pick(got["rebalances"], "outcome", "duration_ms")[1:] == [("emptied", 0)]


def test_a_deleted_group_begins_a_new_incarnation() -> None:
    """Epochs are unique within one incarnation, which counts deletions of the group id."""
    leaves = (5000, "8t A; 7t A; 5t A; 3 3 h0")
    got = tables(A_JOINS, leaves, (6000, "6t; 3t"), (7000, A_JOINS[1]))
    assert pick(got["epochs"], "incarnation", "epoch") == [(0, 2), (0, 3), (1, 2)]
    assert pick(got["members"], "incarnation", "member_id", "left_at") == [
        (0, "A", 5000),
        (1, "A", None),
    ]


def test_a_static_member_returns_without_an_epoch() -> None:
    """S4: the new member id takes over at once; no epoch, no move, no unowned time, and the ids are linked."""
    got = tables(
        (1000, "5 A instance=i1; 3 2; 7 A 0-5; 6 2; 8 A 2/0 0-5"),
        (5000, "8 A -2/0 0-5"),
        (
            7000,
            "8t A; 7t A; 5t A; 5 B instance=i1; 7 B 0-5; 8 B 0/0 0-5; 8 B 2/0 0-5",
        ),
    )
    assert pick(got["epochs"], "epoch", "outcome", "unowned_partition_ms") == [(2, "converged", 0)]
    assert pick(
        got["members"], "member_id", "previous_member_id", "next_member_id", "left_how"
    ) == [
        ("A", None, "B", "static_member_replaced"),
        ("B", "A", None, None),
    ]
    assert pick(
        got["ownership"], "member_id", "from_at", "to_at", "unowned_before_ms", topic_partition=0
    ) == [
        ("A", 1000, 7000, 0),
        ("B", 7000, None, 0),
    ]


def test_a_static_member_that_stays_away() -> None:
    """A member last seen leaving temporarily and then removed has expired."""
    got = tables(
        (1000, "5 A instance=i1; 3 2; 7 A 0-5; 6 2; 8 A 2/0 0-5"),
        (5000, "8 A -2/0 0-5"),
        (46000, "8t A; 7t A; 5t A; 3 3 h0"),
    )
    assert pick(got["rebalance_causes"], "cause", "certainty", "instance_id", epoch=3)[0] == (
        "static_member_expired",
        "probable",
        "i1",
    )


def test_growth_of_a_topic() -> None:
    """A new hash without a member's record can only be the topics; new partitions are unowned since the epoch."""
    got = tables(A_JOINS, (2000, "3 3 h2; 7 A 0-7; 6 3; 8 A 3/2 0-7"))
    assert pick(got["rebalance_causes"], "cause", "certainty", "alternatives", epoch=3) == [
        ("topic_metadata_changed", "proven", [])
    ]
    assert pick(got["epochs"], "partitions", "partitions_added", "partitions_moved", epoch=3) == [
        (8, 2, 0)
    ]


def test_subscriptions_and_expressions() -> None:
    """A changed subscription and a newly resolved expression differ in their own records."""
    got = tables(
        (1000, "5 A regex=^f; 8 A 1/0 -"),
        (1100, "16 ^f foo; 3 2"),
        (1500, "7 A 0-5; 6 2; 8 A 2/1 0-5"),
        (2000, "5 A topics=bar; 16t ^f; 3 3 h2; 7 A bar:0; 6 3; 8 A 3/2 bar:0"),
    )
    assert pick(got["rebalance_causes"], "epoch", "cause", "certainty", "topics") == [
        (2, "regex_resolved", "proven", ["foo"]),
        (2, "subscription_changed", "probable", ["foo"]),
        (2, "group_created", "probable", []),
        (3, "subscription_changed", "proven", ["bar"]),
    ]
    ((member_id,),) = pick(got["rebalance_causes"], "member_id", cause="regex_resolved")
    assert member_id == "A"


def test_a_log_that_begins_in_the_middle() -> None:
    """After compaction the first epoch has no known cause and says so; the next one is complete again."""
    got = tables(
        (1000, "5 A; 7 A 0-5; 6 7; 8 A 7/6 0-5; 3 7"),
        (2000, "5 B; 3 8; 7 B 3-5; 7 A 0-2; 6 8; 8 B 8/0 UNRELEASED -"),
    )
    assert pick(got["epochs"], "epoch", "previous_epoch", "completeness") == [
        (7, None, "gap"),
        (8, 7, "complete"),
    ]
    assert pick(got["rebalance_causes"], "epoch", "certainty") == [(7, "possible"), (8, "proven")]


def test_nothing_is_compared_with_an_epoch_that_is_lost() -> None:
    """If the log begins in the middle, the numbers of joins and moves are unknown, and unowned time is."""
    got = tables((1000, "5 A; 7 A 0-5; 6 7; 3 7"), (1500, "8 A 7/6 0-5"))
    columns = ("members_joined", "partitions_moved", "partitions_added", "unowned_partition_ms")
    assert pick(got["epochs"], *columns) == [(None, None, None, None)]
    assert pick(got["rebalances"], "members_joined", "partitions_moved") == [(None, None)]


def test_missing_epochs_are_a_gap() -> None:
    """Every bump writes a record, so a skipped number means lost records: nothing around it is proven."""
    got = tables(A_JOINS, (2000, "5 B; 3 9; 7 A 0-2; 7 B 3-5; 6 9"))
    assert pick(got["epochs"], "epoch", "previous_epoch", "completeness")[1:] == [(9, None, "gap")]
    assert pick(got["rebalance_causes"], "cause", "certainty", epoch=9) == [
        ("member_joined", "possible")
    ]


def test_no_duration_goes_from_one_coordinators_clock_to_anothers() -> None:
    """The coordinator moves while A gives up 3-5: the moments are known, how long it took is not."""
    moved_at = A_ACKS[0]
    records = [
        (record, position._replace(leader_epoch=int(position.record_timestamp_ms >= moved_at)))
        for record, position in log(A_JOINS, B_JOINS, A_REVOKES, A_ACKS, B_GETS)
    ]
    got = audit_log(records, AuditOptions(topic_name=TOPIC_NAMES.get))
    assert pick(got["epochs"], "converged_at", "assign_ms", epoch=3) == [(3400, 0)]
    durations = ("reconcile_ms", "convergence_ms", "slowest_member_ms", "unowned_partition_ms")
    assert pick(got["epochs"], *durations, epoch=3) == [(None,) * len(durations)]
    columns = ("member_id", "reached_at", "latency_ms", "revoke_ms")
    assert sorted(pick(got["convergence"], *columns, epoch=3)) == [
        ("A", 3000, None, None),
        ("B", 3400, None, None),
    ]
    held = pick(got["ownership"], "member_id", "to_at", "held_ms", "unowned_before_ms")
    assert set(held) == {
        ("A", 3000, None, 0),
        ("A", None, None, 0),
        ("B", None, None, 400),
    }
