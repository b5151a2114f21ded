"""A shorthand for groups as the coordinator's assignors see them.

`A foo,bar: foo 0-2 bar 0,1` is member A, its topics, and its previous target; `A/i1` has the instance id i1. Members
are separated by `;` and come in this order. Targets read the same, without topics: `A foo 0-2`; `-` is nothing.
"""

from collections.abc import Mapping

from rebalance_audit.coordinator.assignors.group_spec import (
    GroupSpec,
    MemberSpec,
    Subscribing,
    subscription_type,
)
from rebalance_audit.replay.partitions import Partitions, Topic
from tests.dsl.partitions import range_of

TOPICS = {
    name: bytes(7) + b"\0" + bytes(7) + bytes([low])
    for name, low in (("foo", 1), ("bar", 2), ("zar", 3))
}
COUNTS = {"foo": 6, "bar": 3, "zar": 4}
NAMES = {topic_id: name for name, topic_id in TOPICS.items()}


def group(text: str) -> GroupSpec:
    """The group that the shorthand describes; foo has 6 partitions, bar 3, zar 4."""
    members = [_member(part.strip()) for part in text.split(";")]
    asked = [
        Subscribing(tuple(NAMES[topic] for topic in member.subscribed_topics), "")  # type: ignore[index]
        for member in members
    ]
    counts: dict[Topic, int] = {TOPICS[name]: count for name, count in COUNTS.items()}
    return GroupSpec(tuple(members), counts, subscription_type(asked))


def picture(targets: Mapping[str, Partitions]) -> str:
    """Targets in the shorthand, members and topics in the order foo, bar, zar."""
    return "; ".join(f"{member_id} {_held(held)}" for member_id, held in targets.items())


def _member(text: str) -> MemberSpec:
    asked, _, previous = text.partition(":")
    who, _, topics = asked.partition(" ")
    member_id, _, instance_id = who.partition("/")
    names = tuple(TOPICS[name] for name in topics.strip().split(",") if name)
    return MemberSpec(member_id, instance_id or None, names, _partitions(previous))


def _partitions(text: str) -> Partitions:
    words = text.split()
    return {
        TOPICS[name]: frozenset(numbers_of(numbers))
        for name, numbers in zip(words[::2], words[1::2], strict=True)
    }


def numbers_of(text: str) -> list[int]:
    """`0-2,4` as numbers."""
    return [number for part in text.split(",") for number in range_of(part)]


def _held(partitions: Partitions) -> str:
    shown = [
        f"{name} {ranges_of(sorted(partitions[topic_id]))}"
        for name, topic_id in TOPICS.items()
        if topic_id in partitions
    ]
    return " ".join(shown) or "-"


def ranges_of(numbers: list[int]) -> str:
    """`0-2,4`: runs of three or more as a range, as in the tables."""
    runs: list[list[int]] = []
    for number in numbers:
        if runs and runs[-1][-1] == number - 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ",".join(
        f"{run[0]}-{run[-1]}" if len(run) > 2 else ",".join(map(str, run)) for run in runs
    )
