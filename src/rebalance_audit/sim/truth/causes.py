"""The real causes of epochs, in the audit's words: what the coordinator says about its own decisions, and nothing else.

No record is read here, so a rule of the audit that misreads the records cannot hide.
"""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from rebalance_audit.audit.verdicts.cause import RebalanceCause
from rebalance_audit.coordinator.reasons import Bump, BumpReason, Trigger
from rebalance_audit.sim.brokers.broker import Happening

CAUSES: Final[Mapping[Trigger, RebalanceCause]] = {
    Trigger.GROUP_BEGAN: RebalanceCause.GROUP_CREATED,
    Trigger.GROUP_UPGRADED: RebalanceCause.PROTOCOL_UPGRADED,
    Trigger.GROUP_DOWNGRADED: RebalanceCause.PROTOCOL_DOWNGRADED,
    Trigger.GROUP_EMPTIED: RebalanceCause.GROUP_EMPTIED,
    Trigger.GROUP_OVER_CAPACITY: RebalanceCause.UNKNOWN,
    Trigger.MEMBER_JOINED: RebalanceCause.MEMBER_JOINED,
    Trigger.STATIC_MEMBER_REPLACED: RebalanceCause.STATIC_MEMBER_REPLACED,
    Trigger.NAMES_CHANGED: RebalanceCause.SUBSCRIPTION_CHANGED,
    Trigger.EXPRESSION_CHANGED: RebalanceCause.SUBSCRIPTION_CHANGED,
    Trigger.EXPRESSION_RESOLVED: RebalanceCause.REGEX_RESOLVED,
    Trigger.TOPICS_DIFFER: RebalanceCause.TOPIC_METADATA_CHANGED,
    Trigger.SERVER_ASSIGNOR_CHANGED: RebalanceCause.ASSIGNOR_CHANGED,
    Trigger.MEMBER_METADATA_CHANGED: RebalanceCause.SUBSCRIPTION_CHANGED,
    Trigger.TOPOLOGY_VALIDATED: RebalanceCause.ASSIGNMENT_ONLY,
    Trigger.ASSIGNMENT_CONFIGS_CHANGED: RebalanceCause.ASSIGNMENT_ONLY,
    Trigger.SHARE_PARTITIONS_PENDING: RebalanceCause.ASSIGNMENT_ONLY,
    Trigger.CLIENT_ASSIGNOR_CHANGED: RebalanceCause.CLIENT_ASSIGNOR_REQUESTED,
    Trigger.LEADER_REJOINED: RebalanceCause.LEADER_REJOINED,
    Trigger.METADATA_CHANGED: RebalanceCause.SUBSCRIPTION_CHANGED,
    Trigger.PROTOCOL_CHANGED: RebalanceCause.ASSIGNOR_CHANGED,
    Trigger.MEMBER_LEFT: RebalanceCause.MEMBER_LEFT,
    Trigger.SESSION_ENDED: RebalanceCause.MEMBER_SESSION_EXPIRED,
    Trigger.PENDING_MEMBER_EXPIRED: RebalanceCause.PENDING_MEMBER_EXPIRED,
    Trigger.STATIC_MEMBER_EXPIRED: RebalanceCause.STATIC_MEMBER_EXPIRED,
    Trigger.REBALANCE_TIMEOUT: RebalanceCause.MEMBER_REBALANCE_TIMEOUT,
}
"""Each trigger with its name in the closed list, which has none for a group over its capacity."""

_REJOINS: Final = frozenset({Trigger.LEADER_REJOINED, Trigger.METADATA_CHANGED})

Topics = Mapping[str, tuple[object, ...] | None]
"""Subscribed name -> its topic, if it exists."""


class Reason(NamedTuple):
    """One thing that caused an epoch."""

    cause: RebalanceCause
    at_ms: int
    member_id: str | None = None
    instance_id: str | None = None


def cause_of(reason: BumpReason, happening: Happening) -> RebalanceCause:
    """The coordinator's reason, or that of the administrator who sent the request."""
    if reason.trigger is Trigger.MEMBER_JOINED and reason.instance_id is not None:
        return RebalanceCause.STATIC_MEMBER_JOINED
    if reason.trigger is Trigger.MEMBER_LEFT and happening.intent is not None:
        return happening.intent
    return CAUSES[reason.trigger]


def reasons_of(
    bump: Bump, happening: Happening, before: Topics | None, now_ms: int
) -> list[Reason]:
    """All reasons of one bump, each once.

    `before` are the topics as the group's last epoch had them, None where it had none. A member that joins again
    knows the reason better than the coordinator: its reason comes first.
    """
    found: dict[Reason, None] = {}
    for reason in bump.reasons:
        who = reason.member_id, reason.instance_id
        if reason.trigger is Trigger.TOPICS_DIFFER:
            causes = list(_differences(before or {}, bump, alone=len(bump.reasons) == 1))
        elif reason.trigger in _REJOINS and happening.intent is not None:
            causes = [happening.intent, cause_of(reason, happening)]
        else:
            causes = [cause_of(reason, happening)]
        found.update(dict.fromkeys(Reason(cause, now_ms, *who) for cause in causes))
    return list(found)


def _differences(before: Topics, bump: Bump, *, alone: bool) -> Iterator[RebalanceCause]:
    """What made the topics differ from those on record.

    Where a subscription lost or gained topics, either this bump has a reason that says so, or an expression was
    given up earlier without a bump.
    """
    now = bump.topics
    changed = any(before[name] != now[name] for name in before.keys() & now.keys())
    if changed:
        yield RebalanceCause.TOPIC_METADATA_CHANGED
    if alone and any((before.get(name) or now.get(name)) for name in before.keys() ^ now.keys()):
        yield RebalanceCause.SUBSCRIPTION_CHANGED
    elif alone and not changed:
        yield RebalanceCause.UNKNOWN
