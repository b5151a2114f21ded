"""Classic generations with a broker's log in addition to the records: triggers, departures, join phases, doubts."""

import pytest

from rebalance_audit.audit.rows import Row
from tests.audit.broker_log.stories import Line, audit, causes, prepared, stabilized
from tests.dsl import log

JOINED = "Adding new member B with group instance id null; client reason: not provided"
OVER_CAPACITY = "Rebalancing in order to give a chance for consumers to commit offsets"
RECORDS = (
    (1_010, "2 1 range A=0-5 state_at=1000"),
    (5_010, "2 2 range A=0-2 B=3-5 state_at=5000"),
    (9_010, "2 3 range A=0-5 state_at=9000"),
)
B_JOINS = [prepared(4_000, 1, JOINED), stabilized(5_001, 2, 2)]
B_EXPIRES = [
    (8_000, "Member B in group g has failed, removing it from the group."),
    prepared(8_001, 2, "removing member B on heartbeat expiration."),
    stabilized(9_001, 3, 1),
]


def epoch_row(tables: dict[str, list[Row]], epoch: int) -> Row:
    """The row of an epoch."""
    return next(row for row in tables["epochs"] if row["epoch"] == epoch)


def left_how(tables: dict[str, list[Row]], member_id: str) -> tuple[str, str]:
    """How a member went, and how certain that is."""
    row = next(row for row in tables["members"] if row["member_id"] == member_id)
    return row["left_how"], row["left_certainty"]


def test_without_a_log_nothing_is_proven() -> None:
    """The records do not hold what set the rebalance off, nor how the member went."""
    tables = audit(log(*RECORDS))
    assert causes(tables, 2) == ["member_joined probable B"]
    assert [cause.split()[1] for cause in causes(tables, 3)] == ["probable"]
    assert left_how(tables, "B")[1] == "probable"


def test_the_logged_trigger_is_the_primary_cause() -> None:
    """Trigger, start of the join phase and the member's end are those of the log; the line is part of the evidence."""
    tables = audit(log(*RECORDS), [*B_JOINS, *B_EXPIRES])
    assert causes(tables, 2) == ["member_joined proven B"]
    assert causes(tables, 3) == ["member_session_expired proven B"]
    assert left_how(tables, "B") == ("member_session_expired", "proven")
    for epoch, at_ms in ((2, 4_000), (3, 8_001)):
        row = epoch_row(tables, epoch)
        assert (row["join_started_earliest"], row["join_started_latest"]) == (at_ms, at_ms)
        assert row["primary_certainty"] == "proven"
    cause = next(row for row in tables["rebalance_causes"] if row["epoch"] == 3)
    facts = [item["fact"] for item in cause["evidence"]]
    assert "server.log:4" in facts[0]
    assert "removing member B on heartbeat expiration" in facts[0]
    assert cause["alternatives"] == []
    assert [row["started_at"] for row in tables["rebalances"]][1:] == [4_000, 8_001]


@pytest.mark.parametrize(
    ("records", "reason", "expected"),
    [
        pytest.param(
            "2 2 range A=0-5 state_at=5000",
            "Leader A re-joining group during Stable; client reason: cached metadata has changed",
            "topic_metadata_changed proven A",
            id="the leader says that the topics changed",
        ),
        pytest.param(
            "2 2 range A=0-5 state_at=5000",
            "Leader A re-joining group during Stable; client reason: not provided",
            "leader_rejoined proven A",
            id="the leader says nothing",
        ),
        pytest.param(
            "2 2 range A=0-5 topics=foo,bar state_at=5000",
            "Leader A re-joining group during Stable; client reason: not provided",
            "subscription_changed proven A",
            id="the leader says nothing, but has other topics",
        ),
        pytest.param(
            "2 2 range A=0-5 state_at=5000",
            "Leader A re-joining group during Stable; client reason: subscription has changed",
            "leader_rejoined proven A",
            id="the leader names other topics, and the records have the same",
        ),
        pytest.param(
            "2 2 range A=0-5 state_at=5000",
            "Leader A re-joining group during Stable; client reason: need to revoke partitions and re-join",
            "leader_rejoined proven A",
            id="the leader names partitions to give up, in a protocol that has none",
        ),
        pytest.param(
            "2 2 range A=0-5 state_at=5000",
            "Leader A re-joining group during Stable; client reason: whatever somebody typed",
            "leader_rejoined proven A",
            id="the leader says what is in no table",
        ),
        pytest.param(
            "2 2 range A=0-5 topics=foo,bar state_at=5000",
            "Updating metadata for member A",
            "subscription_changed proven A",
            id="a release that does not separate leaders from followers",
        ),
        pytest.param(
            "2 2 range A=0-5 state_at=5000",
            "explicit `LeaveGroup` request for (Z) members.",
            "member_left proven Z",
            id="a member came and went without ever being in a record",
        ),
    ],
)
def test_triggers_that_records_cannot_show(records: str, reason: str, expected: str) -> None:
    """Members and assignments look the same; only the log knows what happened, as far as its words go."""
    tables = audit(
        log((1_010, "2 1 range A=0-5 state_at=1000"), (5_010, records)),
        [prepared(4_000, 1, reason), stabilized(5_000, 2, 1)],
    )
    assert causes(tables, 2)[0] == expected


@pytest.mark.parametrize(
    ("left", "request_names"),
    [
        pytest.param("not provided", "", id="one, by its instance id alone"),
        pytest.param("not provided", ", ", id="two"),
        pytest.param(
            "member was removed by an admin", "B", id="by its member id, with Kafka's own reason"
        ),
    ],
)
def test_removals_by_an_administrator(left: str, request_names: str) -> None:
    """A client names itself, alone, by its member id; anything else is an administrator's request."""
    lines = [
        (
            8_000,
            f"[Group g] Member B has left group through explicit `LeaveGroup` request; client reason: {left}",
        ),
        prepared(8_000, 2, f"explicit `LeaveGroup` request for ({request_names}) members."),
        stabilized(9_001, 3, 1),
    ]
    tables = audit(log(*RECORDS), lines)
    assert causes(tables, 3) == ["member_removed_by_admin proven B"]
    assert left_how(tables, "B") == ("member_removed_by_admin", "proven")
    # Without the line on the member it is not known whom the request took out, but that somebody else sent it.
    if request_names != "B":
        assert causes(audit(log(*RECORDS), lines[1:]), 3)[0] == "member_removed_by_admin proven"


@pytest.mark.parametrize(
    ("reason", "certainty"),
    [
        ("not provided", "proven"),
        ("rejoining from normal rebalance", "proven"),
        # It heard of the rebalance before, and came too late for it: its metadata began another one.
        ("group is already rebalancing", "probable"),
        ("rebalance enforced by user", "probable"),
    ],
)
def test_a_cooperative_follower_that_gave_up_partitions(reason: str, certainty: str) -> None:
    """It joins again because of what the generation before took from it: the record says so, the log who began."""
    tables = audit(
        log(
            (1_010, "2 1 cooperative-sticky A=0-5 B=6 state_at=1000"),
            (5_010, "2 2 cooperative-sticky A=0-2 B=6 C=7 owned:A=0-5 state_at=5000"),
            (6_010, "2 3 cooperative-sticky C=3-5 A=0-2 B=6 owned:A=0-2 state_at=6000"),
        ),
        [
            prepared(
                5_500,
                2,
                f"Updating metadata for member A during Stable; client reason: {reason}",
            ),
            stabilized(6_000, 3, 3),
        ],
    )
    assert causes(tables, 3)[0] == f"cooperative_follow_up {certainty} A"


def test_several_causes_in_order() -> None:
    """What began the join phase comes first; what happened during it comes after, as it began nothing."""
    tables = audit(
        log(
            (1_010, "2 1 range A=0-2 B=3-5 state_at=1000"),
            (9_010, "2 2 range A=0-2 C=3-5 state_at=9000"),
        ),
        [
            (
                3_999,
                "Pending dynamic member with id C joins group g in Stable state. Adding to the group now.",
            ),
            prepared(4_000, 1, JOINED.replace("B", "C")),
            (9_000, "Group g removed dynamic members who haven't joined: [B]"),
            stabilized(9_000, 2, 2),
        ],
    )
    assert causes(tables, 2) == ["member_joined proven C", "member_rebalance_timeout probable B"]
    roles = [row["role"] for row in tables["rebalance_causes"] if row["epoch"] == 2]
    assert roles == ["began", "meanwhile"]


@pytest.mark.parametrize(
    "reason",
    [
        f"Freshly-loaded group g (size 3) is over capacity 2. {OVER_CAPACITY}",
        f"Freshly-loaded group is over capacity (2). {OVER_CAPACITY}",
    ],
    ids=["3.7-", "2.1-3.9"],
)
def test_a_group_that_is_loaded_over_capacity(reason: str) -> None:
    """The coordinator began the join phase by itself: who goes in it did not."""
    lines = [
        prepared(8_000, 2, reason),
        (8_500, "Member B in group g has failed, removing it from the group"),
        stabilized(9_000, 3, 1),
    ]
    found = causes(audit(log(*RECORDS), lines), 3)
    assert found[0].startswith("unknown probable")
    assert "proven" not in " ".join(found)


def test_the_old_coordinator_counts_as_well() -> None:
    """The coordinator of 2.x and 3.x has other wordings, with the same result."""
    tables = audit(
        log(*RECORDS[:2]),
        [
            (
                4_000,
                (
                    "Preparing to rebalance group g in state PreparingRebalance with old generation 1 "
                    "(__consumer_offsets-0) (reason: Adding new member B with group instance id None; client reason: "
                    "not provided)"
                ),
            ),
            (5_001, "Stabilized group g generation 2 (__consumer_offsets-0) with 2 members"),
        ],
    )
    assert causes(tables, 2) == ["member_joined proven B"]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        pytest.param(B_JOINS[1:], "member_joined probable B", id="the log begins too late"),
        pytest.param(B_JOINS[:1], "member_joined probable B", id="the log ends too early"),
        pytest.param(
            [B_JOINS[0], (4_500, "Loaded classic group g with 1 members."), B_JOINS[1]],
            "member_joined probable B",
            id="the coordinator moved in between",
        ),
        pytest.param(
            [B_JOINS[0], (*B_JOINS[1], "2")],
            "member_joined probable B",
            id="another broker ended it: the one between is not in the log",
        ),
        pytest.param(
            [prepared(400_000, 1, JOINED), stabilized(500_000, 2, 2)],
            "member_joined probable B",
            id="the same generation at another time",
        ),
        pytest.param(
            [prepared(4_000, 1, "The moon is full"), B_JOINS[1]],
            "member_joined probable B",
            id="a reason that no table knows",
        ),
    ],
)
def test_half_a_log_proves_nothing(lines: list[Line], expected: str) -> None:
    """Only a join phase that one broker's log holds from begin to end decides."""
    assert causes(audit(log(*RECORDS[:2]), lines), 2) == [expected]


def test_a_line_of_an_earlier_life_is_not_taken_for_this_one() -> None:
    """Generations count from 1 in every life of a group; where the log lost the rest, its member shows which life."""
    records = log(
        (1_010, "2 1 range A=0-5 state_at=1000"),
        (2_010, "2t"),
        (99_010, "2 1 range B=0-5 state_at=99000"),
    )
    lines = [
        prepared(
            500, 0, "Adding new member A with group instance id null; client reason: not provided"
        ),
        stabilized(99_000, 1, 1),
    ]
    tables = audit(records, lines)
    second = [row for row in tables["rebalance_causes"] if row["incarnation"] == 1]
    assert {row["member_id"] for row in second} <= {"B", None}
    assert all("broker 1 logged" not in str(row["evidence"]) for row in second)


@pytest.mark.parametrize(
    ("loaded_ms", "certainty"),
    [
        pytest.param(3_000, "proven", id="before the join phase"),
        pytest.param(None, "probable", id="who knows when"),
    ],
)
def test_a_coordinator_that_moved(loaded_ms: int | None, certainty: str) -> None:
    """The leader epoch shows that it moved; only a log that shows when can say what began the rebalance."""
    first, second = log(*RECORDS[:2])
    moved = (second[0], second[1]._replace(leader_epoch=1))
    lines = list(B_JOINS)
    if loaded_ms is not None:
        lines.append((loaded_ms, "Loaded classic group g with 1 members."))
    assert causes(audit([first, moved], lines), 2) == [f"member_joined {certainty} B"]


@pytest.mark.parametrize(
    "began",
    [
        pytest.param(
            (8_001, "Preparing to rebalance group g with old generation 2 (__consumer_offsets-0)"),
            id="2.0 gives no reason",
        ),
        pytest.param(prepared(8_001, 2, "The moon is full"), id="a wording to come"),
    ],
)
def test_a_departure_in_a_join_phase_without_a_reason(began: Line) -> None:
    """When the phase began is known, not that the departure began it."""
    tables = audit(log(*RECORDS), [B_EXPIRES[0], began, B_EXPIRES[2]])
    assert causes(tables, 3) == ["member_session_expired probable B"]
    assert epoch_row(tables, 3)["join_started_latest"] == 8_001


def test_a_removal_that_the_next_coordinator_does_not_know() -> None:
    """A member is out in memory alone; the coordinator moves before any record, and it is back until it expires."""
    first, second, third = log(*RECORDS)
    moved = (third[0], third[1]._replace(leader_epoch=1))
    void = (
        7_000,
        (
            "[Group g] Member B has left group through explicit `LeaveGroup` request; client reason: "
            "member was removed by an admin"
        ),
    )
    loaded = (7_500, "Loaded classic group g with 2 members.", "2")
    real = [(at_ms, message, "2") for at_ms, message, *_ in B_EXPIRES]
    for lines, end in (
        ([*B_JOINS, void, loaded, *real], ("member_session_expired", "proven")),
        ([*B_JOINS, void, loaded], None),
        ([*B_JOINS, void], None),
    ):
        tables = audit([first, second, moved], lines)
        if end is None:
            assert left_how(tables, "B")[1] != "proven"
            assert [cause.split()[1] for cause in causes(tables, 3)] == ["probable"]
        else:
            assert left_how(tables, "B") == end
            assert causes(tables, 3)[0] == "member_session_expired proven B"


def test_a_departure_without_its_join_phase() -> None:
    """How the member went is certain, that it was what began the rebalance is not."""
    tables = audit(log(*RECORDS), [B_EXPIRES[0], B_EXPIRES[2]])
    assert causes(tables, 3) == ["member_session_expired probable B"]
    assert left_how(tables, "B") == ("member_session_expired", "proven")


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        pytest.param(
            [B_JOINS[0], stabilized(5_001, 2, 7)],
            "generation 2 with 7 members, the record has 2",
            id="another number of members",
        ),
        pytest.param(
            [
                prepared(4_000, 1, "removing member A on heartbeat expiration."),
                stabilized(5_001, 2, 2),
            ],
            "member A is out",
            id="a member that is there",
        ),
    ],
)
def test_contradictions_are_findings(lines: list[Line], said: str) -> None:
    """What the records contradict is reported, and decides nothing."""
    tables = audit(log(*RECORDS[:2]), lines)
    (finding,) = (row for row in tables["findings"] if row["kind"] == "broker_log_contradiction")
    assert said in finding["detail"]
    assert causes(tables, 2) == ["member_joined probable B"]
    assert epoch_row(tables, 2)["join_started_earliest"] == 1_000


def test_the_first_generation_of_a_log_that_begins_in_the_middle() -> None:
    """With nothing to compare with the records know no cause; the log does."""
    tables = audit(log(RECORDS[1]), B_JOINS)
    assert causes(tables, 2) == ["member_joined proven B"]


def test_a_member_id_that_never_came_back_was_waited_for() -> None:
    """It had no record and never will; the broker's lines say how long the join phase waited, and for whom."""
    tables = audit(
        log(*RECORDS[:2]),
        [
            (
                3_900,
                (
                    "Dynamic member with unknown member id joins group g in Stable state. Created a new member id X "
                    "and requesting the member to rejoin with this id."
                ),
            ),
            prepared(4_000, 1, JOINED),
            (
                4_900,
                "Pending member X in group g has been removed after session timeout expiration.",
            ),
            stabilized(5_001, 2, 2),
        ],
    )
    assert causes(tables, 2) == ["member_joined proven B", "pending_member_expired proven X"]
    waited = next(row for row in tables["rebalance_causes"] if row["member_id"] == "X")
    assert waited["role"] == "meanwhile"
    assert "the join phase waited 900 ms for it" in waited["detail"]


@pytest.mark.parametrize(
    "error",
    [
        "error when storing group assignment during SyncGroup (member: A)",
        "Error NOT_COORDINATOR when storing group assignment during SyncGroup (member: A)",
        "Error NOT_COORDINATOR when storing group assignmentduring SyncGroup (member: A).",
    ],
)
def test_generations_that_could_not_be_stored(error: str) -> None:
    """They leave no record; the log says that they were, what began the first, and why the last began anew."""
    tables = audit(
        log((1_010, "2 1 range A=0-5 state_at=1000"), (7_010, "2 3 range A=0-5 state_at=7000")),
        [
            prepared(
                4_000, 1, "Leader A re-joining group during Stable; client reason: not provided"
            ),
            stabilized(5_000, 2, 1),
            prepared(5_001, 2, error),
            stabilized(7_000, 3, 1),
        ],
    )
    assert causes(tables, 3) == ["assignment_only proven A", "leader_rejoined proven A"]
    first = next(row for row in tables["rebalance_causes"] if row["epoch"] == 3)
    assert "could not store the assignment of generation 2" in first["detail"]
    assert "Generation 2 left no record" in first["detail"]
