"""The instances of one application: started, deployed, scaled, hit by faults, and restarted by their supervisor."""

import re
from dataclasses import dataclass
from functools import partial
from typing import Final

from rebalance_audit.audit.verdicts.cause import RebalanceCause
from rebalance_audit.coordinator.handling import Dialect
from rebalance_audit.coordinator.requests.classic import LeaveGroupRequest, MemberIdentity
from rebalance_audit.coordinator.requests.offsets import DeleteGroupsRequest
from rebalance_audit.coordinator.streams.topology import configure_topology
from rebalance_audit.sim.chance import Chance
from rebalance_audit.sim.clients.classic import ClassicClient
from rebalance_audit.sim.clients.client_config import ClientConfig, Library
from rebalance_audit.sim.clients.consumer import ConsumerClient
from rebalance_audit.sim.clients.share import ShareClient
from rebalance_audit.sim.clients.streams import StreamsClient, application_of, task_key
from rebalance_audit.sim.cluster import Cluster
from rebalance_audit.sim.network import Filter
from rebalance_audit.sim.options import EXPRESSIONS, GroupPlan, Protocol

SUPERVISION_INTERVAL_MS: Final = 1_000
SIZE_MAX: Final = 12
_POLLED_WITHIN_MS: Final = 1_000
"""Applications that keep up have processed in that time what they poll."""
_BY_OTHER_TOOLS: Final = 0.25
"""Share of removals of dynamic members that Kafka's Admin cannot ask for."""
_REMOVED: Final = "member was removed by an admin"
"""The reason that Kafka's Admin gives (KafkaAdminClient.DEFAULT_LEAVE_GROUP_REASON)."""
_EARLY: Final = frozenset({Dialect.R3_7, Dialect.R3_9})
_ROLLING_CHANGE: Final = {
    ("range",): ("cooperative-sticky", "range"),
    ("cooperative-sticky", "range"): ("cooperative-sticky",),
}
"""A rolling change of assignor in two deploys: first both assignors, then the new one alone."""

AnyClient = ClassicClient | ConsumerClient | ShareClient | StreamsClient


@dataclass(slots=True)
class Instance:
    """One slot of the application; processes come and go in it."""

    client: AnyClient
    down_until_ms: int = 0
    """The supervisor does not start it before this time, epoch milliseconds."""
    wanted: bool = True


class Fleet:
    """All instances of one group."""

    def __init__(self, cluster: Cluster, plan: GroupPlan, chance: Chance) -> None:
        """Nothing runs yet."""
        self.cluster = cluster
        self.plan = plan
        self.instances: list[Instance] = []
        self.libraries: dict[str, Library] = {}
        """By client name."""
        self._chance = chance
        self._scheduler = cluster.scheduler
        self._serial = 0
        self._duplicates: list[AnyClient] = []
        self._speaks_new = plan.protocol is Protocol.CONSUMER
        self._deploying = False
        self._application = application_of(
            plan.group_id,
            plan.topics or ("topic-0",),
            stateful=plan.stateful,
            repartitions=plan.repartitions,
        )
        self._application.answers_queries = plan.answers_queries

    @property
    def clients(self) -> list[AnyClient]:
        """Processes of the instances that should run."""
        return [instance.client for instance in self.instances if instance.wanted]

    def start(self) -> None:
        """Start the planned number of instances, one shortly after another."""
        for _ in range(self.plan.size):
            instance = self._new_instance()
            instance.down_until_ms = self._scheduler.now_ms + self._chance.between(0, 5_000)
        self._supervise()

    def _new_instance(self) -> Instance:
        number = self._serial
        self._serial += 1
        instance = Instance(self._new_client(number))
        self.instances.append(instance)
        return instance

    def _new_client(self, number: int) -> AnyClient:
        plan = self.plan
        name = f"{plan.group_id}-{number}"
        library = (plan.library, Library.JAVA)[number % 2]
        self.libraries[name] = library
        config = ClientConfig(
            name,
            plan.group_id,
            plan.topics,
            instance_id=f"instance-{number}" if plan.static else None,
            session_timeout_ms=plan.session_timeout_ms,
            heartbeat_interval_ms=min(3_000, plan.session_timeout_ms // 3),
            max_poll_interval_ms=plan.max_poll_interval_ms,
            commit_interval_ms=plan.commit_interval_ms,
            committing=plan.committing,
            habit=plan.habit,
            traffic=plan.traffic,
            revoke_ms=plan.revoke_ms,
            assignors=plan.assignors,
            server_assignor=None if plan.client_assignor else plan.server_assignor,
            regex=plan.regex,
            library=library,
            makes_own_id=self.cluster.config.dialect not in _EARLY,
            client_assignor=plan.client_assignor,
            subscribes_after_ms=plan.subscribes_after_ms,
            assigns_for_ms=plan.assigns_for_ms,
        )
        chance = self._chance.stream(f"client-{number}-{self._scheduler.executed}")
        if plan.protocol is Protocol.STREAMS:
            return StreamsClient(self.cluster, config, chance, self._application)
        if plan.protocol is Protocol.SHARE:
            return ShareClient(self.cluster, config, chance)
        kind = ConsumerClient if self._speaks_new else ClassicClient
        return kind(self.cluster, config, chance)

    def _supervise(self) -> None:
        now_ms = self._scheduler.now_ms
        for instance in self.instances:
            client = instance.client
            if not client.running and instance.wanted and now_ms >= instance.down_until_ms:
                client.start()
        self._scheduler.after(SUPERVISION_INTERVAL_MS, self._supervise)

    def _pick(self) -> Instance | None:
        running = [each for each in self.instances if each.wanted and each.client.running]
        return self._chance.choice(running) if running else None

    # --- what happens to it ------------------------------------------------------------------------

    def deploy(self) -> None:
        """Restart instance by instance with a new version; a migrating group changes its protocol this way."""
        if self._deploying:
            return
        self._deploying = True
        plan = self.plan
        if plan.protocol is Protocol.MIGRATING:
            self._speaks_new = not self._speaks_new
        elif plan.assignors in _ROLLING_CHANGE and self._chance.happens(0.5):
            plan.assignors = _ROLLING_CHANGE[plan.assignors]
        elif not plan.static and self._chance.happens(0.2):
            plan.server_assignor = self._chance.choice((None, "uniform", "range"))
        self._deploy_next([each for each in self.instances if each.wanted])

    def _deploy_next(self, waiting: list[Instance]) -> None:
        if not waiting:
            self._deploying = False
            return
        instance, rest = waiting[0], waiting[1:]
        if instance.wanted:
            number = int(instance.client.name.rpartition("-")[2])
            instance.client.stop()
            instance.client = self._new_client(number)
            instance.down_until_ms = self._scheduler.now_ms + self._chance.between(100, 8_000)
        pause_ms = self._chance.between(500, 15_000)
        self._scheduler.after(pause_ms, lambda: self._deploy_next(rest))

    def scale(self) -> None:
        """Add or remove one instance; at least one stays."""
        wanted = [each for each in self.instances if each.wanted]
        if len(wanted) > 1 and (len(wanted) >= SIZE_MAX or self._chance.happens(0.5)):
            instance = self._chance.choice(wanted)
            instance.wanted = False
            instance.client.stop()
        else:
            self._new_instance()

    def crash(self) -> None:
        """Kill a process; it is restarted after a while."""
        instance = self._pick()
        if instance is not None:
            instance.client.crash()
            instance.down_until_ms = self._scheduler.now_ms + self._chance.between(100, 60_000)

    def freeze(self) -> None:
        """Freeze a process, for less or more than its session timeout."""
        instance = self._pick()
        if instance is not None and not instance.client.frozen:
            client = instance.client
            client.freeze()
            duration_ms = self._chance.between(100, 3 * self.plan.session_timeout_ms)
            self._scheduler.after(duration_ms, client.thaw)

    def poll_slowly(self) -> None:
        """Let an application process what it polled for a long time; who polled nothing has nothing to process."""
        instance = self._pick()
        if instance is not None and self._has_work(instance.client):
            longest_ms = 2 * self.plan.max_poll_interval_ms
            instance.client.process_slowly(self._chance.between(1_000, longest_ms))

    def change_subscription(self) -> None:
        """One member changes its topics; in a streams group its endpoint or tags, or its group's settings change."""
        instance = self._pick()
        names = self.cluster.topics.image.names()
        if instance is not None and isinstance(instance.client, StreamsClient):
            self._change_streams(instance.client)
        elif instance is not None and names:
            topics = self._chance.sample(names, self._chance.between(1, len(names)))
            instance.client.subscribe(tuple(topics))

    def _change_streams(self, client: StreamsClient) -> None:
        what = self._chance.choice(("endpoint", "tags", "standbys"))
        if what == "endpoint":
            client.move()
        elif what == "tags":
            client.retag((("zone", self._chance.choice(("a", "b", "c"))),))
        else:
            group_id, replicas = self.plan.group_id, self._chance.between(0, 2)
            self.cluster.set_for_group(group_id, "streams.num.standby.replicas", replicas)

    def change_expression(self) -> None:
        """One member changes its expression, and may change it again before that is resolved."""
        instance = self._pick()
        if instance is None or not self.plan.regex:
            return
        client = instance.client
        if isinstance(client, ConsumerClient):
            client.match(self._chance.choice(EXPRESSIONS))
            if self._chance.happens(0.5):
                again = partial(client.match, self._chance.choice(EXPRESSIONS))
                self._scheduler.after(self._chance.between(1, 3_000), again)

    def _has_work(self, client: AnyClient) -> bool:
        """Whether messages came lately to a consumer's partitions; members of other groups have some anyway."""
        if not isinstance(client, ClassicClient | ConsumerClient):
            return True
        position, now_ms = self.plan.traffic.position, self._scheduler.now_ms
        return any(
            position(number, now_ms) != position(number, now_ms - _POLLED_WITHIN_MS)
            for _, number in client.owned
        )

    def remove_by_admin(self) -> None:
        """An administrator removes members: static ones each, dynamic ones all at once, or some with other tools.

        Kafka's Admin names members by instance id alone (`MemberToRemove`); without any it describes the group and
        sends one request for all members that the coordinator has. kafka-python's names dynamic members too.
        """
        if self.plan.protocol in {Protocol.SHARE, Protocol.STREAMS}:
            return
        group_id, served = self.plan.group_id, self.cluster.partition_of(self.plan.group_id)
        if self.plan.static:
            identities = [
                MemberIdentity(group_instance_id=client.config.instance_id, reason=_REMOVED)
                for client in self.clients
                if client.running and self._chance.happens(0.5)
            ]
        else:
            of_all = not self._chance.happens(_BY_OTHER_TOOLS)
            identities = [
                MemberIdentity(each, reason=_REMOVED)
                for each in served.member_ids(group_id)
                if of_all or self._chance.happens(0.5)
            ]
        if identities:
            self.cluster.ask(
                "admin",
                served,
                LeaveGroupRequest(group_id, tuple(identities)),
                lambda _: None,
                RebalanceCause.MEMBER_REMOVED_BY_ADMIN,
            )

    def duplicate_instance(self) -> None:
        """Start a second process with the identity of an instance, and end it later."""
        instance = self._pick()
        if instance is None or not self.plan.static:
            return
        number = int(instance.client.name.rpartition("-")[2])
        twin = self._new_client(number)
        twin.name = twin.config.name = f"{twin.name}-twin"
        self._duplicates.append(twin)
        twin.start()
        self._scheduler.after(self._chance.between(1_000, 30_000), twin.crash)

    def go_down(self) -> None:
        """Stop the whole application for a while; sometimes its group is deleted meanwhile."""
        down_ms = self._chance.between(5_000, 60_000)
        for instance in self.instances:
            instance.client.stop()
            instance.down_until_ms = self._scheduler.now_ms + down_ms
        if self._chance.happens(0.5):
            self._scheduler.after(down_ms // 2, self._delete_group)

    def _delete_group(self) -> None:
        """An administrator deletes the group; refused while it has members."""
        group_id = self.plan.group_id
        served = self.cluster.partition_of(group_id)
        self.cluster.ask("admin", served, DeleteGroupsRequest((group_id,)), lambda _: None)

    def cut_off(self) -> None:
        """Interrupt the network of one client for a while."""
        instance = self._pick()
        if instance is None:
            return
        name = instance.client.name
        filters = self.cluster.network.filters
        filters[name] = self._chance.choice(
            (Filter.DROP_ALL, Filter.DROP_INBOUND, Filter.DROP_OUTBOUND)
        )
        duration_ms = self._chance.between(500, 30_000)
        self._scheduler.after(duration_ms, lambda: filters.pop(name, None) and None)

    def heal(self) -> None:
        """No more faults from now on: no process is frozen, duplicates are gone, all instances are up."""
        for twin in self._duplicates:
            twin.crash()
        for instance in self.instances:
            instance.client.thaw()
            instance.down_until_ms = 0

    # --- where it should end -----------------------------------------------------------------------

    def expected_partitions(self) -> set[tuple[bytes, int]]:
        """What its clients should use, as far as it exists: partitions of their topics, or tasks."""
        image = self.cluster.topics.image
        if self.plan.protocol is Protocol.STREAMS:
            found = configure_topology(self._application.topology, image)
            counts = found.task_counts if found.is_ready else ()
            return {task_key((name, number)) for name, count in counts for number in range(count)}
        names: set[str] = set()
        for client in self.clients:
            names.update(client.config.topics)
            if client.config.regex and isinstance(client, ConsumerClient):
                names.update(
                    name for name in image.names() if re.fullmatch(client.config.regex, name)
                )
        topics = [image.topic(name) for name in sorted(names)]
        return {
            (topic.topic_id, number)
            for topic in topics
            if topic is not None
            for number in range(len(topic.partition_racks))
        }

    @property
    def is_deploying(self) -> bool:
        """Whether instances are still to be restarted."""
        return self._deploying
