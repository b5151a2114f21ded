"""The hash of topics in the record of a group epoch, for topics with pseudonyms (KIP-1101).

The hash is one over ids, names and racks of all subscribed topics, so that names could be found by hashing candidates.
It is recomputed with pseudonyms where the cluster's metadata log has the topics that it stands for, so that the audit
still finds them. Any other hash becomes another number, which no name leads to.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from rebalance_audit.anonymise.pseudonyms import Pseudonyms
from rebalance_audit.audit.causes.recorded_topics import CLOCKS_MS, topic_images
from rebalance_audit.audit.members.tally import Tally
from rebalance_audit.wire.generated import messages
from rebalance_audit.wire.records import Record
from rebalance_audit.wire.topic_names import TopicNames, TopicShape, group_hash

_KNOWN_MAX: Final = 1 << 20
_MEMBER: Final = "m"
_EXPRESSION: Final = "e"


class TopicHashes:
    """Follows what groups subscribe to, and renames the hashes that they record."""

    def __init__(self, names: Pseudonyms, before: TopicNames, after: TopicNames) -> None:
        """`before`, `after`: topics by the metadata log, under their own names and under their pseudonyms."""
        self._names = names
        self._before = before
        self._after = {
            (topic.name, shape.metadata_offset): shape.topic_hash
            for topic in after.values()
            for shape in topic.shapes
        }
        self._groups: dict[str, Tally[str]] = {}
        self.known: dict[int, int] = {}
        """Hash that was recorded -> what it becomes wherever it is; at first those of one topic each."""
        for topic in before.values():
            for shape in topic.shapes:
                new = self._under_pseudonyms({topic.name: shape})
                if new is not None and len(self.known) < _KNOWN_MAX:
                    self.known[group_hash({topic.name: shape.topic_hash})] = new

    def follow(self, records: Iterable[Record]) -> None:
        """Note what the records of a batch say about subscriptions, before its hashes are renamed."""
        for record in records:
            match record.key:
                case messages.ConsumerGroupMemberMetadataKey(
                    group_id, member_id
                ) | messages.ShareGroupMemberMetadataKey(group_id, member_id):
                    topics = getattr(record.value, "subscribed_topic_names", ())
                    self._set(group_id, _MEMBER + member_id, topics)
                case messages.ConsumerGroupRegularExpressionKey(group_id, expression):
                    topics = getattr(record.value, "topics", ())
                    self._set(group_id, _EXPRESSION + expression, topics)

    def renamed(self, group_id: str, metadata_hash: int, at_ms: int) -> int:
        """The hash that the group would have recorded for topics with pseudonyms."""
        if not metadata_hash:
            return 0
        new = self._recomputed(group_id, metadata_hash, at_ms)
        if new is None:
            new = self.known.get(metadata_hash) or self._names.topics_hash(metadata_hash)
        if metadata_hash not in self.known and len(self.known) < _KNOWN_MAX:
            self.known[metadata_hash] = new
        return self.known.get(metadata_hash, new)

    def _recomputed(self, group_id: str, metadata_hash: int, at_ms: int) -> int | None:
        tally = self._groups.get(group_id)
        known = {topic: self._shapes(topic, at_ms) for topic in (tally.texts if tally else ())}
        for image in topic_images(known):
            hashes = {topic: shape.topic_hash for topic, shape in image.items()}
            if group_hash(hashes) == metadata_hash:
                return self._under_pseudonyms(image)
        return None

    def _set(self, group_id: str, who: str, topics: Sequence[str]) -> None:
        self._groups.setdefault(group_id, Tally()).set(who, topics)

    def _shapes(self, topic: str, at_ms: int) -> Sequence[TopicShape]:
        by_ms = at_ms + CLOCKS_MS
        return [shape for shape in self._before.shapes_of(topic) if shape.at_ms <= by_ms]

    def _under_pseudonyms(self, image: Mapping[str, TopicShape]) -> int | None:
        """The hash of an image; None if the metadata log names a topic in two ways."""
        found: dict[str, int] = {}
        for topic, shape in image.items():
            name = self._names.topic(topic)
            topic_hash = self._after.get((name, shape.metadata_offset))
            if topic_hash is None:
                return None
            found[name] = topic_hash
        return group_hash(found)
