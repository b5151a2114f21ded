"""Steps that living members owe. Where records are missing and a step stays out, its record may be one of them.

A member that lives answers a new target with its next heartbeat, and takes what it waits for with the next one after it
is free. It may also be dead, so all this proves nothing: durations are unknown then, and ownership is marked. In a
partition that is complete, or of unknown completeness, no step counts as missed.
"""

from rebalance_audit.audit.causes.liveness import Liveness
from rebalance_audit.audit.group.life import Life
from rebalance_audit.audit.members.member_watch import MemberWatch
from rebalance_audit.replay.changes import GroupType, MemberAssigned
from rebalance_audit.replay.groups import STATIC_LEAVE_EPOCH, UNRELEASED
from rebalance_audit.replay.partitions import Partitions, each, minus, union


def owes_a_step(life: Life, liveness: Liveness, now_ms: int) -> bool:
    """Whether a member has long owed an answer to a target, or waits for partitions that have long been free."""
    if life.is_whole is not False:
        return False
    before_ms = now_ms - life.options.rules.answer_within_ms
    watches = life.watches.values()
    # A member at epoch 0 comes with this write.
    if any(watch.member_epoch and _owes_since(liveness, watch, before_ms) for watch in watches):
        return True
    waiting = {
        life.members.owner(watch.stint.member_id).identity for watch in watches if watch.waiting
    }
    return bool(waiting) and any(
        life.moves.owner_of(partition) in waiting
        for partition in life.ownership.free_since(before_ms)
    )


def takes_late(life: Life, change: MemberAssigned, gained: Partitions) -> bool:
    """Whether the member waited for a partition that had long been free: an earlier record may have given it."""
    if life.is_whole is not False or change.old_state != UNRELEASED:
        return False
    since_ms = change.position.record_timestamp_ms - life.options.rules.answer_within_ms
    return not set(each(gained)).isdisjoint(life.ownership.free_since(since_ms))


def hides_revocation(
    life: Life, liveness: Liveness, change: MemberAssigned, group_type: GroupType
) -> bool:
    """Whether a member may have given partitions up before this record, in one that is missing.

    It lost what no record had asked it to give up. Or it is gone, also for a while, and had partitions to give up, or
    had to hear of that long ago.
    """
    if life.is_whole is not False:
        return False
    if _lacks_revocation(change, group_type):
        return True
    if not change.released and change.new_member_epoch != STATIC_LEAVE_EPOCH:
        return False
    if change.old_pending:
        return True
    watch = life.watches.get(change.member_id)
    before_ms = change.position.record_timestamp_ms - life.options.rules.answer_within_ms
    if watch is None or not _owes_since(liveness, watch, before_ms):
        return False
    identity = life.members.owner(change.member_id).identity
    return any(life.moves.owner_of(held) != identity for held in each(change.old_assigned))


def _owes_since(liveness: Liveness, watch: MemberWatch, at_ms: int) -> bool:
    since_ms = liveness.owes_since_ms(watch)
    return since_ms is not None and since_ms <= at_ms


def _lacks_revocation(change: MemberAssigned, group_type: GroupType) -> bool:
    """Whether a member lost what no record had asked it to give up, so that this record and others may be missing.

    Members of share groups are never asked, nor is one that reports that it no longer has the partitions.
    """
    if change.released or group_type is GroupType.SHARE:
        return False
    kept = union(change.new_assigned, change.new_pending)
    return bool(minus(minus(change.old_assigned, kept), change.old_pending))
