"""The whole cluster as clients see it: brokers, the network to them, topics, and which client believes it owns what."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import count
from pathlib import Path
from typing import Final

from rebalance_audit.audit.verdicts.cause import RebalanceCause
from rebalance_audit.coordinator.handling import CoordinatorConfig, Dialect, Prolonged, Response
from rebalance_audit.coordinator.requests.consumer import ConsumerGroupHeartbeatRequest
from rebalance_audit.coordinator.requests.offsets import (
    DeletedTopic,
    OffsetDeleteRequest,
    OffsetDeleteRequestTopic,
    TopicsDeleted,
)
from rebalance_audit.coordinator.requests.share import ShareGroupHeartbeatRequest
from rebalance_audit.coordinator.requests.streams import StreamsGroupHeartbeatRequest
from rebalance_audit.replay.java_order import partition_for
from rebalance_audit.sim.brokers.broker import (
    LogOptions,
    Observer,
    Respond,
    ServedPartition,
)
from rebalance_audit.sim.brokers.partition_log import PartitionLog
from rebalance_audit.sim.brokers.topics import Topics
from rebalance_audit.sim.chance import Chance
from rebalance_audit.sim.holdings import Holdings
from rebalance_audit.sim.network import Network, NetworkOptions
from rebalance_audit.sim.scheduler import Scheduler


def always() -> bool:
    """No condition."""
    return True


_FIRST_PRODUCER_ID: Final = 1_000_000
"""Producers that are in no group have lower ones."""


@dataclass(slots=True)
class ClusterOptions:
    """Size and settings of the cluster."""

    partition_count: int = 50
    """Partition count of `__consumer_offsets`."""
    broker_count: int = 3
    log: LogOptions = field(default_factory=LogOptions)
    clock_offsets_ms: tuple[int, ...] = ()
    """How far the clock of each broker is ahead; without any, all clocks show the same."""


class Cluster:
    """Brokers that serve the group partitions, each made when a group first needs one."""

    def __init__(
        self,
        scheduler: Scheduler,
        chance: Chance,
        config: CoordinatorConfig,
        options: ClusterOptions,
        network: NetworkOptions,
        observers: Sequence[Observer] = (),
        folder: Path | None = None,
    ) -> None:
        """No topics and no groups yet; logs are written to the folder as they grow."""
        self._folder = folder
        self.scheduler = scheduler
        self.config = config
        self.options = options
        self.network = Network(scheduler, chance.stream("network"), network)
        self.topics = Topics(chance.stream("topics"), lambda: scheduler.now_ms)
        self.topics.listeners.append(self._topics_changed)
        self.holdings = Holdings()
        self.committed: set[tuple[str, str]] = set()
        """Group and member id of every member with an acknowledged commit."""
        self.producers = count(_FIRST_PRODUCER_ID)
        """Producer ids of members that commit in transactions."""
        self.observers = list(observers)
        self.partitions: dict[int, ServedPartition] = {}
        self._ids = chance.stream("ids")
        self.takes_shortcuts = True
        """False: every heartbeat is served in full."""

    def partition_of(self, group_id: str) -> ServedPartition:
        """The partition that holds a group."""
        number = partition_for(group_id, self.options.partition_count)
        served = self.partitions.get(number)
        if served is None:
            served = self.partitions[number] = ServedPartition(
                PartitionLog(number, self.options.log.segment_bytes, self._folder),
                self.scheduler,
                self.topics,
                self.config,
                self._ids,
                self.options.log,
                self.observers,
                self.options.clock_offsets_ms or (0,) * self.options.broker_count,
            )
        return served

    def node_of(self, served: ServedPartition) -> str:
        """Name of the broker that leads the partition now."""
        return f"broker-{(served.number + served.leader_epoch) % self.options.broker_count}"

    def ask(
        self,
        source: str,
        served: ServedPartition,
        request: Response,
        hear: Respond,
        intent: RebalanceCause | None = None,
        is_open: Callable[[], bool] = always,
        *,
        routine: bool = False,
    ) -> None:
        """Send a request over the network; `hear` gets each response that arrives.

        A request that the network delivers twice is one that was sent again over a new connection: the answer to the
        first copy reaches no client. A request that arrives after its connection was closed is not read: its sender has
        given it up and asked again. A routine request takes no time on a sound network: a day has a hundred million
        heartbeats that report nothing.
        """
        network = self.network
        if routine and network.is_sound:
            served.receive(request, hear, intent)
            return
        node = self.node_of(served)

        def respond(response: Response) -> None:
            network.carry(node, source, lambda: hear(response))

        arrived = sent = 0

        def arrive() -> None:
            nonlocal arrived
            arrived += 1
            if is_open() and (arrived == 1 or _can_be_repeated(request)):
                served.receive(request, respond if arrived == sent else ignore_response, intent)

        sent = network.carry(source, node, arrive)

    def prolong(self, served: ServedPartition, request: Response) -> Prolonged | None:
        """Serve a heartbeat at once where it is quiet and the network is sound: the difference cannot be observed.

        None where it must be sent like any other request. The outcome is the same either way.
        """
        if not (self.takes_shortcuts and self.network.is_sound):
            return None
        return served.prolong(request)

    def delete_offsets(self, group_id: str, chance: Chance) -> None:
        """An administrator deletes a group's offsets of a topic; refused while the group subscribes to it."""
        names = self.topics.image.names()
        if not names:
            return
        topic = self.topics.image.by_name[chance.choice(names)]
        numbers = tuple(range(len(topic.partition_racks)))
        request = OffsetDeleteRequest(group_id, (OffsetDeleteRequestTopic(topic.name, numbers),))
        self.ask("admin", self.partition_of(group_id), request, ignore_response)

    def create_internal(self, name: str, partition_count: int) -> None:
        """The brokers create an internal topic of a streams application, unless another heartbeat has had it done."""
        if name not in self.topics.image.by_name:
            self.topics.create(name, partition_count)

    def set_for_group(self, group_id: str, setting: str, value: int) -> None:
        """An administrator changes a setting of a group."""
        self.config.group_overrides.setdefault(group_id, {})[setting] = value

    def delete_topic(self, name: str) -> None:
        """Delete a topic; the coordinators delete its offsets."""
        topic = self.topics.delete(name)
        deleted = TopicsDeleted((DeletedTopic(topic.topic_id, topic.name),))
        for served in self.partitions.values():
            served.topics_deleted(deleted)

    def fail_over(self, served: ServedPartition, pause_ms: int, *, orderly: bool) -> None:
        """The partition's broker goes; after a pause the next one has loaded the log."""
        if not served.is_active:
            return
        (served.resign if orderly else served.die)()
        self.scheduler.after(pause_ms, served.take_over)

    def upgrade(self, dialect: Dialect, pause_ms: int) -> None:
        """Roll through the brokers: each partition in turn is handed over cleanly to a broker of that release."""
        self.config = replace(self.config, dialect=dialect)
        for place, served in enumerate(self.partitions.values()):
            self.scheduler.after(place * pause_ms, partial(self._upgrade_one, served, pause_ms))

    def _upgrade_one(self, served: ServedPartition, pause_ms: int) -> None:
        if not served.is_active:
            self.scheduler.after(pause_ms, partial(self._upgrade_one, served, pause_ms))
            return
        self.fail_over(served, pause_ms, orderly=True)
        served.configure(self.config)

    def flush(self) -> None:
        """Flush the open batches."""
        for served in self.partitions.values():
            if served.is_active:
                served.flush()

    def _topics_changed(self) -> None:
        for served in self.partitions.values():
            served.topics_changed()


def ignore_response(_: Response) -> None:
    """Receives an answer that is not awaited."""


def _can_be_repeated(request: Response) -> bool:
    """Whether a client that lost its connection sends the very same request again.

    A heartbeat that left out unchanged fields is followed by one that reports everything.
    """
    match request:
        case ConsumerGroupHeartbeatRequest() | StreamsGroupHeartbeatRequest():
            return request.rebalance_timeout_ms != -1
        case ShareGroupHeartbeatRequest():
            return request.subscribed_topic_names is not None
    return True
