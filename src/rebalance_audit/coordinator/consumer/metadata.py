"""What a consumer group records about its topics, to tell whether they changed."""

import hashlib
from collections.abc import Iterable
from functools import lru_cache

from rebalance_audit.coordinator.handling import TopicDescription, TopicImage
from rebalance_audit.replay.modern.group import RecordedTopic

NO_TOPICS = 0
"""Hash of a group none of whose topics exists."""


def metadata_hash(topic_names: Iterable[str], image: TopicImage) -> int:
    """A signed 64-bit hash over the existing topics: ids, names, partition counts, racks.

    It serves for equality only, as Kafka's own does (XXH3, another function), so one group never holds hashes of both.
    """
    hasher = hashlib.blake2b(digest_size=8)
    found = False
    for name in sorted(topic_names):
        topic = image.topic(name)
        if topic is not None:
            hasher.update(_topic_digest(topic))
            found = True
    if not found:
        return NO_TOPICS
    return int.from_bytes(hasher.digest(), signed=True) or 1


@lru_cache(1 << 12)
def _topic_digest(topic: TopicDescription) -> bytes:
    told = (topic.topic_id, topic.name, [sorted(racks) for racks in topic.partition_racks])
    return hashlib.blake2b(repr(told).encode("utf-8", "surrogatepass")).digest()


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
