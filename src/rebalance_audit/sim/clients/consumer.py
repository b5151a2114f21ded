"""Consumers of the consumer protocol (KIP-848): the coordinator reconciles them with every heartbeat."""

from functools import partial
from typing import Final

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
from rebalance_audit.sim.clients.client import (
    RETRIABLE,
    RETRY_BACKOFF_MS,
    Client,
)
from rebalance_audit.sim.clients.client_config import ClientConfig, Library
from rebalance_audit.sim.cluster import Cluster
from rebalance_audit.sim.holdings import HeldPartition
from rebalance_audit.sim.scheduler import Action

MUST_REJOIN: Final = frozenset(
    {
        ErrorCode.FENCED_MEMBER_EPOCH,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.GROUP_ID_NOT_FOUND,
    }
)


class ConsumerClient(Client):
    """One consumer: outside, a member, or temporarily gone because the application does not poll."""

    def __init__(self, cluster: Cluster, config: ClientConfig, chance: Chance) -> None:
        """Configured but not started."""
        super().__init__(cluster, config, chance)
        self.generation = LEFT_EPOCH
        self._target: frozenset[HeldPartition] = frozenset()
        self._sends_all = True
        """Whether the next heartbeat is a full one: the coordinator may not know the member, or an answer was lost."""
        self._has_subscribed = True
        self._reported_owned: frozenset[HeldPartition] | None = None
        self._is_reconciling = False
        self._rounds = 0
        self._beats_again = False
        self._quiet: ConsumerGroupHeartbeatRequest | None = None
        """The heartbeat of a member with nothing to report, while it is the same member at the same epoch."""
        self._beat: tuple[int, int, Action] | None = None
        """The callback of one life and one round."""

    @property
    def member_epoch(self) -> int:
        """The epoch that the client knows."""
        return self.generation

    @member_epoch.setter
    def member_epoch(self, member_epoch: int) -> None:
        self.generation = member_epoch

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
        self.member_epoch = JOIN_EPOCH
        self._sends_all = True
        self._is_reconciling = False
        self._target = frozenset()
        self._beat_now()

    def _close(self) -> None:
        request = self._leaving()
        if request is not None:
            self._commit_and_then(lambda: self._send_and_forget(request))
            self.member_epoch = LEFT_EPOCH

    def _leaving(self) -> ConsumerGroupHeartbeatRequest | None:
        """The heartbeat that leaves; None if it is no member."""
        if self.member_epoch < JOIN_EPOCH or not self.member_id:
            return None
        static = self.config.instance_id is not None
        return ConsumerGroupHeartbeatRequest(
            self.group_id,
            self.member_id,
            STATIC_LEAVE_EPOCH if static else LEFT_EPOCH,
            self.config.instance_id,
            client_id=self.name,
        )

    def _end(self) -> None:
        super()._end()
        self.member_epoch = LEFT_EPOCH

    def _poll_is_overdue(self) -> None:
        if self.busy_until_ms <= self._scheduler.now_ms or self.member_epoch < JOIN_EPOCH:
            return
        request = self._leaving()
        if request is not None:
            self._send_and_forget(request)
        self.member_epoch = LEFT_EPOCH
        self._rounds += 1
        self._awaited.clear()
        self._drop(self.owned)
        self._when_polled(0, self._join)

    def subscribe(self, topics: tuple[str, ...]) -> None:
        """The application changes its subscription."""
        self.config.topics = topics
        self._send_subscription()

    def match(self, regex: str) -> None:
        """The application subscribes by another expression."""
        self.config.regex = regex
        self._send_subscription()

    def _send_subscription(self) -> None:
        """Report it at once, or with the first heartbeat after a join under way."""
        if not self.running:
            return
        self._sends_all = True
        if self.member_epoch > JOIN_EPOCH:
            self._later(1, self._beat_now)

    def prefer(self, server_assignor: str | None) -> None:
        """The configuration changes its assignor, which the next heartbeat reports."""
        self.config.server_assignor = server_assignor
        self._sends_all = True

    def is_settled(self) -> str | None:
        """What it waits for; None when it is a member that uses exactly what it was assigned."""
        if self.member_epoch <= JOIN_EPOCH:
            return f"{self.name} is no member"
        return (
            None if self.owned == self._target else f"{self.name} has not followed its assignment"
        )

    def _commit_identity(self) -> tuple[int, str] | None:
        return (self.member_epoch, self.member_id) if self.member_epoch > JOIN_EPOCH else None

    def _fetch_identity(self) -> tuple[str | None, int]:
        return self.member_id, self.member_epoch

    # --- heartbeats --------------------------------------------------------------------------------

    def _beat_now(self) -> None:
        """Send a heartbeat, and from now on the next ones at the coordinator's interval.

        One at a time: while another is under way, this one waits for its answer.
        """
        self._rounds += 1
        if "heartbeat" in self._awaited:
            self._beats_again = True
        else:
            self._send()

    def _send(self) -> None:
        self._beats_again = False
        request = self._request()
        is_empty = request.rebalance_timeout_ms == -1 and request.topic_partitions is None
        self._ask("heartbeat", request, self._heard, self._unheard, routine=is_empty)

    def _request(self) -> ConsumerGroupHeartbeatRequest:
        config = self.config
        sends_all = self._sends_all or self.member_epoch == JOIN_EPOCH
        sends_owned = sends_all or self._reported_owned != self.owned
        owned = () if self.member_epoch == JOIN_EPOCH else self._owned_by_topic()
        self._reported_owned = self.owned
        self._sends_all = False
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

    def _owned_by_topic(self) -> tuple[TopicIdPartitions, ...]:
        by_topic: dict[bytes, list[int]] = {}
        for topic_id, number in sorted(self.owned):
            by_topic.setdefault(topic_id, []).append(number)
        return tuple(
            TopicIdPartitions(topic_id, tuple(numbers)) for topic_id, numbers in by_topic.items()
        )

    def _unheard(self) -> None:
        self._sends_all = True
        self._send()

    def _heard(self, response: ConsumerGroupHeartbeatResponse) -> None:
        error = response.error_code
        if error is ErrorCode.NONE:
            self._accept(response)
        elif error in RETRIABLE:
            self._sends_all = True
            self._again_in(RETRY_BACKOFF_MS)
        elif error in MUST_REJOIN:
            self._rounds += 1
            self._drop(self.owned)
            self.member_epoch = LEFT_EPOCH
            self._when_polled(1, self._join)
        else:
            self.fail(error)

    def _again_in(self, delay_ms: int) -> None:
        self._scheduler.after(delay_ms, self._beat_of(self._life, self._rounds))

    def _beat_of(self, life: int, round_number: int) -> Action:
        """The callback that sends the next heartbeat of this round; the same until another round begins."""
        if self._beat is None or self._beat[:2] != (life, round_number):
            due = partial(self._run, life, partial(self._next, round_number))
            self._beat = life, round_number, due
        return self._beat[2]

    def _next(self, round_number: int) -> None:
        if round_number != self._rounds or "heartbeat" in self._awaited:
            return
        prolonged = None if self._has_changes() else self._prolong()
        if prolonged is None:
            self._send()
        else:
            self._again_in(prolonged.heartbeat_interval_ms)

    def _has_changes(self) -> bool:
        """Whether a heartbeat would report or bring about anything."""
        return (
            self._sends_all
            or self._beats_again
            or self._is_reconciling
            or self._reported_owned is not self.owned
            or self.owned != self._target
        )

    def _prolong(self) -> Prolonged | None:
        """Keep the session alive without a full request, where that makes no difference."""
        quiet = self._quiet
        if (
            quiet is None
            or quiet.member_epoch != self.member_epoch
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
            self.member_epoch,
            config.instance_id,
            client_id=self.name,
            api_version=CLIENT_MADE_IDS_VERSION if config.makes_own_id else 0,
        )

    def _accept(self, response: ConsumerGroupHeartbeatResponse) -> None:
        assert response.member_id is not None
        self.member_id = response.member_id
        self.member_epoch = response.member_epoch
        if response.assignment is not None:
            self._target = frozenset(
                (topic_id, number)
                for topic_id, numbers in response.assignment.topic_partitions
                for number in numbers
            )
        if response.should_compute_assignment:
            self._prepare()
        self._again_in(0 if self._beats_again else response.heartbeat_interval_ms)
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
            self.group_id, self.member_id, self.member_epoch
        )
        self._ask("assignment", request, self._install, lambda: None)

    def _install(self, prepared: ConsumerGroupPrepareAssignmentResponse) -> None:
        """Deal the partitions of each topic to its subscribers in turn, and send the result."""
        if prepared.error_code is not ErrorCode.NONE or self.member_epoch < JOIN_EPOCH:
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
            self.member_epoch,
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
        if not self._is_reconciling or self.member_epoch < JOIN_EPOCH:
            return
        self._is_reconciling = False
        self._drop(revoked & self.owned)
        if not self.owned - self._target:
            self._take(self._target - self.owned)
        self._beat_now()
        self._reconcile()
