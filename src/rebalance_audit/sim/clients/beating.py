"""What members of consumer, share and streams groups have in common: each heartbeat may move them."""

from abc import abstractmethod
from functools import partial
from typing import Any, ClassVar, Final

from rebalance_audit.coordinator.handling import ErrorCode, Prolonged
from rebalance_audit.coordinator.requests.consumer import JOIN_EPOCH
from rebalance_audit.replay.groups import LEFT_EPOCH
from rebalance_audit.sim.chance import Chance
from rebalance_audit.sim.clients.client import (
    RETRIABLE,
    RETRY_BACKOFF_MS,
    Client,
)
from rebalance_audit.sim.clients.client_config import ClientConfig
from rebalance_audit.sim.cluster import Cluster
from rebalance_audit.sim.scheduler import Action

MUST_REJOIN: Final = frozenset(
    {
        ErrorCode.FENCED_MEMBER_EPOCH,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.GROUP_ID_NOT_FOUND,
    }
)


class BeatingClient(Client):
    """A member that sends one heartbeat at a time and follows the answers. Its `generation` is its member epoch."""

    rejoins_after: ClassVar[frozenset[ErrorCode]] = MUST_REJOIN | {ErrorCode.UNRELEASED_INSTANCE_ID}

    def __init__(self, cluster: Cluster, config: ClientConfig, chance: Chance) -> None:
        """Configured but not started."""
        super().__init__(cluster, config, chance)
        self.generation = LEFT_EPOCH
        self.sends_all = True
        """Whether the next heartbeat is a full one: the coordinator may not know the member, or an answer was lost."""
        self._rounds = 0
        self._beats_again = False
        self._beat: tuple[int, int, Action] | None = None
        """The callback of one life and one round."""

    # --- what the protocols do differently ---------------------------------------------------------

    @abstractmethod
    def _request(self) -> tuple[object, ...]:
        """The next heartbeat; it clears `sends_all`."""

    @abstractmethod
    def _leaving(self) -> tuple[object, ...]:
        """The heartbeat that leaves."""

    @abstractmethod
    def _follow(self, response: Any) -> None:
        """Take what the coordinator assigns."""

    @abstractmethod
    def _give_everything_up(self) -> None:
        """The client is no member any more."""

    def _is_routine(self, request: Any) -> bool:
        """Whether the heartbeat reports nothing."""
        del request
        return False

    def _prolonged(self) -> Prolonged | None:
        """Keep the session alive without a full request, where that makes no difference."""
        return None

    # --- life --------------------------------------------------------------------------------------

    def _begin(self) -> None:
        self.member_id = self.chance.uuid_text()
        self._join()

    def _join(self) -> None:
        self.generation = JOIN_EPOCH
        self.sends_all = True
        self._beat_now()

    def _join_later(self) -> None:
        self._later(RETRY_BACKOFF_MS, self._join)

    def _close(self) -> None:
        if self.generation > JOIN_EPOCH:
            self._send_and_forget(self._leaving())
            self.generation = LEFT_EPOCH

    def _end(self) -> None:
        super()._end()
        self.generation = LEFT_EPOCH
        self._give_everything_up()

    def _poll_is_overdue(self) -> None:
        """Neither share nor streams members leave because their application is slow."""

    def subscribe(self, topics: tuple[str, ...]) -> None:
        """The application changes its subscription."""
        self.config.topics = topics
        self._send_subscription()

    def _send_subscription(self) -> None:
        """Report it at once, or with the first heartbeat after a join under way."""
        if not self.running:
            return
        self.sends_all = True
        if self.generation > JOIN_EPOCH:
            self._later(1, self._beat_now)

    def _commit_identity(self) -> tuple[int, str] | None:
        return None

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
        routine = self._is_routine(request)
        self._ask("heartbeat", request, self._heard, self._unheard, routine=routine)

    def _unheard(self) -> None:
        self.sends_all = True
        self._send()

    def _heard(self, response: Any) -> None:
        error = response.error_code
        if error is ErrorCode.NONE:
            self._accept(response)
        elif error in RETRIABLE:
            self.sends_all = True
            self._again_in(RETRY_BACKOFF_MS)
        elif error in self.rejoins_after:
            self._rounds += 1
            self.generation = LEFT_EPOCH
            self._give_everything_up()
            self._join_later()
        else:
            self.fail(error)

    def _accept(self, response: Any) -> None:
        self.generation = response.member_epoch
        self._again_in(0 if self._beats_again else response.heartbeat_interval_ms)
        self._follow(response)

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
        prolonged = self._prolonged()
        if prolonged is None:
            self._send()
        else:
            self._again_in(prolonged.heartbeat_interval_ms)
