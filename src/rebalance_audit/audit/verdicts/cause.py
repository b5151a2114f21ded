"""What the audit says of an event: the closed list of causes, how certain one is, and the evidence for it.

Of a member's end, also what the log shows: the only input of the departure model. These values are plain numbers, so
that they can wait in a snapshot until the log shows whether the client comes back.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final, NamedTuple

from rebalance_audit.audit.commits.rhythm import CommitRhythm
from rebalance_audit.audit.rows import Row
from rebalance_audit.sentences.reason import CodedReason, because
from rebalance_audit.sentences.render import facts_text, reason_text


class Phase(NamedTuple):
    """The join phase that a classic member missed."""

    longest_ms: int
    """How long it can last: the longest rebalance timeout in the group."""
    others_silent_ms: int | None
    """From the last commit of a member that stayed to the end of the phase; None if none of them ever committed."""
    others_rhythm: CommitRhythm | None
    others_idle_commits: int
    """Commits without any new position that the member, or others with its client id, have been seen to make."""
    other_changes: int
    """Other members that came or went in the same phase."""
    skipped: int
    """Generations before it that left no record."""
    leaves_empty: bool
    client_joined: bool = False
    """Whether its client id joined in the same phase, from the same host, under another member id."""


class DepartureFacts(NamedTuple):
    """One end of one member. Times in ms before the moment at which the log shows the member gone."""

    gone_ms: int
    """That moment, epoch ms. Classic: the end of the join phase that the member missed."""
    is_classic: bool
    """Whether the group's leader assigns: the record shows the end of a join phase, not the end of the member."""
    is_static: bool
    sessions_ms: tuple[int, ...]
    """Its session timeout; several where the log does not hold it, each as likely."""
    is_session_known: bool
    poll_ms: int | None
    """Its rebalance timeout, which clients set to `max.poll.interval.ms`."""
    since_alive_ms: int | None
    """Since the last thing other than a commit that only a living member causes, and that renews its session.

    Classic: the end of its last join phase. Otherwise its last record. None if another coordinator saw it.
    """
    since_seen_ms: int
    """Since the last thing other than a commit that only a living member causes, by any coordinator's clock."""
    since_commit_ms: int | None
    """Since its last commit; None if it never committed, or clocks contradict each other.

    A single commit in a transaction does not count: the coordinator asks old producers for no member id.
    """
    commit_renews_session: bool
    same_coordinator: bool
    """Whether the coordinator that took that commit saw the member go."""
    rhythm: CommitRhythm | None
    """None if it committed too few times."""
    idle_commits: int
    """Commits without any new position that the member, or others with its client id, have been seen to make."""
    idle_in_group: int
    """Commits without any new position of all members of the group."""
    closed_with_commit: int
    closed_without_commit: int
    """Earlier ends in the group that were leaves: those right after a commit, and the others."""
    phase: Phase | None = None
    may_time_out: bool = True
    """Whether it can have owed anything that has to be done within its rebalance timeout."""
    kept_too_long: bool = False
    """Whether it kept partitions that it had to revoke for its rebalance timeout."""
    is_overdue: bool = False
    """Whether it had not answered a new target in time."""
    has_successor: bool = False
    """Whether its client id joined again, from the same host, while it was a member."""
    in_one_request: int = 0
    """Other members that the same write removed."""
    after_leave_ms: int | None = None
    gone_together: int = 0
    """Other members of the same group that the same generation lacks."""
    back_ms: int | None = None
    """How long after it was gone its client was back; None: it was not."""
    kept_id: bool = False
    """Whether it was back under its own member id, which clients keep until they are closed."""
    away_ms: int | None = None
    """For how long the log shows that it was not back; None if that is not known yet."""
    others_since_ms: int | None = None
    """Where there is no join phase: since the last commit of any other member; None if none ever committed."""

    @property
    def has_moved(self) -> bool:
        """Whether the coordinator moved since the member of a classic group was last seen."""
        return self.is_classic and self.since_alive_ms is None

    @property
    def client_joined(self) -> bool:
        """Whether its client joined in the join phase that it missed."""
        return self.phase is not None and self.phase.client_joined


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


def stated(
    reasons: Sequence[CodedReason], evidence: Sequence[Evidence], advice: Sequence[CodedReason] = ()
) -> Row:
    """`reason`, `facts`, `detail` and `evidence`; and `advice`, if there is one."""
    facts = {"detail": reasons, "evidence": [item.fact for item in evidence]}
    if advice:
        facts["advice"] = advice
    row = {
        "detail": reason_text(*reasons),
        "evidence": [
            {
                "partition": item.log_partition,
                "offset": item.log_offset,
                "at": item.at_ms,
                "fact": reason_text(item.fact),
            }
            for item in evidence
        ],
        "reason": reasons[0].code if reasons else None,
        "facts": facts_text(**facts),
    }
    if advice:
        row["advice"] = reason_text(*advice)
    return row


JOINS: Final = frozenset({RebalanceCause.MEMBER_JOINED, RebalanceCause.STATIC_MEMBER_JOINED})


def join_reasons(
    member_id: str, instance_id: str | None
) -> tuple[RebalanceCause, CodedReason, CodedReason]:
    """(Cause, reason, evidence) of a dynamic or, with an instance id, a static member."""
    if instance_id is None:
        return (
            RebalanceCause.MEMBER_JOINED,
            because("member_joined", member=member_id),
            because("new_member", member=member_id),
        )
    return (
        RebalanceCause.STATIC_MEMBER_JOINED,
        because("static_member_joined", member=member_id, instance=instance_id),
        because("new_static_member", member=member_id, instance=instance_id),
    )


def first_to_join(verdicts: Sequence[Verdict], leader_id: str | None) -> list[Verdict]:
    """The verdicts, with the leader's join first; the others joined meanwhile. Source: ClassicGroup.add.

    The first member may also have gone before the phase ended. Then another one leads, and if both static and dynamic
    members joined, it is open which of them was first.
    """
    joins = {verdict.member_id: verdict for verdict in verdicts if verdict.cause in JOINS}
    first = joins.pop(leader_id, None)
    if first is None:
        return list(verdicts)
    others = {verdict.cause for verdict in joins.values()} - {first.cause}
    certainty = Certainty.PROBABLE if others else Certainty.PROVEN
    return [
        first._replace(certainty=certainty, alternatives=tuple(others)),
        *(verdict for verdict in verdicts if verdict.cause not in JOINS),
        *(meanwhile(verdict, first.cause) for verdict in joins.values()),
    ]
