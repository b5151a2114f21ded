"""The leader of a classic group: it assigns the partitions, and watches the topics for changes."""

from collections.abc import Iterable

from rebalance_audit.coordinator.assignors.client_assignors import CLIENT_ASSIGNORS
from rebalance_audit.coordinator.assignors.client_members import JoinedMember
from rebalance_audit.coordinator.handling import TopicImage
from rebalance_audit.coordinator.requests.classic import JoinGroupResponse, SyncGroupAssignment
from rebalance_audit.wire.consumer_protocol import decode_subscription, encode_assignment


class Leader:
    """What a member knows as the leader; nothing while another member leads."""

    def __init__(self) -> None:
        """Another member leads."""
        self._counts: dict[str, int] = {}
        """Partition counts of the subscribed topics at the last assignment."""
        self._image: object = None
        """The topics in which it last found these counts."""

    def assign(
        self, joined: JoinGroupResponse, image: TopicImage
    ) -> tuple[SyncGroupAssignment, ...]:
        """Compute the assignment, unless the coordinator asks to keep the current one (`skip_assignment`)."""
        members: list[JoinedMember] = []
        for member in joined.members:
            subscription = decode_subscription(member.metadata)
            assert subscription is not None
            members.append(JoinedMember(member.member_id, member.group_instance_id, subscription))
        asked = {topic for member in members for topic in member.subscription.topics}
        self._counts = _partition_counts(image, sorted(asked))
        self._image = None
        if joined.skip_assignment:
            return ()
        counts = {name: count for name, count in self._counts.items() if count}
        assert joined.protocol_name is not None
        assigned = CLIENT_ASSIGNORS[joined.protocol_name].assign(members, counts)
        return tuple(
            SyncGroupAssignment(member_id, encode_assignment(assignment))
            for member_id, assignment in assigned.items()
        )

    def calls_for_rebalance(self, image: TopicImage) -> bool:
        """Whether a partition count differs from the one at the last assignment."""
        if not self._counts or image is self._image:
            return False
        if _partition_counts(image, self._counts) != self._counts:
            return True
        self._image = image
        return False


def _partition_counts(image: TopicImage, names: Iterable[str]) -> dict[str, int]:
    """Partition count by topic; 0 = the topic does not exist."""
    topics = {name: image.topic(name) for name in names}
    return {
        name: 0 if topic is None else len(topic.partition_racks) for name, topic in topics.items()
    }
