"""One simulated cluster whose script is written, not drawn: nothing happens to its groups but what the script does."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Final

from rebalance_audit.coordinator.handling import CoordinatorConfig, Dialect
from rebalance_audit.sim.brokers.broker import LogOptions
from rebalance_audit.sim.chance import Chance
from rebalance_audit.sim.clients.classic import ClassicClient
from rebalance_audit.sim.clients.client_config import ClientConfig, Committing, Traffic
from rebalance_audit.sim.clients.consumer import ConsumerClient
from rebalance_audit.sim.cluster import ClusterOptions
from rebalance_audit.sim.fleet import AnyClient, Fleet
from rebalance_audit.sim.network import NetworkOptions
from rebalance_audit.sim.options import (
    START_MS,
    FaultOptions,
    GroupPlan,
    Protocol,
    SimulationOptions,
)
from rebalance_audit.sim.scenario import Simulation

SUBJECT: Final = "subject"
"""The group that the script is about."""
BYSTANDER: Final = "bystander"
"""A group with the same settings to which nothing is done."""
MINUTE_MS: Final = 60_000
DAY_MS: Final = 86_400_000
SESSION_MS: Final = 45_000
MAX_POLL_MS: Final = 300_000
TOPICS: Final = {
    "orders": 12,
    "payments": 12,
    "audit": 3,
    **{f"tiny-{number}": 1 for number in range(4)},
}
CLOCK: Final = "clock"
"""Commits offsets once a minute: the log goes on, whatever the groups do."""


@dataclass(frozen=True)
class Setting:
    """How a script's groups are set up: Kafka's defaults, unless it says otherwise."""

    members: int = 6
    hours: float = 3
    topics: tuple[str, ...] = ("orders", "payments")
    static: bool = False
    assignors: tuple[str, ...] = ("range", "cooperative-sticky")
    """The Java client's default."""
    server_assignor: str | None = None
    regex: str | None = None
    revoke_ms: int = 50
    assigns_for_ms: int = 0
    session_timeout_ms: int = SESSION_MS
    max_poll_interval_ms: int = MAX_POLL_MS
    dialect: Dialect = Dialect.R4_1
    commit_interval_ms: int = 0
    committing: Committing = Committing.AUTO
    traffic: Traffic = Traffic.STEADY
    retention_days: int = 7
    has_bystander: bool = True
    segment_bytes: int = 104_857_600
    faults: Mapping[str, float] = field(default_factory=dict)
    """Random faults of `FaultOptions`, per minute."""

    def plan(self, group_id: str, protocol: Protocol) -> GroupPlan:
        """The group as the simulator takes it."""
        return GroupPlan(
            group_id,
            protocol,
            self.members,
            self.topics,
            static=self.static,
            assignors=self.assignors,
            server_assignor=self.server_assignor,
            regex=self.regex,
            session_timeout_ms=self.session_timeout_ms,
            max_poll_interval_ms=self.max_poll_interval_ms,
            revoke_ms=self.revoke_ms,
            commit_interval_ms=self.commit_interval_ms,
            committing=self.committing,
            traffic=self.traffic,
            assigns_for_ms=self.assigns_for_ms,
        )


class Stage:
    """The cluster, and what can be done to the group `SUBJECT`. Times are minutes since the simulation began."""

    def __init__(self, setting: Setting, protocol: Protocol, seed: int) -> None:
        self.setting = setting
        self.protocol = protocol
        self.chance = Chance(seed, "script")
        names = (SUBJECT, BYSTANDER) if setting.has_bystander else (SUBJECT,)
        options = SimulationOptions(
            int(setting.hours * 60),
            CoordinatorConfig(
                dialect=setting.dialect,
                consumer_session_timeout_ms=setting.session_timeout_ms,
                offsets_retention_ms=setting.retention_days * DAY_MS,
            ),
            ClusterOptions(1, 3, LogOptions(segment_bytes=setting.segment_bytes)),
            NetworkOptions(),
            FaultOptions(
                **{each.name: setting.faults.get(each.name, 0.0) for each in fields(FaultOptions)}
            ),
            dict(TOPICS),
            groups=[
                *(setting.plan(name, protocol) for name in names),
                GroupPlan(CLOCK, Protocol.STANDALONE, 1, ("orders",)),
            ],
            committer_interval_ms=MINUTE_MS,
        )
        self.simulation = Simulation(seed, options, with_checks=False)
        self.minutes = options.minutes

    @property
    def fleet(self) -> Fleet:
        """The subject's processes, once the simulation runs."""
        return self.simulation.fleets[0]

    @property
    def now_minutes(self) -> float:
        """Minutes since the beginning."""
        return (self.simulation.scheduler.now_ms - START_MS) / MINUTE_MS

    def run(self) -> None:
        """Play it to the end; the log is complete then."""
        self.simulation.run_faults()
        self.simulation.cluster.flush()

    # --- when --------------------------------------------------------------------------------------

    def at(self, minute: float, action: Callable[[], object]) -> None:
        """Do something at that minute."""
        delay_ms = START_MS + round(minute * MINUTE_MS) - self.simulation.scheduler.now_ms
        self.simulation.scheduler.after(max(1, delay_ms), lambda: (action(), None)[1])

    def every(
        self, minutes: float, action: Callable[[], object], first: float, until: float
    ) -> None:
        """Do something again and again, never quite regularly."""
        at = first
        while at < until:
            self.at(at, action)
            at += minutes * self.chance.uniform(0.95, 1.05)

    # --- what --------------------------------------------------------------------------------------

    def client(self, number: int) -> AnyClient:
        """The process in a slot of the application."""
        return self.fleet.instances[number].client

    def hold_back(self, number: int, down_ms: int) -> None:
        """Its supervisor does not start it for so long."""
        self.fleet.instances[number].down_until_ms = self.simulation.scheduler.now_ms + down_ms

    def kill_all(self, numbers: Iterable[int], down_ms: int) -> None:
        """These processes are killed at once."""
        for number in numbers:
            self.kill(number, down_ms)

    def subscribe(self, number: int, topics: tuple[str, ...]) -> None:
        """The application in a slot changes its topics."""
        self.client(number).subscribe(topics)

    def stop(self, number: int, down_ms: int = 5_000) -> None:
        """The process closes its consumer and ends, and comes back after that time."""
        self.client(number).stop()
        self.hold_back(number, down_ms)

    def kill(self, number: int, down_ms: int = 5_000) -> None:
        """The process is killed, and comes back after that time."""
        self.client(number).crash()
        self.hold_back(number, down_ms)

    def freeze(self, number: int, duration_ms: int) -> None:
        """The process stands still for that long."""
        client = self.client(number)
        client.freeze()
        self.simulation.scheduler.after(duration_ms, client.thaw)

    def stall(self, numbers: Iterable[int], duration_ms: int) -> None:
        """The applications do not poll for that long; heartbeats go on."""
        for number in numbers:
            self.client(number).process_slowly(duration_ms)

    def configure(self, number: int, **settings: object) -> None:
        """Give one process settings of its own; those of a running one count from now on."""
        for name, value in settings.items():
            assert name in ClientConfig.__slots__
            setattr(self.client(number).config, name, value)

    def restart_all(self, pause_minutes: float, down_ms: int) -> None:
        """A rolling restart: each process in its turn, the next one after the pause."""
        for number in range(len(self.fleet.instances)):
            minute = self.now_minutes + number * pause_minutes * self.chance.uniform(0.9, 1.1)
            self.at(minute, partial(self.stop, number, down_ms))

    def leave_for_good(self) -> None:
        """The whole application closes its consumers and ends."""
        for instance in self.fleet.instances:
            instance.wanted = False
            instance.client.stop()

    def change_protocol(self, number: int, protocol: Protocol) -> None:
        """Restart a process with another value of group.protocol."""
        instance = self.fleet.instances[number]
        instance.client.stop()
        instance.client = self._client_of(protocol, instance.client.config)
        self.hold_back(number, 5_000)

    def twin_of(self, number: int) -> AnyClient:
        """A second process with the identity of a slot; only the script starts it."""
        config = self.client(number).config
        return self._client_of(self.protocol, replace(config, name=f"{config.name}-twin"))

    def _client_of(self, protocol: Protocol, config: ClientConfig) -> AnyClient:
        kind = ConsumerClient if protocol is Protocol.CONSUMER else ClassicClient
        chance = self.chance.stream(f"{config.name} {self.now_minutes}")
        return kind(self.simulation.cluster, replace(config), chance)

    def delete_topic(self, name: str) -> None:
        """Delete a topic."""
        self.simulation.cluster.delete_topic(name)

    def toggle_topic(self, name: str, partition_count: int) -> None:
        """Delete a topic, or create it again."""
        topics = self.simulation.cluster.topics
        if name in topics.image.by_name:
            self.delete_topic(name)
        else:
            topics.create(name, partition_count)

    def fail_over(self, pause_ms: int = 2_000) -> None:
        """The coordinator's broker dies, and another one takes over after the pause."""
        served = self.simulation.cluster.partition_of(SUBJECT)
        self.simulation.cluster.fail_over(served, pause_ms, orderly=False)
