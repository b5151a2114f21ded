"""One row per member id: identity, first and last seen, and how it left; and what is known of it while it is there.

A member id can leave and return (a Java client keeps its id after it was fenced). If the audit remembered every id that
ever left, its memory would grow with the history. So it emits one row per *stint*, and `merge_stints` merges them, also
with the row of an earlier run; the lake does the same with a Spark aggregation.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from rebalance_audit.audit.commits.summary import LastCommit
from rebalance_audit.audit.rows import Row, completeness
from rebalance_audit.audit.verdicts.cause import Certainty, RebalanceCause
from rebalance_audit.replay.changes import MemberAssigned, Position
from rebalance_audit.replay.groups import STATIC_LEAVE_EPOCH, UNRELEASED, UNREVOKED, ModernMember
from rebalance_audit.replay.partitions import count

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


class MemberEnd(NamedTuple):
    """Why a member id is gone, as gold.members has it."""

    cause: RebalanceCause
    certainty: Certainty
    last_epoch: int | None
    closed_weight: float | None = None


@dataclass(slots=True)
class MemberWatch:
    """One member, from its join to its end."""

    stint: Stint
    last_life: Position
    """Last record that only a living member can cause: its subscription or its current assignment."""
    unrevoked_since: Position | None = None
    """Last record that asked the member to revoke partitions, until it has; each such record restarts its timer."""
    partitions: int = 0
    member_epoch: int = 0
    """The member epoch of its last assignment record; 0 before the first."""
    waiting: bool = False
    """Whether it waits for partitions that other members hold."""
    waited_for: set[str] = field(default_factory=set)
    """While it waits: the members that held them."""
    left_for_a_while: bool = False
    """Whether it is a static member whose last assignment record has member epoch -2."""
    last_commit: LastCommit | None = None
    """The latest offset commit for a partition that it owned."""
    speaks_classic: bool = False
    """Whether it is a classic-protocol member of a consumer group, which join and sync timeouts can remove too."""

    @property
    def last_sign(self) -> Position:
        """Where the log last showed it alive, by a record of its own or a commit."""
        if self.last_commit is None:
            return self.last_life
        return max(
            self.last_life, self.last_commit.position, key=lambda each: each.record_timestamp_ms
        )

    @property
    def last_sign_ms(self) -> int:
        """When that was (epoch ms)."""
        return self.last_sign.record_timestamp_ms

    def assigned(self, change: MemberAssigned) -> None:
        """Take over what its assignment record shows."""
        self.stint.last_seen_at_ms = change.position.record_timestamp_ms
        self.last_life = change.position
        self.unrevoked_since = change.position if change.new_state == UNREVOKED else None
        self.partitions = count(change.new_assigned)
        self.member_epoch = change.new_member_epoch
        self.waiting = change.new_state == UNRELEASED
        if not self.waiting:
            self.waited_for.clear()
        self.left_for_a_while = change.new_member_epoch == STATIC_LEAVE_EPOCH
