"""The network between clients and brokers: it delays, loses and sometimes duplicates messages."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

from rebalance_audit.sim.chance import Chance
from rebalance_audit.sim.scheduler import Action, Scheduler


class Filter(Enum):
    """Which messages pass at one node."""

    DROP_OUTBOUND = "drop_outbound"
    """What the node sends is lost; what is sent to it arrives."""
    DROP_INBOUND = "drop_inbound"
    DROP_ALL = "drop_all"


_STOPS_SENDER: Final = frozenset({Filter.DROP_OUTBOUND, Filter.DROP_ALL})
_STOPS_RECEIVER: Final = frozenset({Filter.DROP_INBOUND, Filter.DROP_ALL})


@dataclass(slots=True)
class NetworkOptions:
    """How unreliable the network is; probabilities are per message, the same for requests and responses."""

    latency_ms: int = 2
    """The delay of most messages."""
    loss_probability: float = 0.0
    duplication_probability: float = 0.0
    delay_probability: float = 0.0
    delay_ms_max: int = 2_000
    """Upper bound of the delay of a delayed message, which others overtake."""


@dataclass(slots=True)
class Network:
    """Carries messages. A filter stays on its node until it is removed."""

    scheduler: Scheduler
    chance: Chance
    options: NetworkOptions
    filters: dict[str, Filter] = field(default_factory=dict)
    """Node -> filter; nodes without one let all pass."""

    def carry(self, source: str, target: str, arrive: Action) -> int:
        """Carry a message from node to node: `arrive` will happen once, never, or twice; returns how often."""
        if self.filters and (
            self.filters.get(source) in _STOPS_SENDER or self.filters.get(target) in _STOPS_RECEIVER
        ):
            return 0
        options, chance = self.options, self.chance
        if options.loss_probability and chance.happens(options.loss_probability):
            return 0
        self._deliver(arrive)
        if options.duplication_probability and chance.happens(options.duplication_probability):
            self._deliver(arrive)
            return 2
        return 1

    @property
    def is_sound(self) -> bool:
        """Whether every message arrives once, and soon."""
        options = self.options
        return not (
            self.filters
            or options.loss_probability
            or options.duplication_probability
            or options.delay_probability
        )

    def heal(self) -> None:
        """From now on every message arrives once, and soon."""
        self.filters.clear()
        self.options = NetworkOptions(latency_ms=self.options.latency_ms)

    def _deliver(self, arrive: Callable[[], None]) -> None:
        options = self.options
        delay_ms = self.chance.latency_ms(options.latency_ms)
        if options.delay_probability and self.chance.happens(options.delay_probability):
            delay_ms += self.chance.between(1, options.delay_ms_max)
        self.scheduler.after(delay_ms, arrive)
