"""Consumers of the consumer protocol (KIP-848): the coordinator reconciles them with every heartbeat."""

from rebalance_audit.coordinator.assignors.client_members import grouped
from rebalance_audit.coordinator.handling import ErrorCode, Prolonged
from rebalance_audit.coordinator.requests.consumer import (
    CLIENT_MADE_IDS_VERSION,
    JOIN_EPOCH,
    ClientAssignor,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    ConsumerGroupInstallAssignmentRequest,
    ConsumerGroupPrepareAssignmentRequest,
    ConsumerGroupPrepareAssignmentResponse,
    InstalledMember,
    TopicIdPartitions,
)
from rebalance_audit.replay.groups import LEFT_EPOCH, STATIC_LEAVE_EPOCH
from rebalance_audit.sim.chance import Chance
from rebalance_audit.sim.clients.beating import MUST_REJOIN, BeatingClient
from rebalance_audit.sim.clients.client_config import ClientConfig, Library
from rebalance_audit.sim.cluster import Cluster
from rebalance_audit.sim.holdings import HeldPartition


class ConsumerClient(BeatingClient):
    """One consumer: outside, a member, or temporarily gone because the application does not poll."""

    rejoins_after = MUST_REJOIN

    def __init__(self, cluster: Cluster, config: ClientConfig, chance: Chance) -> None:
        """Configured but not started."""
        super().__init__(cluster, config, chance)
        self._target: frozenset[HeldPartition] = frozenset()
        self._has_subscribed = True
        self._reported_owned: frozenset[HeldPartition] | None = None
        self._is_reconciling = False
        self._quiet: ConsumerGroupHeartbeatRequest | None = None
        """The heartbeat of a member with nothing to report, while it is the same member at the same epoch."""

    # --- life --------------------------------------------------------------------------------------

    def _begin(self) -> None:
        self.member_id = self._own_id() if self.config.makes_own_id else ""
        self._has_subscribed = not self.config.subscribes_after_ms
        self._join()
        if not self._has_subscribed:
            self._later(self.config.subscribes_after_ms, self._subscribe_first)

    def _own_id(self) -> str:
        """Java prints ids in the alphabet of urls, librdkafka in the standard one of base64."""
        member_id = self.chance.uuid_text()
        if self.config.library is Library.LIBRDKAFKA:
            member_id = member_id.replace("-", "+").replace("_", "/")
        return member_id

    def _subscribe_first(self) -> None:
        """The application began to poll before it subscribed."""
        self._has_subscribed = True
        self._send_subscription()

    def _join(self) -> None:
        self._is_reconciling = False
        self._target = frozenset()
        super()._join()

    def _join_later(self) -> None:
        self._when_polled(1, self._join)

    def _close(self) -> None:
        if self.generation >= JOIN_EPOCH and self.member_id:
            request = self._leaving()
            self._commit_and_then(lambda: self._send_and_forget(request))
            self.generation = LEFT_EPOCH

    def _leaving(self) -> ConsumerGroupHeartbeatRequest:
        static = self.config.instance_id is not None
        return ConsumerGroupHeartbeatRequest(
            self.group_id,
            self.member_id,
            STATIC_LEAVE_EPOCH if static else LEFT_EPOCH,
            self.config.instance_id,
            client_id=self.name,
        )

    def _give_everything_up(self) -> None:
        self._drop(self.owned)

    def _poll_is_overdue(self) -> None:
        if self.busy_until_ms <= self._scheduler.now_ms or self.generation < JOIN_EPOCH:
            return
        if self.member_id:
            self._send_and_forget(self._leaving())
        self.generation = LEFT_EPOCH
        self._rounds += 1
        self._awaited.clear()
        self._drop(self.owned)
        self._when_polled(0, self._join)

    def match(self, regex: str) -> None:
        """The application subscribes by another expression."""
        self.config.regex = regex
        self._send_subscription()

    def is_settled(self) -> str | None:
        """What it waits for; None when it is a member that uses exactly what it was assigned."""
        if self.generation <= JOIN_EPOCH:
            return f"{self.name} is no member"
        return (
            None if self.owned == self._target else f"{self.name} has not followed its assignment"
        )

    def _commit_identity(self) -> tuple[int, str] | None:
        return (self.generation, self.member_id) if self.generation > JOIN_EPOCH else None

    def _fetch_identity(self) -> tuple[str | None, int]:
        return self.member_id, self.generation

    # --- heartbeats --------------------------------------------------------------------------------

    def _is_routine(self, request: ConsumerGroupHeartbeatRequest) -> bool:
        return request.rebalance_timeout_ms == -1 and request.topic_partitions is None

    def _request(self) -> ConsumerGroupHeartbeatRequest:
        config = self.config
        sends_all = self.sends_all or self.generation == JOIN_EPOCH
        sends_owned = sends_all or self._reported_owned != self.owned
        owned: tuple[TopicIdPartitions, ...] = ()
        if self.generation != JOIN_EPOCH:
            owned = tuple(TopicIdPartitions(*each) for each in grouped(sorted(self.owned)))
        self._reported_owned = self.owned
        self.sends_all = False
        request = self._heartbeat()
        if sends_all:
            topics, regex = (config.topics, config.regex) if self._has_subscribed else ((), None)
            request = request._replace(
                rebalance_timeout_ms=config.max_poll_interval_ms,
                subscribed_topic_names=topics if topics or not regex else None,
                subscribed_topic_regex=regex,
                server_assignor=config.server_assignor,
                client_assignors=self._client_assignors(),
            )
        return request._replace(topic_partitions=owned) if sends_owned else request

    def _has_changes(self) -> bool:
        """Whether a heartbeat would report or bring about anything."""
        return (
            self.sends_all
            or self._beats_again
            or self._is_reconciling
            or self._reported_owned is not self.owned
            or self.owned != self._target
        )

    def _prolonged(self) -> Prolonged | None:
        if self._has_changes():
            return None
        quiet = self._quiet
        if (
            quiet is None
            or quiet.member_epoch != self.generation
            or quiet.member_id != self.member_id
        ):
            quiet = self._quiet = self._heartbeat()
        return self.cluster.prolong(self.served, quiet)

    def _heartbeat(self) -> ConsumerGroupHeartbeatRequest:
        """The fields of every heartbeat."""
        config = self.config
        return ConsumerGroupHeartbeatRequest(
            self.group_id,
            self.member_id,
            self.generation,
            config.instance_id,
            client_id=self.name,
            api_version=CLIENT_MADE_IDS_VERSION if config.makes_own_id else 0,
        )

    def _accept(self, response: ConsumerGroupHeartbeatResponse) -> None:
        assert response.member_id is not None
        self.member_id, self.generation = response.member_id, response.member_epoch
        if response.should_compute_assignment:
            self._prepare()
        super()._accept(response)

    def _follow(self, response: ConsumerGroupHeartbeatResponse) -> None:
        if response.assignment is not None:
            self._target = frozenset(
                (topic_id, number)
                for topic_id, numbers in response.assignment.topic_partitions
                for number in numbers
            )
        self._reconcile()

    # --- client-side assignor ----------------------------------------------------------------------

    def _client_assignors(self) -> tuple[ClientAssignor, ...] | None:
        name = self.config.client_assignor
        return None if name is None else (ClientAssignor(name, 0, 1, 0, 1, b""),)

    def _prepare(self) -> None:
        """Ask for the input of the assignor; the coordinator chooses again when no result arrives."""
        if "assignment" in self._awaited:
            return
        request = ConsumerGroupPrepareAssignmentRequest(
            self.group_id, self.member_id, self.generation
        )
        self._ask("assignment", request, self._install, lambda: None)

    def _install(self, prepared: ConsumerGroupPrepareAssignmentResponse) -> None:
        """Deal the partitions of each topic to its subscribers in turn, and send the result."""
        if prepared.error_code is not ErrorCode.NONE or self.generation < JOIN_EPOCH:
            return
        dealt: dict[str, list[TopicIdPartitions]] = {
            member.member_id: [] for member in prepared.members
        }
        for topic in prepared.topics:
            takers = [
                member.member_id
                for member in prepared.members
                if topic.topic_id in member.subscribed_topic_ids
            ]
            for place, member_id in enumerate(takers):
                share = tuple(range(place, topic.num_partitions, len(takers)))
                if share:
                    dealt[member_id].append(TopicIdPartitions(topic.topic_id, share))
        request = ConsumerGroupInstallAssignmentRequest(
            self.group_id,
            self.member_id,
            self.generation,
            prepared.group_epoch,
            members=tuple(
                InstalledMember(member_id, tuple(share), 1) for member_id, share in dealt.items()
            ),
        )
        self._ask("assignment", request, lambda _: None, lambda: None)

    # --- reconciliation ----------------------------------------------------------------------------

    def _reconcile(self) -> None:
        """Give up what is no longer assigned, then use what is new, and report both at once."""
        if self._is_reconciling or self.owned == self._target:
            return
        self._is_reconciling = True
        revoked = self.owned - self._target
        if revoked:
            self._commit_before_giving_up(revoked)
        delay_ms = self.config.revoke_ms if revoked else self.config.assign_ms
        self._when_polled(delay_ms, lambda: self._reconciled(revoked))

    def _reconciled(self, revoked: frozenset[HeldPartition]) -> None:
        if not self._is_reconciling or self.generation < JOIN_EPOCH:
            return
        self._is_reconciling = False
        self._drop(revoked & self.owned)
        if not self.owned - self._target:
            self._take(self._target - self.owned)
        self._beat_now()
        self._reconcile()
