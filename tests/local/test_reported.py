"""Logs like those that people reported: members and brokers that write other bytes, and logs that cannot be right."""

from pathlib import Path
from typing import Any

import pytest

import rebalance_audit as ra
from rebalance_audit.report.present import group_text
from rebalance_audit.report.summary import summaries

REPORTED = Path(__file__).parents[1] / "golden" / "reported"


def audited(case: str) -> ra.Audit:
    """The audit of one of them."""
    return ra.audit_segments(REPORTED / case / "segments")


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


def test_a_version_before_each_member_is_told_from_the_bytes() -> None:
    """Redpanda's value."""
    audit = audited("member-version-before-each")
    assert picked(audit.tables["epochs"], "epoch", "members") == [(1, 1), (2, 0), (3, 1), (4, 2)]
    assert audit.facts.undecodable == {}
    (group,) = audit.state().groups
    assert (group["state"], [member["member_id"] for member in group["members"]]) == (
        "Stable",
        ["B-2222", "C-3333"],
    )


def test_nobody_knows_the_state_after_a_record_that_cannot_be_decoded() -> None:
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


@pytest.mark.parametrize("case", sorted(each.name for each in REPORTED.iterdir()))
def test_every_row_fits_its_table(case: str) -> None:
    """Values of closed lists, and nulls only where they may be."""
    audit = audited(case)
    for name in audit.tables:
        assert audit.table(f"gold.{name}").to_arrow().num_rows == len(audit.tables[name])
