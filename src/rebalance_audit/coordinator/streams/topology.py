"""Whether a topology can be assigned, and how many tasks it has (InternalTopicManager.configureTopics)."""

from typing import NamedTuple

from rebalance_audit.coordinator.handling import TopicImage
from rebalance_audit.coordinator.requests.streams import Subtopology, Topology
from rebalance_audit.wire.generated import messages

_REPLICATION_FACTOR = 1


class Configured(NamedTuple):
    """A topology with the topics that there are."""

    is_ready: bool
    task_counts: tuple[tuple[str, int], ...] = ()
    """(Subtopology, its tasks)."""
    stateful: frozenset[str] = frozenset()
    """Subtopologies whose tasks can have standbys."""
    missing_internal_topics: tuple[tuple[str, int], ...] = ()
    """(Name, partition count) of internal topics to create."""


def configure_topology(topology: Topology, image: TopicImage) -> Configured:
    """Not ready while a source topic or an internal topic does not exist."""

    def size(name: str) -> int:
        topic = image.topic(name)
        return 0 if topic is None else len(topic.partition_racks)

    sources = {name for each in topology.subtopologies for name in each.source_topics}
    if not all(map(size, sources)):
        return Configured(is_ready=False)
    largest = max(map(size, sources))
    counts: list[tuple[str, int]] = []
    missing: dict[str, int] = {}
    for each in topology.subtopologies:
        repartitioned = {name: size(name) or largest for name in each.repartition_source_topics}
        tasks = max((*map(size, each.source_topics), *repartitioned.values()))
        internal = {**repartitioned, **dict.fromkeys(each.state_changelog_topics, tasks)}
        missing.update((name, count) for name, count in internal.items() if not size(name))
        counts.append((each.subtopology_id, tasks))
    stateful = frozenset(
        each.subtopology_id for each in topology.subtopologies if each.state_changelog_topics
    )
    return Configured(not missing, tuple(counts), stateful, tuple(sorted(missing.items())))


def required_topics(topology: Topology) -> frozenset[str]:
    """Every topic whose metadata the group records (StreamsTopology.requiredTopics)."""
    return frozenset(
        name
        for each in topology.subtopologies
        for names in (
            each.source_topics,
            each.repartition_source_topics,
            each.state_changelog_topics,
        )
        for name in names
    )


def recorded(topology: Topology) -> messages.StreamsGroupTopologyValue:
    """The topology as its record has it."""

    def internal(names: tuple[str, ...]) -> tuple[messages.StreamsGroupTopologyTopicInfo, ...]:
        return tuple(
            messages.StreamsGroupTopologyTopicInfo(name, 0, _REPLICATION_FACTOR, ())
            for name in names
        )

    return messages.StreamsGroupTopologyValue(
        topology.epoch,
        tuple(
            messages.StreamsGroupTopologySubtopology(
                each.subtopology_id,
                each.source_topics,
                (),
                internal(each.state_changelog_topics),
                each.repartition_sink_topics,
                internal(each.repartition_source_topics),
                (),
            )
            for each in topology.subtopologies
        ),
    )


def topology_of(value: messages.StreamsGroupTopologyValue) -> Topology:
    """The topology that a record holds."""
    return Topology(
        value.epoch,
        tuple(
            Subtopology(
                each.subtopology_id,
                each.source_topics,
                tuple(topic.name for topic in each.state_changelog_topics),
                tuple(topic.name for topic in each.repartition_source_topics),
                each.repartition_sink_topics,
            )
            for each in value.subtopologies
        ),
    )
