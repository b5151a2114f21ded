"""What the simulator reports as truth, where the log alone does not show it."""

import pytest

from rebalance_audit.audit.verdicts.cause import RebalanceCause
from rebalance_audit.coordinator.reasons import Bump, BumpReason, Trigger
from rebalance_audit.coordinator.requests.classic import LeaveGroupRequest, MemberIdentity
from rebalance_audit.replay.changes import MemberUnsubscribed, Position
from rebalance_audit.sim.brokers.broker import Happening
from rebalance_audit.sim.options import Overrides, Protocol
from rebalance_audit.sim.scenario import simulate
from rebalance_audit.sim.truth.causes import CAUSES, Decisions, Reason, reasons_of
from rebalance_audit.sim.truth.members import GroupLook, MembersOf
from rebalance_audit.sim.truth.recorder import EpochTruth, GroupTruth
from tests.coordinator.classic.stage import check


@pytest.mark.parametrize(("continues", "incarnation"), [(True, 0), (False, 1)])
def test_an_empty_group_is_deleted_by_another_protocol_unless_a_join_phase_goes_on(
    continues: bool, incarnation: int
) -> None:
    """A member that waits for its first assignment is upgraded too: counting continues, though the record has none."""
    truth = GroupTruth("g")
    truth.add(EpochTruth("g", 0, 2, "classic", (), 1_000))
    truth.emptied()
    truth.taken_over(continues=continues)
    assert truth.incarnation == incarnation


def test_members_that_went_in_the_join_phase_before_an_upgrade_ended_as_they_did() -> None:
    """The heartbeat that upgraded the group shows that they are gone, but is not the cause."""
    drawn = Overrides(minutes=2, groups=4, protocol=Protocol.MIGRATING)
    rows = list(simulate(13, drawn).truth.rows([]))
    of_group = [row for row in rows if row["group_id"] == "group-2"]
    upgraded_at = next(
        row["started_at"] for row in of_group if row.get("cause") == "protocol_upgraded"
    )
    gone = [str(row["end"]) for row in of_group if row.get("ended_at") == upgraded_at]
    assert gone == ["member_left", "member_left"]


def test_an_id_that_leaves_before_it_joins_is_why_the_group_rebalances() -> None:
    """Members and subscriptions stay as they were; only the LeaveGroup makes Kafka ask all members to join again."""
    stage = check(
        """
        join A v=3   |                 | [2] 0 empty @1000
        wait 3000    | A joined 1 range of A
        sync A A=0-5 | A synced 0-5    | [2] 1 range A: A=0-5 @4000
        join B v=9   | B=B
        """
    )
    driver = stage.driver
    member_id = stage.clients["B"].member_id
    leave = LeaveGroupRequest("g", (MemberIdentity(member_id),))
    result = driver.coordinator.handle(leave, 1_000, driver.now_ms)
    left = BumpReason(Trigger.MEMBER_LEFT, member_id)
    assert result.bumps == (Bump("g", 2, (left,)),)
    assert result.departures == ()
    [reason] = reasons_of(result.bumps[0], Happening(leave), None, driver.now_ms)
    assert reason == Reason(RebalanceCause.MEMBER_LEFT, driver.now_ms, member_id)


def test_what_happens_in_a_join_phase_does_not_begin_it() -> None:
    """B's join asks all members to join again; that C joins and A does not is no cause of the generation."""
    stage = check(
        """
        join A v=3 session=10000 rebalance=20000 | | [2] 0 empty @1000
        wait 3000    | A joined 1 range of A
        sync A A=0-5 | A synced 0-5 | [2] 1 range A: A=0-5 @4000
        """
    )
    driver = stage.driver
    driver.bumps.clear()
    stage.play("join B v=3")
    stage.play("join C v=3")
    driver.sleep(20_000)
    live = stage.live()
    assert live is not None
    assert live.generation == 2
    assert [reason.trigger for bump in driver.bumps for reason in bump.reasons] == [
        Trigger.MEMBER_JOINED
    ]


def test_a_generation_that_an_upgrade_takes_over_has_the_reason_that_began_it() -> None:
    """Its members had joined and not synced: the upgrade records the generation, but did not begin it."""
    decisions = Decisions()
    joined = Reason(RebalanceCause.MEMBER_JOINED, 1_000, "m")
    void = Reason(RebalanceCause.LEADER_REJOINED, 2_000, "m")
    upgraded = Reason(RebalanceCause.PROTOCOL_UPGRADED, 3_000)
    decisions.bumped(Bump("g", 4, (BumpReason(Trigger.MEMBER_JOINED, "m"),)), [joined])
    decisions.bumped(Bump("g", 5, (BumpReason(Trigger.LEADER_REJOINED, "m"),)), [void])
    decisions.bumped(Bump("g", 4, (BumpReason(Trigger.GROUP_UPGRADED),)), [upgraded])
    assert decisions.epoch_recorded("g", 4) == ((joined,), 1_000)
    assert decisions.epoch_recorded("g", 5) == ((), None)


def test_what_happens_after_an_epoch_in_the_same_write_is_kept_for_later() -> None:
    """An upgrade records the generation; that its heartbeat takes a static member's place belongs to the next epoch."""
    decisions = Decisions()
    replaced = Reason(RebalanceCause.STATIC_MEMBER_REPLACED, 1_000, "old", "i")
    decisions.happened("g", 5, replaced)
    assert decisions.meanwhile("g", 4, ()) == ()
    assert decisions.meanwhile("g", 5, ()) == (replaced,)


def test_topics_that_differ_without_a_change_of_any_topic_are_a_subscription_given_up() -> None:
    """An expression that its last member dropped without a bump: the next comparison finds fewer topics."""
    differ = Bump("g", 3, (BumpReason(Trigger.TOPICS_DIFFER),), {"a": ("a", 1)})
    found = [
        [reason.cause for reason in reasons_of(differ, Happening(None), before, 1_000)]
        for before in ({"a": ("a", 1), "b": ("b", 1)}, {"a": ("a", 2)}, {"a": ("a", 1)})
    ]
    assert found == [
        [RebalanceCause.SUBSCRIPTION_CHANGED],
        [RebalanceCause.TOPIC_METADATA_CHANGED],
        [RebalanceCause.UNKNOWN],
    ]


def test_every_trigger_has_a_cause() -> None:
    """The closed list has a name for everything that the coordinator can decide."""
    assert CAUSES.keys() == set(Trigger)


def test_a_member_that_an_upgrade_brings_along_and_its_instance_replaces_at_once_was_one() -> None:
    """Both happen in one request, and the log shows both."""
    members = MembersOf()
    gone = MemberUnsubscribed(Position(0, 1, 5_000, 0), "old", "i1", "client", "/host")
    look = GroupLook(is_whole=True, members={"new": "i1"}, instances={"i1"})
    members.follow(look, [gone], {"old": RebalanceCause.STATIC_MEMBER_REPLACED}, 5_000)
    assert [(each.member_id, each.ended_at_ms, each.end) for each in members.all()] == [
        ("old", 5_000, "static_member_replaced"),
        ("new", None, None),
    ]
