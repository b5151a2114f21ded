"""The state machine of one member as the early access release had it (3.7).

Its records hold no state except what the member waits for: the member gives up `pending_revocation` at its old epoch,
then waits for `pending_assignment` at the new one. A new target starts this again from the beginning.
"""

from collections.abc import Callable
from dataclasses import replace

from rebalance_audit.coordinator.consumer.reconciliation import Surroundings, Target
from rebalance_audit.replay.groups.modern_group import (
    STABLE,
    UNRELEASED,
    UNREVOKED,
    ClientAssignorResult,
    ModernMember,
)
from rebalance_audit.replay.partitions import (
    NOTHING,
    Partitions,
    Topic,
    each,
    minus,
    union,
)


def reconcile_early(
    member: ModernMember,
    target: Target,
    around: Surroundings,
    result: ClientAssignorResult | None = None,
) -> ModernMember:
    """The member after its next step; the same object where nothing changes.

    `result` is what a client-side assignor said about the member's target; the member gets it with the target's epoch.
    """
    if member.target_member_epoch != target.assignment_epoch:
        return _start(member, target, around, result)
    if member.pending_revocation:
        if around.owned is None or not _has_let_go(member.assigned, around.owned):
            return member
        return _arrive(member, target, around, member.pending_assignment, result)
    if member.pending_assignment and _free(member.pending_assignment, around.is_free):
        return _arrive(member, target, around, member.pending_assignment, result)
    return member


def _start(
    member: ModernMember,
    target: Target,
    around: Surroundings,
    result: ClientAssignorResult | None,
) -> ModernMember:
    # What is being given up is still owned until the member says otherwise.
    held = union(member.assigned, member.pending_revocation)
    revoked = minus(held, target.partitions)
    kept = minus(held, revoked)
    missing = minus(target.partitions, kept)
    started = replace(member, assigned=kept, pending_revocation=revoked)
    if not revoked:
        return _arrive(started, target, around, missing, result)
    return replace(
        started,
        member_state=UNREVOKED,
        pending_assignment=missing,
        target_member_epoch=target.assignment_epoch,
    )


def _arrive(
    member: ModernMember,
    target: Target,
    around: Surroundings,
    missing: Partitions,
    result: ClientAssignorResult | None,
) -> ModernMember:
    """Move to the target's epoch with those of the missing partitions that are free."""
    added = _free(missing, around.is_free)
    rest = minus(missing, added)
    return replace(
        member,
        member_state=UNRELEASED if rest else STABLE,
        previous_member_epoch=member.member_epoch,
        member_epoch=target.assignment_epoch,
        target_member_epoch=target.assignment_epoch,
        assigned=union(member.assigned, added),
        pending_revocation=NOTHING,
        pending_assignment=rest,
        client_assignor_result=result or member.client_assignor_result,
    )


def _has_let_go(assigned: Partitions, owned: Partitions) -> bool:
    """Whether the member owns exactly the topics of its assignment and no partition beyond it."""
    return owned.keys() == assigned.keys() and not minus(owned, assigned)


def _free(partitions: Partitions, is_free: Callable[[Topic, int], bool]) -> Partitions:
    taken: dict[Topic, frozenset[int]] = {}
    for topic, number in each(partitions):
        if not is_free(topic, number):
            taken[topic] = taken.get(topic, frozenset()) | {number}
    return minus(partitions, taken)
