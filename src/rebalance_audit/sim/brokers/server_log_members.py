"""Lines about share and streams groups, derived from the records that a request or timer made."""

from collections.abc import Iterator

from rebalance_audit.coordinator.handling import Dialect, TimerKind
from rebalance_audit.coordinator.reasons import Trigger
from rebalance_audit.coordinator.requests.streams import StreamsGroupHeartbeatRequest
from rebalance_audit.replay.changes import (
    Change,
    GroupEpochBumped,
    GroupType,
    MemberAssigned,
    MemberSubscribed,
    MemberUnsubscribed,
    TargetInstalled,
)
from rebalance_audit.replay.groups.modern_group import STATIC_LEAVE_EPOCH, ModernGroup
from rebalance_audit.sim.brokers.broker import Happening


def share_and_streams_lines(
    group: ModernGroup, changes: list[Change], happening: Happening, dialect: Dialect
) -> Iterator[str]:
    """What the coordinator logs about one write to one group: members, settings, epoch, target."""
    lines = _streams if group.group_type is GroupType.STREAMS else _share
    yield from lines(group.group_id, changes, happening, dialect)


def _share(
    group_id: str, changes: list[Change], happening: Happening, _dialect: Dialect
) -> Iterator[str]:
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
