"""A simulation's options, drawn from its seed: the probabilities themselves are random, so that seeds differ."""

from collections.abc import Iterator
from dataclasses import dataclass, field, fields, is_dataclass
from enum import Enum
from typing import Final

from rebalance_audit.coordinator.handling import CoordinatorConfig, Dialect
from rebalance_audit.sim.brokers.batch_writer import Codec
from rebalance_audit.sim.brokers.broker import LogOptions
from rebalance_audit.sim.brokers.compaction import DELETE_RETENTION_MS
from rebalance_audit.sim.chance import Chance
from rebalance_audit.sim.clients.client_config import CommitHabit, Committing, Library, Traffic
from rebalance_audit.sim.cluster import ClusterOptions
from rebalance_audit.sim.network import NetworkOptions

START_MS: Final = 1_700_000_000_000
"""The time at which every simulation starts, epoch milliseconds."""


class Protocol(Enum):
    """Which protocol the members of a group speak."""

    CLASSIC = "classic"
    CONSUMER = "consumer"
    MIGRATING = "migrating"
    """Classic at first; deploys change the protocol back and forth."""
    STANDALONE = "standalone"
    TRANSACTIONAL = "transactional"
    SHARE = "share"
    """KIP-932, from release 4.1 on."""
    STREAMS = "streams"
    """KIP-1071, from release 4.1 on."""


DRAWN_FIRST: Final = (
    *(Protocol.CLASSIC, Protocol.CONSUMER, Protocol.MIGRATING),
    *(Protocol.STANDALONE, Protocol.TRANSACTIONAL),
)
"""What a group is drawn from; some become share or streams groups afterwards."""
BEFORE_SHARE_AND_STREAMS: Final = frozenset({Dialect.R3_7, Dialect.R3_9, Dialect.R4_0})
"""Releases without share and streams groups; what they had in early access no later release reads."""


@dataclass(slots=True)
class GroupPlan:
    """One group."""

    group_id: str
    protocol: Protocol
    size: int
    topics: tuple[str, ...]
    static: bool = False
    assignors: tuple[str, ...] = ("range",)
    """Classic members."""
    server_assignor: str | None = None
    regex: str | None = None
    client_assignor: str | None = None
    """Release 3.7 alone: the members run a client-side assignor."""
    library: Library = Library.JAVA
    session_timeout_ms: int = 10_000
    max_poll_interval_ms: int = 30_000
    revoke_ms: int = 5
    commit_interval_ms: int = 5_000
    committing: Committing = Committing.AUTO
    habit: CommitHabit | None = None
    """What the clients commit and when, instead of what follows from `library` and `committing`."""
    traffic: Traffic = Traffic.STEADY
    assigns_for_ms: int = 0
    """Classic, eager: how long a leader takes to assign."""
    subscribes_after_ms: int = 0
    """Consumer protocol: how long after they join without topics members subscribe."""
    stateful: bool = False
    """Streams: whether tasks have stores, and so may have standbys."""
    repartitions: bool = False
    """Streams: whether the topology has a second part, which reads an internal topic."""
    answers_queries: bool = False
    """Streams: whether members send an endpoint."""


@dataclass(slots=True)
class FaultOptions:
    """How often faults happen, per minute: those up to the outages in each group, the others in the whole cluster."""

    deploys: float = 0.2
    scale_changes: float = 0.2
    crashes: float = 0.2
    freezes: float = 0.1
    slow_polls: float = 0.1
    subscription_changes: float = 0.1
    admin_removals: float = 0.05
    duplicate_instances: float = 0.05
    outages: float = 0.05
    fail_overs: float = 0.2
    topic_growths: float = 0.1
    topic_deletions: float = 0.05
    topic_creations: float = 0.1
    cleanings: float = 0.1
    partitions_from_network: float = 0.1
    """In each group: a client loses its network."""
    offset_deletions: float = 0.05
    """In each group: an administrator deletes offsets."""
    expression_changes: float = 0.0
    """In each group with an expression."""


GROUP_FAULTS: Final = (
    "deploys",
    "scale_changes",
    "crashes",
    "freezes",
    "slow_polls",
    "subscription_changes",
    "admin_removals",
    "duplicate_instances",
    "outages",
    "partitions_from_network",
    "offset_deletions",
)
"""The faults that happen in each group."""
MINUTES_A_DAY: Final = 1_440


@dataclass(slots=True)
class BrokerUpgrade:
    """A rolling upgrade: each partition of the offsets topic moves to a broker of another release."""

    after_ms: int
    """When it begins."""
    dialect: Dialect


@dataclass(slots=True)
class SimulationOptions:
    """Everything that decides a run besides the seed's own streams."""

    minutes: int
    coordinator: CoordinatorConfig
    cluster: ClusterOptions
    network: NetworkOptions
    faults: FaultOptions
    topics: dict[str, int]
    """Name -> partition count at the start."""
    interrupts_resolution: bool = False
    """Whether a fail-over happens while the first expressions are being resolved."""
    upgrade: BrokerUpgrade | None = None
    """Whether the brokers are upgraded while the groups run."""
    groups: list[GroupPlan] = field(default_factory=list)
    commits_per_minute: int = 0
    """Offset commits of a load in addition to the groups, written in bulk."""
    committer_interval_ms: int = 2_000
    """Interval of standalone and transactional committers; 0 = no commits."""


@dataclass(slots=True)
class Overrides:
    """What the command line decides instead of the seed."""

    minutes: int | None = None
    groups: int | None = None
    members: int | None = None
    dialect: Dialect | None = None
    partitions: int | None = None
    commits_per_minute: int = 0
    faults: bool = True
    faults_per_day: float | None = None
    """In each group, on a network that loses nothing."""
    commit_interval_ms: int | None = None
    """Interval of every member and committer; 0 = no commits."""
    protocol: Protocol | None = None
    topic_partitions: int | None = None


EXPRESSIONS: Final = ("topic-.*", "topic-[0-3]", "other-.*|topic-1")
_ASSIGNORS: Final = (
    ("range",),
    ("roundrobin",),
    ("sticky",),
    ("cooperative-sticky",),
    ("cooperative-sticky", "range"),
    ("range", "cooperative-sticky"),
)


_POLL_INTERVALS_MS: Final = (10_000, 30_000, 60_000)


def draw_options(seed: int, overrides: Overrides) -> SimulationOptions:
    """The options of a seed."""
    chance = Chance(seed, "options")
    dialect = overrides.dialect or chance.choice(list(Dialect))
    if overrides.protocol in {Protocol.SHARE, Protocol.STREAMS} and not overrides.dialect:
        dialect = chance.stream("later dialect").choice(
            [each for each in Dialect if each not in BEFORE_SHARE_AND_STREAMS]
        )
    topics = {f"topic-{number}": chance.between(1, 12) for number in range(chance.between(2, 5))}
    if overrides.topic_partitions is not None:
        topics = dict.fromkeys(topics, overrides.topic_partitions)
    cluster = ClusterOptions(
        overrides.partitions or chance.choice((1, 2, 5, 50)),
        chance.between(1, 5),
        LogOptions(
            chance.weighted(list(Codec), (8, 1, 1, 1, 1)),
            stamps_append_time=chance.happens(0.1),
            segment_bytes=chance.choice((4_000, 20_000, 100_000, 104_857_600)),
            delete_retention_ms=chance.stream("retention").choice((10_000, DELETE_RETENTION_MS)),
        ),
    )
    clocks = chance.stream("clocks")
    if overrides.faults and clocks.happens(0.3):
        most_ms = clocks.choice((5, 200, 5_000))
        cluster.clock_offsets_ms = tuple(
            clocks.between(-most_ms, most_ms) for _ in range(cluster.broker_count)
        )
    options = SimulationOptions(
        overrides.minutes or chance.between(2, 6),
        _draw_config(chance.stream("coordinator"), dialect),
        cluster,
        NetworkOptions(chance.between(1, 20)),
        FaultOptions(),
        topics,
        commits_per_minute=overrides.commits_per_minute,
    )
    if overrides.faults and options.coordinator.consumer_regex_resolution_ms:
        options.interrupts_resolution = chance.stream("interruption").happens(0.8)
    if overrides.faults and overrides.dialect is None:
        options.upgrade = _draw_upgrade(chance.stream("broker upgrade"), dialect, options.minutes)
    if overrides.commit_interval_ms is not None:
        options.committer_interval_ms = overrides.commit_interval_ms
    if overrides.faults:
        options.network = _draw_network(chance.stream("network"), options.network.latency_ms)
        options.faults = _draw_faults(chance.stream("faults"))
    else:
        options.faults = FaultOptions(
            **dict.fromkeys((each.name for each in fields(FaultOptions)), 0.0)
        )
    if overrides.faults_per_day is not None:
        options.network = NetworkOptions(options.network.latency_ms)
        options.faults = _as_often(options.faults, overrides.faults_per_day)
    group_count = overrides.groups or chance.between(1, 6)
    options.groups = [
        _draw_group(chance.stream(f"group-{number}"), number, options, overrides)
        for number in range(group_count)
    ]
    return options


def _draw_upgrade(chance: Chance, dialect: Dialect, minutes: int) -> BrokerUpgrade | None:
    """An upgrade to some later release, or none; no other release can read what 3.7 wrote in early access."""
    later = list(Dialect)[list(Dialect).index(dialect) + 1 :]
    if dialect is Dialect.R3_7 or not later or not chance.happens(0.2):
        return None
    return BrokerUpgrade(chance.between(10_000, minutes * 60_000), chance.choice(later))


def _draw_config(chance: Chance, dialect: Dialect) -> CoordinatorConfig:
    early = dialect in {Dialect.R3_7, Dialect.R3_9}
    return CoordinatorConfig(
        dialect=dialect,
        group_initial_rebalance_delay_ms=chance.choice((0, 500, 3_000)),
        consumer_session_timeout_ms=chance.choice((6_000, 15_000, 45_000)),
        consumer_heartbeat_interval_ms=chance.choice((1_000, 3_000, 5_000)),
        consumer_assignment_interval_ms=chance.choice((0, 1_000, 1_000, 5_000)),
        consumer_regex_refresh_interval_ms=chance.choice((60_000, 600_000)),
        consumer_regex_resolution_ms=chance.stream("resolution").choice((0, 0, 300, 4_000, 15_000)),
        share_initialisation_ms=chance.stream("initialisation").choice((0, 20, 50, 2_000)),
        streams_initial_delay_ms=chance.stream("initial delay").choice((0, 500, 3_000)),
        streams_standby_replicas=chance.stream("standbys").choice((0, 0, 1, 2)),
        server_assignors=chance.choice((("uniform", "range"), ("range", "uniform"))),
        classic_creation_recorded=not early or chance.happens(0.5),
    )


def _draw_network(chance: Chance, latency_ms: int) -> NetworkOptions:
    def rarely(most: float) -> float:
        return chance.uniform(0, most) if chance.happens(0.6) else 0.0

    return NetworkOptions(
        latency_ms, rarely(0.02), rarely(0.02), rarely(0.05), chance.between(50, 8_000)
    )


def _draw_faults(chance: Chance) -> FaultOptions:
    return FaultOptions(
        **{
            each.name: chance.uniform(0, 1.0) if chance.happens(0.6) else 0.0
            for each in fields(FaultOptions)
        }
    )


def _as_often(drawn: FaultOptions, per_day: float) -> FaultOptions:
    """This mixture of faults, scaled to so many a day in each group, with those of the cluster equally rare."""
    rates = {each.name: float(getattr(drawn, each.name)) for each in fields(FaultOptions)}
    of_groups = sum(rates[name] for name in GROUP_FAULTS) * MINUTES_A_DAY
    if not of_groups:
        return FaultOptions(**{name: per_day / MINUTES_A_DAY / len(GROUP_FAULTS) for name in rates})
    return FaultOptions(**{name: rate * per_day / of_groups for name, rate in rates.items()})


def _draw_group(
    chance: Chance, number: int, options: SimulationOptions, overrides: Overrides
) -> GroupPlan:
    early = options.coordinator.dialect in {Dialect.R3_7, Dialect.R3_9}
    protocol = chance.weighted(DRAWN_FIRST, (6, 6, 0 if early else 3, 1, 1))
    later = chance.stream("share or streams")
    if options.coordinator.dialect not in BEFORE_SHARE_AND_STREAMS and later.happens(0.25):
        protocol = later.choice((Protocol.SHARE, Protocol.STREAMS))
    protocol = overrides.protocol or protocol
    names = sorted(options.topics)
    topics = tuple(chance.sample(names, chance.between(1, len(names))))
    regex = None
    if protocol is Protocol.CONSUMER and not early and chance.happens(0.25):
        regex = chance.choice(EXPRESSIONS)
        if chance.happens(0.5):
            topics = ()
    static = chance.happens(0.3)
    if protocol is Protocol.SHARE or (
        protocol is Protocol.STREAMS and options.coordinator.dialect is not Dialect.R4_4
    ):
        static = False
    runs_assignor = options.coordinator.dialect is Dialect.R3_7 and chance.happens(0.4)
    plan = GroupPlan(
        f"group-{number}" if chance.happens(0.9) else f"größe-{number}",
        protocol,
        overrides.members or chance.between(1, 6),
        topics,
        static=static,
        assignors=chance.choice(_ASSIGNORS),
        server_assignor=chance.choice((None, None, "uniform", "range")),
        regex=regex,
        client_assignor="local" if runs_assignor else None,
        library=chance.choice(list(Library)),
        session_timeout_ms=chance.choice((6_000, 10_000, 45_000)),
        max_poll_interval_ms=chance.choice(_POLL_INTERVALS_MS),
        revoke_ms=chance.choice((1, 5, 200, 3_000)),
        commit_interval_ms=(
            chance.choice((0, 1_000, 5_000))
            if overrides.commit_interval_ms is None
            else overrides.commit_interval_ms
        ),
        committing=chance.stream("committing").weighted(tuple(Committing), (9, 1, 1, 1)),
        traffic=chance.stream("traffic").weighted(tuple(Traffic), (4, 2, 2, 1)),
        assigns_for_ms=chance.stream("slow assignor").choice((0,) * 4 + (1_500,)),
        subscribes_after_ms=(
            0 if early else chance.stream("late subscription").choice((0,) * 5 + (40, 2_500))
        ),
        stateful=later.happens(0.5),
        repartitions=later.happens(0.4),
        answers_queries=later.happens(0.4),
    )
    if plan.library is Library.LIBRDKAFKA and protocol in {Protocol.CLASSIC, Protocol.MIGRATING}:
        # It does not start with less: rd_kafka_conf_finalize, "max.poll.interval.ms must be >= session.timeout.ms".
        plan.max_poll_interval_ms = max(
            plan.max_poll_interval_ms,
            min(each for each in _POLL_INTERVALS_MS if each >= plan.session_timeout_ms),
        )
    return plan


def option_lines(options: object, name: str = "") -> Iterator[str]:
    """Every option on a line of its own, `name = value`, for people who repeat a run."""
    if is_dataclass(options) and not isinstance(options, type):
        for each in fields(options):
            yield from option_lines(
                getattr(options, each.name), f"{name}.{each.name}" if name else each.name
            )
    elif isinstance(options, list):
        for number, each_option in enumerate(options):
            yield from option_lines(each_option, f"{name}[{number}]")
    elif isinstance(options, Enum):
        yield f"{name} = {options.value}"
    elif isinstance(options, float):
        yield f"{name} = {options:.4f}"
    else:
        yield f"{name} = {options}"
