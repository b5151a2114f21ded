"""What all clients share: a process that runs, freezes, dies and restarts, and sends one request at a time."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any, Final, NamedTuple

from rebalance_audit.audit.verdicts.cause import RebalanceCause
from rebalance_audit.coordinator.handling import ErrorCode, TopicDescription
from rebalance_audit.coordinator.requests.offsets import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchResponse,
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
)
from rebalance_audit.sim.chance import Chance
from rebalance_audit.sim.clients.client_config import ClientConfig, CommitScope, Committing, Library
from rebalance_audit.sim.clients.positions import Positions, ReadProgress
from rebalance_audit.sim.clients.transactions import Transactions
from rebalance_audit.sim.cluster import Cluster, ignore_response
from rebalance_audit.sim.holdings import HeldPartition
from rebalance_audit.sim.scheduler import Action

RETRIABLE: Final = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    }
)
FETCHES_AGAIN: Final = RETRIABLE | {
    ErrorCode.UNSTABLE_OFFSET_COMMIT,
    ErrorCode.STALE_MEMBER_EPOCH,
}
NO_GENERATION: Final = -1
RETRY_BACKOFF_MS: Final = 100
COMMIT_BY_NAME_VERSION: Final = 9


class _Awaited(NamedTuple):
    """A request that waits for its answer."""

    serial: int
    deadline_ms: int
    no_answer: Action


class Client(ABC):
    """A consumer process. Events of an earlier life are ignored; those of a frozen process wait until it resumes."""

    def __init__(self, cluster: Cluster, config: ClientConfig, chance: Chance) -> None:
        """Configured but not started."""
        self.cluster = cluster
        self.config = config
        self.chance = chance
        self.name = config.name
        self.group_id = config.group_id
        self.member_id = ""
        self.generation = NO_GENERATION
        self.missed_tasks = False
        """As in `Holder`: only streams members can miss any."""
        self.owned: frozenset[HeldPartition] = frozenset()
        self.running = False
        self.frozen = False
        self.failure: ErrorCode | None = None
        """Error that ended the process."""
        self.busy_until_ms = 0
        """The application is processing until then and does not poll."""
        self.served = cluster.partition_of(config.group_id)
        self._scheduler = cluster.scheduler
        self._transactions = Transactions(
            cluster, self.served, f"{config.name}-tx", next(cluster.producers)
        )
        self._life = 0
        self._deferred: list[Action] = []
        self._awaited: dict[str, _Awaited] = {}
        """Channel -> the request whose answer it waits for."""
        self._watched: dict[str, int] = {}
        """Channel -> when the client next checks whether the answer is overdue."""
        self._serial = 0
        self._next_round = (0, self._commit_round)
        """Life, and the callback for when the next commit is due."""
        self._commits_from_ms = 0
        """No commit is due before this time; epoch milliseconds."""
        self._positions = Positions(config)
        self._progress = ReadProgress(
            config.traffic, lambda now_ms: self.frozen or self.busy_until_ms > now_ms
        )

    # --- life --------------------------------------------------------------------------------------

    def start(self) -> None:
        """The process starts; it knows nothing of earlier lives."""
        assert not self.running
        self._life += 1
        self.running = True
        self.frozen = False
        self.failure = None
        self.busy_until_ms = self._commits_from_ms = 0
        self._deferred.clear()
        self._awaited.clear()
        self._watched.clear()
        self._transactions.begin_anew()
        self._begin()
        if self.config.commit_interval_ms:
            self._later(self.chance.between(1, self.config.commit_interval_ms), self._commit_round)

    def stop(self) -> None:
        """The process closes its consumer and ends."""
        if not self.running:
            return
        if not self.frozen:
            self._close()
        self._end()

    def crash(self) -> None:
        """The process is killed."""
        if self.running:
            self._end()

    def fail(self, error: ErrorCode) -> None:
        """The process ends with an error that it cannot handle."""
        self.failure = error
        self._end()

    def freeze(self) -> None:
        """The process freezes: a long pause of its virtual machine."""
        self._progress.pause(self._scheduler.now_ms)
        self.frozen = True

    def thaw(self) -> None:
        """The process continues as if nothing had happened."""
        if not self.frozen:
            return
        self.frozen = False
        deferred, self._deferred = self._deferred, []
        life = self._life
        for action in deferred:
            self._run(life, action)

    def process_slowly(self, duration_ms: int) -> None:
        """The application processes what it polled, and does not poll for this long."""
        if not self.running:
            return
        now_ms = self._scheduler.now_ms
        self._progress.pause(now_ms)
        self.busy_until_ms = max(self.busy_until_ms, now_ms + duration_ms)
        if duration_ms > self.config.max_poll_interval_ms:
            self._later(self.config.max_poll_interval_ms, self._poll_is_overdue)

    def _end(self) -> None:
        self._drop(self.owned)
        self.running = False
        self.frozen = False
        self._life += 1
        self.member_id = ""

    @abstractmethod
    def _begin(self) -> None:
        """Join the group."""

    @abstractmethod
    def _close(self) -> None:
        """Leave the group: the process ends."""

    @abstractmethod
    def _poll_is_overdue(self) -> None:
        """The application has not polled for max.poll.interval.ms."""

    @abstractmethod
    def is_settled(self) -> str | None:
        """What it waits for; None when the client is where it wants to be."""

    @abstractmethod
    def _commit_identity(self) -> tuple[int, str] | None:
        """Generation or epoch, and member id, for commits; None while it is not a member."""

    @property
    def held_generation(self) -> int:
        """As in `Holder`: the member's epoch comes with its assignment."""
        return self.generation

    # --- partitions --------------------------------------------------------------------------------

    def _take(self, partitions: frozenset[HeldPartition]) -> None:
        if partitions:
            self.owned |= partitions
            self._positions.begin(partitions, self._scheduler.now_ms)
            self.cluster.holdings.acquire(self, partitions, self._scheduler.now_ms)
            self._fetch_offsets()

    def _drop(self, partitions: frozenset[HeldPartition]) -> None:
        if partitions:
            self.owned -= partitions
            self.cluster.holdings.release(
                self, partitions, self._scheduler.now_ms, self._progress.next_offset
            )

    def _topic(self, topic_id: bytes) -> TopicDescription | None:
        return self.cluster.topics.image.topic_by_id(topic_id)

    # --- time --------------------------------------------------------------------------------------

    def _later(self, delay_ms: int, action: Action) -> None:
        life = self._life
        self._scheduler.after(delay_ms, lambda: self._run(life, action))

    def _run(self, life: int, action: Action) -> None:
        if life != self._life:
            return
        if self.frozen:
            self._deferred.append(action)
        else:
            action()

    def _when_polled(self, delay_ms: int, action: Action) -> None:
        """Do it `delay_ms` after the application's next poll."""
        wait_ms = max(self.busy_until_ms - self._scheduler.now_ms, 0)
        self._later(wait_ms + delay_ms, lambda: self._if_polling(action))

    def _if_polling(self, action: Action) -> None:
        if self.busy_until_ms > self._scheduler.now_ms:
            self._when_polled(0, action)
        else:
            action()

    # --- requests ----------------------------------------------------------------------------------

    def _ask(
        self,
        channel: str,
        request: tuple[object, ...],
        hear: Callable[[Any], None],
        no_answer: Action,
        timeout_ms: int | None = None,
        intent: RebalanceCause | None = None,
        *,
        routine: bool = False,
    ) -> None:
        """Send a request; only the response to the last one of a channel counts. `routine` as in `Cluster.ask`."""
        self._serial += 1
        serial, life = self._serial, self._life
        now_ms = self._scheduler.now_ms
        deadline_ms = now_ms + (timeout_ms or self.config.request_timeout_ms)
        self._awaited[channel] = _Awaited(serial, deadline_ms, no_answer)

        def is_open() -> bool:
            awaited = self._awaited.get(channel)
            return awaited is not None and awaited.serial == serial

        def heard(response: tuple[object, ...]) -> None:
            if is_open():
                del self._awaited[channel]
                hear(response)

        def arrived(response: tuple[object, ...]) -> None:
            if self.frozen or life != self._life:
                self._run(life, lambda: heard(response))
            else:
                heard(response)

        self.cluster.ask(self.name, self.served, request, arrived, intent, is_open, routine=routine)
        if channel in self._awaited and self._watched.get(channel, deadline_ms + 1) > deadline_ms:
            self._watch(channel, deadline_ms)

    def _watch(self, channel: str, at_ms: int) -> None:
        self._watched[channel] = at_ms
        self._later(at_ms - self._scheduler.now_ms, lambda: self._look(channel, at_ms))

    def _look(self, channel: str, at_ms: int) -> None:
        """Check whether an answer is overdue; most have long arrived, and another request waits for its own."""
        if self._watched.get(channel) != at_ms:
            return
        del self._watched[channel]
        awaited = self._awaited.get(channel)
        if awaited is None:
            return
        if awaited.deadline_ms > self._scheduler.now_ms:
            self._watch(channel, awaited.deadline_ms)
            return
        del self._awaited[channel]
        awaited.no_answer()

    def _send_and_forget(self, request: tuple[object, ...], *, routine: bool = False) -> None:
        """Send a request whose response is not awaited."""
        self.cluster.ask(self.name, self.served, request, ignore_response, routine=routine)

    # --- offsets -----------------------------------------------------------------------------------

    def _fetch_offsets(self) -> None:
        """Fetch the committed offsets of its partitions."""
        topics = self._positions.by_name(self.owned, self.cluster.topics.image)
        if not self.running or not topics:
            return
        wanted = tuple(
            OffsetFetchRequestTopic(name, tuple(numbers)) for name, numbers in topics.items()
        )
        group = OffsetFetchRequestGroup(self.group_id, wanted, *self._fetch_identity())
        request = OffsetFetchRequest((group,), require_stable=True)
        self._ask("offsets", request, self._fetched, self._fetch_offsets)

    def _fetched(self, response: OffsetFetchResponse) -> None:
        """Ask again where a transaction may still move an offset, the epoch changed, or no coordinator is available."""
        (group,) = response.groups
        errors = {
            group.error_code,
            *(partition.error_code for topic in group.topics for partition in topic.partitions),
        }
        if errors & FETCHES_AGAIN:
            self._later(RETRY_BACKOFF_MS, self._fetch_offsets)
            return
        image, now_ms = self.cluster.topics.image, self._scheduler.now_ms
        for partition, first_offset in self._progress.beginnings(group, image, now_ms):
            self.cluster.holdings.begin_reading(self, partition, first_offset)

    def _fetch_identity(self) -> tuple[str | None, int]:
        """Member id and epoch for fetches; only members of the consumer protocol identify themselves."""
        return None, NO_GENERATION

    def _commit_round(self) -> None:
        now_ms = self._scheduler.now_ms
        habit, early_ms = self.config.habit, self._commits_from_ms - now_ms
        if early_ms <= 0 and self.busy_until_ms <= now_ms:
            self._commit(self.owned, None if habit is None else habit.on_interval)
        life, again = self._next_round
        if life != self._life:
            again = partial(self._run, self._life, self._commit_round)
            self._next_round = self._life, again
        pause_ms = self.config.commit_interval_ms
        varies = self.config.committing is not Committing.AUTO if habit is None else habit.per_batch
        if varies:
            pause_ms = self.chance.between(pause_ms // 2, 2 * pause_ms)
        self._scheduler.after(early_ms if early_ms > 0 else pause_ms, again)

    def _commit_before_giving_up(self, partitions: frozenset[HeldPartition]) -> None:
        """What the library commits before the application gives partitions up."""
        habit = self.config.habit
        if habit is not None:
            self._commit(partitions, habit.on_revoke)
        elif self.config.committing is Committing.AUTO:
            self._commit(self.owned if self.config.library is Library.JAVA else partitions)

    def _commit(
        self, partitions: frozenset[HeldPartition], scope: CommitScope | None = None
    ) -> None:
        """Commit positions, as far as their topics exist; `scope` of a client with a habit."""
        request = self._commit_request(partitions, scope)
        if request is not None:
            self._ask_commit(request, lambda: None)

    def _commit_and_then(self, go: Action, scope: CommitScope | None = None) -> None:
        """Commit as clients do that close, and go on once that is answered, or takes too long."""
        habit = self.config.habit
        commits = self.config.committing in {Committing.AUTO, Committing.ON_WAKE_UP}
        if habit is not None:
            scope, commits = scope or habit.on_close, True
        request = self._commit_request(self.owned, scope) if commits else None
        if request is None:
            go()
            return
        waiting = [go]

        def go_once() -> None:
            if waiting:
                waiting.pop()()

        self._ask_commit(request, go_once)
        if waiting:
            self._scheduler.after(self.config.request_timeout_ms, go_once)

    def _ask_commit(self, request: OffsetCommitRequest, answered: Action) -> None:
        sent: OffsetCommitRequest | TxnOffsetCommitRequest = request
        if self.config.committing is Committing.TRANSACTIONAL:
            if self._transactions.is_open:
                return
            sent = self._in_transaction(request)

        def hear(response: tuple[object, ...]) -> None:
            assert isinstance(response, OffsetCommitResponse | TxnOffsetCommitResponse)
            if any(
                partition.error_code is ErrorCode.NONE
                for topic in response.topics
                for partition in topic.partitions
            ):
                self.cluster.committed.add((request.group_id, request.member_id))
            answered()

        self.cluster.ask(self.name, self.served, sent, hear, routine=True)

    def _in_transaction(self, request: OffsetCommitRequest) -> TxnOffsetCommitRequest:
        """A commit as part of a transaction, which the process ends soon, unless it dies before."""
        life = self._life
        sent = self._transactions.begin(
            request.group_id,
            request.topics,
            request.generation_id_or_member_epoch,
            request.member_id,
            request.group_instance_id,
        )
        self._transactions.end_after(
            self.chance.latency_ms(50), is_alive=lambda: life == self._life
        )
        return sent

    def _commit_request(
        self, partitions: frozenset[HeldPartition], scope: CommitScope | None = None
    ) -> OffsetCommitRequest | None:
        """A commit of the consumed offsets; None if there are none."""
        identity = self._commit_identity()
        if identity is None or not partitions or not self.config.commit_interval_ms:
            return None
        if scope is None:
            all_of_them = self.config.library is Library.JAVA
            all_of_them &= self.config.committing is Committing.AUTO
            scope = CommitScope.ALL if all_of_them else CommitScope.NEW
        image, now_ms = self.cluster.topics.image, self._scheduler.now_ms
        topics = self._positions.commit(partitions, scope, image, now_ms)
        if not topics:
            return None
        return OffsetCommitRequest(
            self.group_id,
            topics,
            *identity,
            self.config.instance_id,
            api_version=COMMIT_BY_NAME_VERSION,
        )
