"""Plays a script with simulated clients and a simulated coordinator; calm stretches are skipped."""

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import groupby
from typing import Final

from rebalance_audit.coordinator.handling import CoordinatorConfig, Dialect, ErrorCode
from rebalance_audit.coordinator.requests.classic import LeaveGroupRequest, MemberIdentity
from rebalance_audit.sim.chance import Chance
from rebalance_audit.sim.clients.classic import ClassicClient
from rebalance_audit.sim.clients.client import RETRY_BACKOFF_MS
from rebalance_audit.sim.clients.client_config import ClientConfig
from rebalance_audit.sim.clients.consumer import ConsumerClient
from rebalance_audit.sim.cluster import Cluster, ClusterOptions
from rebalance_audit.sim.network import NetworkOptions
from rebalance_audit.sim.scheduler import Scheduler
from rebalance_audit.whatif.habits import RESTART_MS, times_of
from rebalance_audit.whatif.history import rate_of
from rebalance_audit.whatif.script import AppInstance, Habits, Script, Settings
from rebalance_audit.whatif.timeline import ActionKind, TimedAction, draw_timeline
from rebalance_audit.whatif.tracker import (
    CLOSED,
    KILLED,
    REVOKED,
    EpochCounter,
    RunOutcome,
    Tracker,
)

RELEASE: Final = Dialect.R4_3
"""The coordinator that the script is played with."""
_STEP_MS: Final = 250
"""How often a group that is not calm is looked at."""
_SESSION_MAX_MS: Final = 1 << 31
_RETRY_MS: Final = 3_000
"""How soon a supervisor restarts a process that ended with an error, at the earliest."""
_RETRY_MAX_MS: Final = 15_000


class _Process:
    """One instance on the stage: its client, and whether it should be running."""

    def __init__(self, instance: AppInstance, client: "ClassicProcess | ConsumerProcess") -> None:
        self.instance = instance
        self.client = client
        self.wanted = False
        self.is_slow = False


class ClassicProcess(ClassicClient):
    """A classic client whose supervisor hears of its failures."""

    failed: Callable[[], None]

    def fail(self, error: ErrorCode) -> None:
        """The process ends with an error that it cannot handle."""
        super().fail(error)
        self.failed()


class ConsumerProcess(ConsumerClient):
    """The same in the consumer protocol."""

    failed: Callable[[], None]
    late_ms = 0
    """How much later than the coordinator says its next heartbeats are."""

    def _again_in(self, delay_ms: int) -> None:
        super()._again_in(delay_ms + self.late_ms if delay_ms else 0)

    def fail(self, error: ErrorCode) -> None:
        """The process ends with an error that it cannot handle."""
        super().fail(error)
        self.failed()


class ScriptRun:
    """One run."""

    def __init__(self, script: Script, settings: Settings, seed: int) -> None:
        """Everything is set up and nothing has happened."""
        self._script, self._settings = script, settings
        self._actions = draw_timeline(script, seed)
        self._skipped_ms = 0
        """How much later it is in the script than on the simulation's clock."""
        begin_ms = self._actions[0].at_ms if self._actions else script.from_ms
        self._scheduler = Scheduler(begin_ms - 1)
        self._chance = Chance(seed, "what-if")
        self._habits = _habits_under(script, settings)
        config = CoordinatorConfig(
            dialect=RELEASE,
            group_initial_rebalance_delay_ms=self._habits.initial_delay_ms,
            group_min_session_timeout_ms=1,
            group_max_session_timeout_ms=_SESSION_MAX_MS,
            consumer_session_timeout_ms=settings.session_timeout_ms,
            consumer_heartbeat_interval_ms=settings.heartbeat_interval_ms,
        )
        self._tracker = Tracker(self._now, script.from_ms, script.to_ms)
        self._cluster = Cluster(
            self._scheduler,
            self._chance.stream("cluster"),
            config,
            ClusterOptions(partition_count=1, broker_count=1),
            NetworkOptions(latency_ms=self._habits.latency_ms),
            (EpochCounter(self._count_epoch),),
        )
        self._cluster.holdings = self._tracker
        self._moments = self._chance.stream("moments")
        self._processes = {each.name: self._process(each) for each in script.instances}
        self._removed: list[MemberIdentity] = []
        """Members that an administrator removes with the next request."""
        self._restarts = 0
        """Processes that a supervisor will start again."""
        self._subscribed = {name for each in script.instances for name in each.topics}
        self._subscribes_to_all = any(each.regex is not None for each in script.instances)
        for name, partition_count in script.topics.items():
            self._create(name, partition_count)

    def _now(self) -> int:
        return self._scheduler.now_ms + self._skipped_ms

    def _count_epoch(self) -> None:
        if self._script.from_ms <= self._now() < self._script.to_ms:
            self._tracker.outcome.rebalances += 1

    # --- the run -----------------------------------------------------------------------------------

    def run(self) -> RunOutcome:
        """Play the script to its end."""
        for at_ms, actions in groupby(self._actions, lambda action: action.at_ms):
            self._run_until(at_ms)
            for action in actions:
                self._vary()
                self._do(action)
            self._remove_members()
        self._run_until(self._script.to_ms)
        return self._tracker.finish()

    def _run_until(self, at_ms: int) -> None:
        """Let the time until then pass, and skip what remains of it once the group is calm."""
        scheduler, heartbeat_ms = self._scheduler, self._settings.heartbeat_interval_ms
        has_drifted = False
        while self._now() < at_ms:
            left_ms = at_ms - self._now()
            if has_drifted or left_ms <= heartbeat_ms or not self._is_calm():
                scheduler.run_until_ms(scheduler.now_ms + min(left_ms, _STEP_MS))
                continue
            has_drifted = True
            self._drift(left_ms)
            # Where in its interval an action meets each member is left to chance.
            stay_ms = heartbeat_ms + self._moments.between(1, heartbeat_ms)
            self._skipped_ms += max(0, left_ms - stay_ms)

    def _drift(self, calm_ms: int) -> None:
        """Part the heartbeats of members, which a rebalance has put in step, as far as a calm stretch parts them.

        The Java client looks every RETRY_BACKOFF_MS whether its heartbeat is due (AbstractCoordinator.HeartbeatThread).
        """
        interval_ms = self._settings.heartbeat_interval_ms
        most_ms = min(interval_ms, round(RETRY_BACKOFF_MS * math.sqrt(calm_ms / interval_ms)))
        for process in self._processes.values():
            # One interval of each member is longer.
            _be_late(process.client, interval_ms, self._moments.between(0, most_ms))
        self._scheduler.after(interval_ms, self._keep_time)

    def _keep_time(self) -> None:
        for process in self._processes.values():
            _be_late(process.client, self._settings.heartbeat_interval_ms, 0)

    def _is_calm(self) -> bool:
        """Whether nothing will happen but heartbeats until the next action."""
        served = self._cluster.partition_of(self._script.group_id)
        if self._restarts or not served.is_active:
            return False
        running = [
            each.client
            for each in self._processes.values()
            if each.client.running and not each.client.frozen
        ]
        members = served.member_ids(self._script.group_id)
        if len(members) != len(running) or {each.member_id for each in running} != set(members):
            return False
        if any(each.is_settled() is not None for each in running):
            return False
        return not running or not self._expects_owners(running)

    def _expects_owners(self, running: "list[ClassicProcess | ConsumerProcess]") -> bool:
        """Whether a partition of a subscribed topic has no owner yet."""
        if not self._tracker.unowned_count:
            return False
        image = self._cluster.topics.image
        topics = {name for client in running for name in client.config.topics}
        expected = sum(
            len(topic.partition_racks)
            for name in topics
            if (topic := image.topic(name)) is not None
        )
        return sum(len(client.owned) for client in running) < expected

    # --- processes ---------------------------------------------------------------------------------

    def _process(self, instance: AppInstance) -> _Process:
        settings = self._settings
        is_consumer = settings.protocol == "consumer"
        config = ClientConfig(
            instance.name,
            self._script.group_id,
            instance.topics,
            instance_id=instance.name if settings.is_static else None,
            session_timeout_ms=settings.session_timeout_ms,
            heartbeat_interval_ms=settings.heartbeat_interval_ms,
            max_poll_interval_ms=settings.rebalance_timeout_ms,
            commit_interval_ms=0,
            assignors=("range",) if is_consumer else settings.assignors,
            assigns_for_ms=self._habits.leader_ms,
            server_assignor=settings.assignors[0] if is_consumer else None,
            regex=instance.regex if is_consumer else None,
        )
        chance = self._chance.stream(f"client {instance.name}")
        kind = ConsumerProcess if is_consumer else ClassicProcess
        client = kind(self._cluster, config, chance)
        process = _Process(instance, client)
        client.failed = lambda: self._failed(process)
        return process

    def _failed(self, process: _Process) -> None:
        """A process ended with an error: its supervisor starts it again."""
        self._tracker.outcome.refused_returns += 1
        restart_ms = (self._habits.restart_ms or RESTART_MS).draw(self._moments)
        self._restarts += 1

        def again() -> None:
            self._restarts -= 1
            if process.wanted and not process.client.running:
                process.client.start()

        delay_ms = min(max(restart_ms, _RETRY_MS), _RETRY_MAX_MS)
        self._scheduler.after(delay_ms, again)

    def _vary(self) -> None:
        """Clients do not take the same time every time."""
        habits = self._habits
        for process in self._processes.values():
            if process.client.running and not process.is_slow:
                process.client.config.revoke_ms = max(1, habits.revoke_ms.draw(self._moments))
                process.client.config.assign_ms = max(1, habits.assign_ms.draw(self._moments))

    # --- actions -----------------------------------------------------------------------------------

    def _do(self, action: TimedAction) -> None:
        process = self._processes.get(action.instance)
        if process is not None:
            self._do_to(process, action)
        elif action.kind is ActionKind.GROW:
            self._grow(action.topic, action.number)
        elif action.kind is ActionKind.DELETE:
            self._delete(action.topic)
        elif action.kind is ActionKind.MOVE:
            served = self._cluster.partition_of(self._script.group_id)
            self._cluster.fail_over(served, action.number, orderly=True)

    def _do_to(self, process: _Process, action: TimedAction) -> None:
        client = process.client
        match action.kind:
            case ActionKind.START:
                process.wanted = True
                if client.frozen:
                    client.thaw()
                elif not client.running:
                    client.start()
            case ActionKind.CLOSE | ActionKind.KILL:
                process.wanted = False
                self._tracker.reason = CLOSED if action.kind is ActionKind.CLOSE else KILLED
                (client.stop if action.kind is ActionKind.CLOSE else client.crash)()
                self._tracker.reason = REVOKED
            case ActionKind.FREEZE:
                if client.running:
                    client.freeze()
            case ActionKind.REMOVE:
                self._removed += self._identity(client)
            case ActionKind.SUBSCRIBE:
                client.subscribe(action.topics)
                for name in set(action.topics) - self._subscribed:
                    self._subscribed.add(name)
                    self._await_owners(name, 0)
            case ActionKind.BE_SLOW:
                process.is_slow = True
                client.config.revoke_ms = action.number
            case ActionKind.BE_USUAL:
                process.is_slow = False

    def _identity(self, client: ClassicProcess | ConsumerProcess) -> list[MemberIdentity]:
        """How Kafka's Admin names a member: a static one by its instance id, any other by its member id."""
        if client.config.instance_id is not None:
            return [MemberIdentity(group_instance_id=client.config.instance_id)]
        return [MemberIdentity(client.member_id)] if client.running and client.member_id else []

    def _remove_members(self) -> None:
        """All that are removed at one moment are in one request."""
        if self._removed:
            served = self._cluster.partition_of(self._script.group_id)
            request = LeaveGroupRequest(self._script.group_id, tuple(self._removed))
            self._cluster.ask("admin", served, request, lambda _: None)
            self._removed = []

    def _create(self, name: str, partition_count: int) -> None:
        self._cluster.topics.create(name, partition_count)
        self._await_owners(name, 0)

    def _await_owners(self, name: str, first: int) -> None:
        """The partitions of a topic from `first` on should have owners now, if the group subscribes to it."""
        topic = self._cluster.topics.image.topic(name)
        if topic is None:
            return
        numbers = range(first, len(topic.partition_racks))
        for number in numbers:
            rate = rate_of(self._script.rates, name, number)
            self._tracker.records_per_second[topic.topic_id, number] = rate
        if self._subscribes_to_all or name in self._subscribed:
            self._tracker.create((topic.topic_id, number) for number in numbers)

    def _delete(self, name: str) -> None:
        topic = self._cluster.topics.image.topic(name)
        if topic is not None:
            count = len(topic.partition_racks)
            self._tracker.remove((topic.topic_id, number) for number in range(count))
            self._cluster.delete_topic(name)

    def _grow(self, name: str, partition_count: int) -> None:
        topic = self._cluster.topics.image.topic(name)
        if topic is None:
            self._create(name, partition_count)
        elif len(topic.partition_racks) < partition_count:
            first = len(topic.partition_racks)
            self._cluster.topics.grow(name, partition_count)
            self._await_owners(name, first)


def _be_late(client: ClassicProcess | ConsumerProcess, interval_ms: int, late_ms: int) -> None:
    """Let the heartbeats of a member come so much later than at the interval."""
    if isinstance(client, ConsumerProcess):
        client.late_ms = late_ms
    else:
        client.config.heartbeat_interval_ms = interval_ms + late_ms


def _habits_under(script: Script, settings: Settings) -> Habits:
    """The group's habits; what it would do under another protocol is the usual of that protocol's client."""
    if settings.protocol == script.settings.protocol:
        return script.habits
    times = times_of(settings.protocol)
    habits = script.habits
    lag_ms = 2 * max(0, habits.latency_ms - times.latency_ms)
    return replace(habits, revoke_ms=times.revoke_ms.shifted(lag_ms), assign_ms=times.assign_ms)
