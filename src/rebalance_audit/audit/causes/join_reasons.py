"""The join of a member: its cause, its reason, and what the record shows."""

from rebalance_audit.audit.verdicts.cause import RebalanceCause
from rebalance_audit.sentences.reason import CodedReason, because


def join_reasons(
    member_id: str, instance_id: str | None
) -> tuple[RebalanceCause, CodedReason, CodedReason]:
    """(Cause, reason, evidence) of a dynamic or, with an instance id, a static member."""
    if instance_id is None:
        return (
            RebalanceCause.MEMBER_JOINED,
            because("member_joined", member=member_id),
            because("new_member", member=member_id),
        )
    return (
        RebalanceCause.STATIC_MEMBER_JOINED,
        because("static_member_joined", member=member_id, instance=instance_id),
        because("new_static_member", member=member_id, instance=instance_id),
    )
