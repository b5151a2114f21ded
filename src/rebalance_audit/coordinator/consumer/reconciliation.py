"""The state machine of one member: how it moves from its current assignment to its target.

One pure function; the rules are those of Kafka's CurrentAssignmentBuilder (KIP-848, Member Epoch).

    STABLE       has all of its target. Leaves this state when the assignment epoch moves.
    UNREVOKED    must give partitions up; its epoch stays until a heartbeat owns none of them.
    UNRELEASED   is at the target's epoch, but others still hold some of its partitions.
    UNKNOWN      written by a release that is not known here: the member must start again with nothing.

The early access release (3.7) had another one: its records hold no state except what the member waits for. The member
gives up `pending_revocation` at its old epoch, then waits for `pending_assignment` at the new one. A new target starts
this again from the beginning.
"""

from collections.abc import Callable, Container
from dataclasses import replace
from typing import NamedTuple

from rebalance_audit.coordinator.handling import ErrorCode, RefusedError
from rebalance_audit.replay.groups import (
    STABLE,
    UNKNOWN,
    UNRELEASED,
    UNREVOKED,
    ClientAssignorResult,
    ModernMember,
)
from rebalance_audit.replay.partitions import (
    NOTHING,
    Partitions,
    Topic,
    TopicPartition,
    each,
    minus,
    union,
)


class Target(NamedTuple):
    """The target assignment of one member."""

    assignment_epoch: int
    partitions: Partitions


class Surroundings(NamedTuple):
    """What a member's next step depends on besides the member and its target."""

    owned: Partitions | None
    """What the member says it owns; None where the heartbeat does not say."""
    is_free: Callable[[Topic, int], bool]
    """Whether no member has the partition, assigned or pending revocation."""
    subscribed: Container[Topic] | None = None
    """Topics that the member is subscribed to; None where the release does not look."""
    subscribes: bool = True
    """Whether the member subscribes to anything at all, be it a topic that does not exist."""
    subscription_changed: bool = False
    """Whether the heartbeat changed them and the release makes the member follow at once."""
    own_pending_is_free: bool = True
    assignment_epochs: bool = True
    """Whether to keep the epoch at which each partition was assigned."""
    steps_while_revoking: bool = False
    """Whether a member that gave up all it had to, and must give up more, moves on by one epoch."""


def reconcile(member: ModernMember, target: Target, around: Surroundings) -> ModernMember:
    """The member after its next step; the same object where nothing changes.

    Raises RefusedError (FENCED_MEMBER_EPOCH) for a member in an unknown state that owns something.
    """
    state = member.member_state
    if state == STABLE and member.member_epoch == target.assignment_epoch:
        return _follow_subscription(member, around)
    if state == UNREVOKED and _owns_any(around.owned, member.pending_revocation):
        return _follow_subscription(member, around)
    if state == UNKNOWN:
        if around.owned is None or around.owned:
            raise RefusedError(
                ErrorCode.FENCED_MEMBER_EPOCH,
                "The member is in an unknown state and must rejoin without any partition.",
            )
        return _step(member, target, around, waiting_epoch=target.assignment_epoch)
    steps = state == UNREVOKED and around.steps_while_revoking
    return _step(member, target, around, waiting_epoch=member.member_epoch + steps)


def _owns_any(owned: Partitions | None, partitions: Partitions) -> bool:
    """Whether the member still owns one of them; one that does not say may own them all."""
    if owned is None:
        return True
    return any(topic in owned and numbers & owned[topic] for topic, numbers in partitions.items())


def _step(
    member: ModernMember, target: Target, around: Surroundings, *, waiting_epoch: int
) -> ModernMember:
    # The target counts as empty for a topic that the member no longer subscribes to.
    wanted = _only(target.partitions, around.subscribed)
    # To give up = assigned - target; kept = assigned and target.
    revoked = minus(member.assigned, wanted)
    kept = minus(member.assigned, revoked)
    if revoked and _owns_any(around.owned, revoked):
        return _moved(member, around, UNREVOKED, waiting_epoch, kept, revoked)
    # To add = target - kept, less what another member holds.
    missing = minus(wanted, kept)
    taken: dict[Topic, frozenset[int]] = {}
    for topic, number in each(missing):
        if not _available(member, around, topic, number):
            taken[topic] = taken.get(topic, frozenset()) | {number}
    added = minus(missing, taken)
    state = UNRELEASED if taken else STABLE
    assigned_at = dict.fromkeys(each(added), target.assignment_epoch)
    return _moved(
        member,
        around,
        state,
        target.assignment_epoch,
        union(kept, added),
        NOTHING,
        assigned_at=assigned_at,
    )


def _available(member: ModernMember, around: Surroundings, topic: Topic, number: int) -> bool:
    if around.is_free(topic, number):
        return True
    # The member itself may be the owner, of a partition that it was giving up.
    return around.own_pending_is_free and number in member.pending_revocation.get(topic, ())


def _follow_subscription(member: ModernMember, around: Surroundings) -> ModernMember:
    """Give up the topics that the member no longer subscribes to, whatever its target says."""
    if not around.subscription_changed:
        return member
    kept = _only(member.assigned, around.subscribed)
    left = minus(member.assigned, kept)
    # Kafka makes a step, though an empty one, of a member with no topic left and nothing to give up.
    if not left and (around.subscribes or member.pending_revocation):
        return member
    pending = union(member.pending_revocation, left)
    if pending and _owns_any(around.owned, pending):
        return _moved(member, around, UNREVOKED, member.member_epoch, kept, pending)
    return _moved(
        member,
        around,
        member.member_state,
        member.member_epoch,
        kept,
        member.pending_revocation,
    )


def _only(partitions: Partitions, topics: Container[Topic] | None) -> Partitions:
    if topics is None:
        return partitions
    return {topic: numbers for topic, numbers in partitions.items() if topic in topics}


def _moved(
    member: ModernMember,
    around: Surroundings,
    state: str,
    member_epoch: int,
    assigned: Partitions,
    pending: Partitions,
    *,
    assigned_at: dict[TopicPartition, int] | None = None,
) -> ModernMember:
    """The member after a step. Its previous epoch is the one it had, even where the epoch did not move."""
    epochs: dict[TopicPartition, int] = {}
    if around.assignment_epochs:
        fresh = assigned_at or {}
        for held in (assigned, pending):
            for topic, number in each(held):
                epochs[topic, number] = fresh.get(
                    (topic, number), member.assignment_epoch_of(topic, number)
                )
    return replace(
        member,
        member_state=state,
        member_epoch=member_epoch,
        previous_member_epoch=member.member_epoch,
        assigned=assigned,
        pending_revocation=pending,
        assignment_epochs=epochs,
    )


def says_the_same(left: ModernMember, right: ModernMember) -> bool:
    """Whether the current assignment records of both would be equal, however their epochs are written."""
    return (
        left.member_epoch == right.member_epoch
        and left.previous_member_epoch == right.previous_member_epoch
        and left.member_state == right.member_state
        and left.assigned == right.assigned
        and left.pending_revocation == right.pending_revocation
        and left.target_member_epoch == right.target_member_epoch
        and left.pending_assignment == right.pending_assignment
        and left.client_assignor_result == right.client_assignor_result
        and all(
            left.assignment_epoch_of(*partition) == right.assignment_epoch_of(*partition)
            for held in (left.assigned, left.pending_revocation)
            for partition in each(held)
        )
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
