"""The coordinator's assignor for share groups: every member has about as many partitions as the others.

Fewer partitions than members are shared by several. Which member gets which is not Kafka's choice (its SimpleAssignor
also keeps what members had); no rule of the audit depends on that.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

from rebalance_audit.replay.partitions import Partitions, TopicPartition, partitions_of


def assign(
    subscribers: Mapping[str, frozenset[bytes]], partitions: Sequence[TopicPartition]
) -> dict[str, Partitions]:
    """Target of every member; `subscribers`: member id -> ids of the topics that it subscribes to."""
    dealt: dict[str, dict[bytes, set[int]]] = {member_id: {} for member_id in subscribers}
    by_topic: dict[bytes, list[int]] = defaultdict(list)
    for topic, number in partitions:
        assert isinstance(topic, bytes)
        by_topic[topic].append(number)
    for topic in sorted(by_topic):
        numbers = sorted(by_topic[topic])
        takers = sorted(member_id for member_id, topics in subscribers.items() if topic in topics)
        for place in range(max(len(takers), len(numbers)) if takers else 0):
            taken = dealt[takers[place % len(takers)]].setdefault(topic, set())
            taken.add(numbers[place % len(numbers)])
    return {member_id: partitions_of(tuple(topics.items())) for member_id, topics in dealt.items()}
