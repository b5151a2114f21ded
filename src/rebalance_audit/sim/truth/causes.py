"""The real causes of a consumer group's epochs: the request or timer knows, and the records say whom it concerned."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Final, NamedTuple

from rebalance_audit.audit.causes.cause import RebalanceCause
from rebalance_audit.coordinator.handling import TimerKind
from rebalance_audit.coordinator.requests.consumer import ConsumerGroupInstallAssignmentRequest
from rebalance_audit.replay.changes import (
    Change,
    GroupEpochBumped,
    GroupRemoved,
    GroupType,
    MemberAssigned,
    MemberSubscribed,
    MemberUnsubscribed,
)
from rebalance_audit.replay.modern.group import STATIC_LEAVE_EPOCH, ModernGroup
from rebalance_audit.sim.brokers.broker import Happening

SUBSCRIPTION_FIELDS: Final = frozenset({"subscribed_topic_names", "subscribed_topic_regex"})


class Reason(NamedTuple):
    """One thing that set an epoch off."""

    cause: RebalanceCause
    at_ms: int
    member_id: str | None = None
    instance_id: str | None = None


def departure_cause(happening: Happening, *, was_away: bool) -> RebalanceCause:
    """Why members go by this request or timer; `was_away`: a static member had left for a while."""
    timer = happening.timer
    if timer is None:
        return happening.intent or RebalanceCause.MEMBER_LEFT
    if timer.kind is not TimerKind.SESSION:
        return RebalanceCause.MEMBER_REBALANCE_TIMEOUT
    if was_away:
        return RebalanceCause.STATIC_MEMBER_EXPIRED
    return RebalanceCause.MEMBER_SESSION_EXPIRED


def modern_reasons(
    group: ModernGroup | None, changes: list[Change], happening: Happening, now_ms: int
) -> Mapping[int, list[Reason]]:
    """Group epoch -> its reasons, for one write; 0 holds them for a group that is none any more (`group` None)."""
    bumps = [
        change.new_epoch
        for change in changes
        if isinstance(change, GroupEpochBumped) and change.new_epoch != change.old_epoch
    ]
    reasons: dict[int, list[Reason]] = defaultdict(list)
    newest = bumps[-1] if bumps else 0
    joined = sum(isinstance(change, MemberSubscribed) and change.joined for change in changes)
    is_upgrade = (len(bumps) > 1 or joined > 1) and any(
        isinstance(change, GroupRemoved) and change.group_type is GroupType.CLASSIC
        for change in changes
    )
    if is_upgrade:
        for epoch in bumps:
            reasons[epoch].append(Reason(RebalanceCause.PROTOCOL_UPGRADED, now_ms))
    found = reasons[newest]
    if happening.timer is not None and happening.timer.kind is TimerKind.REGEX:
        found.append(Reason(RebalanceCause.REGEX_RESOLVED, now_ms))
        return reasons
    if isinstance(happening.request, ConsumerGroupInstallAssignmentRequest):
        found.append(Reason(RebalanceCause.CLIENT_ASSIGNOR_REQUESTED, now_ms))
        return reasons
    found += _member_reasons(changes, happening, now_ms, after_upgrade=is_upgrade)
    if group is not None and not group.members:
        found.append(Reason(RebalanceCause.GROUP_EMPTIED, now_ms))
    if all(reason.cause is RebalanceCause.STATIC_MEMBER_REPLACED for reason in found):
        # A replacement alone bumps nothing.
        found.append(Reason(RebalanceCause.TOPIC_METADATA_CHANGED, now_ms))
    return reasons


def _member_reasons(
    changes: list[Change], happening: Happening, now_ms: int, *, after_upgrade: bool
) -> list[Reason]:
    joined = [each for each in changes if isinstance(each, MemberSubscribed) and each.joined]
    if after_upgrade:
        joined = joined[-1:]  # the others came over with the upgrade
    updated = [each for each in changes if isinstance(each, MemberSubscribed) and not each.joined]
    gone = {each.member_id: each for each in changes if isinstance(each, MemberUnsubscribed)}
    away = {
        each.member_id
        for each in changes
        if isinstance(each, MemberAssigned)
        and each.released
        and each.old_member_epoch == STATIC_LEAVE_EPOCH
    }
    came = {each.member_id for each in joined}
    # It can come back under its own id. Where two ids of an instance go, who came went on with a downgrade.
    by_instance = {
        each.instance_id: each
        for each in sorted(gone.values(), key=lambda each: each.member_id not in came)
        if each.instance_id
    }
    found: list[Reason] = []
    for member in joined:
        old = by_instance.get(member.instance_id or "")
        cause = RebalanceCause.MEMBER_JOINED
        if old is not None:
            gone.pop(old.member_id, None)
            cause = RebalanceCause.STATIC_MEMBER_REPLACED
        elif member.instance_id is not None:
            cause = RebalanceCause.STATIC_MEMBER_JOINED
        found.append(Reason(cause, now_ms, member.member_id, member.instance_id))
    for member in updated:
        if SUBSCRIPTION_FIELDS.intersection(member.changed):
            cause = RebalanceCause.SUBSCRIPTION_CHANGED
        elif "server_assignor" in member.changed:
            cause = RebalanceCause.ASSIGNOR_CHANGED
        elif "client_assignors" in member.changed:
            cause = RebalanceCause.CLIENT_ASSIGNOR_REQUESTED
        else:
            continue
        found.append(Reason(cause, now_ms, member.member_id, member.instance_id))
    for left in gone.values():
        cause = departure_cause(happening, was_away=left.member_id in away)
        found.append(Reason(cause, now_ms, left.member_id, left.instance_id))
    return found
