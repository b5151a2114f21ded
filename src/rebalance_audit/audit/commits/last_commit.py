"""The latest sign of work that a member left."""

from typing import NamedTuple

from rebalance_audit.replay.changes import Position


class LastCommit(NamedTuple):
    """The latest commit for a partition that a member owned at that moment.

    A commit record does not name the member. But in a group with members the coordinator takes a commit outside of a
    transaction only from a member of the current generation or epoch (`validateOffsetCommit` of ClassicGroup and
    ConsumerGroup), and clients commit what they own.
    """

    position: Position
    topic: str
    topic_partition: int
