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
