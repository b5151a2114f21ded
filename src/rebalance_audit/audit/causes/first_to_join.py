"""Who began the join phase of a classic group that had no members: the first one to join, which then leads."""

from collections.abc import Sequence
from typing import Final

from rebalance_audit.audit.verdicts.cause import Certainty, RebalanceCause, Verdict, meanwhile

_JOINS: Final = frozenset({RebalanceCause.MEMBER_JOINED, RebalanceCause.STATIC_MEMBER_JOINED})


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
