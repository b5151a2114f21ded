"""How the members of one classic generation differ from those of the one before.

A record repeats the whole group, however little has changed. Members that are as they were are found once, here; what
judges a generation sees the others.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rebalance_audit.replay.groups.classic_group import ClassicMember

Members = Mapping[str, ClassicMember]
"""By member id."""


class GenerationDelta(NamedTuple):
    """The members that differ; all others have the same fields in both generations."""

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


def delta_of(old: Members, new: Members) -> GenerationDelta:
    """Compare two generations; replay keeps the object of a member that a record repeats."""
    differing = [
        (before, now)
        for member_id, now in new.items()
        if (before := old.get(member_id)) is not now and before != now
    ]
    stayed = len(new) - sum(before is None for before, _ in differing)
    if stayed == len(old):
        return GenerationDelta(differing, ())
    return GenerationDelta(differing, [old[member_id] for member_id in old if member_id not in new])
