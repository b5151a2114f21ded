"""What holds after every event of a consumer group; hypothesis searches for a history that breaks it."""

from collections.abc import Iterable

import hypothesis.strategies as st
from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from rebalance_audit.coordinator.handling import (
    CoordinatorConfig,
    Dialect,
    ErrorCode,
    TopicDescription,
)
from rebalance_audit.coordinator.requests.consumer import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicIdPartitions,
)
from rebalance_audit.replay.groups import ModernGroup
from rebalance_audit.replay.partitions import Partitions, each, minus, partitions_of
from tests.support.coordinator_driver import CoordinatorDriver, Topics
from tests.support.examples import examples

NAMES = ("A", "B", "C", "D")
SUBSCRIPTIONS = (("foo",), ("foo", "bar"), ("bar",), ())
REGEXES = ("", "fo.*", ".*")


class Client:
    """A member that follows KIP-848: it uses what its answers assign to it, and reports it."""

    def __init__(self, name: str, instance_id: str | None) -> None:
        """It has not joined."""
        self.name = name
        self.instance_id = instance_id
        self.incarnation = 0
        self.member_epoch = 0
        self.owned: Partitions = {}
        self.to_revoke: Partitions = {}
        self.full = True
        self.joined = False

    @property
    def member_id(self) -> str:
        """A static member is given a new id every time it starts."""
        return f"{self.name}{self.incarnation}"

    def take(self, response: ConsumerGroupHeartbeatResponse) -> None:
        """Follow an answer: partitions that are no longer in it must be revoked, the others are used."""
        if response.error_code in {ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID}:
            self.member_epoch, self.owned, self.to_revoke = 0, {}, {}
            self.joined = False
        if response.error_code is not ErrorCode.NONE:
            return
        self.joined = True
        self.member_epoch = response.member_epoch
        if response.assignment is not None:
            assigned = partitions_of(response.assignment.topic_partitions)
            self.to_revoke = minus(self.owned, assigned)
            if not self.to_revoke:
                self.owned = assigned

    def revoke(self) -> None:
        """Give up what is no longer assigned."""
        self.owned = minus(self.owned, self.to_revoke)
        self.to_revoke = {}


class ConsumerGroupMachine(RuleBasedStateMachine):
    """Members that join, beat, revoke, leave, pause, crash, lose answers; changing topics; fail-overs; time."""

    @initialize(
        dialect=st.sampled_from(list(Dialect)),
        interval_ms=st.sampled_from((0, 1000)),
        assignor=st.sampled_from((("uniform", "range"), ("range", "uniform"))),
    )
    def start(self, dialect: Dialect, interval_ms: int, assignor: tuple[str, str]) -> None:
        """A coordinator of some release, and two members that share a topic."""
        config = CoordinatorConfig(
            dialect=dialect,
            consumer_assignment_interval_ms=interval_ms,
            server_assignors=assignor,
            consumer_max_size=3,
        )
        self.made = 1
        """Topics made so far."""
        self.by_name = {"foo": TopicDescription(bytes([1]) * 16, "foo", ((),) * 4)}
        self.driver = CoordinatorDriver(config, Topics(dict(self.by_name)))
        self.clients = {
            name: Client(name, f"i-{name}" if name in {"C", "D"} else None) for name in NAMES
        }
        self.regexes = dialect not in {Dialect.R3_7, Dialect.R3_9}
        self.epochs = (0, 0)
        for name in ("A", "B"):
            self.join(name, ("foo",), "", None, lost=False)
        self.driver.sleep(interval_ms)

    # --- clients -----------------------------------------------------------------------------------

    @rule(
        name=st.sampled_from(NAMES),
        topics=st.sampled_from(SUBSCRIPTIONS),
        regex=st.sampled_from(REGEXES),
        server=st.sampled_from((None, "range", "uniform")),
        lost=st.booleans(),
    )
    def join(
        self,
        name: str,
        topics: tuple[str, ...],
        regex: str,
        server: str | None,
        lost: bool,
    ) -> None:
        """A client starts, or joins again after it was fenced, or for no reason."""
        client = self.clients[name]
        if client.joined and client.instance_id is None and client.owned:
            client.owned, client.to_revoke = {}, {}
        if client.instance_id is not None and not client.joined:
            client.incarnation += 1
        client.owned, client.to_revoke = {}, {}
        self._send(
            client,
            lost=lost,
            member_epoch=0,
            rebalance_timeout_ms=20_000,
            subscribed_topic_names=topics,
            subscribed_topic_regex=regex if self.regexes else None,
            server_assignor=server,
            topic_partitions=(),
        )

    @rule(names=st.permutations(NAMES), lost=st.booleans(), reports=st.booleans())
    def beat(self, names: list[str], lost: bool, reports: bool) -> None:
        """Two heartbeats, with or without what the client owns; the answers may be lost."""
        for client in [self.clients[name] for name in names if self.clients[name].joined][:2]:
            owned = _by_topic(client.owned) if reports or lost else None
            self._send(client, lost=lost, topic_partitions=owned)

    @rule(name=st.sampled_from(NAMES))
    def revoke(self, name: str) -> None:
        """A client gives up what it must, and reports it."""
        client = self.clients[name]
        if client.joined and client.to_revoke:
            client.revoke()
            self._send(client, topic_partitions=_by_topic(client.owned))

    @rule(name=st.sampled_from(NAMES), topics=st.sampled_from(SUBSCRIPTIONS))
    def subscribe(self, name: str, topics: tuple[str, ...]) -> None:
        """A client changes its subscription."""
        if self.clients[name].joined:
            self._send(self.clients[name], subscribed_topic_names=topics)

    @rule(name=st.sampled_from(NAMES), for_a_while=st.booleans())
    def leave(self, name: str, for_a_while: bool) -> None:
        """A client stops; a static one may only pause."""
        client = self.clients[name]
        if client.joined:
            client.owned, client.to_revoke = {}, {}
            pauses = for_a_while and client.instance_id is not None
            self._send(client, lost=True, member_epoch=-2 if pauses else -1)
            client.joined = False
            client.member_epoch = 0

    @rule()
    def everybody_beats(self) -> None:
        """All clients give up what they must, and their heartbeats arrive."""
        for client in self.clients.values():
            if client.joined:
                client.revoke()
                self._send(client, topic_partitions=_by_topic(client.owned))

    def teardown(self) -> None:
        """Without further events the group converges: stopped members expire, the others get all their targets."""
        if not hasattr(self, "driver"):
            return
        for _ in range(15):
            self.everybody_beats()
            self.driver.sleep(5_000)
        self.a_partition_has_at_most_one_owner()
        group = self._group()
        assert group is None or group.group_state() in {"Stable", "Empty"}

    def _send(self, client: Client, *, lost: bool = False, **fields: object) -> None:
        values: dict[str, object] = {
            "member_epoch": client.member_epoch,
            "instance_id": client.instance_id,
            **fields,
        }
        request = ConsumerGroupHeartbeatRequest("g", client.member_id, **values)  # type: ignore[arg-type]
        response = self.driver.ask(request)
        assert isinstance(response, ConsumerGroupHeartbeatResponse)
        if lost and response.error_code is ErrorCode.NONE:
            client.joined = client.joined or request.member_epoch == 0
        else:
            client.take(response)

    # --- the world ---------------------------------------------------------------------------------

    @rule(duration_ms=st.sampled_from((0, 900, 5_000, 12_000, 30_000)))
    def wait(self, duration_ms: int) -> None:
        """Time passes; sessions and rebalance timeouts may end."""
        self.driver.sleep(duration_ms)

    @rule(name=st.sampled_from(("foo", "bar")), added=st.integers(1, 3))
    def add_partitions(self, name: str, added: int) -> None:
        """A topic grows; one that does not exist is created, with a new id."""
        known = self.by_name.get(name)
        count = added if known is None else len(known.partition_racks) + added
        if known is None:
            self.made += 1
        topic_id = bytes([self.made]) * 16 if known is None else known.topic_id
        self.by_name[name] = TopicDescription(topic_id, name, ((),) * count)
        self._show_topics()

    @rule(name=st.sampled_from(("foo", "bar")))
    def delete_topic(self, name: str) -> None:
        """A topic is deleted; it may come back as another one under the same name."""
        self.by_name.pop(name, None)
        self._show_topics()

    def _show_topics(self) -> None:
        version = self.driver.topics.metadata_version + 1
        self.driver.change_topics(Topics(dict(self.by_name), version))

    @rule()
    def fail_over(self) -> None:
        """Another broker takes over with what the log holds."""
        self.driver.fail_over()

    # --- what must hold ----------------------------------------------------------------------------

    @invariant()
    def replay_of_the_log_is_the_live_state(self) -> None:
        """A reload under the strict policy gives the same group."""
        live, reloaded = self._group(), self.driver.reloaded().slot("g")
        assert live == (None if reloaded is None else reloaded.group)

    @invariant()
    def epochs_only_grow(self) -> None:
        """Group and assignment epoch never fall, and the second never passes the first."""
        group = self._group()
        if group is None:
            return
        epochs = (group.group_epoch, group.assignment_epoch)
        assert epochs[0] >= self.epochs[0]
        assert epochs[1] >= self.epochs[1]
        assert epochs[1] <= epochs[0]
        self.epochs = epochs

    @invariant()
    def no_member_is_above_the_assignment_epoch(self) -> None:
        """A member's epoch is one that has a target."""
        group = self._group()
        for member in () if group is None else group.members.values():
            assert member.member_epoch <= group.assignment_epoch  # type: ignore[union-attr]

    @invariant()
    def a_partition_has_at_most_one_owner(self) -> None:
        """Neither two members of the records nor two clients that follow the protocol hold a partition at once."""
        group = self._group()
        members = () if group is None else group.members.values()
        _assert_apart(
            partitions
            for member in members
            for partitions in (member.assigned, member.pending_revocation)
        )
        known = {} if group is None else group.members
        _assert_apart(client.owned for client in self.clients.values() if client.member_id in known)

    def _group(self) -> ModernGroup | None:
        group = self.driver.group() if hasattr(self, "driver") else None
        assert group is None or isinstance(group, ModernGroup)
        return group


def _by_topic(partitions: Partitions) -> tuple[TopicIdPartitions, ...]:
    return tuple(
        TopicIdPartitions(topic, tuple(sorted(numbers)))
        for topic, numbers in partitions.items()
        if isinstance(topic, bytes)
    )


def _assert_apart(holdings: Iterable[Partitions]) -> None:
    seen: set[tuple[bytes | str, int]] = set()
    for partitions in holdings:
        for partition in each(partitions):
            assert partition not in seen
            seen.add(partition)


TestConsumerGroup = ConsumerGroupMachine.TestCase
TestConsumerGroup.settings = settings(
    max_examples=examples(50),
    stateful_step_count=30,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
