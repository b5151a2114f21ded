"""What a heartbeat or a JoinGroup changes in its group, in Kafka's three steps.

1. `note_member`: the member's description; bumps the group epoch if that or the topics changed.
2. `retarget`: the target assignment, if it is older than the group epoch and due.
3. `settle`: the member's own step towards its target.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from rebalance_audit.coordinator.client_side.choice import choose_client_assignor
from rebalance_audit.coordinator.consumer.bumps import bump_for_topics
from rebalance_audit.coordinator.consumer.reconciliation import (
    Surroundings,
    Target,
    reconcile,
    reconcile_early,
    says_the_same,
)
from rebalance_audit.coordinator.consumer.regexes import follow_regex
from rebalance_audit.coordinator.consumer.targets import (
    compute_target,
    server_assignor,
    target_as_is,
    topic_ids_of,
    topic_names_of,
)
from rebalance_audit.coordinator.consumer.work import Work
from rebalance_audit.coordinator.reasons import BumpReason, Trigger
from rebalance_audit.replay.groups import STABLE, ModernMember
from rebalance_audit.replay.partitions import Partitions

NO_TARGET_EPOCH: Final = -1
"""The target member epoch of a release that has none."""


class MemberChange(NamedTuple):
    """What step 1 found."""

    group_epoch: int
    subscription_changed: bool
    """Whether the member's topic names or expression differ from before."""


def note_member(
    work: Work, member: ModernMember, updated: ModernMember, new_topics_version: int
) -> MemberChange:
    """Step 1; drafts [5]? [16t]? [4]? [3]? [4t]?. Raises RefusedError (INVALID_REGULAR_EXPRESSION).

    `member` is the member before the request: as replay has it, a new one, or a copy of the static member it replaces.
    """
    names_changed = False
    if updated != member:
        work.records.append(work.drafts.member(updated))
        names_changed = updated.subscribed_topic_names != member.subscribed_topic_names
    regex = follow_regex(work, member, updated, new_topics_version)
    subscription_changed = names_changed or regex.changed
    expression_bumps = regex.changed if updated.classic is not None else regex.bumps
    triggers = {
        Trigger.NAMES_CHANGED: names_changed,
        Trigger.EXPRESSION_CHANGED: expression_bumps,
        Trigger.SERVER_ASSIGNOR_CHANGED: _assignor_changed(work, member, updated),
        Trigger.CLIENT_ASSIGNOR_CHANGED: _client_assignors_changed(member, updated),
    }
    found = [trigger for trigger, holds in triggers.items() if holds]
    if work.release.new_group_bumps and work.group_epoch == 0:
        found.append(Trigger.MEMBER_JOINED)
    reasons = [
        BumpReason(trigger, updated.member_id, updated.instance_id)
        for trigger in _as_seen(member, found)
    ]
    group_epoch = None
    if reasons or not work.soft.topics_are_checked:
        group_epoch = _check_topics(work, member, updated, reasons)
    return MemberChange(
        work.group_epoch if group_epoch is None else group_epoch, subscription_changed
    )


def _as_seen(member: ModernMember, triggers: Sequence[Trigger]) -> list[Trigger]:
    """Everything that a new member brings counts as its joining; an assignor is named as well."""
    if member.described or not triggers:
        return list(triggers)
    also = [each for each in triggers if each is Trigger.SERVER_ASSIGNOR_CHANGED]
    return [Trigger.MEMBER_JOINED, *also]


def _assignor_changed(work: Work, member: ModernMember, updated: ModernMember) -> bool:
    if updated.classic is not None:
        return False
    if not work.release.assignor_change_bumps or member.server_assignor == updated.server_assignor:
        return False
    return server_assignor(work) != server_assignor(work, updated)


def _client_assignors_changed(member: ModernMember, updated: ModernMember) -> bool:
    """Whether its assignors, their metadata or versions are new, or it gives a reason to assign anew."""
    reported = updated.client_assignors
    return reported is not member.client_assignors and (
        reported != member.client_assignors or any(assignor.reason for assignor in reported)
    )


def _check_topics(
    work: Work, member: ModernMember, updated: ModernMember, reasons: Sequence[BumpReason]
) -> int | None:
    group = work.group
    regexes = dict(group.regexes)
    old = member.subscribed_topic_regex
    if old and old != updated.subscribed_topic_regex and work.soft.expressions[old] == 1:
        regexes.pop(old, None)
    bumped_to = bump_for_topics(work, work.topic_names_with(updated), regexes, reasons)
    if not work.release.topic_metadata_record and group.recorded_topics is not None:
        # The record that an earlier release kept; the hash has taken its place.
        work.records.append(work.drafts.topic_metadata_gone())
    work.soft.topics_are_checked = True
    return bumped_to


def retarget(
    work: Work, change: MemberChange, updated: ModernMember, *, replaced: bool = False
) -> Target:
    """Step 2; drafts [7]* [6] when a target is computed. Returns the member's target that then holds.

    Where a client-side assignor runs, no target is computed here, and a member that was replaced hands its target
    over; `replaced` as in `compute_target`.
    """
    if work.assignment_epoch >= change.group_epoch and not replaced:
        return target_as_is(work, updated)
    if not work.may_compute():
        return target_as_is(work, updated)
    if choose_client_assignor(work.members_with(updated).values()) is not None:
        target = target_as_is(work, updated)
        if replaced:
            _hand_over(work, updated, target)
        return target
    return compute_target(work, change.group_epoch, updated, replaced=replaced)


def _hand_over(work: Work, updated: ModernMember, target: Target) -> None:
    """The target of a static member that came back follows it to its new id; drafts [7]."""
    holder = work.static_member(updated.instance_id)
    result = None if holder is None else work.group.target_results.get(holder.member_id)
    work.records.append(work.drafts.target(updated.member_id, target.partitions, result))


def settle(
    work: Work,
    updated: ModernMember,
    target: Target,
    owned: Partitions | None,
    *,
    subscription_changed: bool,
) -> ModernMember:
    """Step 3; drafts [8]? and moves the member's rebalance timer. Raises RefusedError (FENCED_MEMBER_EPOCH)."""
    release = work.release
    forced = subscription_changed and release.forces_subscription
    if not forced and _has_arrived(updated, target):
        return updated
    subscribed = None
    if release.forces_subscription:
        subscribed = topic_ids_of(updated, work.group.regexes, work.image)
    around = Surroundings(
        owned,
        work.is_free,
        subscribed,
        bool(topic_names_of(updated, work.group.regexes)),
        forced,
        release.own_pending_is_free,
        release.assignment_epochs,
        release.steps_while_revoking,
    )
    if release.early_access:
        result = work.group.target_results.get(updated.member_id)
        moved = reconcile_early(updated, target, around, result)
    else:
        moved = reconcile(updated, target, around)
    if says_the_same(moved, updated):
        return updated
    work.records.append(work.drafts.current(moved))
    if moved.classic is None:
        work.watch_revocation(moved)
    return moved


def _has_arrived(member: ModernMember, target: Target) -> bool:
    epoch = target.assignment_epoch
    return (
        member.member_state == STABLE
        and member.member_epoch == epoch
        and member.target_member_epoch in {epoch, NO_TARGET_EPOCH}
    )
