"""Who a member of a classic generation is."""

from rebalance_audit.audit.members.stint import Identity
from rebalance_audit.replay.groups.classic_group import ClassicMember

_IDENTITY_FIELDS = ClassicMember._fields.index("subscription_bytes")
"""How many fields a member has before its bytes: who it is, and its timeouts."""


def same_identity(before: ClassicMember | None, member: ClassicMember) -> bool:
    """Whether the member's identity is the same as in the previous generation."""
    if before is None or before[:_IDENTITY_FIELDS] != member[:_IDENTITY_FIELDS]:
        return False
    said, says = before.subscription, member.subscription
    return said is says or (said is not None and says is not None and said.topics == says.topics)


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
