"""What the reasons in a broker's log mean: what set a classic rebalance off, and why a member is gone.

Tables from words to causes. What is in none of them decides nothing.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from rebalance_audit.audit.broker_log.fact import BrokerFact, FactKind
from rebalance_audit.audit.causes.cause import RebalanceCause

NOT_PROVIDED: Final = "not provided"
"""What the coordinator logs where a client gave no reason (KIP-800: only newer clients do)."""

ADMIN_REASON: Final = "member was removed by an admin"
"""What Kafka's admin client gives as the reason, unless its user gives one."""

OWN_LEAVE_REASONS: Final = (
    "the consumer is being closed",
    "consumer poll timeout has expired",
    "the consumer unsubscribed from all topics",
    "consumer pro-actively leaving the group",
    "client leaving group per normal operation",
)
"""What clients say of themselves in a LeaveGroup request: the Java consumer, and franz-go in the last row."""

REJOIN_REASONS: Final[Mapping[str, RebalanceCause]] = {
    "cached metadata has changed": RebalanceCause.TOPIC_METADATA_CHANGED,
    "subscription has changed": RebalanceCause.SUBSCRIPTION_CHANGED,
    "received assignment does not match the current subscription": (
        RebalanceCause.SUBSCRIPTION_CHANGED
    ),
    "need to revoke partitions": RebalanceCause.COOPERATIVE_FOLLOW_UP,
}
"""How the Java consumer's reason to join again begins (ConsumerCoordinator), and the cause that it is."""

FENCE_REASONS: Final[Mapping[str, RebalanceCause]] = {
    "the member session expired": RebalanceCause.MEMBER_SESSION_EXPIRED,
    "its session expired": RebalanceCause.MEMBER_SESSION_EXPIRED,
    "it failed to transition from epoch": RebalanceCause.MEMBER_REBALANCE_TIMEOUT,
    "it failed to revoke partitions within": RebalanceCause.MEMBER_REBALANCE_TIMEOUT,
    "the classic member failed to join within": RebalanceCause.MEMBER_REBALANCE_TIMEOUT,
    "the member failed to sync within": RebalanceCause.MEMBER_REBALANCE_TIMEOUT,
}
"""How the reason of a fenced member begins, and the cause that it is."""


class TriggerKind(NamedTuple):
    """One row: what the reason of a prepared rebalance looks like, and what it says."""

    role: str
    pattern: str
    """A regular expression; its groups are `member`, `members`, `instance` and `reason`, as far as they are told."""


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
    """What set a classic rebalance off, as the coordinator logged it."""

    role: str
    members: tuple[str, ...]
    instance_id: str | None
    client_reason: str | None
    """None where the client gave none."""


def trigger_of(text: str) -> LoggedTrigger | None:
    """The reason of a prepared rebalance, read; None for one that is in no known wording."""
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
    """The cause that a client's reason to join again names; None where it names none."""
    return _beginning(REJOIN_REASONS, client_reason)


PLAIN_ENDS: Final[Mapping[FactKind, RebalanceCause]] = {
    FactKind.MEMBER_LEFT: RebalanceCause.MEMBER_LEFT,
    FactKind.MEMBER_EXPIRED: RebalanceCause.MEMBER_SESSION_EXPIRED,
    FactKind.MEMBERS_NOT_REJOINED: RebalanceCause.MEMBER_REBALANCE_TIMEOUT,
}
"""Lines that say by themselves why a member is gone."""

TRIGGERED_ENDS: Final[Mapping[str, RebalanceCause]] = {
    EXPIRY: RebalanceCause.MEMBER_SESSION_EXPIRED,
    NOT_SYNCED: RebalanceCause.MEMBER_REBALANCE_TIMEOUT,
}
"""Reasons of a rebalance that say it."""


class LoggedDeparture(NamedTuple):
    """Why a member is gone, by one line."""

    cause: RebalanceCause
    alternatives: tuple[RebalanceCause, ...]
    """Empty where the line leaves no doubt."""
    fact: BrokerFact


def departure_of_fact(
    fact: BrokerFact, *, by_another: bool, was_away: bool, is_static: bool
) -> LoggedDeparture | None:
    """What the line says of a member's end; None where it says nothing that is in the tables.

    `by_another`: the request took others out as well, or named the member by its instance id alone; no client does so.
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
    """Who sent a LeaveGroup: the member, or an administrator for it.

    A client takes out itself alone, static members do not do so by themselves, and the Java clients say what they do. A
    dynamic member's request without a reason is taken for its own: tools that remove one dynamic member by
    its id and say nothing are not told apart from it.
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
