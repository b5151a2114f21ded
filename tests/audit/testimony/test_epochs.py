"""Group epochs with a broker's log in addition to the records: why members went, and what lost records held."""

import pytest

from tests.audit.broker_log.stories import Line, audit, causes
from tests.dsl import log

JOIN_A = (1_000, "5 A; 3 1; 7 A 0-5; 6 1; 8 A 1/0 0-5")
JOIN_B = (2_000, "5 B; 3 2; 7 A 0-2; 7 B 3-5; 6 2; 8 A 2/1 0-2; 8 B 2/0 3-5")
B_GOES = (9_000, "8t B; 7t B; 5t B; 3 3")
BUMPED: Line = (9_001, "[GroupId g] Bumped group epoch to 3 with metadata hash 1.")


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("[GroupId g] Member B left the consumer group.", "member_left proven B"),
        (
            "[GroupId g] Member B fenced from the group because the member session expired.",
            "member_session_expired proven B",
        ),
        (
            "[GroupId g] Member B fenced from the group because it failed to transition from epoch 2 within 6000ms.",
            "member_rebalance_timeout proven B",
        ),
        (
            (
                "[Group g] Dynamic member B has left group through explicit `LeaveGroup` request; client reason: "
                "member was removed by an admin"
            ),
            "member_removed_by_admin proven B",
        ),
    ],
)
def test_why_a_member_is_gone(message: str, expected: str) -> None:
    """Leave, expiry, timeout and removal write the same records; one line says which, with or without the bump's."""
    records = log(JOIN_A, JOIN_B, B_GOES)
    assert causes(audit(records), 3) == ["member_departed probable B"]
    for lines in ([(9_000, message)], [(9_000, message), BUMPED]):
        tables = audit(records, lines)
        assert causes(tables, 3) == [expected]
        member = next(row for row in tables["members"] if row["member_id"] == "B")
        assert f"{member['left_how']} {member['left_certainty']} B" == expected


def test_an_expired_absence() -> None:
    """The session of a static member that had left for a while ran out."""
    records = log(
        (1_000, "5 A instance=i; 3 1; 7 A 0-5; 6 1; 8 A 1/0 0-5"),
        (2_000, "8 A -2/1 0-5"),
        (9_000, "8t A; 7t A; 5t A; 3 2"),
    )
    line = "[GroupId g] Member A fenced from the group because the member session expired."
    assert causes(audit(records, [(9_000, line)]), 2)[0] == "static_member_expired proven A"


@pytest.mark.parametrize(
    "at_ms",
    [
        pytest.param(6_000, id="too early"),
        pytest.param(12_000, id="too late"),
        pytest.param(9_000 + 3_600_000, id="an hour off"),
    ],
)
def test_a_line_of_another_time_proves_nothing(at_ms: int) -> None:
    """A member id can leave and come back, so only a line at the time of the record counts."""
    line = "[GroupId g] Member B left the consumer group."
    tables = audit(log(JOIN_A, JOIN_B, B_GOES), [(at_ms, line)])
    assert causes(tables, 3) == ["member_departed probable B"]


def test_the_nearest_of_two_lines() -> None:
    """A leave that was never written is followed by an expiry that was."""
    lines = [
        (7_500, "[GroupId g] Member B left the consumer group."),
        (9_000, "[GroupId g] Member B fenced from the group because the member session expired."),
        (10_000, "[GroupId g] Member B left the consumer group."),
    ]
    tables = audit(log(JOIN_A, JOIN_B, B_GOES), lines)
    assert causes(tables, 3) == ["member_session_expired proven B"]


def test_another_groups_lines_say_nothing() -> None:
    """Lines count only for their own group."""
    line = "[GroupId other] Member B left the consumer group."
    tables = audit(log(JOIN_A, JOIN_B, B_GOES), [(9_000, line)])
    assert causes(tables, 3) == ["member_departed probable B"]


def test_a_scan_with_the_same_result_brings_no_epoch_about() -> None:
    """Kafka scans after a heartbeat; with the same topics as before, only their metadata can have changed."""
    records = log(
        (1_000, "5 A regex=^f; 16 ^f foo; 3 1; 7 A 0-5; 6 1; 8 A 1/0 0-5"),
        (9_000, "16 ^f foo; 3 2 h7"),
    )
    assert causes(audit(records), 2) == ["topic_metadata_changed proven"]
    lines = [
        (8_990, "[GroupId g] Scanned 4 topics to refresh regular expressions [^f] in 6ms."),
        (9_000, "[GroupId g] Bumped group epoch to 2 with metadata hash 7."),
    ]
    assert causes(audit(records, lines), 2) == ["topic_metadata_changed proven"]


def test_a_line_behind_the_bump_is_not_of_it() -> None:
    """A leave that the coordinator logged after the epoch belongs to the next one, however near it is."""
    left: Line = (9_050, "[GroupId g] Member B left the consumer group.")
    assert causes(audit(log(JOIN_A, JOIN_B, B_GOES), [BUMPED, left]), 3) == [
        "member_departed probable B"
    ]


def test_a_join_is_no_proof_that_a_group_began() -> None:
    """The records leave open whether the epoch is the first; that a member joined says nothing of it."""
    records = log((1_000, "5 A regex=^f; 8 A 2/0 -"), (1_100, "16 ^f foo; 3 2"))
    lines = [
        (1_100, "[GroupId g] Member A joins the consumer group using the consumer protocol."),
        (1_100, "[GroupId g] Bumped group epoch to 2 with metadata hash 1."),
    ]
    assert not [each for each in causes(audit(records, lines), 2) if "group_created proven" in each]


def test_a_join_in_the_log_alone_need_not_have_bumped() -> None:
    """Without its record it is unknown whether it brought topics: the metadata may have changed instead."""
    lines = [
        (8_999, "[GroupId g] Member C joins the consumer group using the consumer protocol."),
        (9_000, "[GroupId g] Bumped group epoch to 7 with metadata hash 1."),
    ]
    records = log(JOIN_A, JOIN_B, (9_000, "3 7"))
    assert causes(audit(records, lines), 7) == ["member_joined probable C"]


def test_what_compaction_took() -> None:
    """Only the epoch is left of the write: the records show no cause, the log does."""
    records = log(JOIN_A, JOIN_B, (9_000, "3 7"))
    assert causes(audit(records), 7) == ["unknown possible"]
    lines = [
        (8_999, "[GroupId g] Member C fenced from the group because the member session expired."),
        (9_000, "[GroupId g] Bumped group epoch to 7 with metadata hash 1."),
    ]
    assert causes(audit(records, lines), 7) == ["member_session_expired proven C"]
    assert causes(audit(records, lines[:1]), 7) == ["unknown possible"]


def test_another_hash_is_a_contradiction() -> None:
    """The same epoch at the same time with another hash of the topics: the log is not of this history."""
    line = "[GroupId g] Bumped group epoch to 3 with metadata hash 99."
    tables = audit(log(JOIN_A, JOIN_B, B_GOES), [(9_000, line)])
    (finding,) = (row for row in tables["findings"] if row["kind"] == "broker_log_contradiction")
    assert "metadata hash 99, the record has 1" in finding["detail"]


def test_refused_instances_are_a_finding() -> None:
    """A refused join writes no record; the log has one line for each, and the findings one row for each instance."""
    message = (
        "[GroupId g] Static member {} with instance id {} cannot join the group because the instance id is owned by "
        "member A."
    )
    lines = [
        (3_000, message.format("X", "i")),
        (4_000, message.format("Y", "i")),
        (5_000, message.format("Z", "j")),
        (9_500, message.format("X", "i")),
    ]
    findings = [
        row
        for row in audit(log(JOIN_A, JOIN_B, B_GOES, (20_000, "3 4 h9")), lines)["findings"]
        if row["kind"] == "instance_id_refused"
    ]
    assert sorted(
        (row["from_at"], row["to_at"], row["detail"], row["member_ids"]) for row in findings
    ) == [
        (
            2_000,
            5_000,
            "Instance j was refused once while member A held its id.",
            ["A", "Z"],
        ),
        (
            2_000,
            9_500,
            "Instance i was refused 2 times while member A held its id. This is the worst of 2 cases.",
            ["A", "X", "Y"],
        ),
    ]


def test_a_departure_from_a_share_group_is_not_that_of_the_next_epoch() -> None:
    """Share groups do not log the epoch that a departure begins, so the next line of an epoch is another request's."""
    records = log(
        (1_000, "10 A; 11 2 h1; 13 A 0-2; 12 2; 14 A 2/0 0-2"),
        (2_000, "10 B; 11 3 h1; 13 B 3-5; 12 3; 14 B 3/0 3-5"),
        (9_000, "14t B; 13t B; 10t B; 11 4 h1"),
        (9_020, "11 5 h1; 13 A 0-5; 12 5; 14 A 5/2 0-5"),
    )
    lines: list[Line] = [
        (9_000, "[GroupId g] Member B left the share group."),
        (9_020, "[GroupId g] Bumped group epoch to 5 with metadata hash 1."),
    ]
    tables = audit(records, lines)
    assert causes(tables, 4) == ["member_left proven B"]
    assert causes(tables, 5) == ["unknown possible"]
    alternatives = [row["alternatives"] for row in tables["rebalance_causes"] if row["epoch"] == 5]
    assert alternatives == [["topic_metadata_changed", "assignment_only"]]


@pytest.mark.parametrize(
    ("message", "detail", "members"),
    [
        (
            "[GroupId g] Failed to compute a new target assignment for epoch 2: no such topic.",
            "The coordinator could not compute a target assignment: no such topic.",
            [],
        ),
        (
            "Setting empty assignments for members [A, B] of g for generation 2.",
            "The coordinator gave some members nothing, because the leader's assignment left them out.",
            ["A", "B"],
        ),
        (
            "Group g could not complete rebalance because no members rejoined.",
            "The coordinator could not complete a join phase, because no member rejoined.",
            [],
        ),
        (
            "Cannot upgrade classic group g to consumer group because the online upgrade is disabled.",
            "The coordinator did not convert the group to a consumer group: the online upgrade is disabled.",
            [],
        ),
        (
            "Cannot join the consumer group g with the classic protocol because the group migration is disabled.",
            "The coordinator refused a classic member in the consumer group: the group migration is disabled.",
            [],
        ),
        (
            "Failed to write empty metadata for group g: the request timed out",
            "The coordinator could not store the group's state: the request timed out.",
            [],
        ),
    ],
)
def test_what_a_coordinator_could_not_do_is_a_finding(
    message: str, detail: str, members: list[str]
) -> None:
    """Its failures leave no record; each kind is one finding of the epoch."""
    tables = audit(log(JOIN_A, JOIN_B, (20_000, "3 4 h9")), [(3_000, message)])
    found = [row for row in tables["findings"] if row["kind"] == "coordinator_trouble"]
    assert [(row["detail"], row["member_ids"]) for row in found] == [(detail, members)]
