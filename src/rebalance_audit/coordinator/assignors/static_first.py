"""The order of members in range and round-robin assignors; a restarted static member keeps its position."""

from rebalance_audit.replay.java_order import string_rank


def static_first(instance_id: str | None, member_id: str) -> tuple[bool, bytes]:
    """Sort key: static members by instance id, then dynamic ones by member id."""
    if instance_id is not None:
        return False, string_rank(instance_id)
    return True, string_rank(member_id)
