"""What must hold for every assignment that a classic leader computes."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebalance_audit.coordinator.assignors.client_assignors import CLIENT_ASSIGNORS
from rebalance_audit.coordinator.assignors.client_members import Claim, JoinedMember, NamedPartition
from rebalance_audit.wire.consumer_protocol import Assignment
from tests.coordinator.assignors.client_groups import assigned, joining
from tests.support.examples import examples

few = settings(max_examples=examples(30))

COOPERATIVE = "cooperative-sticky"
STICKY = ("sticky", COOPERATIVE)
GENERATION = 7
ROUNDS_MAX = 8


class Group(NamedTuple):
    """Members by id: what they subscribe to, and what they last had."""

    subscribed: dict[str, tuple[str, ...]]
    held: dict[str, Claim]
    counts: dict[str, int]

    def members(self, assignor: str) -> list[JoinedMember]:
        """The members as they join."""
        return [
            joining(member_id, assignor, topics, self.held.get(member_id))
            for member_id, topics in self.subscribed.items()
        ]

    def after(self, assignments: Mapping[str, Assignment], generation: int) -> "Group":
        """The same group after all members have taken their assignments."""
        held = {each: Claim(assigned(found), generation) for each, found in assignments.items()}
        return self._replace(held=held)

    def wanted(self) -> set[NamedPartition]:
        """Partitions of existing topics that at least one member subscribes to."""
        topics = {topic for asked in self.subscribed.values() for topic in asked}
        return {
            (topic, number)
            for topic, count in self.counts.items()
            if topic in topics
            for number in range(count)
        }


@st.composite
def groups(draw: st.DrawFn, *, alike: bool, rivals: bool = False) -> Group:
    """Up to seven members on up to five topics, one unknown; they own any part, with `rivals` also what others own."""
    topics = ["t0", "t1", "t2", "t3"][: draw(st.integers(1, 4))]
    counts = {topic: draw(st.integers(1, 8)) for topic in topics}
    size = draw(st.integers(1, 7))
    everything = 2 ** (len(topics) + 1) - 1
    masks = st.just(everything) if alike else st.integers(1, everything)
    asked = draw(st.lists(masks, min_size=size, max_size=size))
    subscribed = {
        f"m{index}": tuple(topic for bit, topic in enumerate([*topics, "gone"]) if mask >> bit & 1)
        for index, mask in enumerate(asked)
    }
    partitions = [(topic, number) for topic in topics for number in range(counts[topic])]
    owners = draw(st.lists(st.integers(-1, size - 1), max_size=len(partitions)))
    held: dict[str, list[NamedPartition]] = {}
    for partition, owner in zip(partitions, owners, strict=False):
        if owner >= 0 and partition[0] in subscribed[f"m{owner}"]:
            held.setdefault(f"m{owner}", []).append(partition)
    generations = dict.fromkeys(held, GENERATION)
    if rivals:
        for member_id in held:
            held[member_id] += draw(st.lists(st.sampled_from(partitions), max_size=3, unique=True))
            generations[member_id] -= draw(st.integers(0, 2))
    claims = {
        member_id: Claim(tuple(dict.fromkeys(had)), generations[member_id])
        for member_id, had in held.items()
    }
    return Group(subscribed, claims, counts)


ANY_GROUP = st.booleans().flatmap(lambda alike: groups(alike=alike))
ANY_GROUP_WITH_RIVALS = st.booleans().flatmap(lambda alike: groups(alike=alike, rivals=True))


def run(group: Group, assignor: str) -> dict[str, Assignment]:
    """One generation."""
    return CLIENT_ASSIGNORS[assignor].assign(group.members(assignor), group.counts)


def all_of(assignments: Mapping[str, Assignment]) -> list[NamedPartition]:
    """The partitions of all members."""
    return [partition for found in assignments.values() for partition in assigned(found)]


def loads(assignments: Mapping[str, Assignment]) -> dict[str, int]:
    """Number of partitions of each member."""
    return {each: len(assigned(found)) for each, found in assignments.items()}


@pytest.mark.parametrize("assignor", CLIENT_ASSIGNORS)
@few
@given(group=ANY_GROUP_WITH_RIVALS)
def test_no_partition_goes_to_two_members_or_to_one_that_does_not_subscribe(
    assignor: str, group: Group
) -> None:
    """Partitions at most once and only to subscribers, whatever members claim; all, except cooperative-sticky."""
    assignments = run(group, assignor)
    assert set(assignments) == set(group.subscribed)
    found = all_of(assignments)
    assert len(found) == len(set(found))
    assert set(found) <= group.wanted()
    if assignor != COOPERATIVE:
        assert set(found) == group.wanted()
    for member_id, assignment in assignments.items():
        assert {topic for topic, _ in assigned(assignment)} <= set(group.subscribed[member_id])


@few
@given(group=ANY_GROUP)
def test_round_robin_and_sticky_balance_members_alike_to_one_partition(group: Group) -> None:
    """Where all subscribe to the same topics, no member has two partitions more than another."""
    everything = tuple(group.counts)
    alike = group._replace(subscribed=dict.fromkeys(group.subscribed, everything))
    for assignor in ("roundrobin", "sticky"):
        found = loads(run(alike, assignor)).values()
        assert max(found) - min(found) <= 1


@few
@given(group=ANY_GROUP)
def test_sticky_leaves_no_move_that_would_improve_the_balance_of_a_new_group(group: Group) -> None:
    """No member has two partitions more than another subscriber of one of its topics."""
    new = group._replace(held={})
    assignments = run(new, "sticky")
    load = loads(assignments)
    for giver, assignment in assignments.items():
        topics = {topic for topic, _ in assigned(assignment)}
        for taker, asked in group.subscribed.items():
            assert not topics & set(asked) or load[giver] - load[taker] <= 1


@pytest.mark.parametrize("assignor", STICKY)
@few
@given(group=ANY_GROUP)
def test_sticky_members_keep_a_balanced_assignment(assignor: str, group: Group) -> None:
    """An assignment stays as it is while nothing changes."""
    group = settled(group, assignor)
    before = {each: set(claim.partitions) for each, claim in group.held.items()}
    after = {each: set(assigned(found)) for each, found in run(group, assignor).items()}
    assert after == before


@pytest.mark.parametrize("assignor", STICKY)
@few
@given(group=groups(alike=True))
def test_sticky_members_give_partitions_only_to_the_one_that_joins(
    assignor: str, group: Group
) -> None:
    """Where all subscribe to the same topics, only the new member gains partitions."""
    group = settled(group, assignor)
    topics = next(iter(group.subscribed.values()))
    grown = group._replace(subscribed={**group.subscribed, "new": topics})
    for member_id, found in run(grown, assignor).items():
        if member_id != "new":
            assert set(assigned(found)) <= set(group.held[member_id].partitions)


@few
@given(group=ANY_GROUP)
def test_cooperative_members_never_get_what_another_one_still_owns(group: Group) -> None:
    """A partition that moves is withheld in the generation in which its owner gives it up."""
    owners = {
        partition: member_id
        for member_id, claim in group.held.items()
        for partition in claim.partitions
    }
    for member_id, found in run(group, COOPERATIVE).items():
        for partition in assigned(found):
            assert owners.get(partition, member_id) == member_id


@few
@given(group=ANY_GROUP)
def test_cooperative_groups_come_to_what_all_members_can_have(group: Group) -> None:
    """Members that gave something up join again, and after some generations every partition has its owner."""
    final = settled(group, COOPERATIVE)
    held = [partition for claim in final.held.values() for partition in claim.partitions]
    assert sorted(held) == sorted(final.wanted())


@pytest.mark.parametrize("assignor", CLIENT_ASSIGNORS)
@few
@given(group=ANY_GROUP, shift=st.integers(0, 6))
def test_the_order_of_the_response_does_not_matter(assignor: str, group: Group, shift: int) -> None:
    """Members of different hash slots come in the same order however the coordinator lists them."""
    members = group.members(assignor)
    turned = members[shift % len(members) :] + members[: shift % len(members)]
    assign = CLIENT_ASSIGNORS[assignor].assign
    assert assign(turned, group.counts) == assign(members, group.counts)


def settled(group: Group, assignor: str) -> Group:
    """The group after generations in which members took what they were given, until none has to join again."""
    for generation in range(GENERATION + 1, GENERATION + 1 + ROUNDS_MAX):
        before: Mapping[str, Sequence[NamedPartition]] = {
            each: claim.partitions for each, claim in group.held.items()
        }
        assignments = run(group, assignor)
        group = group.after(assignments, generation)
        if all(set(had) <= set(group.held[each].partitions) for each, had in before.items()):
            return group
    raise AssertionError(f"not settled after {ROUNDS_MAX} generations")
