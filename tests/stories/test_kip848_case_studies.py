"""The case studies of KIP-848, step by step: epochs and partitions after every heartbeat.

One row per step: (what happens, group epoch, target, members). A member reads `epoch:partitions`, with `|` before
what it has to give up and `<` before what it waits for. Two things differ from the text by Kafka's own rules: the
first epoch of a new group is 1 up to 4.2 (played here as 4.1), and a join computes its target and reconciles the
joiner at once. So does a heartbeat that finds the target behind the group epoch.
"""

from collections.abc import Mapping

import pytest

from rebalance_audit.coordinator.handling import Dialect
from rebalance_audit.replay.groups import STABLE, ModernGroup
from rebalance_audit.replay.partitions import Partitions
from tests.coordinator.consumer.mixed_play import MixedPlay
from tests.coordinator.consumer.play import Play, play
from tests.support.coordinator_driver import Topics

Step = tuple[str, int, str, str]


def numbers(partitions: Partitions) -> str:
    """Partition numbers of the one topic, `-` for none."""
    found = sorted(number for held in partitions.values() for number in held)
    return ",".join(map(str, found)) or "-"


def state_of(acting: Play, ids: Mapping[str, str] | None = None) -> tuple[int, str, str]:
    """Group epoch, target assignment and member assignments in the notation of the rows.

    `ids` are the member ids of members whose letter is not their id.
    """
    group = acting.driver.group()
    assert isinstance(group, ModernGroup)
    letters = {member_id: letter for letter, member_id in (ids or {}).items()}
    known = sorted((letters.get(member_id, member_id), member_id) for member_id in group.members)
    target = f"{group.assignment_epoch}:" + " ".join(
        f"{letter}={numbers(group.target_of(member_id))}" for letter, member_id in known
    )
    members = []
    for name, member_id in known:
        member = group.members[member_id]
        text = f"{name}={member.member_epoch}:{numbers(member.assigned)}"
        if member.pending_revocation:
            text += f"|{numbers(member.pending_revocation)}"
        elif member.member_state != STABLE:
            held = set(numbers(member.assigned).split(","))
            wanted = [n for n in numbers(group.target_of(member_id)).split(",") if n not in held]
            text += f"<{','.join(wanted)}"
        members.append(text)
    return group.group_epoch, target, " ".join(members)


def run_story(story: list[Step], partition_count: int) -> None:
    """Play the steps on a group that is not there yet, and compare after each."""
    acting = play(Topics.of(foo=partition_count), dialect=Dialect.R4_1)
    for command, group_epoch, target, members in story:
        for single in command.split("; "):
            acting.run(single)
        assert state_of(acting) == (group_epoch, target, members), command


BASIC: list[Step] = [
    ("A joins", 1, "1:A=0,1,2", "A=1:0,1,2"),
    # B is at epoch 2, and cannot get its partition until A gives it up.
    ("B joins", 2, "2:A=0,1 B=2", "A=1:0,1,2 B=2:-<2"),
    ("A beats", 2, "2:A=0,1 B=2", "A=1:0,1|2 B=2:-<2"),
    ("B beats", 2, "2:A=0,1 B=2", "A=1:0,1|2 B=2:-<2"),
    ("A beats owns=0-1", 2, "2:A=0,1 B=2", "A=2:0,1 B=2:-<2"),
    ("B beats", 2, "2:A=0,1 B=2", "A=2:0,1 B=2:2"),
    ("C joins", 3, "3:A=0 B=2 C=1", "A=2:0,1 B=2:2 C=3:-<1"),
    # B has nothing to give up and moves on at once.
    ("B beats", 3, "3:A=0 B=2 C=1", "A=2:0,1 B=3:2 C=3:-<1"),
    ("A beats", 3, "3:A=0 B=2 C=1", "A=2:0|1 B=3:2 C=3:-<1"),
    ("A beats owns=0", 3, "3:A=0 B=2 C=1", "A=3:0 B=3:2 C=3:-<1"),
    ("C beats", 3, "3:A=0 B=2 C=1", "A=3:0 B=3:2 C=3:1"),
]

TWO_OF_SIX: list[Step] = [
    ("A joins", 1, "1:A=0,1,2,3,4,5", "A=1:0,1,2,3,4,5"),
    ("B joins; A beats; A beats owns=0-2; B beats", 2, "2:A=0,1,2 B=3,4,5", "A=2:0,1,2 B=2:3,4,5"),
]

INCREMENTAL: list[Step] = [
    *TWO_OF_SIX,
    ("C joins", 3, "3:A=0,1 B=3,4 C=2,5", "A=2:0,1,2 B=2:3,4,5 C=3:-<2,5"),
    ("A beats", 3, "3:A=0,1 B=3,4 C=2,5", "A=2:0,1|2 B=2:3,4,5 C=3:-<2,5"),
    ("B beats", 3, "3:A=0,1 B=3,4 C=2,5", "A=2:0,1|2 B=2:3,4|5 C=3:-<2,5"),
    ("C beats", 3, "3:A=0,1 B=3,4 C=2,5", "A=2:0,1|2 B=2:3,4|5 C=3:-<2,5"),
    ("A beats owns=0-1", 3, "3:A=0,1 B=3,4 C=2,5", "A=3:0,1 B=2:3,4|5 C=3:-<2,5"),
    ("C beats", 3, "3:A=0,1 B=3,4 C=2,5", "A=3:0,1 B=2:3,4|5 C=3:2<5"),
    ("B beats owns=3-4", 3, "3:A=0,1 B=3,4 C=2,5", "A=3:0,1 B=3:3,4 C=3:2<5"),
    ("C beats", 3, "3:A=0,1 B=3,4 C=2,5", "A=3:0,1 B=3:3,4 C=3:2,5"),
]

FAILURE: list[Step] = [
    *INCREMENTAL,
    ("wait 20000; B beats; C beats", 3, "3:A=0,1 B=3,4 C=2,5", "A=3:0,1 B=3:3,4 C=3:2,5"),
    # A's session ends: the group epoch moves, the target follows with the next heartbeat.
    ("wait 26000", 4, "3:B=3,4 C=2,5", "B=3:3,4 C=3:2,5"),
    ("B beats", 4, "4:B=0,3,4 C=1,2,5", "B=4:0,3,4 C=3:2,5"),
    ("C beats", 4, "4:B=0,3,4 C=1,2,5", "B=4:0,3,4 C=4:1,2,5"),
]

PARTITION_ADDED: list[Step] = [
    ("A joins", 1, "1:A=0", "A=1:0"),
    ("B joins; A beats", 2, "2:A=0 B=-", "A=2:0 B=2:-"),
    # The coordinator sees the new partition with the next heartbeat of any member.
    ("topics foo=2", 2, "2:A=0 B=-", "A=2:0 B=2:-"),
    ("B beats", 3, "3:A=0 B=1", "A=2:0 B=3:1"),
    ("A beats", 3, "3:A=0 B=1", "A=3:0 B=3:1"),
]


@pytest.mark.parametrize(
    ("story", "partition_count"),
    [
        pytest.param(BASIC, 3, id="basic"),
        pytest.param(INCREMENTAL, 6, id="incremental revocation and assignment"),
        pytest.param(FAILURE, 6, id="member failure"),
        pytest.param(PARTITION_ADDED, 1, id="partition added"),
    ],
)
def test_case_study(story: list[Step], partition_count: int) -> None:
    """Group epoch, target and every member are as the text shows them, step by step."""
    run_story(story, partition_count)


MIGRATION: list[Step] = [
    # The generation has become the epoch and B and C classic members at it; A's return is a join of its own.
    ("A joins", 2, "2:A=0,1 B=3,4 C=2,5", "A=2:0,1 B=1:3,4 C=1:2,5"),
    ("B pings; B asks; B syncs", 2, "2:A=0,1 B=3,4 C=2,5", "A=2:0,1 B=2:3,4 C=1:2,5"),
    ("C pings; C asks; C syncs", 2, "2:A=0,1 B=3,4 C=2,5", "A=2:0,1 B=2:3,4 C=2:2,5"),
    ("B quits", 3, "2:A=0,1 C=2,5", "A=2:0,1 C=2:2,5"),
    ("A beats", 3, "3:A=0,1,4 C=2,3,5", "A=3:0,1,4 C=2:2,5"),
    # C must join again, gives up all it has, and is at epoch 3 with the JoinGroup response.
    ("C pings; C asks", 3, "3:A=0,1,4 C=2,3,5", "A=3:0,1,4 C=3:2,3,5"),
    ("C syncs", 3, "3:A=0,1,4 C=2,3,5", "A=3:0,1,4 C=3:2,3,5"),
    # B returns with the new protocol as D, and waits for both others.
    ("D joins", 4, "4:A=0,1 C=2,3 D=4,5", "A=3:0,1,4 C=3:2,3,5 D=4:-<4,5"),
    ("A beats", 4, "4:A=0,1 C=2,3 D=4,5", "A=3:0,1|4 C=3:2,3,5 D=4:-<4,5"),
    ("C pings; C asks", 4, "4:A=0,1 C=2,3 D=4,5", "A=3:0,1|4 C=4:2,3 D=4:-<4,5"),
    ("D beats", 4, "4:A=0,1 C=2,3 D=4,5", "A=3:0,1|4 C=4:2,3 D=4:5<4"),
    ("C syncs", 4, "4:A=0,1 C=2,3 D=4,5", "A=3:0,1|4 C=4:2,3 D=4:5<4"),
    ("A beats owns=0-1", 4, "4:A=0,1 C=2,3 D=4,5", "A=4:0,1 C=4:2,3 D=4:5<4"),
    ("D beats", 4, "4:A=0,1 C=2,3 D=4,5", "A=4:0,1 C=4:2,3 D=4:4,5"),
]


def test_online_migration() -> None:
    """A classic group is upgraded by the first member of the new protocol, and led on member by member."""
    acting = play(Topics.of(foo=6), dialect=Dialect.R4_1)
    mixed = MixedPlay(acting)
    for command in ("A asks", "A asks", "B asks", "B asks", "C asks", "C asks", "wait 9000"):
        mixed.run(command)
    mixed.run("A syncs gives=A:0-1,,B:3-4,,C:2+foo:5")
    for command in ("B syncs", "C syncs", "A quits"):
        mixed.run(command)
    del mixed.ids["A"]
    for command, group_epoch, target, members in MIGRATION:
        for single in command.split("; "):
            mixed.run(single)
        assert state_of(acting, mixed.ids) == (group_epoch, target, members), command
