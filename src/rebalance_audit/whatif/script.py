"""What happened to a group from outside: the script that a run plays again under other settings."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Final, NamedTuple, TypeAlias

from rebalance_audit.sim.chance import Chance


class Spread(NamedTuple):
    """Bounds of a number of milliseconds and, where the log favours one, its most likely value."""

    low: int
    high: int
    likely: int | None = None

    @property
    def middle(self) -> int:
        """The most likely value, else the middle of the bounds."""
        return (self.low + self.high) // 2 if self.likely is None else self.likely

    def draw(self, chance: Chance) -> int:
        """One value: triangular around the most likely one, else uniform."""
        if self.low >= self.high:
            return self.low
        share = chance.uniform(0.0, 1.0)
        width = self.high - self.low
        if self.likely is None:
            return self.low + round(share * width)
        rising = self.likely - self.low
        if share * width < rising:
            return self.low + round(math.sqrt(share * width * rising))
        falling = width - rising
        return self.high - round(math.sqrt((1 - share) * width * falling))

    def within(self, low: int, high: int) -> "Spread":
        """The same, cut to these bounds; a bound that excludes all of it wins."""
        new_low = min(max(self.low, low), high)
        new_high = max(min(self.high, high), new_low)
        likely = None if self.likely is None else min(max(self.likely, new_low), new_high)
        return Spread(new_low, new_high, likely)

    def shifted(self, by_ms: int) -> "Spread":
        """The same, later by so many milliseconds."""
        likely = None if self.likely is None else self.likely + by_ms
        return Spread(self.low + by_ms, self.high + by_ms, likely)


def exactly(value: int) -> Spread:
    """A value that is known."""
    return Spread(value, value)


def spread_of(values: Sequence[int], tail: float = 0.25) -> Spread | None:
    """Measured values as bounds: their quartiles around the median, or what leaves another tail out; None of none."""
    if not values:
        return None
    ordered = sorted(values)
    last = len(ordered) - 1
    low, likely, high = (ordered[round(share * last)] for share in (tail, 0.5, 1 - tail))
    return Spread(low, high, likely)


# --- what happened -----------------------------------------------------------------------------------

ArrivalRates: TypeAlias = dict[str, list[float | None]]
"""Topic -> records per second of each of its partitions; None where the log does not show it."""
MomentSpread: TypeAlias = Annotated[Spread, "moment"]
"""Epoch milliseconds."""
LengthSpread: TypeAlias = Annotated[Spread, "length"]
"""Milliseconds."""
EpochMs: TypeAlias = Annotated[int, "epoch milliseconds"]
Count: TypeAlias = Annotated[int, "count"]
"""What a field of Kafka's protocol can hold: not negative, of 31 bits."""


class ProcessEnd(StrEnum):
    """How a process stopped being a member."""

    CLOSED = "closed"
    """It closed its consumer: a dynamic member leaves the group."""
    KILLED = "killed"
    """It died without a word: the coordinator notices when its session expires."""
    FROZEN = "frozen"
    """It was suspended until its next start, and resumed then with what it had in memory."""
    REMOVED = "removed"
    """An administrator removed it from the group. It goes on, and joins again as soon as it learns of that."""


Ends: TypeAlias = dict[ProcessEnd, float]
"""Probability of each; they add up to 1."""


@dataclass(slots=True)
class ProcessLife:
    """One process: from its start to its end. Moments are epoch milliseconds."""

    start: MomentSpread
    end: MomentSpread | None = None
    """None: it outlives the script."""
    ends: Ends = field(default_factory=lambda: {ProcessEnd.CLOSED: 1.0})


@dataclass(slots=True)
class AppInstance:
    """One instance of the application; its processes follow each other."""

    name: str
    """Instance id or client id, what a restart keeps."""
    topics: tuple[str, ...]
    lives: list[ProcessLife]
    regex: str | None = None


@dataclass(slots=True)
class TopicExpansion:
    """A topic got more partitions, or was created."""

    at: MomentSpread
    topic: str
    partitions: Count


@dataclass(slots=True)
class TopicDeletion:
    """A topic was deleted."""

    at: MomentSpread
    topic: str


@dataclass(slots=True)
class CoordinatorMove:
    """Another broker took over the group."""

    at: MomentSpread
    pause_ms: LengthSpread
    """How long no coordinator answered."""


@dataclass(slots=True)
class SlowRevocation:
    """For a while an instance took long to give up partitions."""

    start: MomentSpread
    end: MomentSpread
    instance: str | None
    """None: the log does not say which one; each seed draws one."""
    revoke_ms: LengthSpread


@dataclass(slots=True)
class SubscriptionChange:
    """A running process subscribed to other topics."""

    at: MomentSpread
    instance: str
    topics: tuple[str, ...]


Event: TypeAlias = (
    TopicExpansion | TopicDeletion | CoordinatorMove | SlowRevocation | SubscriptionChange
)


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of a group; durations in milliseconds."""

    protocol: str
    """`classic` or `consumer`."""
    assignors: tuple[str, ...]
    """Classic: supported assignors, the preferred one first. Consumer: the server-side assignor."""
    is_static: bool
    session_timeout_ms: Count
    rebalance_timeout_ms: Count
    heartbeat_interval_ms: Count


@dataclass(slots=True)
class Habits:
    """How long what clients do takes, as measured; durations in milliseconds."""

    latency_ms: Count
    """Of one message between client and broker."""
    revoke_ms: LengthSpread
    """From the order to give up partitions until they are given up."""
    assign_ms: LengthSpread
    """From an assignment until its partitions are read."""
    restart_ms: LengthSpread | None
    """From the end of a process to the next start of its instance; None: no instance came back."""
    commit_interval_ms: Count
    leader_ms: Count = 0
    """How long the leader of a classic group takes to assign."""
    initial_delay_ms: Count = 3_000
    """`group.initial.rebalance.delay.ms` of the broker."""


class LoggedDelay(NamedTuple):
    """Records that a window delayed, as far as the log shows it; see docs/lag.md."""

    estimate: int
    low: int | None
    """At least; None without samples of end offsets, as `high`."""
    high: int | None


@dataclass(slots=True)
class Logged:
    """What the log says of the same window."""

    rebalances: int
    partitions_moved: int
    unowned_low_ms: int | None
    unowned_high_ms: int | None
    longest_stop_ms: int | None = None
    delayed: LoggedDelay | None = None
    """None where commits do not show it."""


class GroupFacts(NamedTuple):
    """What the log shows in a window."""

    protocols: tuple[str, ...]
    """Of the epochs, each once, in order of appearance."""
    assignors: tuple[str, ...]
    """As the log names them, each once, in order of appearance."""
    instances: int
    static_instances: int
    session_timeouts_ms: tuple[int, ...]
    """Of classic members, each once; records of the consumer protocol have none."""
    rebalance_timeouts_ms: tuple[int, ...]
    server_assignors: tuple[str, ...]
    regexes: tuple[str, ...]
    """That members of the consumer protocol subscribe by."""
    subscriptions: int
    """Different sets of topics among the members."""
    restarts: int
    """Processes that were followed by another one of their instance."""
    findings: tuple[str, ...]
    """Kinds of DECISIVE_FINDINGS that the window has."""


@dataclass(slots=True)
class Script:
    """All of it."""

    group_id: str
    from_ms: EpochMs
    """What happens earlier only prepares the group."""
    to_ms: EpochMs
    settings: Settings
    habits: Habits
    topics: dict[str, Count]
    """Name -> partitions at the begin."""
    instances: list[AppInstance]
    events: list[Event]
    logged: Logged
    assumptions: list[str] = field(default_factory=list)
    """Sentences: what the log does not hold and the script takes for granted."""
    rates: ArrivalRates = field(default_factory=dict)
    rates_unknown: str | None = None
    """Why `rates` is empty, as a sentence."""
    facts: GroupFacts | None = None

    def most_partitions(self) -> int:
        """Of all topics together, once each has grown."""
        grown = dict(self.topics)
        for event in self.events:
            if isinstance(event, TopicExpansion):
                grown[event.topic] = max(event.partitions, grown.get(event.topic, 0))
        return sum(grown.values())


SCRIPT_FORMAT: Final = "rebalance-audit what-if script 1"
