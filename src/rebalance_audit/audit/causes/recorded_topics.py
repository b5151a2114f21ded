"""The topics behind the metadata hash of a group epoch: recomputed from the cluster's metadata log, where it is given.

A recorded hash that equals the recomputed one proves which topics the group subscribed to and what they were like. So
two of them show whether topics changed in between, or only what the members subscribe to.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from rebalance_audit.audit.members.tally import Tally
from rebalance_audit.audit.options import ExternalFacts
from rebalance_audit.replay.changes import (
    Change,
    GroupEpochBumped,
    GroupType,
    MemberSubscribed,
    MemberUnsubscribed,
    RegexResolved,
)
from rebalance_audit.replay.groups import ModernGroup
from rebalance_audit.sentences.reason import CodedReason, because
from rebalance_audit.wire.topic_names import TopicShape, group_hash

CLOCKS_MS: Final = 10_000
"""How far the clocks of the controller and of a coordinator may be apart (ms): each may be 5 s off."""

SUBSCRIPTIONS: Final = frozenset({MemberSubscribed, MemberUnsubscribed, RegexResolved})
"""Changes of what a group subscribes to."""
_MEMBER: Final = "m"
_EXPRESSION: Final = "e"
_IMAGES_MAX: Final = 100
"""How many images back in time a coordinator may be."""


class Recorded(NamedTuple):
    """The topics of a recorded hash."""

    metadata_hash: int
    shapes: Mapping[str, TopicShape]
    """Subscribed topic -> its shape; those that did not exist are missing."""


class Difference(NamedTuple):
    """How the topics of one recorded hash differ from those of the hash before."""

    changed: Mapping[str, CodedReason]
    """Topic that was subscribed to both times and is not as before -> how it changed."""
    gained: frozenset[str]
    """Topics that exist and were not subscribed to before."""
    lost: frozenset[str]
    """Topics that existed and are no longer subscribed to."""


class RecordedTopics:
    """Follows the hashes in the epoch records of one group."""

    _last: Recorded | None = None
    """The newest hash, if it could be recomputed."""
    _topics: frozenset[str] = frozenset()
    """The topics subscribed to when it was recorded."""

    def __init__(self, outside: ExternalFacts) -> None:
        self._outside = outside
        self.contradicted = False
        self._group: ModernGroup | None = None
        self._subscribed: Tally[str] | None = None
        """By member id and by expression; made when it is first needed, and kept up to date from then on."""

    def follow(self, changes: Iterable[Change], group: ModernGroup) -> None:
        """Note what changes of a write say about the topics that the group subscribes to; `group`: after it."""
        if self._subscribed is None:
            return
        for change in changes:
            match change:
                case MemberSubscribed() | MemberUnsubscribed():
                    member = group.members.get(change.member_id)
                    names = member.subscribed_topic_names if member is not None else ()
                    self._subscribed.set(_MEMBER + change.member_id, names)
                case RegexResolved(regular_expression=expression):
                    self._subscribed.set(
                        _EXPRESSION + expression, group.regexes.get(expression, ())
                    )
                case _:
                    pass

    def look_at(self, bump: GroupEpochBumped, group: ModernGroup) -> Difference | None:
        """Recompute the hash of an epoch; None unless both it and the one before could be recomputed.

        `group`: after the epoch's write.
        """
        before, had = self._last, self._topics
        if before is None and not bump.new_metadata_hash:
            self._topics, self.contradicted = frozenset(), False
            return None  # releases up to 4.0 record no hash
        if self._subscribed is None or self._group is not group:
            self._group, self._subscribed = group, _subscribed(group)
        self._topics = frozenset(self._subscribed.texts)
        self._last = self._recompute(bump, group)
        self.contradicted = (
            self._last is None and before is not None and self._knows(self._topics, bump)
        )
        if before is None or self._last is None or bump.old_metadata_hash != before.metadata_hash:
            return None
        then, now = before.shapes, self._last.shapes
        both = had & self._topics
        changed = {
            topic: _change(topic, then.get(topic), now.get(topic))
            for topic in sorted(both)
            if then.get(topic) != now.get(topic)
        }
        return Difference(
            changed, frozenset(now.keys() - had), frozenset(then.keys() - self._topics)
        )

    def restart(self) -> None:
        """The group begins again."""
        self._last, self._topics, self.contradicted = None, frozenset(), False
        self._group = self._subscribed = None

    def _knows(self, topics: Collection[str], bump: GroupEpochBumped) -> bool:
        by_ms = bump.position.record_timestamp_ms + CLOCKS_MS
        return all(self._outside.topic_shapes(topic, by_ms) for topic in topics)

    def _recompute(self, bump: GroupEpochBumped, group: ModernGroup) -> Recorded | None:
        if group.group_type is GroupType.STREAMS:
            return None
        by_ms = bump.position.record_timestamp_ms + CLOCKS_MS
        known = {topic: self._outside.topic_shapes(topic, by_ms) for topic in self._topics}
        for shapes in topic_images(known):
            hashes = {topic: shape.topic_hash for topic, shape in shapes.items()}
            if group_hash(hashes) == bump.new_metadata_hash:
                return Recorded(bump.new_metadata_hash, shapes)
        return None


def _subscribed(group: ModernGroup) -> Tally[str]:
    tally = Tally[str]()
    for member in group.members.values():
        tally.set(_MEMBER + member.member_id, member.subscribed_topic_names)
    for expression, topics in group.regexes.items():
        tally.set(_EXPRESSION + expression, topics)
    return tally


def topic_images(known: Mapping[str, Sequence[TopicShape]]) -> Iterator[Mapping[str, TopicShape]]:
    """The topics as the newest records of the metadata log left them, then as one change before, and so on."""
    offsets = {shape.metadata_offset for shapes in known.values() for shape in shapes}
    for offset in sorted(offsets, reverse=True)[:_IMAGES_MAX]:
        image = {}
        for topic, shapes in known.items():
            shape = next(
                (each for each in reversed(shapes) if each.metadata_offset <= offset), None
            )
            if shape is not None and shape.partitions:
                image[topic] = shape
        yield image
    yield {}


def _change(topic: str, then: TopicShape | None, now: TopicShape | None) -> CodedReason:
    if then is None or now is None:
        return because("topic_created" if then is None else "topic_deleted", topic=topic)
    if then.partitions != now.partitions:
        return because(
            "topic_resized", topic=topic, partitions=now.partitions, before=then.partitions
        )
    return because("topic_moved", topic=topic)
