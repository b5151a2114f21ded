"""What the simulator says of itself, where the log alone does not show it."""

import pytest

from rebalance_audit.sim.options import Overrides
from rebalance_audit.sim.scenario import simulate
from rebalance_audit.sim.truth import EpochTruth, GroupTruth


@pytest.mark.parametrize(("with_members", "incarnation"), [(True, 0), (False, 1)])
def test_an_empty_group_is_deleted_by_another_protocol_unless_members_come_along(
    with_members: bool, incarnation: int
) -> None:
    """They joined and waited for their first assignment: the counter goes on, though the last record shows nobody."""
    truth = GroupTruth("g")
    truth.add(EpochTruth("g", 0, 2, "classic", (), 1_000))
    truth.emptied()
    truth.taken_over(with_members=with_members)
    assert truth.incarnation == incarnation


def test_members_that_went_in_the_join_phase_before_an_upgrade_ended_as_they_did() -> None:
    """The heartbeat that upgraded the group shows that they are gone, and is not why."""
    rows = list(simulate(2_004, Overrides(minutes=1)).truth.rows([]))
    of_group = [row for row in rows if row["group_id"] == "group-2"]
    upgraded_at = next(row["started_at"] for row in of_group if row.get("protocol") == "consumer")
    gone = [str(row["end"]) for row in of_group if row.get("ended_at") == upgraded_at]
    removed, expired = "member_removed_by_admin", "member_session_expired"
    assert sorted(gone) == [removed, removed, removed, expired]


def test_an_id_that_leaves_before_it_joins_is_why_the_group_rebalances() -> None:
    """Members and subscriptions stay as they were; Kafka asks everybody to join again for the LeaveGroup alone."""
    rows = list(simulate(7_035, Overrides(minutes=2)).truth.rows([]))
    key = ("group-3", 2, 2)
    epoch = [
        (row["cause"], str(row["member_id"])[:9])
        for row in rows
        if row["kind"] == "epoch" and (row["group_id"], row["incarnation"], row["epoch"]) == key
    ]
    assert epoch == [("member_left", "group-3-0")]
    assert not any(row["cause"] == "unknown" for row in rows if row["kind"] == "epoch")
