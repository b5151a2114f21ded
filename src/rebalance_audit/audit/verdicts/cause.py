"""The closed list of rebalance causes, the certainty of a cause, and the evidence for it."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple

from rebalance_audit.audit.verdicts.departure_facts import DepartureFacts
from rebalance_audit.sentences.reason import CodedReason, because


class _Word(StrEnum):
    """Words of a closed list; `text` equals `value`, but saves every row a property call."""

    text: str

    def __init__(self, text: str) -> None:
        self.text = text


class RebalanceCause(_Word):
    """Why an epoch or generation came about. `DEFINITIONS` has one sentence for each."""

    GROUP_CREATED = "group_created"
    MEMBER_JOINED = "member_joined"
    MEMBER_LEFT = "member_left"
    MEMBER_SESSION_EXPIRED = "member_session_expired"
    MEMBER_REBALANCE_TIMEOUT = "member_rebalance_timeout"
    PENDING_MEMBER_EXPIRED = "pending_member_expired"
    MEMBER_REMOVED_BY_ADMIN = "member_removed_by_admin"
    MEMBER_DEPARTED = "member_departed"
    STATIC_MEMBER_JOINED = "static_member_joined"
    STATIC_MEMBER_REPLACED = "static_member_replaced"
    STATIC_MEMBER_EXPIRED = "static_member_expired"
    SUBSCRIPTION_CHANGED = "subscription_changed"
    REGEX_RESOLVED = "regex_resolved"
    TOPIC_METADATA_CHANGED = "topic_metadata_changed"
    ASSIGNOR_CHANGED = "assignor_changed"
    LEADER_REJOINED = "leader_rejoined"
    COOPERATIVE_FOLLOW_UP = "cooperative_follow_up"
    CLIENT_ASSIGNOR_REQUESTED = "client_assignor_requested"
    PROTOCOL_UPGRADED = "protocol_upgraded"
    PROTOCOL_DOWNGRADED = "protocol_downgraded"
    GROUP_EMPTIED = "group_emptied"
    GROUP_DELETED = "group_deleted"
    OFFSETS_ALTERED = "offsets_altered"
    ASSIGNMENT_ONLY = "assignment_only"
    UNKNOWN = "unknown"


class Certainty(_Word):
    """How certain a cause is."""

    PROVEN = "proven"
    """The records admit no other cause."""
    PROBABLE = "probable"
    """Timing and pattern favour this cause; the alternatives are listed."""
    POSSIBLE = "possible"
    """One of several causes of equal weight."""


class CauseRole(_Word):
    """What part a cause had in its epoch."""

    BEGAN = "began"
    """It began the epoch, or may have: the certainty says how sure that is."""
    MEANWHILE = "meanwhile"
    """It happened in the epoch, and something else had begun that."""


DEPARTURES = frozenset(
    {
        RebalanceCause.MEMBER_LEFT,
        RebalanceCause.MEMBER_SESSION_EXPIRED,
        RebalanceCause.MEMBER_REBALANCE_TIMEOUT,
        RebalanceCause.MEMBER_REMOVED_BY_ADMIN,
        RebalanceCause.MEMBER_DEPARTED,
        RebalanceCause.STATIC_MEMBER_EXPIRED,
    }
)
"""The causes that end a member."""

DEFINITIONS: Mapping[RebalanceCause, str] = {
    RebalanceCause.GROUP_CREATED: "The first epoch of a new group: its first member joined.",
    RebalanceCause.MEMBER_JOINED: "A new dynamic member joined.",
    RebalanceCause.MEMBER_LEFT: "A member sent a LeaveGroup request or a leaving heartbeat.",
    RebalanceCause.MEMBER_SESSION_EXPIRED: "A member sent no heartbeat for its session timeout.",
    RebalanceCause.MEMBER_REBALANCE_TIMEOUT: (
        "A member did not give up its partitions, or did not rejoin, within its rebalance timeout."
    ),
    RebalanceCause.PENDING_MEMBER_EXPIRED: (
        "A member id was issued, and no member joined with it before its session expired (KIP-394)."
    ),
    RebalanceCause.MEMBER_REMOVED_BY_ADMIN: "An administrator removed members from the group.",
    RebalanceCause.MEMBER_DEPARTED: (
        "A member is gone, and the log does not show whether it left, expired or was removed."
    ),
    RebalanceCause.STATIC_MEMBER_JOINED: "A new static member joined.",
    RebalanceCause.STATIC_MEMBER_REPLACED: (
        "A new member id took over an instance id that the group already had."
    ),
    RebalanceCause.STATIC_MEMBER_EXPIRED: (
        "A static member that had left temporarily (epoch -2) did not return in time."
    ),
    RebalanceCause.SUBSCRIPTION_CHANGED: (
        "A member's subscription changed: its topics, its regular expression or, in the classic protocol, "
        "its other metadata for the leader (such as the config offset of a Connect worker); "
        "or a join added topics to the group."
    ),
    RebalanceCause.REGEX_RESOLVED: (
        "The coordinator resolved a subscribed regular expression to other topics than before."
    ),
    RebalanceCause.TOPIC_METADATA_CHANGED: (
        "A subscribed topic was created, deleted, grew, or moved to other racks."
    ),
    RebalanceCause.ASSIGNOR_CHANGED: "The assignor that the group uses changed.",
    RebalanceCause.LEADER_REJOINED: "The leader of a classic group rejoined and so asked for a new assignment.",
    RebalanceCause.COOPERATIVE_FOLLOW_UP: (
        "A rebalance that the generation before called for: it hands out what that one revoked; or Kafka Streams moves "
        "tasks to clients that have restored their state, or a delay of Kafka Connect is over."
    ),
    RebalanceCause.CLIENT_ASSIGNOR_REQUESTED: "A client-side assignor asked for a new assignment.",
    RebalanceCause.PROTOCOL_UPGRADED: "The group moved from the classic to the consumer protocol.",
    RebalanceCause.PROTOCOL_DOWNGRADED: "The group moved from the consumer to the classic protocol.",
    RebalanceCause.GROUP_EMPTIED: "The last member is gone.",
    RebalanceCause.GROUP_DELETED: "The group was deleted.",
    RebalanceCause.OFFSETS_ALTERED: (
        "An administrator altered the offsets of a share group that has no members."
    ),
    RebalanceCause.ASSIGNMENT_ONLY: "Members and subscriptions stayed the same; only the assignment is new.",
    RebalanceCause.UNKNOWN: "The records that would show it are not in the log.",
}


class Evidence(NamedTuple):
    """One record that decided a cause."""

    log_partition: int
    log_offset: int
    at_ms: int
    fact: CodedReason


class Verdict(NamedTuple):
    """One cause of one epoch. `alternatives` is empty if and only if the cause is proven."""

    cause: RebalanceCause
    certainty: Certainty
    at_ms: int
    reasons: tuple[CodedReason, ...]
    evidence: tuple[Evidence, ...]
    member_id: str | None = None
    instance_id: str | None = None
    client_id: str | None = None
    client_host: str | None = None
    topics: tuple[str, ...] = ()
    alternatives: tuple[RebalanceCause, ...] = ()
    role: CauseRole = CauseRole.BEGAN
    weights: tuple[tuple[RebalanceCause, float], ...] = ()
    """How likely each way to go is where a member's end was weighed, the likeliest first."""
    facts: DepartureFacts | None = None
    """What was weighed."""

    @property
    def alternative_weights(self) -> list[float | None] | None:
        """The weight of each alternative; null for one that was not weighed, None where none was."""
        weights = dict(self.weights)
        if not weights:
            return None
        return [weights.get(each) for each in self.alternatives]


def departure_of(verdicts: Sequence[Verdict], member_id: str) -> Verdict | None:
    """The verdict on one member's end among an epoch's verdicts, if there is one."""
    for verdict in verdicts:
        if verdict.member_id == member_id and verdict.cause in DEPARTURES:
            return verdict
    return None


def probable(verdict: Verdict, *alternatives: RebalanceCause) -> Verdict:
    """The verdict as the likeliest of several."""
    return verdict._replace(certainty=Certainty.PROBABLE, alternatives=alternatives)


def possible(verdict: Verdict, *alternatives: RebalanceCause) -> Verdict:
    """The verdict as one of several, none of them favoured."""
    return verdict._replace(certainty=Certainty.POSSIBLE, alternatives=alternatives)


def weakened(verdict: Verdict) -> Verdict:
    """The verdict if earlier records are missing: the cause may be anything that those records held."""
    return verdict._replace(
        certainty=Certainty.POSSIBLE,
        alternatives=verdict.alternatives or (RebalanceCause.UNKNOWN,),
        reasons=(*verdict.reasons, because("records_missing")),
    )


_INSTEAD: Mapping[RebalanceCause, frozenset[RebalanceCause]] = {
    **dict.fromkeys(DEPARTURES, DEPARTURES),
    # Its old member id may have been removed first.
    RebalanceCause.STATIC_MEMBER_REPLACED: frozenset({RebalanceCause.STATIC_MEMBER_JOINED}),
}
"""Event -> what the same records can also show."""


def meanwhile(verdict: Verdict, began: RebalanceCause) -> Verdict:
    """The verdict on an event that happened in an epoch which something else began: `began`.

    As a cause it is never proven, unless it is of the same kind as what began the epoch.
    """
    if verdict.certainty is Certainty.POSSIBLE:
        return verdict._replace(role=CauseRole.MEANWHILE)
    instead = _INSTEAD.get(verdict.cause, frozenset())
    alternatives = [cause for cause in verdict.alternatives if cause in instead]
    if verdict.cause is not began and began not in alternatives:
        alternatives.append(began)
    return verdict._replace(
        certainty=Certainty.PROBABLE if alternatives else Certainty.PROVEN,
        alternatives=tuple(alternatives),
        role=CauseRole.MEANWHILE,
    )
