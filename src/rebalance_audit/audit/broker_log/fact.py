"""What one line of a broker's log says about a group, in fields."""

from enum import StrEnum
from typing import NamedTuple


class FactKind(StrEnum):
    """What a line says. `MEANINGS` has one sentence for each kind."""

    REBALANCE_PREPARED = "rebalance_prepared"
    GENERATION_STABILIZED = "generation_stabilized"
    GROUP_EMPTIED = "group_emptied"
    ASSIGNMENT_RECEIVED = "assignment_received"
    MEMBER_ID_GIVEN = "member_id_given"
    MEMBER_JOINED = "member_joined"
    STATIC_MEMBER_REPLACED = "static_member_replaced"
    MEMBER_LEFT = "member_left"
    MEMBER_LEFT_BY_REQUEST = "member_left_by_request"
    MEMBER_AWAY = "member_away"
    MEMBER_EXPIRED = "member_expired"
    MEMBER_FENCED = "member_fenced"
    MEMBERS_NOT_REJOINED = "members_not_rejoined"
    PENDING_MEMBER_EXPIRED = "pending_member_expired"
    PENDING_MEMBER_LEFT = "pending_member_left"
    NO_MEMBER_REJOINED = "no_member_rejoined"
    MEMBER_REFUSED = "member_refused"
    SUBSCRIPTION_CHANGED = "subscription_changed"
    MEMBER_UPDATED = "member_updated"
    TOPOLOGY_INITIALIZED = "topology_initialized"
    REGEXES_SCANNED = "regexes_scanned"
    ASSIGNMENT_CONFIGS_CHANGED = "assignment_configs_changed"
    EPOCH_BUMPED = "epoch_bumped"
    TARGET_COMPUTED = "target_computed"
    ASSIGNMENT_FAILED = "assignment_failed"
    ASSIGNMENT_INCOMPLETE = "assignment_incomplete"
    STORE_FAILED = "store_failed"
    UPGRADE_REFUSED = "upgrade_refused"
    DOWNGRADE_REFUSED = "downgrade_refused"
    CLASSIC_JOIN_REFUSED = "classic_join_refused"
    GROUP_UPGRADED = "group_upgraded"
    GROUP_DOWNGRADED = "group_downgraded"
    GROUP_LOADED = "group_loaded"
    GROUP_UNLOADED = "group_unloaded"
    GROUP_DELETED = "group_deleted"
    OFFSETS_REMOVED = "offsets_removed"
    PARTITION_LOADED = "partition_loaded"
    PARTITION_UNLOADED = "partition_unloaded"
    LOAD_FAILED = "load_failed"
    WRITE_FAILED = "write_failed"
    COORDINATOR_RELOADED = "coordinator_reloaded"


MEANINGS = {
    FactKind.REBALANCE_PREPARED: "A join phase of a classic group begins; the text says why.",
    FactKind.GENERATION_STABILIZED: "The join phase of a generation is over; the leader's assignment is awaited.",
    FactKind.GROUP_EMPTIED: "A generation of a classic group ended without members.",
    FactKind.ASSIGNMENT_RECEIVED: "The leader's assignment arrived, and the generation was written.",
    FactKind.MEMBER_ID_GIVEN: "A dynamic member was given its id and has to join again with it.",
    FactKind.MEMBER_JOINED: "A member joined.",
    FactKind.STATIC_MEMBER_REPLACED: "A new member id took over an instance id.",
    FactKind.MEMBER_LEFT: "A member of the consumer protocol left.",
    FactKind.MEMBER_LEFT_BY_REQUEST: "A LeaveGroup request, from the member or an administrator, removed a member.",
    FactKind.MEMBER_AWAY: "A static member left for a while.",
    FactKind.MEMBER_EXPIRED: "A classic member sent no heartbeat for its session timeout.",
    FactKind.MEMBER_FENCED: "The coordinator removed a member; the text says why.",
    FactKind.MEMBERS_NOT_REJOINED: "Members that did not rejoin, or sync, in time were removed.",
    FactKind.PENDING_MEMBER_EXPIRED: (
        "A member id that was given out never joined: the join phase waited for it until its session ended."
    ),
    FactKind.PENDING_MEMBER_LEFT: "A member left before it joined with the id that it was given.",
    FactKind.NO_MEMBER_REJOINED: "A join phase ended without any member that rejoined; it is tried again.",
    FactKind.MEMBER_REFUSED: "A member was refused because another holds its instance id.",
    FactKind.SUBSCRIPTION_CHANGED: "A member of the consumer protocol changed what it subscribes to.",
    FactKind.MEMBER_UPDATED: "A member of a streams group changed its metadata.",
    FactKind.TOPOLOGY_INITIALIZED: "A member of a streams group gave the group its topology.",
    FactKind.REGEXES_SCANNED: "The group's regular expressions were resolved.",
    FactKind.ASSIGNMENT_CONFIGS_CHANGED: "The assignment configuration of a streams group changed.",
    FactKind.EPOCH_BUMPED: "A new group epoch.",
    FactKind.TARGET_COMPUTED: "A target assignment was computed.",
    FactKind.ASSIGNMENT_FAILED: "The assignor failed: the epoch has no target assignment.",
    FactKind.ASSIGNMENT_INCOMPLETE: "The leader's assignment left out members; they got no partitions.",
    FactKind.STORE_FAILED: "A record of the group could not be written; the text says why.",
    FactKind.UPGRADE_REFUSED: "A classic group was not converted to a consumer group; the text says why.",
    FactKind.DOWNGRADE_REFUSED: "A consumer group was not converted to a classic group; the text says why.",
    FactKind.CLASSIC_JOIN_REFUSED: "A consumer group refused a classic member; the text says why.",
    FactKind.GROUP_UPGRADED: "A classic group became a consumer or streams group.",
    FactKind.GROUP_DOWNGRADED: "A consumer or streams group became a classic group.",
    FactKind.GROUP_LOADED: "A coordinator loaded a group.",
    FactKind.GROUP_UNLOADED: "A coordinator unloaded a group.",
    FactKind.GROUP_DELETED: "A group was deleted.",
    FactKind.OFFSETS_REMOVED: "Offsets expired or were deleted.",
    FactKind.PARTITION_LOADED: "A broker became the coordinator of a partition of the offsets topic.",
    FactKind.PARTITION_UNLOADED: "A broker is no longer the coordinator of a partition.",
    FactKind.LOAD_FAILED: "A broker could not load a partition: its groups have no coordinator.",
    FactKind.WRITE_FAILED: (
        "The coordinator of a partition could not write; the text says why. From 4.3 on a line at level DEBUG where "
        "the partition has moved."
    ),
    FactKind.COORDINATOR_RELOADED: "The coordinator of a partition lost track of its log and reloads it.",
}


class BrokerFact(NamedTuple):
    """One line of a broker's log. Fields that its wording lacks are None; texts are as logged."""

    kind: FactKind
    at_ms: int
    """Epoch milliseconds by the broker's clock, in the time zone that was given or found."""
    group_id: str | None
    broker: str
    """Who logged the line: the broker's id, or the file if the line has no id."""
    place: str
    """File, by its name before rotation, and line number."""
    epoch: int | None = None
    """Group epoch or generation; for a prepared rebalance, the previous generation."""
    member_id: str | None = None
    instance_id: str | None = None
    old_member_id: str | None = None
    members: tuple[str, ...] = ()
    size: int | None = None
    """Number of members or of offsets."""
    metadata_hash: int | None = None
    log_partition: int | None = None
    text: str | None = None
    """A reason, a subscription or an assignor."""
    may_be_text: bool = False
    """Whether the line may be the rest of a client's text in the line before: by itself it proves nothing."""

    @property
    def content(self) -> tuple[object, ...]:
        """The line's content, the same wherever the line was read."""
        return tuple(self._replace(place="", may_be_text=False))[:-1]

    @property
    def order(self) -> tuple[int, str, str, int]:
        """Sort key: by time, and within one moment in the order of the file."""
        file, _, number = self.place.rpartition(":")
        return self.at_ms, self.broker, file, int(number)
