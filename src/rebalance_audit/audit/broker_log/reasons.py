"""What the reasons in a broker's log mean: what set off a classic rebalance, and why a member is gone.

The tables map wordings to causes. A wording in none of them decides nothing.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from rebalance_audit.audit.broker_log.fact import BrokerFact, FactKind
from rebalance_audit.audit.causes.cause import RebalanceCause

NOT_PROVIDED: Final = "not provided"
"""What the coordinator logs if a client gave no reason (KIP-800: only newer clients give one)."""

ADMIN_REASON: Final = "member was removed by an admin"
"""The reason that Kafka's admin client gives, unless its user gives one."""

OWN_LEAVE_REASONS: Final = (
    "the consumer is being closed",
    "consumer poll timeout has expired",
    "the consumer unsubscribed from all topics",
    "consumer pro-actively leaving the group",
    "client leaving group per normal operation",
)
"""Reasons that clients give in their own LeaveGroup request: the Java consumer's, and franz-go's in the last row."""

REJOIN_REASONS: Final[Mapping[str, RebalanceCause]] = {
    "cached metadata has changed": RebalanceCause.TOPIC_METADATA_CHANGED,
    "subscription has changed": RebalanceCause.SUBSCRIPTION_CHANGED,
    "received assignment does not match the current subscription": (
        RebalanceCause.SUBSCRIPTION_CHANGED
    ),
    "need to revoke partitions": RebalanceCause.COOPERATIVE_FOLLOW_UP,
}
"""Begin of the Java consumer's reason to rejoin (`ConsumerCoordinator`) -> the cause."""

FENCE_REASONS: Final[Mapping[str, RebalanceCause]] = {
    "the member session expired": RebalanceCause.MEMBER_SESSION_EXPIRED,
    "its session expired": RebalanceCause.MEMBER_SESSION_EXPIRED,
    "it failed to transition from epoch": RebalanceCause.MEMBER_REBALANCE_TIMEOUT,
    "it failed to revoke partitions within": RebalanceCause.MEMBER_REBALANCE_TIMEOUT,
    "the classic member failed to join within": RebalanceCause.MEMBER_REBALANCE_TIMEOUT,
    "the member failed to sync within": RebalanceCause.MEMBER_REBALANCE_TIMEOUT,
}
"""Begin of a fenced member's reason -> the cause."""


class TriggerKind(NamedTuple):
    """One row: what the reason of a prepared rebalance looks like, and what it means."""

    role: str
    pattern: str
    """A regular expression; its groups are those of `member`, `members`, `instance` and `reason` that are logged."""


JOIN: Final = "join"
LEAVE: Final = "leave"
EXPIRY: Final = "expiry"
LEADER: Final = "leader"
FOLLOWER: Final = "follower"
UNKNOWN_RANK: Final = "leader or follower"
REPLACEMENT: Final = "replacement"
NOT_SYNCED: Final = "not synced"
DOWNGRADE: Final = "downgrade"
OVER_CAPACITY: Final = "over capacity"

_REASON: Final = r"(?:; client reason: (?P<reason>.*))?"

TRIGGERS: Final[Sequence[TriggerKind]] = (
    TriggerKind(
        JOIN,
        r"Adding new member (?P<member>.+?)(?: with group instance ?id (?P<instance>.+?))?"
        + _REASON,
    ),
    TriggerKind(LEAVE, r"explicit `LeaveGroup` request for \((?P<members>.*)\) members"),
    TriggerKind(LEAVE, r"removing member (?P<member>.+?) on LeaveGroup" + _REASON),
    TriggerKind(EXPIRY, r"removing member (?P<member>.+?) on heartbeat expiration"),
    TriggerKind(LEADER, r"leader (?P<member>.+?) re-joining group during \w+" + _REASON),
    TriggerKind(
        REPLACEMENT,
        r"Updating metadata for static member (?P<member>.+?) with instance id (?P<instance>.+?)"
        + _REASON,
    ),
    TriggerKind(
        REPLACEMENT,
        r"Group's selectedProtocol will change because static member (?P<member>.+?) with instance "
        r"id (?P<instance>.+?) joined with change of protocol" + _REASON,
    ),
    TriggerKind(FOLLOWER, r"Updating metadata for member (?P<member>.+?) during \w+" + _REASON),
    TriggerKind(UNKNOWN_RANK, r"Updating metadata for member (?P<member>.+?)" + _REASON),
    TriggerKind(
        NOT_SYNCED, r"Removing \w*[\[(](?P<members>.*)[\])] on pending sync request expiration"
    ),
    TriggerKind(OVER_CAPACITY, r"Freshly-loaded group.* is over capacity .*"),
    TriggerKind(DOWNGRADE, r"Downgrade group .* from consumer to classic.*"),
)
_COMPILED: Final = [
    (row.role, re.compile(row.pattern, re.DOTALL | re.IGNORECASE)) for row in TRIGGERS
]
_SOME: Final = re.compile(r"Some\((.*)\)", re.DOTALL)


class LoggedTrigger(NamedTuple):
    """What set off a classic rebalance, as the coordinator logged it."""

    role: str
    members: tuple[str, ...]
    instance_id: str | None
    client_reason: str | None
    """None if the client gave no reason."""


def trigger_of(text: str) -> LoggedTrigger | None:
    """Parse the reason of a prepared rebalance; None if no wording matches."""
    for role, regex in _COMPILED:
        found = regex.fullmatch(text)
        if found is None:
            continue
        fields = found.groupdict()
        if fields.get("members") is not None:
            members = tuple(fields["members"].split(", "))
        else:
            members = (fields["member"],) if fields.get("member") else ()
        reason = fields.get("reason")
        return LoggedTrigger(
            role,
            members,
            _instance_of(fields.get("instance")),
            None if reason in {None, "", NOT_PROVIDED} else reason,
        )
    return None


def _instance_of(text: str | None) -> str | None:
    if text is None:
        return None
    some = _SOME.fullmatch(text)
    text = some[1] if some is not None else text
    return None if text in {"null", "None", ""} else text


def rejoin_cause(client_reason: str | None) -> RebalanceCause | None:
    """The cause that a client's reason to rejoin names; None if it names no known one."""
    return _beginning(REJOIN_REASONS, client_reason)


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
        told = fact._replace(text=trigger.client_reason)
        return LoggedDeparture(*_by_request(told, another, is_static), fact)
    cause = TRIGGERED_ENDS.get(trigger.role)
    return None if cause is None else LoggedDeparture(cause, (), fact)


def _by_request(
    fact: BrokerFact, by_another: bool, is_static: bool
) -> tuple[RebalanceCause, tuple[RebalanceCause, ...]]:
    """Who sent a LeaveGroup request: the member itself, or an administrator. Returns (cause, alternatives).

    A client removes only itself, static members do not leave on their own, and Java clients give a reason. A dynamic
    member's request without a reason counts as its own: it cannot be told apart from that of a tool that removes one
    dynamic member by its id and gives no reason.
    """
    left, removed = RebalanceCause.MEMBER_LEFT, RebalanceCause.MEMBER_REMOVED_BY_ADMIN
    reason = fact.text or NOT_PROVIDED
    if by_another or reason.startswith(ADMIN_REASON):
        return removed, ()
    if reason.startswith(OWN_LEAVE_REASONS):
        return left, ()
    if reason == NOT_PROVIDED:
        return (removed, (left,)) if is_static else (left, ())
    return removed, () if is_static else (left,)


def _beginning(table: Mapping[str, RebalanceCause], text: str | None) -> RebalanceCause | None:
    if text is None:
        return None
    return next((cause for words, cause in table.items() if text.startswith(words)), None)
