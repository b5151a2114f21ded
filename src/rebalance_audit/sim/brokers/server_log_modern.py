"""Lines about groups of the newer protocols, derived from the records that a request or timer made."""

from collections.abc import Iterator
from typing import Final

from rebalance_audit.coordinator.handling import CoordinatorConfig, Dialect, TimerKind
from rebalance_audit.coordinator.reasons import Trigger
from rebalance_audit.coordinator.requests.classic import JoinGroupRequest, LeaveGroupRequest
from rebalance_audit.coordinator.requests.consumer import ConsumerGroupHeartbeatRequest
from rebalance_audit.coordinator.requests.streams import StreamsGroupHeartbeatRequest
from rebalance_audit.replay.changes import (
    Change,
    GenerationCompleted,
    GroupEpochBumped,
    GroupRemoved,
    GroupType,
    MemberAssigned,
    MemberSubscribed,
    MemberUnsubscribed,
    TargetInstalled,
)
from rebalance_audit.replay.groups import STATIC_LEAVE_EPOCH, ClassicGroup, GroupSlot, ModernGroup
from rebalance_audit.replay.modern.preferred_assignor import preferred_assignor
from rebalance_audit.sim.brokers.broker import Happening
from rebalance_audit.sim.brokers.server_log_classic import NO_REASON


def _share(group_id: str, changes: list[Change], happening: Happening) -> Iterator[str]:
    scope = f"[GroupId {group_id}] "
    for change in changes:
        match change:
            case MemberSubscribed(member_id=member_id, joined=True):
                yield f"{scope}Member {member_id} joins the share group using the share protocol."
            case MemberUnsubscribed(member_id=member_id) if happening.timer is not None:
                why = "the member session expired"
                yield f"{scope}Member {member_id} fenced from the group because {why}."
            case MemberUnsubscribed(member_id=member_id):
                yield f"{scope}Member {member_id} left the share group."
            case GroupEpochBumped(new_epoch=epoch) if not _is_removal(changes):
                hashed = change.new_metadata_hash
                yield f"{scope}Bumped group epoch to {epoch} with metadata hash {hashed}."
            case TargetInstalled(new_assignment_epoch=epoch) if not _is_removal(changes):
                yield f"{scope}Computed a new target assignment for epoch {epoch} with 'simple' assignor in 0ms."
            case _:
                pass


def _streams(
    group_id: str, changes: list[Change], happening: Happening, dialect: Dialect
) -> Iterator[str]:
    scope = f"[GroupId {group_id}] "
    request, timer = happening.request, happening.timer
    sender = request.member_id if isinstance(request, StreamsGroupHeartbeatRequest) else ""
    member_scope = f"[GroupId {group_id}][MemberId {sender}] "
    gone = {each.instance_id for each in changes if isinstance(each, MemberUnsubscribed)}
    for bump in happening.bumps:
        if any(each.trigger is Trigger.ASSIGNMENT_CONFIGS_CHANGED for each in bump.reasons):
            yield f"{member_scope}Assignment configurations changed to {{}}. Triggering rebalance."
    for change in changes:
        match change:
            case MemberSubscribed(member_id=member_id, instance_id=None, joined=True):
                yield f"{member_scope}Member joins the streams group."
            case MemberSubscribed(member_id=member_id, instance_id=instance_id, joined=True):
                if instance_id not in gone:
                    who = f"Static member {member_id} with instance id {instance_id}"
                    yield f"{member_scope}{who} joins the streams group."
            case MemberUnsubscribed(member_id=member_id) if timer is not None:
                if timer.kind is TimerKind.SESSION:
                    why = "the member session expired."
                    yield f"{scope}Streams member {member_id} fenced from the group because {why}."
                else:
                    why = f"it failed to transition from epoch {_epoch_before(changes, member_id)} within 0ms"
                    yield f"{scope}Member {member_id} fenced from the group because {why}."
            case MemberUnsubscribed(member_id=member_id, instance_id=None):
                yield f"{member_scope}Member {member_id} left the streams group."
            case MemberAssigned(member_id=member_id, new_member_epoch=epoch) if (
                epoch == STATIC_LEAVE_EPOCH and isinstance(request, StreamsGroupHeartbeatRequest)
            ):
                who = f"Static member {member_id} with instance id {request.instance_id}"
                yield f"{member_scope}{who} temporarily left the streams group."
            case GroupEpochBumped(new_epoch=epoch) if not _is_removal(changes):
                hashed = change.new_metadata_hash
                also = "" if dialect is Dialect.R4_1 else " and validated topic epoch 0"
                yield f"{member_scope}Bumped streams group epoch to {epoch} with metadata hash {hashed}{also}."
            case TargetInstalled(new_assignment_epoch=epoch) if not _is_removal(changes):
                yield f"{scope}Computed a new target assignment for epoch {epoch} with 'sticky' assignor in 0ms."
            case _:
                pass


def _is_removal(changes: list[Change]) -> bool:
    """Epochs of members that leave are not logged, nor what becomes of the target."""
    joined = any(isinstance(each, MemberSubscribed) for each in changes)
    return not joined and any(isinstance(each, MemberUnsubscribed) for each in changes)


def _epoch_before(changes: list[Change], member_id: str) -> int:
    return next(
        (
            each.old_member_epoch
            for each in changes
            if isinstance(each, MemberAssigned) and each.member_id == member_id
        ),
        0,
    )


LOGS_EVERY_BUMP: Final = frozenset({Dialect.R4_1, Dialect.R4_3, Dialect.R4_4})
"""Releases that log each new epoch, with the hash of the topics; older ones do not log those of members that leave."""
LOGS_SUBSCRIPTIONS: Final = frozenset({Dialect.R3_7, Dialect.R3_9, Dialect.R4_0})
"""Releases that log changes of a subscription; newer ones do so at debug level."""
NAMES_PROTOCOL: Final = frozenset(Dialect) - {Dialect.R3_7}
LOGS_SCANS: Final = LOGS_EVERY_BUMP | {Dialect.R4_0}


def modern_lines(
    slot: GroupSlot, changes: list[Change], happening: Happening, config: CoordinatorConfig
) -> Iterator[str]:
    """What the coordinator logs about one write to one group; nothing for classic groups and plain commits."""
    group = slot.group
    removed = {each.group_type for each in changes if isinstance(each, GroupRemoved)}
    modern = group if isinstance(group, ModernGroup) else None
    if modern is not None and modern.group_type is GroupType.SHARE:
        yield from _share(slot.group_id, changes, happening)
        return
    if modern is not None and modern.group_type is GroupType.STREAMS:
        yield from _streams(slot.group_id, changes, happening, config.dialect)
        return
    if modern is None and GroupType.CONSUMER not in removed:
        return
    scope = f"[GroupId {slot.group_id}] "
    stay = frozenset(group.members) if isinstance(group, ClassicGroup) else frozenset[str]()
    for line in _Lines(modern, changes, happening, config, stay).all(removed):
        yield line if line.startswith("[Group ") else scope + line


class _Lines:
    """One write."""

    def __init__(
        self,
        group: ModernGroup | None,
        changes: list[Change],
        happening: Happening,
        config: CoordinatorConfig,
        stay: frozenset[str],
    ) -> None:
        self._group = group
        self._stay = stay
        """Members that a downgrade takes along: their records are gone, but they are still members."""
        self._changes = changes
        self._happening = happening
        self._config = config
        self._dialect = config.dialect
        self._becomes_classic = any(isinstance(each, GenerationCompleted) for each in changes)

    def all(self, removed: set[GroupType]) -> Iterator[str]:
        """All lines, in Kafka's order: conversion, members, epoch, target."""
        upgraded = self._group is not None and GroupType.CLASSIC in removed
        came_over = upgraded and len(self._joined()) + len(self._gone()) > 1
        if upgraded:
            what = "classic" if came_over else "empty classic"
            yield f"Converted the {what} group to a consumer group."
        yield from self._arrivals(came_over=came_over)
        if self._dialect in LOGS_SUBSCRIPTIONS:
            yield from self._subscriptions()
        yield from self._departures()
        yield from self._leaves_of_absence()
        timer = self._happening.timer
        if timer is not None and timer.kind is TimerKind.REGEX and self._dialect in LOGS_SCANS:
            yield self._scan()
        if self._group is None:
            if not (self._becomes_classic and self._gone()):
                return  # deleted; an empty one also before a classic group takes its id
            yield "Converted the consumer group to a classic group."
            return
        yield from self._epochs()

    def _joined(self) -> list[MemberSubscribed]:
        return [
            each for each in self._changes if isinstance(each, MemberSubscribed) and each.joined
        ]

    def _gone(self) -> list[MemberUnsubscribed]:
        return [each for each in self._changes if isinstance(each, MemberUnsubscribed)]

    def _arrivals(self, *, came_over: bool) -> Iterator[str]:
        joined = self._joined()
        if came_over:
            joined = joined[-1:]  # the others came over with the conversion
        came = {each.member_id for each in joined}
        held = {
            each.instance_id: each.member_id
            for each in sorted(self._gone(), key=lambda each: each.member_id not in came)
            if each.instance_id
        }
        protocol = "consumer"
        if isinstance(self._happening.request, JoinGroupRequest):
            protocol = "classic"
        using = f" using the {protocol} protocol" if self._dialect in NAMES_PROTOCOL else ""
        for member in joined:
            instance_id = member.instance_id
            if instance_id is None:
                yield f"Member {member.member_id} joins the consumer group{using}."
            elif instance_id not in held:
                yield (
                    f"Static member {member.member_id} with instance id {instance_id} joins the consumer "
                    f"group{using}."
                )
            elif self._dialect is Dialect.R3_7:
                yield (
                    f"Static member {member.member_id} with instance id {instance_id} re-joins the consumer "
                    "group."
                )
            else:
                yield (
                    f"Static member with instance id {instance_id} re-joins the consumer group{using}. Created a "
                    f"new member {member.member_id} to replace the existing member {held[instance_id]}."
                )

    def _subscriptions(self) -> Iterator[str]:
        members = self._group.members if self._group is not None else {}
        for change in self._changes:
            if not isinstance(change, MemberSubscribed):
                continue
            member = members.get(change.member_id)
            if member is None:
                continue
            if change.joined or "subscribed_topic_names" in change.changed:
                topics = ", ".join(member.subscribed_topic_names)
                yield f"Member {change.member_id} updated its subscribed topics to: [{topics}]."
            if "subscribed_topic_regex" in change.changed:
                regex = member.subscribed_topic_regex
                yield f"Member {change.member_id} updated its subscribed regex to: {regex}."

    def _departures(self) -> Iterator[str]:
        taken = {each.instance_id for each in self._joined() if each.instance_id}
        for member in self._gone():
            if member.member_id in self._stay:
                continue
            if member.instance_id is not None and member.instance_id in taken:
                continue
            yield self._departure(member)

    def _departure(self, member: MemberUnsubscribed) -> str:
        request, timer = self._happening.request, self._happening.timer
        member_id, instance_id = member.member_id, member.instance_id
        if timer is not None:
            return (
                f"Member {member_id} fenced from the group because "
                f"{self._fence_reason(timer.kind, member_id)}."
            )
        if isinstance(request, LeaveGroupRequest):
            identity = next(
                (
                    each
                    for each in request.members
                    if each.member_id == member_id
                    or (instance_id is not None and each.group_instance_id == instance_id)
                ),
                None,
            )
            reason = (identity.reason if identity is not None else None) or NO_REASON
            who = f"Dynamic member {member_id}"
            if instance_id is not None:
                who = f"Static member {member_id} with instance id {instance_id}"
            return (
                f"[Group {request.group_id}] {who} has left group through explicit `LeaveGroup` request; "
                f"client reason: {reason}"
            )
        if instance_id is not None:
            return (
                f"Static member {member_id} with instance id {instance_id} left the consumer group."
            )
        return f"Member {member_id} left the consumer group."

    def _fence_reason(self, kind: TimerKind, member_id: str) -> str:
        match kind:
            case TimerKind.SESSION if self._dialect is Dialect.R3_7:
                return "its session expired"
            case TimerKind.SESSION:
                return "the member session expired"
            case TimerKind.JOIN:
                return "the classic member failed to join within the rebalance timeout"
            case TimerKind.SYNC:
                return "the member failed to sync within timeout"
            case _:
                if self._dialect is Dialect.R3_7:
                    return "it failed to revoke partitions within 0ms"
                epoch = _epoch_before(self._changes, member_id)
                return f"it failed to transition from epoch {epoch} within 0ms"

    def _leaves_of_absence(self) -> Iterator[str]:
        request = self._happening.request
        if not isinstance(request, ConsumerGroupHeartbeatRequest):
            return
        if request.member_epoch != STATIC_LEAVE_EPOCH:
            return
        for change in self._changes:
            if (
                isinstance(change, MemberAssigned)
                and change.member_id == request.member_id
                and change.new_member_epoch == STATIC_LEAVE_EPOCH
            ):
                yield (
                    f"Static member {change.member_id} with instance id {request.instance_id} temporarily left "
                    "the consumer group."
                )

    def _scan(self) -> str:
        members = self._group.members.values() if self._group is not None else ()
        regexes = sorted(
            {member.subscribed_topic_regex for member in members if member.subscribed_topic_regex}
        )
        return f"Scanned 0 topics to refresh regular expressions [{', '.join(regexes)}] in 0ms."

    def _epochs(self) -> Iterator[str]:
        assert self._group is not None
        for change in self._changes:
            match change:
                case GroupEpochBumped(old_epoch=None) if self._converted():
                    continue  # the conversion repeats the generation
                case GroupEpochBumped() if change.new_epoch != change.old_epoch:
                    if self._dialect in LOGS_EVERY_BUMP:
                        yield (
                            f"Bumped group epoch to {change.new_epoch} with metadata hash "
                            f"{change.new_metadata_hash}."
                        )
                    elif self._happening.timer is None and not self._gone():
                        yield f"Bumped group epoch to {change.new_epoch}."
                case TargetInstalled() if change.new_assignment_epoch > 0:
                    assignor = preferred_assignor(self._group.members.values())
                    yield (
                        f"Computed a new target assignment for epoch {change.new_assignment_epoch} with "
                        f"'{assignor or self._config.server_assignors[0]}' assignor in 0ms."
                    )
                case _:
                    pass

    def _converted(self) -> bool:
        return any(
            isinstance(each, GroupRemoved) and each.group_type is GroupType.CLASSIC
            for each in self._changes
        )
