"""Heartbeats that only keep a session alive. Most do, and a look at the member is enough to recognise them.

A shortcut, not a rule: for every heartbeat called quiet here, the handlers would write no record, answer with nothing
new and restart the session.
"""

from typing import Final

from rebalance_audit.coordinator.consumer.member_change import NO_TARGET_EPOCH
from rebalance_audit.coordinator.consumer.soft_state import SoftGroup
from rebalance_audit.coordinator.handling import CoordinatorConfig
from rebalance_audit.coordinator.requests.consumer import ConsumerGroupHeartbeatRequest
from rebalance_audit.replay.changes import GroupType
from rebalance_audit.replay.groups.modern_group import STABLE, ModernGroup, ModernMember

_UNCHANGED: Final = ConsumerGroupHeartbeatRequest("", "", 0)[4:11]
"""The fields between the member's identity and the connection's, all left out."""


def is_quiet(
    group: ModernGroup,
    soft: SoftGroup,
    request: ConsumerGroupHeartbeatRequest,
) -> bool:
    """Whether the heartbeat's member and its group have reached their target and the topics are unchanged.

    Regular expressions may still be due to be resolved: see `may_resolve`.
    """
    member_epoch = request.member_epoch
    member = group.members.get(request.member_id)
    return (
        member is not None
        and 0 < member_epoch == member.member_epoch == group.assignment_epoch == group.group_epoch
        and member.member_state == STABLE
        and member.target_member_epoch in {member_epoch, NO_TARGET_EPOCH}
        and request[4:11] == _UNCHANGED
        and _is_the_same(member, request)
        and soft.group is group
        and not soft.is_draft
        and soft.client_run is None
        and soft.topics_are_checked
        and group.has_epoch_record
        and group.has_assignment_record
        and group.group_type is GroupType.CONSUMER
    )


def _is_the_same(member: ModernMember, request: ConsumerGroupHeartbeatRequest) -> bool:
    return (
        member.described
        and member.classic is None
        and member.instance_id == request.instance_id
        and member.client_id == request.client_id
        and member.client_host == request.client_host
    )


def may_resolve(
    group: ModernGroup,
    soft: SoftGroup,
    config: CoordinatorConfig,
    new_topics_version: int,
    now_ms: int,
) -> bool:
    """Whether the group's regular expressions may have to be resolved; the handlers decide."""
    last = next(iter(group.regex_resolutions.values()), None)
    return (
        last is None
        or len(soft.expressions) != len(group.regex_resolutions)
        or last.metadata_version < new_topics_version
        or now_ms > last.resolved_at_ms + config.consumer_regex_refresh_interval_ms
    )
