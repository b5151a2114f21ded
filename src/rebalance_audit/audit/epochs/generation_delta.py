"""How the members of one classic generation differ from those of the one before.

A record repeats the whole group, however little has changed. Members that are as they were are found once, here; what
judges a generation sees the others.

From version 1 on, the subscription lists the owned partitions, from version 2 on also their generation, which is
another one each time. Neither says that a member differs: what it was assigned does.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from rebalance_audit.replay.groups import ClassicMember

Members = Mapping[str, ClassicMember]
"""By member id."""


class GenerationDelta(NamedTuple):
    """The members that differ; all others have the same identity, topics and assignment in both generations."""

    differing: Sequence[tuple[ClassicMember | None, ClassicMember]]
    """Before and now; None before: the member id joined. In the order of the new generation."""
    gone: Sequence[ClassicMember]
    """Members whose id the new generation lacks, in the order of the old one."""

    @property
    def joined(self) -> list[ClassicMember]:
        """Members whose id the old generation lacks."""
        return [now for before, now in self.differing if before is None]

    @property
    def before(self) -> Members:
        """Those that differ or are gone, as the old generation has them."""
        changed = (before for before, _ in self.differing if before is not None)
        return {member.member_id: member for member in (*changed, *self.gone)}

    @property
    def after(self) -> Members:
        """Those that differ, as the new generation has them."""
        return {now.member_id: now for _, now in self.differing}


_IDENTITY_FIELDS: Final = ClassicMember._fields.index("subscription_bytes")
"""How many fields a member has before its bytes: who it is, and its timeouts."""


def same_identity(before: ClassicMember | None, member: ClassicMember) -> bool:
    """Whether the member's identity is the same as in the previous generation."""
    if before is None or before[:_IDENTITY_FIELDS] != member[:_IDENTITY_FIELDS]:
        return False
    said, says = before.subscription, member.subscription
    return said is says or (said is not None and says is not None and said.topics == says.topics)


def _is_as_before(before: ClassicMember, now: ClassicMember) -> bool:
    if before.assignment_bytes != now.assignment_bytes:
        return False
    # Metadata that is no consumer's subscription is compared as bytes.
    is_read = now.subscription is not None
    return (is_read or before.subscription_bytes == now.subscription_bytes) and same_identity(
        before, now
    )


def delta_of(old: Members, new: Members) -> GenerationDelta:
    """Compare two generations; replay keeps the object of a member that a record repeats."""
    differing = [
        (before, now)
        for member_id, now in new.items()
        if (before := old.get(member_id)) is not now
        and (before is None or not _is_as_before(before, now))
    ]
    stayed = len(new) - sum(before is None for before, _ in differing)
    if stayed == len(old):
        return GenerationDelta(differing, ())
    return GenerationDelta(differing, [old[member_id] for member_id in old if member_id not in new])
