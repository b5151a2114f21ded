"""What a consumer group records about its topics, to detect changes."""

from collections.abc import Iterable
from functools import lru_cache

from rebalance_audit.coordinator.handling import TopicDescription, TopicImage
from rebalance_audit.replay.groups.modern_group import RecordedTopic
from rebalance_audit.wire.topic_shapes import group_hash, topic_hash


def metadata_hash(topic_names: Iterable[str], image: TopicImage) -> int:
    """Kafka's signed 64-bit hash over the existing topics: ids, names, partition counts, racks; 0 if there are none."""
    found = (image.topic(name) for name in topic_names)
    return group_hash({topic.name: _hash_of(topic) for topic in found if topic is not None})


@lru_cache(1 << 12)
def _hash_of(topic: TopicDescription) -> int:
    return topic_hash(topic.topic_id, topic.name, topic.partition_racks)


def recorded_shapes(topic_names: Iterable[str], image: TopicImage) -> dict[str, RecordedTopic]:
    """The existing topics as the record of 3.7 to 4.0 holds them; racks only where at least one is known."""
    shapes: dict[str, RecordedTopic] = {}
    for name in sorted(topic_names):
        topic = image.topic(name)
        if topic is not None:
            racks = tuple(
                (number, tuple(sorted(known)))
                for number, known in enumerate(topic.partition_racks)
                if known
            )
            shapes[name] = RecordedTopic(topic.topic_id, name, len(topic.partition_racks), racks)
    return shapes
