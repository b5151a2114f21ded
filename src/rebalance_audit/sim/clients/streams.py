"""Streams clients (KIP-1071): members that process tasks of a topology, with standbys, endpoints and tags."""

from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from rebalance_audit.coordinator.assignors.client_members import grouped
from rebalance_audit.coordinator.requests.consumer import JOIN_EPOCH
from rebalance_audit.coordinator.requests.streams import (
    Endpoint,
    StreamsGroupHeartbeatRequest,
    StreamsGroupHeartbeatResponse,
    Subtopology,
    TaskIds,
    Topology,
)
from rebalance_audit.replay.groups import LEFT_EPOCH, STATIC_LEAVE_EPOCH
from rebalance_audit.sim.chance import Chance
from rebalance_audit.sim.clients.beating import BeatingClient
from rebalance_audit.sim.clients.client_config import ClientConfig
from rebalance_audit.sim.cluster import Cluster
from rebalance_audit.sim.holdings import HeldPartition

CREATION_MS: Final = 20
"""How long brokers take to create an internal topic."""
_ID_BYTES: Final = 16


@dataclass(slots=True)
class Application:
    """What all instances of one application have in common."""

    topology: Topology
    answers_queries: bool = False
    """Whether its members send an endpoint."""
    tags: tuple[tuple[str, str], ...] = ()


def application_of(
    group_id: str, topics: tuple[str, ...], *, stateful: bool, repartitions: bool
) -> Application:
    """An application that reads these topics, in two parts if it repartitions."""
    between = f"{group_id}-by-key-repartition"
    store = f"{group_id}-store-changelog"
    first = Subtopology("0", tuple(sorted(topics)))
    if not repartitions:
        parts = (first._replace(state_changelog_topics=(store,) if stateful else ()),)
        return Application(Topology(0, parts))
    second = Subtopology("1", (), (store,) if stateful else (), (between,))
    return Application(Topology(0, (first._replace(repartition_sink_topics=(between,)), second)))


def task_key(task: tuple[str, int]) -> HeldPartition:
    """A task under the key that the cluster's holdings have for it."""
    return task[0].encode().ljust(_ID_BYTES, b"\0"), task[1]


Task = tuple[str, int]


class StreamsClient(BeatingClient):
    """One process of a streams application. Its active tasks are what it owns; no other process may run them."""

    def __init__(
        self, cluster: Cluster, config: ClientConfig, chance: Chance, application: Application
    ) -> None:
        """Configured but not started."""
        super().__init__(cluster, config, chance)
        self.application = application
        self._process_id = chance.uuid_text()
        self._ports = chance.stream("ports")
        self._target: tuple[frozenset[Task], frozenset[Task]] = frozenset(), frozenset()
        self._running: tuple[frozenset[Task], frozenset[Task]] = frozenset(), frozenset()
        self._reported: tuple[frozenset[Task], frozenset[Task]] | None = None
        self._is_reconciling = False
        self._endpoint: Endpoint | None = None

    def _begin(self) -> None:
        # A static instance keeps its state directory, and with it the id of its process.
        if self.config.instance_id is None:
            self._process_id = self.chance.uuid_text()
        if self.application.answers_queries:
            self._endpoint = Endpoint(self.name, self._ports.between(1_024, 65_535))
        super()._begin()

    def move(self) -> None:
        """The process answers queries under another port from now on, which the next heartbeat reports."""
        if self._endpoint is not None:
            self._endpoint = Endpoint(self.name, self._ports.between(1_024, 65_535))
            self.sends_all = True

    def retag(self, tags: tuple[tuple[str, str], ...]) -> None:
        """The process has other tags from now on, which the next heartbeat reports."""
        self.application = replace(self.application, tags=tags)
        self.sends_all = True

    def is_settled(self) -> str | None:
        """What it waits for; None when it is a member that runs exactly what it was assigned."""
        if self.generation <= JOIN_EPOCH:
            return f"{self.name} is no member"
        if self._running != self._target:
            return f"{self.name} has not followed its assignment"
        return None

    # --- heartbeats --------------------------------------------------------------------------------

    def _request(self) -> StreamsGroupHeartbeatRequest:
        sends_all = self.sends_all or self.generation == JOIN_EPOCH
        sends_owned = sends_all or self._reported != self._running
        self.sends_all = False
        self._reported = self._running
        request = StreamsGroupHeartbeatRequest(
            self.group_id,
            self.member_id,
            self.generation,
            self.config.instance_id,
            client_id=self.name,
        )
        if sends_all:
            application = self.application
            request = request._replace(
                rebalance_timeout_ms=self.config.max_poll_interval_ms,
                topology=application.topology if self.generation == JOIN_EPOCH else None,
                process_id=self._process_id,
                user_endpoint=self._endpoint,
                client_tags=application.tags,
            )
        if sends_owned:
            active, standby = self._running
            request = request._replace(
                active_tasks=tuple(TaskIds(*each) for each in grouped(sorted(active))),
                standby_tasks=tuple(TaskIds(*each) for each in grouped(sorted(standby))),
                warmup_tasks=(),
            )
        return request

    def _leaving(self) -> StreamsGroupHeartbeatRequest:
        instance_id = self.config.instance_id
        return StreamsGroupHeartbeatRequest(
            self.group_id,
            self.member_id,
            LEFT_EPOCH if instance_id is None else STATIC_LEAVE_EPOCH,
            instance_id,
            client_id=self.name,
        )

    def _unheard(self) -> None:
        self.missed_tasks = True
        super()._unheard()

    def _follow(self, response: StreamsGroupHeartbeatResponse) -> None:
        for name, partition_count in response.missing_internal_topics:
            # Brokers create them when a heartbeat shows that they are missing.
            create = partial(self.cluster.create_internal, name, partition_count)
            self._scheduler.after(CREATION_MS, create)
        if response.active_tasks is not None:
            self.missed_tasks = False
            self._target = _tasks(response.active_tasks), _tasks(response.standby_tasks or ())
        self._reconcile()

    # --- reconciliation ----------------------------------------------------------------------------

    def _reconcile(self) -> None:
        """Close tasks that are no longer assigned, then open new ones, and report both."""
        if self._is_reconciling or self._running == self._target:
            return
        self._is_reconciling = True
        closes = any(now - then for now, then in zip(self._running, self._target, strict=True))
        self._when_polled(self.config.revoke_ms if closes else 1, self._reconciled)

    def _reconciled(self) -> None:
        if not self._is_reconciling or self.generation < JOIN_EPOCH:
            return
        self._is_reconciling = False
        self._run_tasks(*self._target)
        self._beat_now()

    def _run_tasks(self, active: frozenset[Task], standby: frozenset[Task]) -> None:
        before, after = (frozenset(map(task_key, each)) for each in (self._running[0], active))
        self._running = active, standby
        self._drop(before - after)
        self._take(after - before)

    def _fetch_offsets(self) -> None:
        """A task's offsets are fetched by its own consumer, which is not simulated."""

    def _give_everything_up(self) -> None:
        self._is_reconciling = False
        self._target = frozenset(), frozenset()
        self._reported = None
        self._run_tasks(frozenset(), frozenset())


def _tasks(named: tuple[TaskIds, ...]) -> frozenset[Task]:
    return frozenset((name, number) for name, numbers in named for number in numbers)
