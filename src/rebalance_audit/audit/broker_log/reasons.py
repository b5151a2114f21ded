"""What the reasons in a broker's log mean: what set off a classic rebalance, and why a member is gone.

The tables map wordings to causes. A wording in none of them decides nothing.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final, NamedTuple

from rebalance_audit.audit.broker_log.fact import BrokerFact, FactKind
from rebalance_audit.audit.broker_log.message import LOWER, Template, members_in, value_of
from rebalance_audit.audit.verdicts.cause import RebalanceCause

NOT_PROVIDED: Final = "not provided"
"""What the coordinator logs if a client gave no reason (KIP-800: only newer clients give one)."""

ADMIN_REASON: Final = "member was removed by an admin"
"""The reason that Kafka's admin client gives, unless its user gives one."""

OWN_LEAVE_REASONS: Final = (
    "the consumer is being closed",
    "consumer poll timeout has expired",
    "the consumer unsubscribed from all topics",
    "consumer pro-actively leaving the group",
    "worker poll timeout has expired",
    "taking too long to read the log",
    "client leaving group per normal operation",
)
"""Begins of reasons that clients give in their own LeaveGroup request: Java's consumer, Connect, franz-go.

Sources: `AbstractCoordinator`, `ClassicKafkaConsumer`, `WorkerCoordinator`, `DistributedHerder`; in franz-go
`consumer_group.go`. sarama gives the first one.
"""


class RejoinReason(NamedTuple):
    """One row: a reason that a client gives when it joins again, and the cause that it names."""

    clients: str
    words: str
    """How the reason begins."""
    cause: RebalanceCause | None
    """None where the reason names none: the application, the coordinator or an error had it join again."""
    is_own_wish: bool = False
    """Whether the application asked for the rebalance: then no other cause is proven by the member's metadata."""
    follows_another: bool = False
    """Whether the client joins a rebalance that it heard of: where it begins one, it came too late for the other."""


_C: Final = RebalanceCause
_JAVA: Final = partial(RejoinReason, "Java")
_STREAMS: Final = partial(RejoinReason, "Kafka Streams")
_FRANZ: Final = partial(RejoinReason, "franz-go")
_SARAMA: Final = partial(RejoinReason, "sarama")

REJOIN_REASONS: Final[Sequence[RejoinReason]] = (
    _JAVA("cached metadata has changed", _C.TOPIC_METADATA_CHANGED),
    _JAVA("subscription has changed", _C.SUBSCRIPTION_CHANGED),
    _JAVA("received assignment does not match the current subscription", _C.SUBSCRIPTION_CHANGED),
    _JAVA("need to revoke partitions", _C.COOPERATIVE_FOLLOW_UP),
    _JAVA("rebalance enforced by user", None, is_own_wish=True),
    _JAVA("need to re-join with the given member-id", None),
    _JAVA("rebalance failed", None),
    _JAVA("group is already rebalancing", None, follows_another=True),
    _JAVA("offset commit failed since group is already rebalancing", None, follows_another=True),
    _JAVA("consumer pro-actively leaving the group", None),
    _JAVA("encountered", None),
    _STREAMS("triggered followup rebalance scheduled for 0", _C.COOPERATIVE_FOLLOW_UP),
    _STREAMS("triggered followup rebalance", None, is_own_wish=True),
    _STREAMS("active tasks corrupted", None, is_own_wish=True),
    _STREAMS("shutdown requested", None, is_own_wish=True),
    _FRANZ("after revoking what we lost from a rebalance", _C.COOPERATIVE_FOLLOW_UP),
    _FRANZ(
        "rejoining because we are the leader and noticed some topics have new partitions",
        _C.TOPIC_METADATA_CHANGED,
    ),
    _FRANZ(
        "leader detected that partitions on topics another member is consuming have changed",
        _C.TOPIC_METADATA_CHANGED,
    ),
    _FRANZ(
        "rejoining because there are more topics to consume, our interests have changed",
        _C.SUBSCRIPTION_CHANGED,
    ),
    _FRANZ(
        "instance group leader restarted and was reassigned old plan, our topic interests changed",
        _C.SUBSCRIPTION_CHANGED,
    ),
    _FRANZ("from forcerebalance", None, is_own_wish=True),
    _FRANZ("beginning to manage the group lifecycle", None),
    _FRANZ("rejoining from normal rebalance", None),
    _FRANZ("rejoining after we previously errored", None),
    _FRANZ("offset commit error", None),
    _SARAMA("partitions were added to a subscribed topic", _C.TOPIC_METADATA_CHANGED),
    _SARAMA("group is rebalancing", None, follows_another=True),
    _SARAMA("member id is not known by the group coordinator", None),
    _SARAMA("generation id is not current", None),
    _SARAMA("group instance id has been fenced", None),
    _SARAMA("a consumeclaim handler has exited", None),
    _SARAMA("the heartbeat goroutine has stopped", None),
    _SARAMA("kafka: consumeclaim did not exit within", None),
)
"""What the main clients say when they join again (KIP-800), in lower case.

Sources: `AbstractCoordinator`, `ConsumerCoordinator`, `ClassicKafkaConsumer`; `StreamThread`; kgo `consumer_group.go`;
sarama `consumer_group_session.go` and, from 1.61 on, `consumer_group_cooperative.go`, which gives none after partitions
were revoked. librdkafka and kafka-python give none. A reason that is not listed is no evidence and changes nothing: it
is what a person typed.
"""

FENCE_REASONS: Final[Mapping[str, RebalanceCause]] = {
    "the member session expired": RebalanceCause.MEMBER_SESSION_EXPIRED,
    "its session expired": RebalanceCause.MEMBER_SESSION_EXPIRED,
    "it failed to transition from epoch": RebalanceCause.MEMBER_REBALANCE_TIMEOUT,
    "it failed to revoke partitions within": RebalanceCause.MEMBER_REBALANCE_TIMEOUT,
    "the classic member failed to join within": RebalanceCause.MEMBER_REBALANCE_TIMEOUT,
    "the member failed to sync within": RebalanceCause.MEMBER_REBALANCE_TIMEOUT,
}
"""Begin of a fenced member's reason -> the cause."""


JOIN: Final = "join"
LEAVE: Final = "leave"
EXPIRY: Final = "expiry"
LEADER: Final = "leader"
FOLLOWER: Final = "follower"
UNKNOWN_RANK: Final = "leader or follower"
REPLACEMENT: Final = "replacement"
NOT_SYNCED: Final = "not synced"
NOT_STORED: Final = "not stored"
DOWNGRADE: Final = "downgrade"
OVER_CAPACITY: Final = "over capacity"

_WITH_REASON: Final = "; client reason: {text}"


class TriggerKind(NamedTuple):
    """One row: what the reason of a prepared rebalance looks like, in the way of `wordings`, and what it means."""

    role: str
    pattern: str
    may_give_reason: bool = False
    """Whether releases from 3.2 on append the client's reason (KIP-800)."""


TRIGGERS: Final[Sequence[TriggerKind]] = (
    TriggerKind(JOIN, "Adding new member {member_id} with group instance id {instance_id}", True),
    TriggerKind(JOIN, "Adding new member {member_id} with group instanceid {instance_id}"),
    TriggerKind(JOIN, "Adding new member {member_id}"),
    TriggerKind(LEAVE, "explicit `LeaveGroup` request for ({ids}) members"),
    TriggerKind(LEAVE, "removing member {member_id} on LeaveGroup", True),
    TriggerKind(EXPIRY, "removing member {member_id} on heartbeat expiration"),
    TriggerKind(LEADER, "leader {member_id} re-joining group during {word}", True),
    TriggerKind(
        REPLACEMENT,
        "Updating metadata for static member {member_id} with instance id {instance_id}",
        True,
    ),
    TriggerKind(
        REPLACEMENT,
        "Group's selectedProtocol will change because static member {member_id} with instance id "
        "{instance_id} joined with change of protocol",
        True,
    ),
    TriggerKind(FOLLOWER, "Updating metadata for member {member_id} during {word}", True),
    TriggerKind(UNKNOWN_RANK, "Updating metadata for member {member_id}", True),
    TriggerKind(NOT_SYNCED, "Removing {members} on pending sync request expiration"),
    # The Java coordinator leaves the space out.
    TriggerKind(
        NOT_STORED,
        "Error {error} when storing group assignmentduring SyncGroup (member: {member_id})",
    ),
    TriggerKind(
        NOT_STORED,
        "Error {error} when storing group assignment during SyncGroup (member: {member_id})",
    ),
    TriggerKind(
        NOT_STORED, "Error when storing group assignment during SyncGroup (member: {member_id})"
    ),
    TriggerKind(OVER_CAPACITY, "Freshly-loaded group{…} is over capacity{…}"),
    TriggerKind(DOWNGRADE, "Downgrade group {group_id} from consumer to classic{…}"),
)
TRIGGER_TEMPLATES: Final = [
    (row.role, Template(pattern))
    for row in TRIGGERS
    for pattern in ((row.pattern + _WITH_REASON,) if row.may_give_reason else ()) + (row.pattern,)
]
"""Role -> what the reason looks like, in the order in which they are tried."""


class LoggedTrigger(NamedTuple):
    """What set off a classic rebalance, as the coordinator logged it."""

    role: str
    members: tuple[str, ...]
    instance_id: str | None
    client_reason: str | None
    """None if the client gave no reason."""
    error: str | None = None
    """Why the assignment could not be stored, in newer releases."""


def trigger_of(text: str) -> LoggedTrigger | None:
    """Parse the reason of a prepared rebalance; None if no wording matches."""
    text = text.rstrip(".")
    low = text.translate(LOWER)
    for role, template in TRIGGER_TEMPLATES:
        fields = template.split(text, low)
        if fields is None:
            continue
        if "ids" in fields:
            members = tuple(fields["ids"].split(", "))
        elif "members" in fields:
            members = members_in(fields["members"])
        else:
            members = (fields["member_id"],) if fields.get("member_id") else ()
        instance_id = value_of("instance_id", fields.get("instance_id", ""))
        return LoggedTrigger(
            role,
            members,
            None if instance_id is None else str(instance_id),
            given_reason(fields.get("text")),
            fields.get("error"),
        )
    return None


def given_reason(text: str | None) -> str | None:
    """The reason that a client gave; None for what the coordinator logs in place of one."""
    if not text:
        return None
    rest = text.strip().removeprefix(NOT_PROVIDED)
    if rest != text.strip() and not rest[:1].isalnum():
        return None  # whatever a layout appended to the line
    return text.strip() or None


def is_usual_reason(text: str) -> bool:
    """Whether the text stands for no reason, or begins as those that clients and tools give."""
    return (
        given_reason(text) is None
        or text.startswith((ADMIN_REASON, *OWN_LEAVE_REASONS))
        or rejoin_reason(text) is not None
    )


def rejoin_reason(client_reason: str | None) -> RejoinReason | None:
    """The row of a client's reason to rejoin; None if it is no known one."""
    if client_reason is None:
        return None
    low = client_reason.translate(LOWER)
    for row in REJOIN_REASONS:
        if low.startswith(row.words) and not low[len(row.words) : len(row.words) + 1].isalnum():
            return row
    return None


PLAIN_ENDS: Final[Mapping[FactKind, RebalanceCause]] = {
    FactKind.MEMBER_LEFT: RebalanceCause.MEMBER_LEFT,
    FactKind.MEMBER_EXPIRED: RebalanceCause.MEMBER_SESSION_EXPIRED,
    FactKind.MEMBERS_NOT_REJOINED: RebalanceCause.MEMBER_REBALANCE_TIMEOUT,
}
"""Kinds of lines that by themselves say why a member is gone."""

TRIGGERED_ENDS: Final[Mapping[str, RebalanceCause]] = {
    EXPIRY: RebalanceCause.MEMBER_SESSION_EXPIRED,
    NOT_SYNCED: RebalanceCause.MEMBER_REBALANCE_TIMEOUT,
}
"""Reasons of a rebalance that say why a member is gone."""


class LoggedDeparture(NamedTuple):
    """Why a member is gone, according to one line."""

    cause: RebalanceCause
    alternatives: tuple[RebalanceCause, ...]
    """Empty if the line leaves no doubt."""
    fact: BrokerFact
    may_be_text: bool = False
    """Whether only lines say so that may be the rest of a client's text."""


def departure_of_fact(
    fact: BrokerFact, *, by_another: bool, was_away: bool, is_static: bool
) -> LoggedDeparture | None:
    """What the line says about a member's end; None if the tables do not know its wording.

    `by_another`: the request removed others too, or named the member by its instance id alone; no client does that.
    """
    plain = PLAIN_ENDS.get(fact.kind)
    if plain is not None:
        return LoggedDeparture(plain, (), fact)
    match fact.kind:
        case FactKind.MEMBER_FENCED:
            cause = _beginning(FENCE_REASONS, fact.text)
            if cause is RebalanceCause.MEMBER_SESSION_EXPIRED and was_away:
                cause = RebalanceCause.STATIC_MEMBER_EXPIRED
            return None if cause is None else LoggedDeparture(cause, (), fact)
        case FactKind.MEMBER_LEFT_BY_REQUEST:
            return LoggedDeparture(*_by_request(fact, by_another, is_static), fact)
        case _:
            return _departure_of_trigger(fact, by_another=by_another, is_static=is_static)


def _departure_of_trigger(
    fact: BrokerFact, *, by_another: bool, is_static: bool
) -> LoggedDeparture | None:
    trigger = trigger_of(fact.text or "")
    if trigger is None:
        return None
    if trigger.role == LEAVE:
        another = by_another or len(trigger.members) > 1 or "" in trigger.members
        with_reason = fact._replace(text=trigger.client_reason)
        return LoggedDeparture(*_by_request(with_reason, another, is_static), fact)
    cause = TRIGGERED_ENDS.get(trigger.role)
    return None if cause is None else LoggedDeparture(cause, (), fact)


def _by_request(
    fact: BrokerFact, by_another: bool, is_static: bool
) -> tuple[RebalanceCause, tuple[RebalanceCause, ...]]:
    """Who sent a LeaveGroup request: the member itself, or an administrator. Returns (cause, alternatives).

    A client removes only itself, and static members seldom leave on their own. A dynamic member's request without a
    reason counts as its own: it cannot be distinguished from that of a tool that removes one dynamic member
    by its id and gives no reason. A reason that is not known may be a client's or an administrator's.
    """
    left, removed = RebalanceCause.MEMBER_LEFT, RebalanceCause.MEMBER_REMOVED_BY_ADMIN
    reason = given_reason(fact.text)
    if by_another or (reason is not None and reason.startswith(ADMIN_REASON)):
        return removed, ()
    if reason is not None and reason.startswith(OWN_LEAVE_REASONS):
        return left, ()
    if is_static:
        return removed, (left,)
    return left, () if reason is None else (removed,)


def _beginning(table: Mapping[str, RebalanceCause], text: str | None) -> RebalanceCause | None:
    if text is None:
        return None
    return next((cause for words, cause in table.items() if text.startswith(words)), None)
