"""One row per member id: identity, first and last seen, and how it left.

A member id can leave and return (a Java client keeps its id after it was fenced). If the audit remembered every id that
ever left, its memory would grow with the history. So it emits one row per *stint*, and `merge_stints` merges them, also
with the row of an earlier run; the lake does the same with a Spark aggregation.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from rebalance_audit.audit.rows import Row, completeness
from rebalance_audit.audit.verdicts.cause import Certainty, RebalanceCause
from rebalance_audit.replay.changes import Position
from rebalance_audit.replay.groups import ModernMember

KEY = ("group_id", "incarnation", "member_id")
FROM_FIRST_STINT = ("first_epoch", "first_seen_at", "first_offset", "previous_member_id")
"""Columns taken from the earliest stint; `stints` counts the stints, every other column comes from the latest one."""


@dataclass(slots=True)
class Identity:
    """What a member said about itself, as of its last record."""

    instance_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    rebalance_timeout_ms: int | None = None
    session_timeout_ms: int | None = None
    subscribed_topics: tuple[str, ...] = ()
    subscribed_regex: str | None = None
    server_assignor: str | None = None
    topics_are_known: bool = True
    """False for a classic member that is no consumer, or whose subscription cannot be read."""

    @classmethod
    def of(cls, member: ModernMember | None) -> "Identity":
        """The identity of a member of a consumer, share or streams group; an empty one for None."""
        if member is None:
            return cls()
        return cls(
            member.instance_id,
            member.client_id,
            member.client_host,
            member.rebalance_timeout_ms if member.rebalance_timeout_ms >= 0 else None,
            member.classic.session_timeout_ms if member.classic else None,
            tuple(member.subscribed_topic_names),
            member.subscribed_topic_regex or None,
            member.server_assignor,
        )


@dataclass(slots=True)
class Stint:
    """One continuous stay of a member id in a group."""

    member_id: str
    identity: Identity
    protocol: str
    first_epoch: int | None
    first_position: Position
    last_seen_at_ms: int
    gap: bool
    previous_member_id: str | None = None
    next_member_id: str | None = None
    last_epoch: int | None = None
    left_at_ms: int | None = None
    left_how: RebalanceCause | None = None
    left_certainty: Certainty | None = None

    def row(self, group_id: str, incarnation: int) -> Row:
        """The stint as a row of gold.members."""
        identity = self.identity
        return {
            "group_id": group_id,
            "incarnation": incarnation,
            "member_id": self.member_id,
            "instance_id": identity.instance_id,
            "client_id": identity.client_id,
            "client_host": identity.client_host,
            "protocol": self.protocol,
            "first_epoch": self.first_epoch,
            "last_epoch": self.last_epoch,
            "first_seen_at": self.first_position.record_timestamp_ms,
            "first_offset": self.first_position.log_offset,
            "last_seen_at": self.last_seen_at_ms,
            "left_at": self.left_at_ms,
            "left_how": self.left_how.text if self.left_how else None,
            "left_certainty": self.left_certainty.text if self.left_certainty else None,
            "closed_weight": None,
            "previous_member_id": self.previous_member_id,
            "next_member_id": self.next_member_id,
            "rebalance_timeout_ms": identity.rebalance_timeout_ms,
            "session_timeout_ms": identity.session_timeout_ms,
            "subscribed_topics": list(identity.subscribed_topics)
            if identity.topics_are_known
            else None,
            "subscribed_regex": identity.subscribed_regex,
            "server_assignor": identity.server_assignor,
            "stints": 1,
            "completeness": completeness(self.gap),
            "log_partition": self.first_position.log_partition,
            "latest_offset": self.first_position.log_offset,
        }


def merge_stints(rows: Iterable[Row]) -> list[Row]:
    """Merge stints into one row per member id, in order of first appearance; the input may be in any order.

    The input may contain rows that were merged before: stints already in them are not counted again. Of two rows of one
    stint (it may have gone on after the first row was made), the later one in the input counts.
    """
    merged: dict[tuple[object, ...], Row] = {}
    for row in sorted(rows, key=lambda stint: (stint["log_partition"], stint["first_offset"])):
        key = tuple(row[column] for column in KEY)
        earlier = merged.get(key)
        if earlier is None:
            merged[key] = dict(row)
            continue
        stints = max(earlier["stints"], row["stints"])
        if row["first_offset"] > earlier["latest_offset"]:
            stints = earlier["stints"] + row["stints"]
        same_first = row["first_offset"] == earlier["first_offset"]
        first = {column: (row if same_first else earlier)[column] for column in FROM_FIRST_STINT}
        if row["latest_offset"] >= earlier["latest_offset"]:
            earlier.update(row)
        earlier.update(first, stints=stints)
    return list(merged.values())
