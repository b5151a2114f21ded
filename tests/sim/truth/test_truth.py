"""What the simulator says of itself, where the log alone does not show it."""

import pytest

from rebalance_audit.audit.causes.cause import RebalanceCause
from rebalance_audit.coordinator.requests.classic import LeaveGroupRequest, MemberIdentity
from rebalance_audit.replay.changes import MemberUnsubscribed, Position
from rebalance_audit.replay.classic.group import ClassicGroup
from rebalance_audit.sim.brokers.broker import Happening
from rebalance_audit.sim.options import Overrides
from rebalance_audit.sim.scenario import simulate
from rebalance_audit.sim.truth.causes import Reason
from rebalance_audit.sim.truth.classic import ClassicWatch
from rebalance_audit.sim.truth.group_look import GroupLook
from rebalance_audit.sim.truth.members import MembersOf
from rebalance_audit.sim.truth.recorder import EpochTruth, GroupTruth
from tests.coordinator.classic.stage import check


@pytest.mark.parametrize(("goes_on", "incarnation"), [(True, 0), (False, 1)])
def test_an_empty_group_is_deleted_by_another_protocol_unless_a_join_phase_goes_on(
    goes_on: bool, incarnation: int
) -> None:
    """Who waits for a first assignment comes along: the counter goes on, though the last record shows nobody."""
    truth = GroupTruth("g")
    truth.add(EpochTruth("g", 0, 2, "classic", (), 1_000))
    truth.emptied()
    truth.taken_over(goes_on=goes_on)
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
    stage = check(
        """
        join A v=3   |                 | [2] 0 empty @1000
        wait 3000    | A joined 1 range of A
        sync A A=0-5 | A synced 0-5    | [2] 1 range A: A=0-5 @4000
        join B v=9   | B=B
        """
    )
    driver, watch = stage.driver, ClassicWatch()
    watch.moved(driver.coordinator, Happening(None), driver.now_ms)
    member_id = stage.clients["B"].member_id
    leave = LeaveGroupRequest("g", (MemberIdentity(member_id),))
    driver.send(leave)
    watch.moved(driver.coordinator, Happening(leave), driver.now_ms)
    group = driver.group()
    assert isinstance(group, ClassicGroup)
    left = Reason(RebalanceCause.MEMBER_LEFT, driver.now_ms, member_id)
    assert watch.generation_recorded(group) == ([left], driver.now_ms)


def test_a_member_that_an_upgrade_brings_along_and_its_instance_replaces_at_once_was_one() -> None:
    """Both happen in one request, and the log shows both."""
    members = MembersOf()
    gone = MemberUnsubscribed(Position(0, 1, 5_000, 0), "old", "i1", "client", "/host")
    look = GroupLook(is_whole=True, members={"new": "i1"}, instances={"i1"})
    members.follow(look, [gone], Happening(None), (), 5_000)
    assert [(each.member_id, each.ended_at_ms, each.end) for each in members.all()] == [
        ("old", 5_000, "static_member_replaced"),
        ("new", None, None),
    ]
