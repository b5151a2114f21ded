"""A shorthand for classic groups as their leader sees them.

`A foo,bar: foo 0-2 bar 0,1 @7` is member A, its topics, what it owned, and the generation in which it did (default
1); `A/i1` has the instance id i1. Members are separated by `;`. Assignments read the same, without topics.
"""

from collections.abc import Iterable, Mapping

from rebalance_audit.coordinator.assignors.client_assignors import (
    CLIENT_ASSIGNORS,
    RebalanceProtocol,
)
from rebalance_audit.coordinator.assignors.client_members import (
    Claim,
    JoinedMember,
    NamedPartition,
    grouped,
)
from rebalance_audit.wire.consumer_protocol import Assignment, Subscription
from tests.coordinator.assignors.server_groups import numbers_of, ranges_of


def group(text: str, assignor: str) -> list[JoinedMember]:
    """The members that the shorthand describes, with subscriptions as the assignor's members send them."""
    return [_member(part.strip(), assignor) for part in text.split(";")]


def joining(
    member_id: str,
    assignor: str,
    topics: Iterable[str],
    last: Claim | None,
    instance_id: str | None = None,
) -> JoinedMember:
    """A member that joins with what it had last (None = it is new), encoded as its assignor does."""
    kind = CLIENT_ASSIGNORS[assignor]
    cooperative = RebalanceProtocol.COOPERATIVE in kind.protocols and last is not None
    subscription = Subscription(
        topics=tuple(topics),
        user_data=kind.user_data(last),
        owned_partitions=grouped(last.partitions) if cooperative and last else (),
        generation_id=last.generation if last else -1,
    )
    return JoinedMember(member_id, instance_id, subscription)


def assigned(assignment: Assignment) -> tuple[NamedPartition, ...]:
    """Partitions of an assignment."""
    return tuple(
        (topic, number) for topic, numbers in assignment.assigned_partitions for number in numbers
    )


def picture(assignments: Mapping[str, Assignment]) -> str:
    """Assignments in the shorthand, members by id, topics by name."""
    return "; ".join(f"{each} {_held(assignments[each])}" for each in sorted(assignments))


def _held(assignment: Assignment) -> str:
    held = sorted(assignment.assigned_partitions)
    return " ".join(f"{topic} {ranges_of(sorted(numbers))}" for topic, numbers in held) or "-"


def _member(text: str, assignor: str) -> JoinedMember:
    asked, _, owned = text.partition(":")
    who, _, topics = asked.partition(" ")
    member_id, _, instance_id = who.partition("/")
    owned, _, generation = owned.partition("@")
    words = owned.split()
    partitions = tuple(
        (topic, number)
        for topic, numbers in zip(words[::2], words[1::2], strict=True)
        for number in numbers_of(numbers)
    )
    last = Claim(partitions, int(generation or 1)) if partitions else None
    return joining(member_id, assignor, topics.split(","), last, instance_id or None)
