"""The progress of the members of a classic generation: all have reached it once its record is written."""

from collections.abc import Mapping

from rebalance_audit.audit.causes.classic_scene import Generation
from rebalance_audit.audit.epochs.epoch_span import EpochSpan, MemberProgress
from rebalance_audit.audit.epochs.generation_delta import GenerationDelta
from rebalance_audit.audit.group.shifts import Shift
from rebalance_audit.replay.partitions import count


def reach(
    span: EpochSpan,
    new: Generation,
    delta: GenerationDelta,
    moved_by_identity: Mapping[str, Shift],
) -> None:
    """Every member has reached the new generation once its record is written."""
    at_ms, work = new.position.record_timestamp_ms, new.kind.work
    reached = list(delta.differing)
    last = new.members[max(new.members)] if new.members else None
    if last is not None and all(now is not last for _, now in reached):
        reached.append((last, last))
    for before, member in reached:
        shift = moved_by_identity.get(member.instance_id or member.member_id)
        gained_count = lost_count = 0
        if shift is not None:
            gained_count, lost_count = count(shift.gained), count(shift.lost)
        span.progress[member.member_id] = MemberProgress(
            member.member_id,
            member.instance_id,
            member.client_id,
            member.client_host,
            span.started_at_ms,
            member.partition_count + lost_count - gained_count,
            at_ms,
            partitions_after=member.partition_count,
            partitions_revoked=lost_count,
            partitions_assigned=gained_count,
            outcome="reached",
            work=work(member),
            is_new=before is None or work(before) != work(member),
        )
    span.untouched = len(new.members) - len(span.progress)
