"""What members of classic groups sent that cannot be read in full, counted."""

from collections.abc import Iterable, Mapping
from typing import Final

from rebalance_audit.replay.classic import Kind, kind_of
from rebalance_audit.replay.groups import ClassicMember
from rebalance_audit.wire.consumer_protocol import OWNED_PARTITIONS, PROTOCOL_TYPE

SUBSCRIPTION: Final = "subscription"
OWNED: Final = "owned partitions"
ASSIGNMENT: Final = "assignment"
SENTENCES: Final[Mapping[str, str]] = {
    SUBSCRIPTION: "subscriptions cannot be read: which topics their members subscribe to is unknown",
    OWNED: "subscriptions leave out what their members owned",
    ASSIGNMENT: "assignments cannot be read: what their members have is unknown",
}
"""What cannot be read -> the rest of a sentence that begins with how many."""


def unread_parts(
    protocol_type: str, protocol_name: str | None, members: Iterable[ClassicMember]
) -> Iterable[str]:
    """One key of `SENTENCES` for each part of a member's bytes that cannot be read."""
    kind = kind_of(protocol_type, protocol_name)
    is_consumer = protocol_type == PROTOCOL_TYPE
    for member in members:
        if is_consumer:
            said = member.subscription
            if said is None:
                yield SUBSCRIPTION
            elif OWNED_PARTITIONS in said.unread:
                yield OWNED
        if _has_unread_assignment(kind, member):
            yield ASSIGNMENT


def _has_unread_assignment(kind: Kind, member: ClassicMember) -> bool:
    if not member.assignment_bytes:
        return False
    if kind.owns_partitions:
        return member.assignment is None
    return bool(kind.title) and kind.work(member) is None
