"""Logs that no coordinator writes but damage, lost records or compaction can leave: audited, not refused."""

from rebalance_audit.audit.log_audit import audit_log
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


def test_a_hole_in_the_middle_stays_in_doubt_until_every_member_has_told_of_itself() -> None:
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
