"""Why a coordinator raises a group's epoch or generation, and why members leave: recorded where it is decided.

Nothing here is in a record, and neither replay nor the audit reads it. The simulator writes it down as the truth.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple


class Trigger(StrEnum):
    """A condition in the coordinator that makes it act; in classic groups one that begins a join phase."""

    GROUP_BEGAN = "group_began"
    """The request made the group."""
    GROUP_UPGRADED = "group_upgraded"
    """The request made a consumer group of a classic one."""
    GROUP_DOWNGRADED = "group_downgraded"
    """The last member of the consumer protocol is gone: the group is a classic one, and its members join again."""
    GROUP_EMPTIED = "group_emptied"
    """No member is left."""
    GROUP_OVER_CAPACITY = "group_over_capacity"
    """A group was loaded that has more members than it may have."""
    MEMBER_JOINED = "member_joined"
    """A member that was not there before subscribes; from 4.0 to before 4.3 the first one bumps without topics too."""
    STATIC_MEMBER_REPLACED = "static_member_replaced"
    """A static member of a classic group is back under another id, and its place cannot just be handed over."""
    NAMES_CHANGED = "names_changed"
    """A known member names other topics."""
    EXPRESSION_CHANGED = "expression_changed"
    """A known member changes to an expression whose topics are known, or to none."""
    EXPRESSION_RESOLVED = "expression_resolved"
    """An expression was resolved to other topics than before."""
    TOPICS_DIFFER = "topics_differ"
    """The subscribed topics are not as the group's last epoch has them on record."""
    SERVER_ASSIGNOR_CHANGED = "server_assignor_changed"
    """The members' preferences make another server-side assignor the group's."""
    MEMBER_METADATA_CHANGED = "member_metadata_changed"
    """A known member of a streams group describes itself otherwise."""
    TOPOLOGY_VALIDATED = "topology_validated"
    """A streams group's topology can be assigned now and could not before, or the reverse."""
    ASSIGNMENT_CONFIGS_CHANGED = "assignment_configs_changed"
    """A streams group's settings for its assignor are not those of its last epoch."""
    SHARE_PARTITIONS_PENDING = "share_partitions_pending"
    """Partitions are initialised for sharing and not assigned."""
    CLIENT_ASSIGNOR_CHANGED = "client_assignor_changed"
    """A member offers other client-side assignors, or has a reason to assign again."""
    LEADER_REJOINED = "leader_rejoined"
    """The leader of a classic group in rest joins again."""
    METADATA_CHANGED = "metadata_changed"
    """A member of a classic group joins again with other protocols or metadata."""
    PROTOCOL_CHANGED = "protocol_changed"
    """The members of a classic group vote for another protocol than that of the generation."""
    MEMBER_LEFT = "member_left"
    """A request said so, the member's own or an administrator's."""
    SESSION_ENDED = "session_ended"
    PENDING_MEMBER_EXPIRED = "pending_member_expired"
    """No member joined with an id that was issued before the session of that id ended (KIP-394)."""
    STATIC_MEMBER_EXPIRED = "static_member_expired"
    """The session of a static member that had left temporarily ended."""
    REBALANCE_TIMEOUT = "rebalance_timeout"
    """A member did not give up its partitions, did not join or did not sync in time."""


class BumpReason(NamedTuple):
    """One reason, with the member whose request or timer it was, if any."""

    trigger: Trigger
    member_id: str | None = None
    instance_id: str | None = None


class Bump(NamedTuple):
    """A group goes on to another epoch, or begins the join phase of another generation."""

    group_id: str
    epoch: int
    reasons: tuple[BumpReason, ...]
    """Each would have been enough, but for those that say what became of the group (`GROUP_…`)."""
    topics: Mapping[str, tuple[object, ...] | None] = {}
    """All but classic groups: every subscribed name, with its `Topic` where there is one."""


class Meanwhile(NamedTuple):
    """What happens in a join phase that something else began."""

    group_id: str
    generation: int
    reason: BumpReason


class Departure(NamedTuple):
    """A member is none any more; in a classic group its record follows with the next generation."""

    group_id: str
    epoch: int
    """The next one, which this alone need not begin."""
    reason: BumpReason
