"""Logs that no coordinator writes but damage, lost records or compaction can leave: audited, not refused."""

import pytest

from rebalance_audit.audit.log_audit import audit_log
from rebalance_audit.audit.options import AuditOptions
from tests.dsl import log


def test_two_take_the_place_of_one_static_member() -> None:
    """Of two joins in one write with a departed member's instance id, the first is its replacement and no cause."""
    tables = audit_log(
        log(
            (1000, "5 A instance=i; 3 2; 7 A 0-5; 6 2; 8 A 2/0 0-5"),
            (2000, "8t A; 7t A; 5t A; 5 B instance=i; 5 C instance=i; 3 3"),
        )
    )
    causes = {
        (row["cause"], row["member_id"]) for row in tables["rebalance_causes"] if row["epoch"] == 3
    }
    assert causes == {("static_member_joined", "C")}


BEFORE = (
    (1000, "5 A; 3 1; 7 A 0-5; 6 1; 8 A 1/0 0-5"),
    (2000, "5 B; 3 2; 7 A 0-2; 7 B 3-5; 6 2; 8 B 2/0 UNRELEASED -"),
    (3000, "8 A 2/1 0-2"),
    (3500, "8 B 2/2 3-5"),
)


def marks(*writes: tuple[int, str]) -> list[tuple[int, str]]:
    """Epochs after the first two, and whether records of them may be missing."""
    rows = audit_log(log(*BEFORE, *writes))["epochs"]
    return sorted((row["epoch"], row["completeness"]) for row in rows if row["epoch"] > 2)


def test_a_gap_in_the_middle_stays_in_doubt_until_every_member_has_a_new_record() -> None:
    """Epoch 3 is lost, and it shows once more before epoch 5: two consecutive epochs say nothing of who is there."""
    hole = ((4000, "5 C; 3 4"), (4500, "7 C 5; 6 4; 8 B 4/3 3-4"))
    assert marks(*hole, (5000, "5 C topics=bar; 3 5")) == [(4, "gap"), (5, "gap")]


def test_ownership_across_a_hole_is_marked() -> None:
    """That A gave up 0 is lost: it shows when B has it, and may have been so for long."""
    tables = audit_log(log(*BEFORE, (9000, "8 B 2/2 0+3-5"), (9500, "8 B 2/2 3-5")))
    held = {
        (row["member_id"], row["topic_partition"], row["to_at"]): row["completeness"]
        for row in tables["ownership"]
    }
    assert held["A", 0, 9000] == held["B", 0, 9500] == held["A", 1, None] == "gap"
    assert held["A", 3, 3000] == "complete"
    (second,) = (row for row in tables["epochs"] if row["epoch"] == 2)
    assert second["unowned_partition_ms"] is None


def marks_of_ownership(
    *writes: tuple[int, str], is_whole: bool | None = False
) -> dict[tuple[str, int, int | None], str]:
    """Member, partition and end of every interval, and whether records of it may be missing."""
    options = AuditOptions(is_whole=lambda _partition: is_whole)
    rows = audit_log(log(*writes), options)["ownership"]
    return {
        (row["member_id"], row["topic_partition"], row["to_at"]): row["completeness"]
        for row in rows
    }


CREATED = (1000, "2 0")


def test_a_deleted_group_had_no_members() -> None:
    """Only an empty group can be deleted, so the record in which A gave up its partition is missing."""
    held = marks_of_ownership(CREATED, (2000, "2 1 range A=0"), (9000, "2t"))
    assert held == {("A", 0, 9000): "gap"}


def test_a_group_deleted_at_once_after_its_last_member_left() -> None:
    """The record in which A gave up its partition is there, of the same time as the deletion."""
    held = marks_of_ownership(CREATED, (2000, "2 1 range A=0"), (9000, "2 2; 2t"))
    assert held == {("A", 0, 9000): "complete"}


def test_ownership_across_missing_generations_is_marked() -> None:
    """A has the partition before and after them; another member may have had it meanwhile."""
    held = marks_of_ownership(
        CREATED, (2000, "2 1 range A=0"), (5000, "2 4 range A=0"), (9000, "2 5 range A=- B=0")
    )
    assert held == {("A", 0, 9000): "gap", ("B", 0, None): "complete"}


@pytest.mark.parametrize(("is_whole", "completeness"), [(False, "gap"), (True, "complete")])
def test_a_revocation_without_request(is_whole: bool, completeness: str) -> None:
    """A member is asked to give a partition up first: without that record others may be missing, too."""
    held = marks_of_ownership(*BEFORE[:2], (3000, "8 A 2/1 0-2"), is_whole=is_whole)
    assert held["A", 3, 3000] == held["A", 0, None] == completeness


@pytest.mark.parametrize(("is_whole", "completeness"), [(False, "gap"), (True, "complete")])
def test_a_generation_of_a_returned_static_member(is_whole: bool, completeness: str) -> None:
    """It repeats the generation's record under a new member id; where records are missing, the first one may be."""
    options = AuditOptions(is_whole=lambda _partition: is_whole)
    (epoch,) = audit_log(log((2000, "2 1 range A@i=0")), options)["epochs"]
    assert epoch["completeness"] == completeness


def test_durations_across_a_hole_are_unknown() -> None:
    """Epoch 3 begins, epoch 4 is lost, and a later target shows: an earlier one may be missing."""
    hole = ((4000, "5 B topics=bar; 3 3"), (9000, "3 5; 7 A 0-2; 7 B 3-5; 6 5"))
    epochs = {row["epoch"]: row for row in audit_log(log(*BEFORE, *hole))["epochs"]}
    assert epochs[2]["convergence_ms"] == 1500
    third = epochs[3]
    durations = ("assign_ms", "reconcile_ms", "convergence_ms", "slowest_member_ms")
    assert [third[each] for each in durations] == [None] * 4
    assert third["target_installed_at"] is None


@pytest.mark.parametrize(("is_whole", "completeness"), [(False, "gap"), (True, "complete")])
def test_an_upgrade_behind_generations_without_a_record(is_whole: bool, completeness: str) -> None:
    """They may have had no assignment; where records are missing, theirs may be."""
    upgrade = "2t; 5 A session=6000; 3 4; 7 A 0-5; 6 4; 8 A 4/4 0-5"
    options = AuditOptions(is_whole=lambda _partition: is_whole)
    writes = (CREATED, (2000, "2 1 range A=0-5"), (9000, upgrade))
    (*_, last) = audit_log(log(*writes), options)["epochs"]
    assert (last["epoch"], last["completeness"]) == (4, completeness)


@pytest.mark.parametrize(
    "record",
    [
        pytest.param("8 A 3/1 UNREVOKED 0-1 revoke=2", id="has to give up, and moved on"),
        pytest.param("8 A 1/1 UNREVOKED 0-1 revoke=6", id="has to give up what it never had"),
        pytest.param("8 A 2/2 0-5", id="gets partitions after it had all"),
        pytest.param("8 A 5/2 0-2", id="moves on to an epoch without a target"),
    ],
)
def test_steps_that_no_member_takes(record: str) -> None:
    """CurrentAssignmentBuilder leads from no known state to this record, so others are missing."""
    assert marks((4000, record), (5000, "5 C; 3 3"))[0] == (3, "gap")


@pytest.mark.parametrize(("is_whole", "completeness"), [(False, "gap"), (True, "complete")])
def test_a_partition_that_was_free_for_long(is_whole: bool, completeness: str) -> None:
    """B waited for it: it takes what is free with its next heartbeat, and an earlier record may have given it."""
    writes = (*BEFORE[:3], (33_000, "8 B 2/2 3-5"))
    held = marks_of_ownership(*writes, is_whole=is_whole)
    assert held["B", 3, None] == completeness


@pytest.mark.parametrize(("is_whole", "completeness"), [(False, "gap"), (True, "complete")])
def test_a_member_that_left_long_after_it_had_to_give_up(is_whole: bool, completeness: str) -> None:
    """A's target leaves it 0 to 2; it may have given the others up, in a record that is missing."""
    writes = (*BEFORE[:2], (33_000, "8t A; 7t A; 5t A; 3 3"))
    held = marks_of_ownership(*writes, is_whole=is_whole)
    assert held["A", 3, 33_000] == completeness


@pytest.mark.parametrize(("is_whole", "unowned_ms"), [(False, None), (True, 3000)])
def test_an_epoch_that_no_record_shows_converged(is_whole: bool, unowned_ms: int | None) -> None:
    """B waits as epoch 3 begins; where records are missing, one may have given it what A gave up."""
    options = AuditOptions(is_whole=lambda _partition: is_whole)
    writes = (*BEFORE[:2], (3000, "8 A 2/1 0-2"), (4000, "3 3 h3"))
    epochs = {row["epoch"]: row for row in audit_log(log(*writes), options)["epochs"]}
    assert epochs[2]["outcome"] == "superseded"
    assert epochs[2]["unowned_partition_ms"] == unowned_ms


@pytest.mark.parametrize(("is_whole", "completeness"), [(False, "gap"), (True, "complete")])
def test_a_static_member_under_a_new_id_in_a_new_generation(
    is_whole: bool, completeness: str
) -> None:
    """The generation may have had a record before the member came back, and the member an earlier return."""
    options = AuditOptions(is_whole=lambda _partition: is_whole)
    writes = (CREATED, (2000, "2 1 range A@i=0"), (5000, "2 2 range B@i=0"))
    (*_, last) = audit_log(log(*writes), options)["epochs"]
    assert (last["epoch"], last["completeness"]) == (2, completeness)


def test_two_static_members_return_in_one_record() -> None:
    """Each return has a record of its own, so that of the first is missing."""
    held = marks_of_ownership(
        CREATED, (2000, "2 1 range A@i=0 B@j=1"), (5000, "2 1 range C@i=0 D@j=1"), is_whole=None
    )
    assert set(held.values()) == {"gap"}


def test_a_newcomer_owes_no_answer_to_earlier_targets() -> None:
    """Records are missing somewhere in the partition; how long epoch 2 took is as certain as before it came."""
    options = AuditOptions(is_whole=lambda _partition: False)
    joins = (60_000, "5 C; 3 3; 7 A 0-1; 7 C 2; 6 3; 8 C 3/0 UNRELEASED -")
    writes = (*BEFORE[:2], (2500, "8 A 1/1 UNREVOKED 0-2|3-5"), *BEFORE[2:], joins)
    epochs = {row["epoch"]: row for row in audit_log(log(*writes), options)["epochs"]}
    assert epochs[2]["convergence_ms"] == 1500


def test_what_compaction_left_after_the_first_epoch_is_no_change_since() -> None:
    """B's records are younger than epoch 4, the first that is left, but B and its target may be older."""
    left = (
        (1000, "7 A 0-2; 6 4; 3 4"),
        (2000, "5 A; 8 A 4/3 0-2"),
        (3000, "5 B; 7 B 3-5; 8 B 4/3 3-5"),
    )
    writes = ((9000, "5 C; 3 5; 7 A 0-1; 7 C 2; 6 5; 8 C 5/0 UNRELEASED -"), (12_000, "5 D; 3 6"))
    epochs = {row["epoch"]: row for row in audit_log(log(*left, *writes))["epochs"]}
    columns = ("members_joined", "members_left", "partitions_moved", "partitions_added")
    assert epochs[5]["completeness"] == "complete"
    assert [epochs[5][each] for each in columns] == [None] * 4
    assert [epochs[6][each] for each in columns[:2]] == [1, 0]


def test_what_a_cooperative_generation_took_away_before_the_log_was_not_added() -> None:
    """Generation 4 is the first that is left: what 5 hands out may have been another member's before."""
    writes = (
        (1000, "2 4 cooperative-sticky A=0 B=1"),
        (2000, "2 5 cooperative-sticky A=0 B=1-2"),
        (9000, "2 6 cooperative-sticky A=0,3 B=1-2"),
    )
    epochs = {row["epoch"]: row for row in audit_log(log(*writes))["epochs"]}
    assert [epochs[epoch]["partitions_added"] for epoch in (4, 5, 6)] == [None, None, 1]
