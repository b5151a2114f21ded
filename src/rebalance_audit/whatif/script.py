"""What happened to a group from outside: the script that a run plays again under other settings."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, Final, NamedTuple, TypeAlias

from rebalance_audit.whatif.arrival_rates import ArrivalRates
from rebalance_audit.whatif.facts import GroupFacts
from rebalance_audit.whatif.spread import Spread

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


SCRIPT_FORMAT: Final = "rebalance-audit what-if script 1"
