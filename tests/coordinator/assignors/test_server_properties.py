"""What must hold for every target that the coordinator's assignors compute."""

from collections.abc import Mapping
from itertools import chain, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebalance_audit.coordinator.assignors.group_spec import (
    GroupSpec,
    MemberSpec,
    SubscriptionType,
)
from rebalance_audit.coordinator.assignors.server_assignors import (
    SERVER_ASSIGNORS,
    assign_by_range,
    assign_uniformly,
)
from rebalance_audit.replay.partitions import Partitions, Topic, TopicPartition, count, each
from tests.support.examples import examples

few = settings(max_examples=examples(30))

ALIKE = SubscriptionType.HOMOGENEOUS
MIXED = SubscriptionType.HETEROGENEOUS


@st.composite
def groups(draw: st.DrawFn, kind: SubscriptionType) -> GroupSpec:
    """Up to eight members on up to four topics; previous targets cover any part of any topic, never twice."""
    partition_counts = draw(st.lists(st.integers(1, 9), max_size=4))
    topics = [bytes([37 * number + 5]) * 16 for number in range(len(partition_counts))]
    size = draw(st.integers(1, 8))
    held: list[dict[Topic, set[int]]] = [{} for _ in range(size)]
    for topic, partition_count in zip(topics, partition_counts, strict=True):
        owners = draw(st.lists(st.integers(-1, size - 1), max_size=partition_count))
        for number, owner in enumerate(owners):
            if owner >= 0:
                held[owner].setdefault(topic, set()).add(number)
    everything = 2 ** len(topics) - 1
    masks = st.just(everything) if kind is ALIKE else st.integers(0, everything)
    subscribed = draw(st.lists(masks, min_size=size, max_size=size))
    static = draw(st.integers(0, 2**size - 1))
    members = tuple(
        MemberSpec(
            f"m{index}",
            f"i{-index % 5}{index}" if static >> index & 1 else None,
            tuple(topic for bit, topic in enumerate(topics) if subscribed[index] >> bit & 1),
            {topic: frozenset(numbers) for topic, numbers in held[index].items()},
        )
        for index in range(size)
    )
    return GroupSpec(members, dict(zip(topics, partition_counts, strict=True)), kind)


ANY_GROUP = st.sampled_from(SubscriptionType).flatmap(groups)


def loads(targets: Mapping[str, Partitions]) -> list[int]:
    """Number of partitions of each member."""
    return [count(held) for held in targets.values()]


def again(spec: GroupSpec, targets: Mapping[str, Partitions]) -> GroupSpec:
    """The same group, with the targets as its previous ones."""
    members = tuple(
        member._replace(previous_target=targets.get(member.member_id, {}))
        for member in spec.members
    )
    return spec._replace(members=members)


def owners(targets: Mapping[str, Partitions]) -> dict[TopicPartition, str]:
    """Partition -> member."""
    return {partition: member_id for member_id, held in targets.items() for partition in each(held)}


@pytest.mark.parametrize("assignor", SERVER_ASSIGNORS)
@few
@given(spec=ANY_GROUP)
def test_every_partition_goes_to_one_subscriber(assignor: str, spec: GroupSpec) -> None:
    """All partitions of subscribed topics are assigned, each once, and only to members that subscribe."""
    targets = SERVER_ASSIGNORS[assignor](spec)
    assert list(targets) == [member.member_id for member in spec.members]
    assigned = [partition for held in targets.values() for partition in each(held)]
    wanted = {topic for member in spec.members for topic in member.subscribed_topics}
    assert len(assigned) == len(set(assigned))
    assert set(assigned) == {
        (topic, number) for topic in wanted for number in range(spec.partition_counts[topic])
    }
    for member in spec.members:
        assert set(targets[member.member_id]) <= set(member.subscribed_topics)
        assert all(targets[member.member_id].values())


@few
@given(spec=groups(ALIKE))
def test_uniform_balances_members_alike_to_one_partition(spec: GroupSpec) -> None:
    """Balance comes first: no member has two partitions more than another."""
    found = loads(assign_uniformly(spec))
    assert max(found) - min(found) <= 1


@few
@given(spec=groups(MIXED))
def test_uniform_leaves_no_move_that_would_improve_the_balance(spec: GroupSpec) -> None:
    """No member has two partitions more than another subscriber of a topic that it has a partition of."""
    targets = assign_uniformly(spec)
    for giver in spec.members:
        held = targets[giver.member_id]
        for taker in spec.members:
            if set(held) & set(taker.subscribed_topics):
                assert count(held) - count(targets[taker.member_id]) <= 1


@few
@given(spec=ANY_GROUP)
def test_uniform_keeps_what_it_made(spec: GroupSpec) -> None:
    """A balanced target stays as it is while nothing changes."""
    targets = assign_uniformly(spec)
    assert assign_uniformly(again(spec, targets)) == targets


@few
@given(spec=groups(ALIKE), place=st.integers(0, 9))
def test_uniform_takes_from_members_only_for_the_one_that_joins(
    spec: GroupSpec, place: int
) -> None:
    """Only the new member gains partitions, wherever it comes in the order."""
    before = assign_uniformly(spec)
    grown = again(spec, before)
    joiner = MemberSpec("new", None, spec.members[0].subscribed_topics, {})
    members = (*grown.members[:place], joiner, *grown.members[place:])
    after = assign_uniformly(grown._replace(members=members))
    had = owners(before)
    assert all(
        member_id in {"new", had[partition]} for partition, member_id in owners(after).items()
    )


@few
@given(spec=groups(ALIKE), leaving=st.integers(0, 8))
def test_uniform_moves_only_the_partitions_of_the_one_that_leaves(
    spec: GroupSpec, leaving: int
) -> None:
    """The others keep all they had."""
    before = assign_uniformly(spec)
    shrunk = again(spec, before)
    members = shrunk.members[:leaving] + shrunk.members[leaving + 1 :]
    after = assign_uniformly(shrunk._replace(members=members))
    for member in members:
        kept = set(each(after[member.member_id]))
        assert set(each(before[member.member_id])) <= kept


@few
@given(spec=ANY_GROUP)
def test_range_cuts_topics_into_even_ranges_in_the_order_of_members(spec: GroupSpec) -> None:
    """Static members by instance id, then dynamic ones by member id; the first ones get one partition more."""
    targets = assign_by_range(spec)
    ordered = sorted(
        spec.members,
        key=lambda member: (
            member.instance_id is None,
            member.instance_id or member.member_id,
        ),
    )
    for topic, partition_count in spec.partition_counts.items():
        takers = [member.member_id for member in ordered if topic in member.subscribed_topics]
        held = [sorted(targets[member_id].get(topic, ())) for member_id in takers]
        if takers:
            assert [*chain(*held)] == list(range(partition_count))
        assert all(len(one) - len(other) in {0, 1} for one, other in pairwise(held))
        assert not held or len(held[0]) - len(held[-1]) <= 1


@few
@given(spec=groups(ALIKE), partition_count=st.integers(1, 12))
def test_range_gives_a_member_the_same_partitions_of_topics_of_one_size(
    spec: GroupSpec, partition_count: int
) -> None:
    """Topics with equally many partitions are assigned alike, so that they can be joined partition by partition."""
    counts = dict.fromkeys(spec.partition_counts, partition_count)
    for held in assign_by_range(spec._replace(partition_counts=counts)).values():
        assert len(set(held.values())) <= 1


@few
@given(spec=ANY_GROUP)
def test_range_knows_no_history(spec: GroupSpec) -> None:
    """The previous target makes no difference."""
    assert assign_by_range(spec) == assign_by_range(again(spec, {}))
