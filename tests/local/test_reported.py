"""Logs like those that people reported: members and brokers that write other bytes, and logs that cannot be right."""

from pathlib import Path
from typing import Any

import pytest

import rebalance_audit as ra
from rebalance_audit.figures.groups import summaries
from rebalance_audit.figures.present import group_text

REPORTED = Path(__file__).parents[1] / "golden" / "reported"


def audited(case: str) -> ra.Audit:
    """The audit of one of them, with the broker's log where there is one."""
    logs = sorted((REPORTED / case).glob("server.log"))
    return ra.audit_segments(REPORTED / case / "segments", broker_logs=logs)


def picked(rows: list[dict[str, Any]], *columns: str) -> list[tuple[Any, ...]]:
    """Some columns of rows, which are in order of their key."""
    return [tuple(row[column] for column in columns) for row in rows]


def test_workers_and_registries_own_no_partitions() -> None:
    """Connect's worker read a new configuration: its metadata changed, and a third task runs."""
    audit = audited("connect-and-registry")
    causes = picked(audit.tables["rebalance_causes"], "group_id", "epoch", "cause", "detail")
    assert causes[2] == (
        "confluent.connect",
        5,
        "subscription_changed",
        (
            "Protocol type connect (Kafka Connect): The metadata of worker connect-w0:8083-aaaa1111 changed: config "
            "offset 40 to 49. Now connect-w0:8083-aaaa1111 runs tasks 0 to 2 of conn-1."
        ),
    )
    assert all("rotocol type" in row["detail"] for row in audit.tables["rebalance_causes"])
    assert {row["unowned_partition_min_ms"] for row in audit.tables["epochs"]} == {None}
    assert {row["partitions"] for row in audit.tables["epochs"]} == {None}
    assert [group.unowned for group in summaries(audit.tables)] == [None, None]
    connect, registry = audit.state().groups
    assert [member["work"] for member in connect["members"]] == [
        ["task conn-1-0"],
        ["task conn-1-1", "task conn-1-2"],
    ]
    assert connect["members"][0]["assignment"] is None
    assert registry["members"][0]["work"] == ["primary"]


def test_an_assignment_without_user_data_is_read() -> None:
    """Generation 2 assigns what generation 1 did."""
    audit = audited("assignment-without-user-data")
    assert picked(audit.tables["epochs"], "epoch", "partitions", "primary_cause") == [
        (1, 4, "member_joined"),
        (2, 4, "leader_rejoined"),
    ]
    (group,) = audit.state().groups
    assert [member["assignment"] for member in group["members"]] == [
        {"foo": [0, 1]},
        {"foo": [2, 3]},
    ]


def test_a_version_before_each_member_is_known_from_the_bytes() -> None:
    """Redpanda's value."""
    audit = audited("member-version-before-each")
    assert picked(audit.tables["epochs"], "epoch", "members") == [(1, 1), (2, 0), (3, 1), (4, 2)]
    assert audit.facts.undecodable == {}
    (group,) = audit.state().groups
    assert (group["state"], [member["member_id"] for member in group["members"]]) == (
        "Stable",
        ["B-2222", "C-3333"],
    )


def test_the_state_is_unknown_after_a_record_that_cannot_be_decoded() -> None:
    """Neither `state` nor the tables say that the group is still Stable; before that record it was."""
    audit = audited("undecodable-end-classic")
    columns = ("from_offset", "to_offset", "group_state", "members_at_end", "is_current")
    assert picked(audit.tables["group_states"], *columns) == [
        (0, 1, "Stable", 2, False),
        (1, None, "Unknown", None, True),
    ]
    (summary,) = summaries(audit.tables)
    assert group_text(summary.present) == "Unknown (its last record cannot be decoded)"
    group, other = audit.state().groups
    assert (group["state"], group["members"], group["unknown_since"]["offset"]) == (
        "Unknown",
        None,
        1,
    )
    assert other["state"] == "Empty"
    before = audit.state(at="2026-09-18T02:53:30Z").groups
    assert [each["state"] for each in before] == ["Stable"]


def test_two_owners_in_a_log_that_lacks_nothing_are_real() -> None:
    """From the moment the second member got the partitions to the one at which the first released them."""
    audit = audited("two-owners-short")
    (finding,) = audit.tables["findings"]
    assert (finding["kind"], finding["severity"]) == ("two_owners", "critical")
    began_ms = audit.tables["epochs"][1]["started_at"]
    assert (finding["from_at"], finding["to_at"]) == (began_ms, began_ms + 4_800)
    assert finding["member_ids"] == ["M1", "M2"]
    assert {row["completeness"] for row in audit.tables["epochs"]} == {"complete"}
    assert audit.tables["epochs"][1]["primary_certainty"] == "proven"


def test_a_classic_group_keeps_its_records_when_the_tombstones_follow() -> None:
    """A log that was read while the cleaner was at work: the consumer group's tombstones change nothing."""
    audit = audited("downgrade-during-compaction-b")
    assert audit.facts.anomalies == {}
    assert picked(audit.tables["epochs"], "epoch", "protocol", "members") == [
        (7, "classic", 2),
        (8, "classic", 2),
    ]
    (group,) = audit.state().groups
    assert (group["type"], group["state"], group["epoch"]) == ("Classic", "Stable", 8)


JOINED = "member_joined proven began"
FOLLOWS = ("3 cooperative_follow_up proven began b2",)
LEFT = ("2 member_left proven began b2",)
PENDING = (f"2 {JOINED} C", "2 pending_member_expired proven meanwhile B")
NOT_STORED = ("5 assignment_only proven began A", "5 leader_rejoined proven meanwhile A")
CAUSES = {
    # A follower rejoins after it gave partitions up, whatever its client calls that (KIP-800).
    **dict.fromkeys(("reason-r0", "reason-r1", "reason-r2", "reason-r8", "reason-r10"), FOLLOWS),
    "reason-r7": ("3 topic_metadata_changed proven began a1",),
    "reason-r9": ("3 cooperative_follow_up probable began b2",),
    # Dates and lines of a garbage collector between the events.
    **dict.fromkeys(("leave-stray0", "leave-stray1", "leave-stray2"), LEFT),
    # A static member whose leave names no reason.
    "leave-static0": ("2 member_removed_by_admin probable began b2",),
    "leave-static1": ("2 member_removed_by_admin probable began b2",),
    "leave-plain_static": ("2 member_departed probable began b2",),
    "static-fenced-new": ("2 member_session_expired proven began s-333",),
    "static-fenced-old": ("2 member_session_expired proven began s-333",),
    # KIP-394: an id that is issued and never joins.
    "pending-member-new": PENDING,
    "pending-member-old": PENDING,
    **dict.fromkeys(("sync-store-error-a", "sync-store-error-b", "sync-store-error-c"), NOT_STORED),
    # 4.0.0 converts a group and forgets its topics, which did not change (KAFKA-18687).
    "upgrade-forgets-topics-4.0.0": (
        "2 protocol_upgraded proven began None",
        "2 static_member_replaced probable meanwhile mpSWluB0QkiYqj-GRZKODg",
    ),
    # 4.5: altering the offsets of a share group raises its epoch (KAFKA-20910).
    "share-reset-offsets": ("6 offsets_altered proven began None",),
}


@pytest.mark.parametrize("case", CAUSES)
def test_causes_of_the_last_epoch(case: str) -> None:
    """Epoch, cause, certainty, role and member."""
    rows = audited(case).tables["rebalance_causes"]
    causes = picked(rows, "epoch", "cause", "certainty", "role", "member_id")
    last = max(row["epoch"] for row in rows)
    assert tuple(" ".join(map(str, row)) for row in causes if row[0] == last) == CAUSES[case]


def test_a_join_phase_waits_for_a_pending_member() -> None:
    """From the preparation of the rebalance until the id's session expired."""
    rebalance = audited("pending-member-new").tables["rebalances"][-1]
    assert (rebalance["held_up_by"], rebalance["held_up_ms"]) == (["B"], [44_497])


def test_generations_that_could_not_be_stored_are_counted() -> None:
    """They left no record."""
    cause = audited("sync-store-error-b").tables["rebalance_causes"][-2]
    assert "Generations 2 to 4 left no record" in cause["detail"]


def test_an_instance_id_is_refused_to_the_second_of_two_members() -> None:
    """One process joined twice under one instance id; only the broker logged it."""
    (finding,) = audited("static-fenced-old").tables["findings"]
    assert finding["kind"] == "instance_id_refused"
    assert finding["member_ids"] == ["s-222", "s-333"]


def test_static_members_that_leave_for_good_were_removed_by_none() -> None:
    """Each leaves with epoch -1 at a restart and returns under a new id; also without the broker's log."""
    for broker_logs in ([], [REPORTED / "static-leaves-for-good" / "server.log"]):
        audit = ra.audit_segments(
            REPORTED / "static-leaves-for-good" / "segments", broker_logs=broker_logs
        )
        ends = {row["left_how"] for row in audit.tables["members"]}
        assert ends == {None, "member_left" if broker_logs else "member_departed"}


def test_a_streams_group_of_4_1_is_ready_without_a_validated_topology() -> None:
    """The broker described it as Reconciling in epoch 2, then as Stable; 4.1 does not record the validation."""
    audit = audited("streams-running-4.1")
    assert picked(audit.tables["group_states"], "group_state", "epoch") == [
        ("Stable", 1),
        ("Reconciling", 2),
        ("Stable", 2),
    ]
    assert [group["state"] for group in audit.state().groups] == ["Stable"]


@pytest.mark.parametrize("case", sorted(each.name for each in REPORTED.iterdir()))
def test_every_row_fits_its_table(case: str) -> None:
    """Values of closed lists, and nulls only where they may be."""
    audit = audited(case)
    for name in audit.tables:
        assert audit.table(f"gold.{name}").to_arrow().num_rows == len(audit.tables[name])
