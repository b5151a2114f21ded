"""Who a member of a classic generation is."""

from rebalance_audit.audit.members.stint import Identity
from rebalance_audit.replay.groups.classic_group import ClassicMember


def identity_of(member: ClassicMember) -> Identity:
    """As its latest record has it."""
    subscription = member.subscription
    return Identity(
        member.instance_id,
        member.client_id,
        member.client_host,
        member.rebalance_timeout_ms if member.rebalance_timeout_ms >= 0 else None,
        member.session_timeout_ms,
        tuple(subscription.topics) if subscription else (),
        topics_are_known=subscription is not None,
    )
