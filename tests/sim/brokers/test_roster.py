"""The members of classic groups, followed by what events name: none is overlooked."""

from collections.abc import Sequence

import pytest

from rebalance_audit.coordinator.handling import TimerKind
from rebalance_audit.coordinator.requests.classic import JoinGroupRequest, LeaveGroupRequest
from rebalance_audit.sim.brokers.batch_writer import LoggedRecord
from rebalance_audit.sim.brokers.broker import Changed, Happening, Observer, ServedPartition
from rebalance_audit.sim.brokers.server_log_classic import Roster
from rebalance_audit.sim.options import Overrides, Protocol, draw_options
from rebalance_audit.sim.scenario import Simulation

WATCHED_TIMERS = frozenset(
    {TimerKind.JOIN, TimerKind.SYNC, TimerKind.SESSION, TimerKind.PENDING_MEMBER}
)


class RosterCheck(Observer):
    """Follows every classic group with a roster, and compares it with the group after each event."""

    def __init__(self) -> None:
        """Nothing seen yet."""
        self.rosters: dict[str, Roster] = {}
        self.came = self.went = self.short = 0

    def moved(self, shard: ServedPartition, happening: Happening, changed: Changed) -> None:
        """Follow, and compare."""
        del changed
        request, timer = happening.request, happening.timer
        group_id = ""
        if isinstance(request, JoinGroupRequest | LeaveGroupRequest):
            group_id = request.group_id
        elif timer is not None and timer.kind in WATCHED_TIMERS:
            group_id = timer.group_id
        live = shard.coordinator.live_group(group_id)
        if live is None:
            self.rosters.pop(group_id, None)
            return
        roster = self.rosters.setdefault(group_id, Roster())
        now = {member.member_id: member.instance_id for member in live.members.values()}
        touched = roster.touched(live, happening)
        self.short += len(touched) < len(now)
        came, gone = roster.came(live, touched), roster.gone(live, touched)
        assert came == {each: now[each] for each in now if each not in roster.members}
        assert gone == {each: held for each, held in roster.members.items() if each not in now}
        roster.follow(live, touched)
        assert roster.members == now
        assert roster.holders == {held: each for each, held in now.items() if held is not None}
        self.came += len(came)
        self.went += len(gone)

    def loaded(self, shard: ServedPartition, lost: Sequence[LoggedRecord]) -> None:
        """What was in memory is forgotten."""
        del lost
        self.rosters = {
            group_id: roster
            for group_id, roster in self.rosters.items()
            if shard.coordinator.live_group(group_id) is None
        }
        for slot in shard.shard.groups():
            live = shard.coordinator.live_group(slot.group_id)
            if live is not None:
                self.rosters[slot.group_id] = Roster.of(live)


@pytest.mark.parametrize("static", [False, True])
@pytest.mark.parametrize("seed", [3, 9, 14])
def test_every_member_that_comes_or_goes_is_noticed(seed: int, static: bool) -> None:
    """Joins, leaves, expiries, replacements, removals and join phases that end without some members, in any mixture."""
    options = draw_options(seed, Overrides(minutes=3, groups=3, members=5))
    for plan in options.groups:
        plan.static, plan.protocol = static, Protocol.CLASSIC
    options.faults.crashes = options.faults.admin_removals = options.faults.freezes = 2.0
    options.faults.duplicate_instances = options.faults.slow_polls = 1.0
    simulation = Simulation(seed, options)
    check = RosterCheck()
    simulation.cluster.observers.append(check)
    simulation.run()
    assert check.came > 10
    assert check.went > 5
    assert check.short > check.came  # most events name whom they touch
