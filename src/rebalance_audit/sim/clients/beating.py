"""What clients of share and streams groups have in common: members that the coordinator moves with every heartbeat."""

from abc import abstractmethod
from typing import Any, Final

from rebalance_audit.coordinator.handling import ErrorCode
from rebalance_audit.coordinator.requests.consumer import JOIN_EPOCH
from rebalance_audit.replay.groups import LEFT_EPOCH
from rebalance_audit.sim.chance import Chance
from rebalance_audit.sim.clients.client import (
    RETRIABLE,
    RETRY_BACKOFF_MS,
    Client,
)
from rebalance_audit.sim.clients.client_config import ClientConfig
from rebalance_audit.sim.clients.consumer import MUST_REJOIN
from rebalance_audit.sim.cluster import Cluster

_STALE: Final = MUST_REJOIN | {ErrorCode.UNRELEASED_INSTANCE_ID}


class BeatingClient(Client):
    """A member that sends one heartbeat at a time and follows the answers."""

    def __init__(self, cluster: Cluster, config: ClientConfig, chance: Chance) -> None:
        """Configured but not started."""
        super().__init__(cluster, config, chance)
        self.generation = LEFT_EPOCH
        self.sends_all = True
        """Whether the next heartbeat is a full one: the coordinator may not know the member, or an answer was lost."""
        self._rounds = 0
        self._beats_again = False

    # --- what the two protocols do differently -----------------------------------------------------

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

    # --- life --------------------------------------------------------------------------------------

    def _begin(self) -> None:
        self.member_id = self.chance.uuid_text()
        self._join()

    def _join(self) -> None:
        self.generation = JOIN_EPOCH
        self.sends_all = True
        self._beat_now()

    def _close(self) -> None:
        if self.generation > JOIN_EPOCH:
            self._send_and_forget(self._leaving())
            self.generation = LEFT_EPOCH

    def _end(self) -> None:
        super()._end()
        self.generation = LEFT_EPOCH
        self._give_everything_up()

    def _poll_is_overdue(self) -> None:
        """Neither protocol leaves because its application is slow."""

    def subscribe(self, topics: tuple[str, ...]) -> None:
        """The application changes its subscription, which a streams application cannot."""

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
        self._ask("heartbeat", self._request(), self._heard, self._unheard)

    def _unheard(self) -> None:
        self.sends_all = True
        self._send()

    def _heard(self, response: Any) -> None:
        error = response.error_code
        if error is ErrorCode.NONE:
            self.generation = response.member_epoch
            self._again_in(0 if self._beats_again else response.heartbeat_interval_ms)
            self._follow(response)
        elif error in RETRIABLE:
            self.sends_all = True
            self._again_in(RETRY_BACKOFF_MS)
        elif error in _STALE:
            self._rounds += 1
            self.generation = LEFT_EPOCH
            self._give_everything_up()
            self._later(RETRY_BACKOFF_MS, self._join)
        else:
            self.fail(error)

    def _again_in(self, delay_ms: int) -> None:
        round_number = self._rounds

        def due() -> None:
            if round_number == self._rounds and "heartbeat" not in self._awaited:
                self._send()

        self._later(delay_ms, due)
