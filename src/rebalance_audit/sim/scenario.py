"""A whole simulation: a phase of faults, then a healed phase in which every group must converge."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Final

import orjson

from rebalance_audit.sim.brokers.compaction import Cleaner
from rebalance_audit.sim.brokers.partition_log import write_folder
from rebalance_audit.sim.brokers.server_log import BrokerLogWriter
from rebalance_audit.sim.chance import Chance
from rebalance_audit.sim.clients.committers import BulkLoad, Committer, TransactionalCommitter
from rebalance_audit.sim.cluster import Cluster
from rebalance_audit.sim.convergence import pending
from rebalance_audit.sim.fleet import Fleet
from rebalance_audit.sim.invariants.invariants import Invariants
from rebalance_audit.sim.options import (
    START_MS,
    GroupPlan,
    Overrides,
    Protocol,
    SimulationOptions,
    draw_options,
    option_lines,
)
from rebalance_audit.sim.scheduler import Scheduler
from rebalance_audit.sim.truth.recorder import TruthRecorder

CHECKPOINT_INTERVAL_MS: Final = 60_000
SETTLING_MS_MAX: Final = 600_000
"""How long the healed phase may take: several sessions and rebalance timeouts."""
SETTLING_STEP_MS: Final = 1_000
UPGRADE_PAUSE_MS: Final = 400
"""How long a partition has no coordinator in a rolling upgrade."""
_TOPICS_MAX: Final = 8
_PARTITIONS_MAX: Final = 40
COMMITTERS: Final = frozenset({Protocol.STANDALONE, Protocol.TRANSACTIONAL})
TRUTH_FILE: Final = "truth.jsonl"


class NotConvergedError(Exception):
    """Everything was healed but a group did not converge; the message says who blocks whom."""


class Simulation:
    """One run."""

    def __init__(
        self,
        seed: int,
        options: SimulationOptions,
        *,
        with_broker_log: bool = True,
        with_checks: bool = True,
        folder: Path | None = None,
    ) -> None:
        """Everything is built and nothing has happened; `with_checks`: every event is checked against the invariants.

        With a folder the log is written there as it grows, so that memory holds little of it; `write` completes it.
        """
        self.seed = seed
        self.options = options
        self.scheduler = Scheduler(START_MS)
        self._chance = Chance(seed, "run")
        self.cluster = Cluster(
            self.scheduler,
            self._chance.stream("cluster"),
            options.coordinator,
            options.cluster,
            options.network,
            folder=folder,
        )
        holdings = self.cluster.holdings
        self.truth = TruthRecorder(self.cluster.topics.name_of)
        self.invariants = Invariants(self.cluster.partition_of, holdings.held_since_ms)
        if with_checks:
            self.cluster.observers.append(self.invariants)
            holdings.on_acquire.append(self.invariants.acquired)
        self.cluster.observers.append(self.truth)
        self.broker_log: BrokerLogWriter | None = None
        if with_broker_log:
            self.broker_log = BrokerLogWriter(options.coordinator, options.cluster.broker_count)
            self.cluster.observers.append(self.broker_log)
        self._with_checks = with_checks
        self.fleets: list[Fleet] = []
        self._committers: list[Committer | BulkLoad] = []
        self._cleaners: dict[int, Cleaner] = {}
        self._checked: dict[int, int] = {}
        """Log partition -> end of the log at its last full comparison."""
        self._hurts = True

    # --- phases ------------------------------------------------------------------------------------

    def run(self) -> None:
        """Run both phases. Raises InvariantBrokenError, ReplayError and NotConvergedError."""
        self.run_faults()
        self._heal()
        self._settle()
        self.cluster.flush()
        self._check()

    def run_faults(self) -> None:
        """Run the phase of faults alone: the log ends wherever the groups are. Raises as `run` does."""
        self._start()
        self.scheduler.run_until_ms(START_MS + self.options.minutes * 60_000)

    def _start(self) -> None:
        for name, partition_count in self.options.topics.items():
            self.cluster.topics.create(name, partition_count)
        for number, plan in enumerate(self.options.groups):
            chance = self._chance.stream(f"fleet-{number}")
            topic = plan.topics[0] if plan.topics else next(iter(self.options.topics))
            if plan.protocol in COMMITTERS:
                self._add_committer(plan, topic, 1_000 + number, chance)
            else:
                self.fleets.append(Fleet(self.cluster, plan, chance))
        if self.options.commits_per_minute:
            self._committers.append(BulkLoad(self.cluster, self.options.commits_per_minute))
        for fleet in self.fleets:
            fleet.start()
            self._plan_for(fleet)
        for committer in self._committers:
            committer.start()
        self._plan_for_cluster()
        self._often(CHECKPOINT_INTERVAL_MS, self._check_grown)

    def _add_committer(self, plan: GroupPlan, topic: str, producer_id: int, chance: Chance) -> None:
        interval_ms = self.options.committer_interval_ms
        where = (self.cluster, plan.group_id, topic, interval_ms, chance)
        if not interval_ms:
            return
        if plan.protocol is Protocol.STANDALONE:
            self._committers.append(Committer(*where))
        else:
            self._committers.append(TransactionalCommitter(*where, producer_id))

    def _heal(self) -> None:
        self._hurts = False
        self.cluster.network.heal()
        for committer in self._committers:
            if isinstance(committer, BulkLoad):
                committer.stop()
        for fleet in self.fleets:
            fleet.heal()

    def _settle(self) -> None:
        deadline_ms = self.scheduler.now_ms + SETTLING_MS_MAX
        calm = 0
        while calm < 3:
            self.scheduler.run_until_ms(self.scheduler.now_ms + SETTLING_STEP_MS)
            reasons = [reason for fleet in self.fleets for reason in pending(fleet)]
            calm = 0 if reasons else calm + 1
            if reasons and self.scheduler.now_ms > deadline_ms:
                raise NotConvergedError("; ".join(reasons))

    def _check(self) -> None:
        if not self._with_checks:
            return
        for served in self.cluster.partitions.values():
            self.invariants.check_partition(served)

    def _check_grown(self) -> None:
        """Compare where the log has grown fourfold since: a long run must not replay its past every minute."""
        if not self._with_checks:
            return
        for number, served in self.cluster.partitions.items():
            if served.log.next_offset >= 4 * self._checked.get(number, 0):
                self._checked[number] = served.log.next_offset
                self.invariants.check_partition(served)

    # --- faults ------------------------------------------------------------------------------------

    def _often(self, interval_ms: int, action: Callable[[], None]) -> None:
        def again() -> None:
            action()
            self.scheduler.after(interval_ms, again)

        self.scheduler.after(interval_ms, again)

    def _now_and_then(self, name: str, per_minute: float, action: Callable[[], None]) -> None:
        """Let the fault happen at random moments, until the healed phase."""
        if not per_minute:
            return
        chance = self._chance.stream(name)

        def happen() -> None:
            if self._hurts:
                action()
                self.scheduler.after(chance.waiting_ms(per_minute), happen)

        self.scheduler.after(chance.waiting_ms(per_minute), happen)

    def _plan_for(self, fleet: Fleet) -> None:
        faults = self.options.faults
        for name, per_minute, action in (
            ("deploy", faults.deploys, fleet.deploy),
            ("scale", faults.scale_changes, fleet.scale),
            ("crash", faults.crashes, fleet.crash),
            ("freeze", faults.freezes, fleet.freeze),
            ("slow poll", faults.slow_polls, fleet.poll_slowly),
            ("subscription", faults.subscription_changes, fleet.change_subscription),
            ("expression", faults.expression_changes, fleet.change_expression),
            ("admin", faults.admin_removals, fleet.remove_by_admin),
            ("twin", faults.duplicate_instances, fleet.duplicate_instance),
            ("outage", faults.outages, fleet.go_down),
            ("cut off", faults.partitions_from_network, fleet.cut_off),
        ):
            self._now_and_then(f"{fleet.plan.group_id}/{name}", per_minute, action)

    def _plan_for_cluster(self) -> None:
        faults = self.options.faults
        chance = self._chance.stream("cluster faults")
        topics = self.cluster.topics

        def fail_over() -> None:
            served = chance.choice(sorted(self.cluster.partitions))
            self.cluster.fail_over(
                self.cluster.partitions[served],
                chance.between(50, 12_000),
                orderly=chance.happens(0.5),
            )

        def grow() -> None:
            names = topics.image.names()
            if names:
                name = chance.choice(names)
                now = len(topics.image.by_name[name].partition_racks)
                if now < _PARTITIONS_MAX:
                    topics.grow(name, now + chance.between(1, 4))

        def delete() -> None:
            names = topics.image.names()
            if len(names) > 1:
                self.cluster.delete_topic(chance.choice(names))

        def create() -> None:
            free = [
                name
                for name in (*self.options.topics, "topic-8", "topic-9", "other-1")
                if name not in topics.image.by_name
            ]
            if free and len(topics.image.by_name) < _TOPICS_MAX:
                topics.create(chance.choice(free), chance.between(1, 8))

        resolution_ms = self.options.coordinator.consumer_regex_resolution_ms
        for fleet in self.fleets if self.options.interrupts_resolution else ():
            if fleet.plan.regex is not None:
                # The search for the first expressions is probably under way: the next coordinator starts it again.
                at_ms = self._chance.stream(f"{fleet.plan.group_id}/searching").between(
                    resolution_ms // 4, resolution_ms
                )
                served = self.cluster.partition_of(fleet.plan.group_id)
                self.scheduler.after(
                    at_ms, partial(self.cluster.fail_over, served, 200, orderly=False)
                )
        upgrade = self.options.upgrade
        if upgrade is not None:
            self.scheduler.after(
                upgrade.after_ms, partial(self.cluster.upgrade, upgrade.dialect, UPGRADE_PAUSE_MS)
            )
        for plan in self.options.groups:
            group_chance = self._chance.stream(f"{plan.group_id}/offsets to delete")
            self._now_and_then(
                f"{plan.group_id}/offset deletion",
                faults.offset_deletions,
                partial(self.cluster.delete_offsets, plan.group_id, group_chance),
            )
        for name, per_minute, action in (
            ("fail-over", faults.fail_overs, fail_over),
            ("growth", faults.topic_growths, grow),
            ("deletion", faults.topic_deletions, delete),
            ("creation", faults.topic_creations, create),
            ("cleaning", faults.cleanings, self._clean),
        ):
            self._now_and_then(name, per_minute, action)

    def _clean(self) -> None:
        for number, served in sorted(self.cluster.partitions.items()):
            retention_ms = self.options.cluster.log.delete_retention_ms
            cleaner = self._cleaners.setdefault(number, Cleaner(served.log, retention_ms))
            cleaner.clean(self.scheduler.now_ms)
            self.invariants.check_partition(served)

    # --- what is left ------------------------------------------------------------------------------

    def write(self, folder: Path) -> None:
        """Write segments, truth and the brokers' logs."""
        self.cluster.flush()
        folder.mkdir(parents=True, exist_ok=True)
        logs = [self.cluster.partitions[number].log for number in sorted(self.cluster.partitions)]
        write_folder(logs, self.cluster.topics.log_bytes(), folder)
        if self.broker_log is not None:
            self.broker_log.write(folder)
        holdings = self.cluster.holdings
        with (folder / TRUTH_FILE).open("wb") as file:
            head = {"kind": "run", "seed": self.seed, "options": list(option_lines(self.options))}
            for row in (head, *self.truth.rows([*holdings.uses, *holdings.still_held()])):
                file.write(orjson.dumps(row) + b"\n")


def simulate(seed: int, overrides: Overrides | None = None) -> Simulation:
    """Run a seed to its end; exceptions name the seed."""
    simulation = Simulation(seed, draw_options(seed, overrides or Overrides()))
    try:
        simulation.run()
    except Exception as error:
        error.add_note(f"seed {seed}, at {simulation.scheduler.now_ms - START_MS} ms")
        raise
    return simulation
