"""The real causes of epochs, in the audit's words: what the coordinator says about its own decisions, and nothing else.

No record is read here, so a rule of the audit that misreads the records cannot hide.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
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


class Decisions:
    """The groups of one coordinator: why they start new epochs, and which members have gone since their last record.

    An epoch of the consumer protocol is recorded with the decision, a classic generation with its assignment.
    """

    def __init__(self) -> None:
        """Nothing is decided yet."""
        self._reasons: dict[str, dict[int, list[Reason]]] = defaultdict(dict)
        """Group id -> epoch or generation -> its reasons, the earliest first."""
        self._ends: dict[str, dict[str, RebalanceCause]] = defaultdict(dict)
        """Group id -> member id -> how it ended."""
        self._meanwhile: dict[str, dict[int, list[Reason]]] = defaultdict(dict)
        """Group id -> epoch or generation -> what happened in it but did not cause it."""
        self.topics: dict[str, Topics] = {}
        """Group id -> the subscribed topics as of its newest epoch."""

    def bumped(self, bump: Bump, reasons: list[Reason]) -> None:
        """A group starts another epoch, or the join phase of another generation."""
        group_id, epoch = bump.group_id, bump.epoch
        triggers = {each.trigger for each in bump.reasons}
        if Trigger.GROUP_BEGAN in triggers:
            self._reasons.pop(group_id, None)
        if bump.topics:
            self.topics[group_id] = bump.topics
        begun = self._reasons[group_id]
        if triggers == {Trigger.GROUP_UPGRADED}:
            # The generation becomes an epoch, whatever began it; a join phase under way is void.
            begun = {each: why for each, why in begun.items() if each <= epoch}
            self._reasons[group_id] = begun
            if begun:
                for reason in reasons:
                    self.happened(group_id, epoch, reason)
                return
        begun.setdefault(epoch, []).extend(reasons)

    def happened(self, group_id: str, epoch: int, reason: Reason) -> None:
        """Something happened before an epoch was recorded, whether it caused the epoch or not."""
        self._meanwhile[group_id].setdefault(epoch, []).append(reason)

    def meanwhile(self, group_id: str, epoch: int, reasons: Sequence[Reason]) -> tuple[Reason, ...]:
        """What happened before an epoch that is now on record, besides its reasons."""
        found = self._meanwhile[group_id]
        counted = sorted(each for each in found if each <= epoch)
        beside = [reason for each in counted for reason in found.pop(each)]
        return tuple(dict.fromkeys(reason for reason in beside if reason not in reasons))

    def ended(self, group_id: str, member_id: str | None, cause: RebalanceCause) -> None:
        """A member has left the group, for whatever reason."""
        assert member_id is not None
        self._ends[group_id][member_id] = cause

    def epoch_recorded(self, group_id: str, epoch: int) -> tuple[tuple[Reason, ...], int | None]:
        """The reasons of an epoch that is now on record, and when it was first decided.

        Earlier generations that were never recorded count too: what began them is also why this one exists.
        """
        begun = self._reasons[group_id]
        counted = sorted(each for each in begun if each <= epoch)
        began_ms = min((reason.at_ms for reason in begun.get(epoch, ())), default=None)
        reasons = [reason for each in counted for reason in begun.pop(each)]
        return tuple(dict.fromkeys(reasons)), began_ms

    def take_ends(self, group_id: str) -> Mapping[str, RebalanceCause]:
        """How members of a group ended since its last record."""
        return self._ends.pop(group_id, {})
