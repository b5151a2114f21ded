"""Rare situations that seeds must lead to: what is never simulated is never tested."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rebalance_audit.coordinator.consumer.handlers import ConsumerHandlers
from rebalance_audit.coordinator.reasons import Trigger
from rebalance_audit.coordinator.requests.consumer import (
    JOIN_EPOCH,
    ConsumerGroupHeartbeatRequest,
)
from rebalance_audit.replay.changes import MemberSubscribed
from rebalance_audit.sim.brokers.batch_writer import LoggedRecord
from rebalance_audit.sim.brokers.broker import Changed, Happening, Observer, ServedPartition
from rebalance_audit.sim.options import Overrides, draw_options
from rebalance_audit.sim.scenario import Simulation

if TYPE_CHECKING:
    from rebalance_audit.coordinator.handling import Dialect

SEEDS = (224, 375, 740, 764)
WANTED = {
    "a bump for assignment_configs_changed",
    "a bump for member_metadata_changed",
    "a bump for share_partitions_pending",
    "a clock set back at a fail-over",
    "a first heartbeat without topics",
    "an expression changed while it is resolved",
    "a fail-over before expressions are resolved",
    "a slow resolution",
    "brokers of another release in one log",
    "two writes of a group in one millisecond",
    "upgrade of a group in CompletingRebalance",
    "upgrade of a group in PreparingRebalance",
    "upgrade of an eager group in CompletingRebalance",
    "upgrade of a group in Stable",
}
RARE_TRIGGERS = {
    Trigger.ASSIGNMENT_CONFIGS_CHANGED,
    Trigger.MEMBER_METADATA_CHANGED,
    Trigger.SHARE_PARTITIONS_PENDING,
}


class Situations(Observer):
    """Notes which of them occur."""

    def __init__(self) -> None:
        """Nothing has occurred yet."""
        self.found: set[str] = set()
        self.simulation: Simulation | None = None
        self._states: dict[str, str] = {}
        self._written_ms: dict[str, int] = {}
        self._releases: dict[int, Dialect] = {}
        self._clocks: dict[int, int] = {}

    def moved(self, shard: ServedPartition, happening: Happening, changed: Changed) -> None:
        """A request or timer was served."""
        assert self.simulation is not None
        now_ms = self.simulation.scheduler.now_ms
        for bump in happening.bumps:
            self.found |= {
                f"a bump for {reason.trigger.value}"
                for reason in bump.reasons
                if reason.trigger in RARE_TRIGGERS
            }
            if any(reason.trigger is Trigger.GROUP_UPGRADED for reason in bump.reasons):
                state = self._states.get(bump.group_id)
                self.found.add(f"upgrade of a group in {state}")
                if "cooperative-sticky" not in self._assignors_of(bump.group_id):
                    self.found.add(f"upgrade of an eager group in {state}")
        for group_id in {slot.group_id for slot, _ in changed}:
            if self._written_ms.get(group_id) == now_ms:
                self.found.add("two writes of a group in one millisecond")
            self._written_ms[group_id] = now_ms
        request, timer = happening.request, happening.timer
        group_id = getattr(request, "group_id", "" if timer is None else timer.group_id)
        live = shard.coordinator.live_group(group_id)
        if live is not None:
            self._states[group_id] = live.state.value
        if isinstance(request, ConsumerGroupHeartbeatRequest):
            self._heartbeat(shard, request, changed)

    def _assignors_of(self, group_id: str) -> tuple[str, ...]:
        assert self.simulation is not None
        plans = {fleet.plan.group_id: fleet.plan for fleet in self.simulation.fleets}
        return plans[group_id].assignors

    def _heartbeat(
        self, shard: ServedPartition, request: ConsumerGroupHeartbeatRequest, changed: Changed
    ) -> None:
        topics = request.subscribed_topic_names or request.subscribed_topic_regex
        if request.member_epoch == JOIN_EPOCH and not topics and changed:
            self.found.add("a first heartbeat without topics")
        subscribed = [
            change
            for _, changes in changed
            for change in changes
            if isinstance(change, MemberSubscribed) and not change.joined
        ]
        if _resolving(shard, request.group_id) and any(
            "subscribed_topic_regex" in change.changed for change in subscribed
        ):
            self.found.add("an expression changed while it is resolved")
        if (
            _resolving(shard, request.group_id)
            and shard.config.consumer_regex_resolution_ms > request.rebalance_timeout_ms == -1
        ):
            self.found.add("a slow resolution")

    def stopped(self, shard: ServedPartition) -> None:
        """A coordinator is gone."""
        if any(_resolving(shard, slot.group_id) for slot in shard.shard.groups()):
            self.found.add("a fail-over before expressions are resolved")

    def loaded(self, shard: ServedPartition, lost: Sequence[LoggedRecord]) -> None:
        """Another coordinator is there."""
        del lost
        clock_ms = self._clocks.get(shard.number, shard.clock_offset_ms)
        if shard.clock_offset_ms < clock_ms:
            self.found.add("a clock set back at a fail-over")
        self._clocks[shard.number] = shard.clock_offset_ms
        release = shard.config.dialect
        if self._releases.setdefault(shard.number, release) is not release:
            self.found.add("brokers of another release in one log")


def _resolving(shard: ServedPartition, group_id: str) -> bool:
    handlers = next(
        each for each in shard.coordinator._protocols if isinstance(each, ConsumerHandlers)
    )
    soft = handlers._soft.known(group_id)
    return soft is not None and soft.resolving is not None


def test_seeds_lead_to_every_rare_situation() -> None:
    """Each of them occurs in one of these few seeds."""
    found: set[str] = set()
    for seed in SEEDS:
        situations = Situations()
        simulation = Simulation(
            seed, draw_options(seed, Overrides(minutes=2)), with_broker_log=False, with_checks=False
        )
        situations.simulation = simulation
        simulation.cluster.observers.append(situations)
        simulation.run_faults()
        found |= situations.found
        if found >= WANTED:
            return
    assert found >= WANTED, WANTED - found
