"""Mistakes for the specifications: a text that is there once, and what takes its place."""

from typing import Final, NamedTuple


class Mistake(NamedTuple):
    """One mistake."""

    name: str
    text: str
    by: str


SEEN_BY_PROPERTIES: Final = (
    Mistake("taken partitions count as free", "missing.exclude(a.taken.exclude(own))", "missing"),
    Mistake(
        "no member waits for a revocation",
        "if (revoked.keys() != Set() and ownsAny(a.owned, revoked.keys()))",
        "if (revoked.keys() != Set() and false)",
    ),
    Mistake(
        "a member runs ahead of the target",
        '"STABLE" else "UNRELEASED", a.epoch,',
        '"STABLE" else "UNRELEASED", a.epoch + 1,',
    ),
    Mistake(
        "a departure bumps nothing",
        "      epoch: g.epoch + 1,\n      assignmentEpoch: if (moves)",
        "      epoch: g.epoch,\n      assignmentEpoch: if (moves)",
    ),
    Mistake(
        "who waits for others is not looked at again",
        "    else nextAssignment(rules, m, a, m.epoch)\n",
        '    else if (m.state == "UNRELEASED") m\n    else nextAssignment(rules, m, a, m.epoch)\n',
    ),
    Mistake(
        "what is being revoked is free for others",
        "pure def held(m: Member): Set[Partition] = m.assigned.keys().union(m.pending.keys())",
        "pure def held(m: Member): Set[Partition] = m.assigned.keys()",
    ),
    Mistake(
        "the assignment epoch starts again",
        "assignmentEpoch: if (moves) g.epoch + 1 else g.assignmentEpoch",
        "assignmentEpoch: 0",
    ),
    Mistake(
        "a new target is computed and not used",
        "target: targetOf({ ...g, target: target }, r.member)",
        "target: targetOf(g, r.member)",
    ),
    Mistake("grown topics go unnoticed", "(changed or metadata != g.metadata)", "changed"),
    Mistake(
        "who is no member may commit",
        'else if (not(g.members.keys().contains(id))) "UNKNOWN_MEMBER_ID"\n    else {\n      val m',
        'else if (not(g.members.keys().contains(id))) ""\n    else {\n      val m',
    ),
)
"""Each is seen by a property of consumer.qnt."""

SEEN_BY_STATIC_RETURNS: Final = (
    Mistake(
        "a static member loses what it had",
        "{ ...m, epoch: 0, previous: 0 }",
        "{ ...m, epoch: 0, previous: 0, assigned: Map() }",
    ),
    Mistake(
        "its target stays with the old id",
        "target: without(g.target, old).put(id, targetOf(g, old))",
        "target: g.target",
    ),
)
"""These as well, where returns are frequent: in the module `consumerStatic`."""

SEEN_BY_CAPTURES: Final = (
    Mistake(
        "the previous epoch moves only with the epoch",
        "previous: m.epoch, epoch: epoch, assigned",
        "previous: if (epoch == m.epoch) m.previous else m.epoch, epoch: epoch, assigned",
    ),
    Mistake("the first epoch of 4.3 is 0", "R44 = { firstEpoch: 1,", "R44 = { firstEpoch: 0,"),
    Mistake(
        "a static member that goes keeps its assignment epochs",
        "assigned: m.assigned.keys().mapBy(_ => 0)",
        "assigned: m.assigned",
    ),
)
"""These break no property; logs of real brokers contradict them."""

SEEN_SOON: Final = frozenset(
    {"taken partitions count as free", "a member runs ahead of the target"}
)
"""Those of `SEEN_BY_PROPERTIES` that a few runs suffice for."""
