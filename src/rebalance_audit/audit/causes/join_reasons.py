"""The join of a member: cause, reason, what the record shows; and who began the join phase of an empty group."""

from collections.abc import Sequence
from typing import Final

from rebalance_audit.audit.verdicts.cause import Certainty, RebalanceCause, Verdict, meanwhile
from rebalance_audit.sentences.reason import CodedReason, because

_JOINS: Final = frozenset({RebalanceCause.MEMBER_JOINED, RebalanceCause.STATIC_MEMBER_JOINED})


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


def first_to_join(verdicts: Sequence[Verdict], leader_id: str | None) -> list[Verdict]:
    """The verdicts, with the leader's join first; the others joined meanwhile. Source: ClassicGroup.add.

    The first member may also have gone before the phase ended. Then another one leads, and if both static and dynamic
    members joined, it is open which of them was first.
    """
    joins = {verdict.member_id: verdict for verdict in verdicts if verdict.cause in _JOINS}
    first = joins.pop(leader_id, None)
    if first is None:
        return list(verdicts)
    others = {verdict.cause for verdict in joins.values()} - {first.cause}
    certainty = Certainty.PROBABLE if others else Certainty.PROVEN
    return [
        first._replace(certainty=certainty, alternatives=tuple(others)),
        *(verdict for verdict in verdicts if verdict.cause not in _JOINS),
        *(meanwhile(verdict, first.cause) for verdict in joins.values()),
    ]
