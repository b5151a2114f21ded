"""The SOURCE of `watch`: a log that is being written, and the names of its topics."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from rebalance_audit.cli.invocation import Invocation
from rebalance_audit.cli.source import KAFKA, path_of
from rebalance_audit.cli.times import clock_ms
from rebalance_audit.live_cluster.poller import SampleEndOffsets
from rebalance_audit.local.live.growth import GrowingSegments, LiveLog
from rebalance_audit.local.survey import survey
from rebalance_audit.wire.segments.folder import open_log_folder
from rebalance_audit.wire.topic_names import TopicNames


class LiveSource(NamedTuple):
    """What a SOURCE names."""

    log: LiveLog
    names: TopicNames
    """Names of topics known at the start; the records add more."""
    more_names: Callable[[], TopicNames]
    """Asks the source for names again. Raises SourceNotReadable."""
    shows_markers: bool
    """Whether it has the markers of transactions, too."""
    sample_end_offsets: SampleEndOffsets | None = None
    """None for a source that cannot be asked for end offsets."""
    group_states: Callable[[], Mapping[str, str]] | None = None
    """Asks coordinators for the states of their groups, by group id. Raises SourceNotReadable."""
    sampled_partitions_max: int = 0
    leaders: Mapping[int, int] | None = None
    """Partition of `__consumer_offsets` -> broker id of its leader; None for a source that is not asked for it."""


def live_source(invocation: Invocation, spec: str) -> LiveSource:
    """The log that a SOURCE names. Raises BadRequest, ConfigError and SourceNotReadable."""
    if spec.startswith(KAFKA):
        return _of_kafka(invocation, spec.removeprefix(KAFKA))
    return _of_segments(path_of(spec))


def _of_segments(path: Path) -> LiveSource:
    def names() -> TopicNames:
        return survey(open_log_folder(path))[1]

    return LiveSource(GrowingSegments(path), names(), names, shows_markers=True)


def _of_kafka(invocation: Invocation, servers: str) -> LiveSource:
    from rebalance_audit.config import unhidden  # noqa: PLC0415 - imports pydantic
    from rebalance_audit.live_cluster.kafka_cluster import (  # noqa: PLC0415 - only live clusters need it
        KafkaCluster,
        KafkaSettings,
    )
    from rebalance_audit.live_cluster.kafka_login import login_of_aiokafka  # noqa: PLC0415
    from rebalance_audit.local.live.growing_topic import (  # noqa: PLC0415 - imports the client
        CLIENT_ID,
        GrowingTopic,
    )

    kafka = invocation.config().source.kafka
    settings = KafkaSettings(
        timeout_ms=kafka.timeout_ms,
        options=unhidden(kafka.options),
        admin=unhidden(kafka.admin),
    )
    cluster = KafkaCluster(servers, settings)
    wanted = login_of_aiokafka(cluster.login)
    view = cluster.view()  # whether the topic is there and may be described, in one sentence
    client_id = cluster.options.get("client.id", CLIENT_ID)
    log = GrowingTopic(cluster.servers, wanted, kafka.timeout_ms, client_id)
    return LiveSource(
        log,
        cluster.topic_names(),
        cluster.topic_names,
        shows_markers=False,
        sample_end_offsets=lambda partitions: cluster.end_offsets(partitions, clock_ms),
        group_states=cluster.group_states,
        sampled_partitions_max=kafka.sampled_partitions_max,
        leaders=view.leaders,
    )
