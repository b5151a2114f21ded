"""Consumers of the classic protocol: the Java client, eager and cooperative, and librdkafka's behaviour."""

from collections.abc import Callable
from functools import partial
from typing import Final

from rebalance_audit.audit.verdicts.cause import RebalanceCause
from rebalance_audit.coordinator.assignors.client_assignors import (
    CLIENT_ASSIGNORS,
    RebalanceProtocol,
    rebalance_protocol,
)
from rebalance_audit.coordinator.assignors.client_members import Claim, grouped
from rebalance_audit.coordinator.handling import ErrorCode
from rebalance_audit.coordinator.requests.classic import (
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupProtocol,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    MemberIdentity,
    SyncGroupAssignment,
    SyncGroupRequest,
    SyncGroupResponse,
)
from rebalance_audit.sim.chance import Chance
from rebalance_audit.sim.clients.client import (
    NO_GENERATION,
    RETRIABLE,
    RETRY_BACKOFF_MS,
    Client,
)
from rebalance_audit.sim.clients.client_config import ClientConfig, Committing, Library
from rebalance_audit.sim.clients.leader import Leader
from rebalance_audit.sim.cluster import Cluster
from rebalance_audit.sim.holdings import HeldPartition
from rebalance_audit.sim.scheduler import Action
from rebalance_audit.wire.consumer_protocol import (
    PROTOCOL_TYPE,
    Subscription,
    decode_assignment,
    encode_subscription,
)

JOIN_GRACE_MS: Final = 5_000
"""How much longer than its rebalance timeout a client waits for the JoinGroup response."""
SYNC_GRACE_MS: Final = 3_000
"""How much longer than its session librdkafka waits for the SyncGroup response (rd_kafka_SyncGroupRequest).

The Java client waits as for any request (AbstractCoordinator.sendSyncGroupRequest).
"""
REJOIN_REASONS: Final = {
    RebalanceCause.TOPIC_METADATA_CHANGED: "cached metadata has changed",
    RebalanceCause.SUBSCRIPTION_CHANGED: "subscription has changed",
    RebalanceCause.COOPERATIVE_FOLLOW_UP: "need to revoke partitions and re-join",
}
"""The reasons that the Java client gives in a JoinGroup (ConsumerCoordinator)."""

METADATA_INTERVAL_MS: Final = 5_000
LOST: Final = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION})


class ClassicClient(Client):
    """One consumer. It is outside, joining, syncing, or a member with an assignment."""

    new_leader: Callable[[], Leader] = Leader
    """What assigns when the member leads, from the next generation on."""

    def __init__(self, cluster: Cluster, config: ClientConfig, chance: Chance) -> None:
        """Configured but not started."""
        super().__init__(cluster, config, chance)
        self.phase = "out"
        self._protocol_name: str | None = None
        self._assigned: frozenset[HeldPartition] = frozenset()
        self._last_claim: Claim | None = None
        self._leader = Leader()
        self._next_look = partial(self._run, self._life, self._look_at_topics)
        """The callback that checks the topics again; the same for one life of the process."""
        self._beats = 0
        self._next_beat = self._beat_of(self._life, self._beats)
        """The callback that sends the next heartbeat; the same for one life and one generation."""
        self._quiet = HeartbeatRequest(self.group_id, NO_GENERATION, "")
        """The last heartbeat, sent again while it is the same member of the same generation."""
        self._held_generation = NO_GENERATION
        self._joined_topics: tuple[str, ...] = ()
        """The subscription in its last JoinGroup; the application may have changed its mind since."""

    @property
    def is_cooperative(self) -> bool:
        """Whether it keeps its partitions while it joins."""
        return rebalance_protocol(self.config.assignors) is RebalanceProtocol.COOPERATIVE

    @property
    def held_generation(self) -> int:
        """The generation that it last synced."""
        return self._held_generation

    # --- life --------------------------------------------------------------------------------------

    def _begin(self) -> None:
        self.generation = NO_GENERATION
        self.phase = "out"
        self._last_claim = None
        self._leader = self.new_leader()
        self._beats += 1
        self._join(None)
        self._next_look = partial(self._run, self._life, self._look_at_topics)
        self._scheduler.after(METADATA_INTERVAL_MS, self._next_look)

    def _close(self) -> None:
        habit = self.config.habit
        leaves = self.config.instance_id is None or (habit is not None and habit.static_leaves)
        leaves = leaves and bool(self.member_id)
        request = self._leaving("the consumer is being closed")
        self._commit_and_then(lambda: self._send_and_forget(request) if leaves else None)

    def _leaving(self, reason: str) -> LeaveGroupRequest:
        sent_reason = reason if self.config.library is Library.JAVA else None
        identity = MemberIdentity(self.member_id, self.config.instance_id, sent_reason)
        return LeaveGroupRequest(self.group_id, (identity,))

    def _poll_is_overdue(self) -> None:
        if self.busy_until_ms <= self._scheduler.now_ms or not self.member_id:
            return
        if self.config.instance_id is None:
            self._send_and_forget(self._leaving("consumer poll timeout has expired."))
        self._become_outsider(forget_id=self.config.instance_id is None)
        self._when_polled(0, self._join_anew)

    def subscribe(self, topics: tuple[str, ...]) -> None:
        """The application changes its subscription."""
        self.config.topics = topics
        if self.running and self.phase == "member":
            self._when_polled(0, lambda: self._rejoin(RebalanceCause.SUBSCRIPTION_CHANGED))

    def is_settled(self) -> str | None:
        """What it waits for; None when it is a member that uses its assignment."""
        if self.phase != "member":
            return f"{self.name} is {self.phase}"
        return (
            None if self.owned == self._assigned else f"{self.name} has not followed its assignment"
        )

    def _commit_identity(self) -> tuple[int, str] | None:
        """The Java client commits nothing between JoinGroup and the answer to SyncGroup (`generationIfStable`)."""
        waits = self.phase in {"joining", "syncing"} and self.config.library is Library.JAVA
        if self.generation == NO_GENERATION or (waits and not self._in_transactions):
            return None
        return self.generation, self.member_id

    def _commit_round(self) -> None:
        """Callbacks that give partitions up block the poll loop, from which applications and libraries commit."""
        if self.phase != "revoking":
            super()._commit_round()
        else:
            self._later(self.config.revoke_ms, self._commit_round)

    @property
    def _in_transactions(self) -> bool:
        return self.config.committing is Committing.TRANSACTIONAL

    # --- joining -----------------------------------------------------------------------------------

    def _rejoin(self, intent: RebalanceCause | None) -> None:
        """Take part in a rebalance with the next poll: an eager member first gives up all it has."""
        if self.phase == "member":
            self.phase = "revoking"
            generation = self.generation
            self._when_polled(0, lambda: self._prepare(intent, generation))

    def _prepare(self, intent: RebalanceCause | None, generation: int) -> None:
        """What Java's ConsumerCoordinator.onJoinPrepare does."""
        if self.phase != "revoking" or generation != self.generation:
            return
        gives_up = frozenset() if self.is_cooperative else self.owned
        delay_ms, life = self.config.revoke_ms if gives_up else 1, self._life

        def revoke() -> None:
            self._later(delay_ms, lambda: self._revoked_all(intent, generation))

        def give_up() -> None:
            self._run(life, revoke)

        # Both libraries wait for the commit: .onJoinPrepare, and rd_kafka_assignment_serve_removals (wait_commit_cnt).
        habit = self.config.habit
        if habit is not None:
            self._commit_and_then(give_up, habit.on_revoke)
        elif self.config.committing is Committing.AUTO and (
            gives_up or self.config.library is Library.JAVA
        ):
            self._commit_and_then(give_up)
        else:
            give_up()

    def _revoked_all(self, intent: RebalanceCause | None, generation: int) -> None:
        if self.phase == "revoking" and generation == self.generation:
            if not self.is_cooperative:
                self._drop(self.owned)
            self._join(intent)

    def _join_anew(self) -> None:
        """Join as an outsider, unless another reason has led to that already."""
        if self.phase == "out":
            self._join(None)

    def _join(self, intent: RebalanceCause | None) -> None:
        self.phase = "joining"
        config = self.config
        self._joined_topics = config.topics
        request = JoinGroupRequest(
            self.group_id,
            config.session_timeout_ms,
            config.max_poll_interval_ms,
            self.member_id,
            PROTOCOL_TYPE,
            tuple(JoinGroupProtocol(name, self._metadata(name)) for name in config.assignors),
            config.instance_id,
            self._reason(intent),
            client_id=self.name,
        )
        self._ask(
            "group",
            request,
            lambda response: self._joined(response, intent),
            lambda: self._join(intent),
            config.max_poll_interval_ms + JOIN_GRACE_MS,
            intent,
        )

    def _reason(self, intent: RebalanceCause | None) -> str | None:
        """The reason for the JoinGroup: the Java client sends one (KIP-800), librdkafka does not."""
        if self.config.library is not Library.JAVA:
            return None
        words = REJOIN_REASONS.get(intent) if intent is not None else None
        if words is None and self.member_id:
            words = "group is already rebalancing"
            if self.generation == NO_GENERATION:
                words = f"need to re-join with the given member-id: {self.member_id}"
        return words

    def _metadata(self, assignor: str) -> bytes:
        user_data = CLIENT_ASSIGNORS[assignor].user_data(self._last_claim)
        owned = self._named(self.owned) if self.is_cooperative else ()
        generation = self.generation
        rack_id = None
        if self.config.library is Library.LIBRDKAFKA:
            user_data, rack_id = user_data or b"", ""
            generation = generation if self.is_cooperative else NO_GENERATION
        topics = self.config.topics
        return encode_subscription(
            Subscription(topics, user_data, grouped(owned), generation, rack_id)
        )

    def _named(self, partitions: frozenset[HeldPartition]) -> tuple[tuple[str, int], ...]:
        found = ((self._topic(topic_id), number) for topic_id, number in partitions)
        return tuple(sorted((topic.name, number) for topic, number in found if topic is not None))

    def _joined(self, response: JoinGroupResponse, intent: RebalanceCause | None) -> None:
        error = response.error_code
        if error is ErrorCode.NONE:
            self.member_id = response.member_id
            self.generation = response.generation_id
            self._protocol_name = response.protocol_name
            self._sync(response)
        elif error is ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = response.member_id
            self._join(intent)
        elif error in RETRIABLE or error is ErrorCode.REBALANCE_IN_PROGRESS:
            self._later(RETRY_BACKOFF_MS, lambda: self._join(intent))
        elif error is ErrorCode.UNKNOWN_MEMBER_ID:
            self._become_outsider(forget_id=True)
            self._later(RETRY_BACKOFF_MS, self._join_anew)
        else:
            self.fail(error)

    def _sync(self, joined: JoinGroupResponse) -> None:
        self.phase = "syncing"
        is_leader = joined.leader == self.member_id
        assignments: tuple[SyncGroupAssignment, ...] = ()
        self._leader = self.new_leader()
        if is_leader:
            assignments = self._leader.assign(joined, self.cluster.topics.image)
        request = SyncGroupRequest(
            self.group_id,
            self.generation,
            self.member_id,
            self.config.instance_id,
            joined.protocol_type,
            joined.protocol_name,
            assignments,
        )
        if is_leader and self.config.assigns_for_ms:
            self._later(self.config.assigns_for_ms, lambda: self._ask_sync(request))
        else:
            self._ask_sync(request)
        self._start_heartbeats()

    def _ask_sync(self, request: SyncGroupRequest) -> None:
        if self.phase == "syncing" and self.generation == request.generation_id:
            timeout_ms = self.config.request_timeout_ms
            if self.config.library is Library.LIBRDKAFKA:
                timeout_ms = self.config.session_timeout_ms + SYNC_GRACE_MS
            self._ask("group", request, self._synced, lambda: self._join(None), timeout_ms)

    def _synced(self, response: SyncGroupResponse) -> None:
        error = response.error_code
        if error is ErrorCode.NONE:
            self._assignment_arrived(response.assignment)
        elif error in RETRIABLE or error is ErrorCode.REBALANCE_IN_PROGRESS:
            self._later(RETRY_BACKOFF_MS, lambda: self._join(None))
        elif error in LOST:
            self._become_outsider(forget_id=error is ErrorCode.UNKNOWN_MEMBER_ID)
            self._later(RETRY_BACKOFF_MS, self._join_anew)
        else:
            self.fail(error)

    def _assignment_arrived(self, data: bytes) -> None:
        assignment = decode_assignment(data) if data else None
        named = () if assignment is None else assignment.assigned_partitions
        image = self.cluster.topics.image
        found = ((image.topic(name), numbers) for name, numbers in named)
        self._assigned = frozenset(
            (topic.topic_id, number)
            for topic, numbers in found
            if topic is not None
            for number in numbers
        )
        pairs = tuple((name, number) for name, numbers in named for number in numbers)
        self._last_claim = Claim(pairs, self.generation)
        self._held_generation = self.generation
        self.phase = "member"
        habit = self.config.habit
        restarts = self.config.library is Library.JAVA and self.config.committing is Committing.AUTO
        if restarts if habit is None else habit.restarts_timer:
            self._commits_from_ms = self._scheduler.now_ms + self.config.commit_interval_ms
        revoked = self.owned - self._assigned
        generation = self.generation
        if revoked:
            # The callback blocks the poll loop: no other rebalance is answered before it is over.
            if habit is not None or self.config.library is not Library.JAVA:
                self._commit_before_giving_up(revoked)
            self.phase = "revoking"
            delay_ms = self.config.revoke_ms
            self._when_polled(delay_ms, lambda: self._revoked_some(revoked, generation))
        else:
            self._when_polled(self.config.assign_ms, lambda: self._use(generation))

    def _revoked_some(self, revoked: frozenset[HeldPartition], generation: int) -> None:
        """A cooperative member gave up what it lost, and asks for the rebalance that reassigns it."""
        if self.phase == "revoking" and generation == self.generation:
            self._drop(revoked & self.owned)
            self.phase = "member"
            self._use(generation)
            self._rejoin(RebalanceCause.COOPERATIVE_FOLLOW_UP)

    def _use(self, generation: int) -> None:
        if self.phase == "member" and generation == self.generation:
            self._take(self._assigned - self.owned)
            if self._joined_topics != self.config.topics:
                self._rejoin(RebalanceCause.SUBSCRIPTION_CHANGED)

    # --- being a member ----------------------------------------------------------------------------

    def _start_heartbeats(self) -> None:
        self._beats += 1
        self._next_beat = self._beat_of(self._life, self._beats)
        self._scheduler.after(self.config.heartbeat_interval_ms, self._next_beat)

    def _beat_of(self, life: int, beats: int) -> Action:
        return partial(self._run, life, partial(self._heartbeat, beats))

    def _heartbeat(self, beats: int) -> None:
        if beats != self._beats or self.phase == "out":
            return
        self._scheduler.after(self.config.heartbeat_interval_ms, self._next_beat)
        if self.phase == "joining":
            return
        request = self._quiet
        generation = self.generation
        if request.generation_id != generation or request.member_id != self.member_id:
            request = self._quiet = HeartbeatRequest(
                self.group_id, generation, self.member_id, self.config.instance_id
            )
        if "heartbeat" not in self._awaited and self.cluster.prolong(self.served, request):
            return
        self._ask(
            "heartbeat",
            request,
            lambda response: self._beat(response, generation),
            lambda: None,
            routine=True,
        )

    def _beat(self, response: HeartbeatResponse, generation: int) -> None:
        error = response.error_code
        if self.phase not in {"member", "revoking"} or generation != self.generation:
            return
        if error is ErrorCode.REBALANCE_IN_PROGRESS:
            self._rejoin(None)
        elif error in LOST:
            self._become_outsider(forget_id=error is ErrorCode.UNKNOWN_MEMBER_ID)
            self._when_polled(RETRY_BACKOFF_MS, self._join_anew)
        elif error is not ErrorCode.NONE and error not in RETRIABLE:
            self.fail(error)

    def _become_outsider(self, *, forget_id: bool) -> None:
        """The membership is gone, and the partitions with it."""
        self._beats += 1
        self.phase = "out"
        self.generation = NO_GENERATION
        self._awaited.clear()
        if forget_id:
            self.member_id = ""
        self._drop(self.owned)

    def _look_at_topics(self) -> None:
        """The leader checks the topics again: a changed partition count calls for a new assignment."""
        self._scheduler.after(METADATA_INTERVAL_MS, self._next_look)
        if self.phase == "member" and self._leader.calls_for_rebalance(self.cluster.topics.image):
            self._when_polled(1, lambda: self._rejoin(RebalanceCause.TOPIC_METADATA_CHANGED))
