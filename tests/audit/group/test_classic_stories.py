"""Classic groups: every record is a finished generation; the audit compares it with the previous one."""

import pytest

from rebalance_audit.audit.log_audit import audit_log
from rebalance_audit.audit.rows import Row
from tests.audit.group.test_consumer_stories import pick
from tests.dsl import log

CREATED = (1000, "2 0 state_at=1000")
UPGRADE = "2t; 5 A session=6000; 3 1; 7 A 0-5; 6 1; 8 A 1/1 0-5"
JOINED = "5 A session=6000; 5 B; 3 1; 7 A 0-5; 6 1; 8 A 1/0 0-5; 8 B 1/0 -"
FIRST = (4250, "2 1 range A=0-5 state_at=4000")


def tables(*writes: tuple[int, str]) -> dict[str, list[Row]]:
    """Audit a log of (time, write) pairs."""
    return audit_log(log(*writes))


def test_times_of_a_generation() -> None:
    """The record's state timestamp ends the join phase exactly; when the phase began is only bounded."""
    got = tables(CREATED, FIRST, (9030, "2 2 range A=0-2 B=3-5 state_at=9000"))
    assert pick(
        got["epochs"],
        "epoch",
        "join_started_earliest",
        "join_started_latest",
        "started_at",
        "converged_at",
        "sync_ms",
        "members",
        "members_joined",
        "previous_epoch",
        "partitions",
        "partitions_moved",
        "completeness",
    ) == [
        (1, 1000, 4000, 4000, 4250, 250, 1, 1, None, 6, 0, "complete"),
        (2, 4000, 9000, 9000, 9030, 30, 2, 1, 1, 6, 3, "complete"),
    ]
    assert pick(
        got["rebalances"],
        "started_at_earliest",
        "started_at",
        "ended_at",
        "duration_ms",
        "partitions_moved",
    ) == [(1000, 4000, 4250, 250, 0), (4000, 9000, 9030, 30, 3)]


RETURNS = (6000, "2 1 range B@i1=0-5 state_at=4250")
DOWNGRADED = (12_000, "3t; 2 1 range A=0-5 state_at=11995")


@pytest.mark.parametrize(
    ("writes", "leader_epochs", "bounds"),
    [
        # The next member joins after the write but before the append time that the record gets.
        ([CREATED, FIRST, (9030, "2 2 range A=0-5 state_at=4100")], (0, 0, 0), (4000, 4100)),
        (
            [(1005, "2 0 state_at=1000"), (4250, "2 1 range A=0-5 state_at=1003")],
            (0, 0),
            (1000, 1003),
        ),
        ([CREATED, FIRST, RETURNS, (9030, "2 2 range B@i1=0-5 state_at=9000")], None, (4250, 9000)),
        # The next coordinator's clock is behind: no time of the previous coordinator is a bound.
        ([CREATED, FIRST, (9030, "2 2 range A=0-5 state_at=3900")], (0, 0, 1), (None, 3900)),
        # It may be ahead as well, so its times are no bounds either.
        ([CREATED, FIRST, (9030, "2 2 range A=0-5 state_at=9000")], (0, 0, 1), (None, 9000)),
        # Versions 0 and 1 of the value hold no time.
        (
            [CREATED, (4250, "2 1 range A=0-5 state_at=-1"), (9030, "2 2 range A=0-5 state_at=-1")],
            None,
            (4250, 9030),
        ),
        ([(4250, "2 1 range A=0-5 state_at=-1")], None, (None, 4250)),
        # A downgrade begins a join phase within its write, unless the coordinator moves meanwhile, or may have.
        ([(2000, JOINED), DOWNGRADED, (13_000, "2 2 range A=0-5")], (0, 0, 0), (11_995, 12_000)),
        ([(2000, JOINED), DOWNGRADED, (13_000, "2 2 range A=0-5")], (0, 0, 1), (None, 12_990)),
        ([(2000, JOINED), DOWNGRADED, (13_000, "2 2 range A=0-5")], (None,) * 3, (11_995, 12_990)),
    ],
    ids=[
        *("stamped by the append", "empty and stamped by the append", "static return"),
        *("clock behind", "clock ahead", "old layout", "old layout, first of the log"),
        *("downgrade", "downgrade and fail-over", "downgrade, leaders hidden"),
    ],
)
def test_bounds_of_the_join_phase(
    writes: list[tuple[int, str]],
    leader_epochs: tuple[int | None, ...] | None,
    bounds: tuple[int | None, int],
) -> None:
    """The coordinator's own times bound it; a record timestamp that may be later than the next phase never does."""
    records = log(*writes)
    if leader_epochs is not None:
        led_by = dict(zip((at_ms for at_ms, _ in writes), leader_epochs, strict=True))
        records = [
            (record, position._replace(leader_epoch=led_by[position.record_timestamp_ms]))
            for record, position in records
        ]
    row = audit_log(records)["epochs"][-1]
    assert (row["join_started_earliest"], row["join_started_latest"]) == bounds


UNSEEN = [
    "leader_rejoined",
    "member_departed",
    "member_joined",
    "member_rebalance_timeout",
    "member_removed_by_admin",
    "subscription_changed",
    "topic_metadata_changed",
]
"""Causes that can have begun any rebalance of a living group without a trace."""


@pytest.mark.parametrize(
    ("before", "after", "cause", "certainty", "alternatives"),
    [
        ("A=0-5", "A=0-2 B=3-5", "member_joined", "probable", UNSEEN),
        (
            "A=0-5",
            "A=0-2 B@i1=3-5",
            "static_member_joined",
            "probable",
            [*UNSEEN, "static_member_replaced"],
        ),
        ("A=0-2 B=3-5", "A=0-5", "member_left", "probable", UNSEEN),
        ("A=0-5 topics:A=foo", "A=bar:0 topics:A=bar", "subscription_changed", "probable", UNSEEN),
        (
            "A=0-5",
            "A=0-6",
            "topic_metadata_changed",
            "probable",
            [*UNSEEN, "assignment_only", "unknown"],
        ),
        ("A=0-5", "A=0-5", "leader_rejoined", "possible", [*UNSEEN, "assignment_only", "unknown"]),
    ],
    ids=["join", "static join", "departure", "subscription", "more partitions", "no difference"],
)
def test_the_difference_of_two_generations_is_the_likely_cause(
    before: str, after: str, cause: str, certainty: str, alternatives: list[str]
) -> None:
    """The log does not hold what began the rebalance: the difference is probable, traceless causes are alternatives."""
    got = tables(CREATED, (4000, f"2 1 range {before}"), (9000, f"2 2 range {after}"))
    assert pick(got["rebalance_causes"], "cause", "certainty", epoch=2) == [(cause, certainty)]
    ((named,),) = pick(got["rebalance_causes"], "alternatives", epoch=2)
    assert sorted(named) == sorted(set(alternatives) - {cause})


def test_only_a_join_can_begin_a_rebalance_of_an_empty_group() -> None:
    """No other member is there to leave, to rejoin or to change its subscription: the join is proven."""
    got = tables(CREATED, FIRST, (7000, "2 2 - state_at=7000"), (9000, "2 3 range B=0-5"))
    assert pick(got["rebalance_causes"], "cause", "certainty", "alternatives", epoch=3) == [
        ("member_joined", "proven", [])
    ]


def test_several_differences_are_not_proven() -> None:
    """A join and a departure met in one join phase: both are facts, but which came first is unknown."""
    got = tables(CREATED, (4000, "2 1 range A=0-2 B=3-5"), (9000, "2 2 range A=0-2 C=3-5"))
    assert pick(got["rebalance_causes"], "cause", "certainty", "member_id", epoch=2) == [
        ("member_joined", "probable", "C"),
        ("member_left", "probable", "B"),
    ]


@pytest.mark.parametrize(
    ("later_ms", "instance", "cause", "alternatives"),
    [
        (5_000, "", "member_left", {"member_removed_by_admin"}),
        (5_000, "@i2", "member_departed", {"member_left", "member_removed_by_admin"}),
        (
            30_000,
            "",
            "member_departed",
            {"member_left", "member_session_expired", "member_removed_by_admin"},
        ),
        (
            90_000,
            "",
            "member_departed",
            {
                "member_left",
                "member_session_expired",
                "member_removed_by_admin",
                "member_rebalance_timeout",
            },
        ),
    ],
    ids=["sooner than any timer", "sooner, static", "behind its session", "behind both timeouts"],
)
def test_timers_that_cannot_have_fired_are_ruled_out(
    later_ms: int, instance: str, cause: str, alternatives: set[str]
) -> None:
    """Sessions (6 s) and rebalance timeouts (60 s) count from the end of the previous join phase."""
    got = tables(
        CREATED,
        (4000, f"2 1 range A=0-2 B{instance}=3-5 state_at=3900"),
        (4000 + later_ms, f"2 2 range A=0-5 state_at={3900 + later_ms}"),
    )
    (row,) = [row for row in got["rebalance_causes"] if row["epoch"] == 2]
    unseen = {*UNSEEN, "static_member_joined", "static_member_replaced"}
    assert (row["cause"], row["certainty"]) == (cause, "probable")
    assert alternatives <= set(row["alternatives"])
    assert set(row["alternatives"]) - alternatives <= unseen


def test_a_group_whose_first_generation_is_empty() -> None:
    """A member that came and went before the first assignment leaves an empty generation: somebody began the group."""
    got = tables(CREATED, (7000, "2 1 - state_at=7000"))
    assert pick(got["rebalance_causes"], "cause", "certainty") == [
        ("group_created", "proven"),
        ("group_emptied", "proven"),
    ]
    assert pick(got["epochs"], "target_installed_at", "converged_at") == [(None, None)]


def test_generations_that_left_no_record() -> None:
    """A generation whose sync never came weakens the causes of the next one, and is no epoch of its rebalance."""
    got = tables(CREATED, FIRST, (9000, "2 4 range A=0-2 B=3-5"))
    assert pick(got["rebalances"], "first_epoch", "last_epoch", "epochs") == [(1, 1, 1), (4, 4, 1)]
    assert pick(got["rebalance_causes"], "cause", "certainty", epoch=4) == [
        ("member_joined", "probable")
    ]
    assert pick(got["epochs"], "previous_epoch", "completeness", epoch=4) == [(1, "complete")]


def test_a_log_that_begins_in_the_middle() -> None:
    """Nothing to compare with: the cause is unknown, the join phase has no lower bound, the epoch is marked."""
    got = tables((4000, "2 7 range A=0-5"))
    assert pick(
        got["epochs"], "epoch", "previous_epoch", "join_started_earliest", "sync_ms", "completeness"
    ) == [(7, None, None, 10, "gap")]
    assert pick(got["rebalance_causes"], "cause", "certainty") == [("unknown", "possible")]


def test_the_sync_of_a_static_generation_is_unknown_where_the_log_begins() -> None:
    """Its first record may be compacted away: what is there can be a member's return hours after the assignment."""
    got = tables((7_200_000, "2 7 range A@i1=0-5 state_at=4000"), (7_209_000, "2 8 range A@i1=0-5"))
    assert pick(got["epochs"], "epoch", "sync_ms") == [(7, None), (8, 10)]


def test_a_static_member_returns_in_the_same_generation() -> None:
    """No new generation: the ids are linked, and the partitions pass to the new id at once."""
    got = tables(
        CREATED,
        (4000, "2 1 range A@i1=0-2 B@i2=3-5"),
        (6000, "2 1 range C@i1=0-2 B@i2=3-5"),
        (9000, "2 2 range C@i1=0-2 B@i2=3-5 D@i3=-"),
    )
    assert pick(got["epochs"], "epoch", "join_started_earliest", "partitions_moved") == [
        (1, 1000, 0),
        (2, 5990, 0),
    ]
    assert pick(
        got["members"], "member_id", "previous_member_id", "next_member_id", "left_how", "left_at"
    ) == [
        ("A", None, "C", "static_member_replaced", 6000),
        ("B", None, None, None, None),
        ("C", "A", None, None, None),
        ("D", None, None, None, None),
    ]
    assert pick(
        got["ownership"],
        "member_id",
        "from_at",
        "unowned_before_ms",
        "how_ended",
        topic_partition=0,
    ) == [
        ("A", 4000, None, "handed_over"),
        ("C", 6000, 0, "open"),
    ]


def test_cooperative_rebalance_in_two_steps() -> None:
    """The first generation only revokes, the second assigns: between the two records the partitions had no owner."""
    got = tables(
        CREATED,
        (4000, "2 1 cooperative-sticky A=0-5"),
        (9000, "2 2 cooperative-sticky A=0-2 B=- owned:A=0-5"),
        (9500, "2 3 cooperative-sticky A=0-2 B=3-5 owned:A=0-2"),
        (9900, "2 4 cooperative-sticky A=0-2 B=3-5"),
    )
    assert pick(got["rebalance_causes"], "cause", "certainty", epoch=3) == [
        ("cooperative_follow_up", "probable")
    ]
    assert pick(
        got["epochs"],
        "epoch",
        "unowned_partition_max_ms",
        "partitions_dropped",
        "partitions_added",
        "partitions_moved",
    ) == [
        (1, 0, 0, 6, 0),
        (2, 0, 3, 0, 0),
        (3, 1500, 0, 3, 3),
        (4, 2460, 0, 0, 0),  # its members do not list any owned partitions
    ]
    assert pick(
        got["rebalances"], "first_epoch", "last_epoch", "ended_at", "partitions_moved", "outcome"
    ) == [(1, 1, 4000, 0, "stable"), (2, 3, 9500, 3, "stable"), (4, 4, 9900, 0, "stable")]
    assert pick(
        got["ownership"], "member_id", "from_at", "unowned_before_ms", topic_partition=4
    ) == [
        ("A", 4000, None),
        ("B", 9500, 500),
    ]


def test_an_emptied_group_and_its_next_member() -> None:
    """The last member's departure is a generation of its own; the next generation is not a new incarnation."""
    got = tables(CREATED, FIRST, (7000, "2 2 - state_at=7000"), (9000, "2 3 range B=0-5"))
    assert pick(got["epochs"], "incarnation", "epoch", "outcome", "members") == [
        (0, 1, "converged", 1),
        (0, 2, "emptied", 0),
        (0, 3, "converged", 1),
    ]
    assert pick(got["group_states"], "group_state", "from_at", "to_at") == [
        ("Empty", 1000, 4250),
        ("Stable", 4250, 7000),
        ("Empty", 7000, 9000),
        ("Stable", 9000, None),
    ]


def test_upgrade_and_downgrade_carry_the_epoch_over() -> None:
    """S5: the generation becomes the group epoch and back; only the joins and leaves around it are new epochs."""
    got = tables(
        CREATED,
        FIRST,
        (8000, f"{UPGRADE}; 5 D; 3 2; 7 A 0-2; 7 D 3-5; 6 2; 8 D 2/0 UNRELEASED -"),
        (9000, "8 A 2/1 0-2"),
        (9500, "8 D 2/2 3-5"),
        (12000, "8t D; 8t A; 7t D; 7t A; 6t; 5t D; 5t A; 3t; 2 2 range A=0-2"),
        (13000, "2 3 range A=0-5 state_at=12900"),
    )
    assert pick(
        got["epochs"],
        "incarnation",
        "epoch",
        "protocol",
        "outcome",
        "members_joined",
        "members_left",
    ) == [
        (0, 1, "classic", "converged", 1, 0),
        (0, 2, "consumer", "converged", 1, 0),
        (0, 3, "classic", "converged", 0, 1),
    ]
    assert pick(got["rebalance_causes"], "epoch", "cause", "certainty") == [
        (1, "member_joined", "proven"),
        (1, "group_created", "proven"),
        (2, "member_joined", "proven"),
        (2, "protocol_upgraded", "probable"),
        (3, "protocol_downgraded", "probable"),
    ]
    assert pick(got["epochs"], "join_started_earliest", "join_started_latest", epoch=3) == [
        (11990, 12000)
    ]
    assert pick(got["members"], "member_id", "first_seen_at", "left_at", "stints") == [
        ("A", 4250, None, 1),
        ("D", 8000, 12000, 1),
    ]


def test_a_tombstone_ends_the_incarnation() -> None:
    """When an expired group comes back, its generations restart in the next incarnation."""
    got = tables(
        CREATED, FIRST, (7000, "2 2 -"), (8000, "2t"), (9000, "2 0"), (9500, "2 1 range B=0-5")
    )
    assert pick(got["epochs"], "incarnation", "epoch", "outcome") == [
        (0, 1, "converged"),
        (0, 2, "emptied"),
        (1, 1, "converged"),
    ]


def test_an_empty_consumer_group_that_turns_classic() -> None:
    """Its counter starts at zero, so it is a new incarnation, not a downgrade."""
    got = tables(
        (1000, "5 A; 3 2; 7 A 0-5; 6 2; 8 A 2/0 0-5"),
        (2000, "8t A; 7t A; 5t A; 3 3 h0"),
        (3000, "6t; 3t; 2 0"),
        (4000, "2 1 range B=0-5"),
    )
    assert pick(got["epochs"], "incarnation", "epoch", "protocol") == [
        (0, 2, "consumer"),
        (0, 3, "consumer"),
        (1, 1, "classic"),
    ]


def test_the_first_member_of_an_empty_group_leads_it() -> None:
    """It began the join phase; the others joined meanwhile. Whether a static or a dynamic one was first can be open."""
    got = tables(
        CREATED,
        (4250, "2 1 range B=0-2 A=3-5 lead=A state_at=4000"),
        (9030, "2 2 - state_at=9000"),
        (20_000, "2 3 range C@i1=0-2 D=3-5 lead=D state_at=19990"),
    )
    columns = ("epoch", "role", "cause", "certainty", "member_id", "alternatives")
    joins = [row for row in got["rebalance_causes"] if row["epoch"] != 2]
    assert pick(joins, *columns) == [
        (1, "began", "member_joined", "proven", "A", []),
        (1, "began", "group_created", "proven", "A", []),
        (1, "meanwhile", "member_joined", "proven", "B", []),
        (3, "began", "member_joined", "probable", "D", ["static_member_joined"]),
        (3, "meanwhile", "static_member_joined", "probable", "C", ["member_joined"]),
    ]
