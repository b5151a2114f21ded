"""The group epoch: bumped for a reason that the caller has, or because the subscribed topics changed."""

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache

from rebalance_audit.coordinator.consumer.work import Work
from rebalance_audit.coordinator.handling import TopicDescription, TopicImage
from rebalance_audit.coordinator.reasons import BumpReason, Trigger
from rebalance_audit.replay.groups import RecordedTopic
from rebalance_audit.wire.topic_names import group_hash, topic_hash


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


_TOPICS_DIFFER = BumpReason(Trigger.TOPICS_DIFFER)


def bump_for_topics(
    work: Work,
    topic_names: AbstractSet[str],
    regexes: Mapping[str, frozenset[str]],
    reasons: Sequence[BumpReason] = (),
) -> int | None:
    """Compare these topics, and those that the expressions match, with those on record; drafts [4]? [3]?.

    With any reason the epoch is bumped in any case. Returns the new group epoch, None where it stays.
    """
    names = frozenset(topic_names).union(*regexes.values())
    group = work.group
    differ = False
    new_hash = group.metadata_hash
    if work.release.topic_metadata_record:
        shapes = recorded_shapes(names, work.image)
        if shapes != group.recorded_shapes:
            work.records.append(work.drafts.topic_metadata(shapes.values()))
            differ = True
    else:
        new_hash = metadata_hash(names, work.image)
        differ = new_hash != group.metadata_hash
    if differ:
        reasons = (*reasons, _TOPICS_DIFFER)
    if not reasons:
        return None
    why = (*work.beginning, *(each for each in reasons if each not in work.beginning))
    group_epoch = work.begin_epoch(names, why)
    work.records.append(work.drafts.group_epoch(group_epoch, new_hash))
    return group_epoch
