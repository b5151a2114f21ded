"""Moves of a target assignment, against a comparison of whole assignments."""

from hypothesis import given
from hypothesis import strategies as st

from rebalance_audit.audit.epochs.target_moves import TargetMoves
from rebalance_audit.replay.partitions import Partitions

MEMBERS = ("A", "B", "C")
OWNERS = st.lists(st.sampled_from((None, *MEMBERS)), min_size=6, max_size=6)


def shares(owners: list[str | None]) -> dict[str, Partitions]:
    """Each member's part of topic `t`."""
    return {
        member: {"t": frozenset(number for number, owner in enumerate(owners) if owner == member)}
        for member in MEMBERS
        if member in owners
    }


@given(st.lists(OWNERS, min_size=1, max_size=5), st.permutations(MEMBERS))
def test_moves_equal_the_difference_of_whole_targets(
    targets: list[list[str | None]], order: list[str]
) -> None:
    """Whatever the order of the members' records, the result is the difference between installed targets."""
    moves = TargetMoves()
    before: list[str | None] = [None] * 6
    for owners in targets:
        old, new = shares(before), shares(owners)
        for member in order:
            if old.get(member) != new.get(member):
                moves.retarget(member, old.get(member), new.get(member))
        found = moves.install()
        pairs = list(enumerate(zip(before, owners, strict=True)))
        assert found.partitions == sum(owner is not None for owner in owners)
        assert found.added == {
            ("t", n) for n, (was, now) in pairs if was is None and now is not None
        }
        assert found.dropped == {
            ("t", n) for n, (was, now) in pairs if was is not None and now is None
        }
        assert found.moved == {
            ("t", n): was
            for n, (was, now) in pairs
            if was is not None and now is not None and was != now
        }
        before = owners
