"""The state machine of one member, a row per arrow: member and target in, member out."""

from typing import Any

import pytest

from rebalance_audit.coordinator.consumer.reconciliation import Surroundings, Target, reconcile
from rebalance_audit.coordinator.handling import ErrorCode, RefusedError
from rebalance_audit.replay.groups import ModernMember
from rebalance_audit.replay.partitions import NOTHING, Partitions, partitions_of
from tests.dsl.partitions import TOPIC_IDS, entries, partitions_text


def _set(text: str) -> Partitions:
    return partitions_of((TOPIC_IDS[name], numbers) for name, numbers, _ in entries(text))


def _member(text: str) -> ModernMember:
    """`epoch/previous STATE assigned|pending`."""
    epochs, state, partitions = text.split()
    member_epoch, previous = map(int, epochs.split("/"))
    held, _, pending = partitions.partition("|")
    return ModernMember(
        "A",
        member_epoch=member_epoch,
        previous_member_epoch=previous,
        member_state=state,
        assigned=_set(held),
        pending_revocation=_set(pending) if pending else NOTHING,
    )


def _text(member: ModernMember) -> str:
    held = partitions_text(member.assigned)
    if member.pending_revocation:
        held += "|" + partitions_text(member.pending_revocation)
    return f"{member.member_epoch}/{member.previous_member_epoch} {member.member_state} {held}"


def _step(before: str, target: str, owned: str | None, taken: str, **extra: Any) -> ModernMember:
    epoch, _, wanted = target.partition(" ")
    busy = _set(taken)
    around = Surroundings(
        None if owned is None else _set(owned),
        lambda topic, number: number not in busy.get(topic, ()),
    )._replace(**extra)
    return reconcile(_member(before), Target(int(epoch), _set(wanted)), around)


ARROWS = [
    ("stable stays", "5/4 STABLE 0-2", "5 0-2", None, "-", "5/4 STABLE 0-2"),
    ("stable to stable, nothing new", "5/4 STABLE 0-2", "6 0-2", None, "-", "6/5 STABLE 0-2"),
    ("stable takes what is free", "5/4 STABLE 0", "6 0-2", None, "-", "6/5 STABLE 0-2"),
    ("stable waits", "5/4 STABLE 0", "6 0-2", None, "1-2", "6/5 UNRELEASED 0"),
    ("stable takes some, waits for more", "5/4 STABLE 0", "6 0-2", None, "2", "6/5 UNRELEASED 0-1"),
    ("stable must revoke", "5/4 STABLE 0-2", "6 0", None, "-", "5/5 UNREVOKED 0|1-2"),
    ("revokes before it takes", "5/4 STABLE 0-2", "6 0+bar:0", None, "-", "5/5 UNREVOKED 0|1-2"),
    ("had let go already", "5/4 STABLE 0-2", "6 0", "0", "-", "6/5 STABLE 0"),
    ("let go and takes", "5/4 STABLE 0-2", "6 0,4", "0", "-", "6/5 STABLE 0,4"),
    ("unrevoked, does not say", "5/5 UNREVOKED 0|1-2", "6 0", None, "-", "5/5 UNREVOKED 0|1-2"),
    ("unrevoked, owns one yet", "5/5 UNREVOKED 0|1-2", "6 0", "0,2", "-", "5/5 UNREVOKED 0|1-2"),
    ("unrevoked lets go", "5/5 UNREVOKED 0|1-2", "6 0", "0", "-", "6/5 STABLE 0"),
    ("unrevoked lets go, waits", "5/5 UNREVOKED 0|1-2", "6 0,5", "0", "5", "6/5 UNRELEASED 0"),
    (
        "unrevoked lets go, must again",
        "5/5 UNREVOKED 0-1|2",
        "7 0",
        "0-1",
        "-",
        "5/5 UNREVOKED 0|1",
    ),
    ("gets back what it gave up", "5/5 UNREVOKED 0|1-2", "7 0-2", "0", "1-2", "7/5 STABLE 0-2"),
    ("unreleased waits on", "6/5 UNRELEASED 0", "6 0-1", None, "1", "6/6 UNRELEASED 0"),
    ("unreleased gets some", "6/6 UNRELEASED 0", "6 0-2", None, "2", "6/6 UNRELEASED 0-1"),
    ("unreleased gets all", "6/6 UNRELEASED 0", "6 0-1", None, "-", "6/6 STABLE 0-1"),
    ("unreleased, new target", "6/6 UNRELEASED 0", "7 0", None, "-", "7/6 STABLE 0"),
    ("unreleased must revoke", "6/6 UNRELEASED 0-1", "7 0", None, "-", "6/6 UNREVOKED 0|1"),
    ("unknown starts again", "6/5 UNKNOWN 0-1", "7 0", "-", "-", "7/6 STABLE 0"),
]


@pytest.mark.parametrize(
    ("before", "target", "owned", "taken", "after"),
    [row[1:] for row in ARROWS],
    ids=[row[0] for row in ARROWS],
)
def test_every_arrow(before: str, target: str, owned: str | None, taken: str, after: str) -> None:
    """member, `epoch target`, what it says it owns, what others have -> member."""
    assert _text(_step(before, target, owned, taken)) == after


@pytest.mark.parametrize("owned", [None, "0"])
def test_a_member_in_an_unknown_state_is_fenced_while_it_may_own_something(
    owned: str | None,
) -> None:
    """Only a member that says it owns nothing can start again."""
    with pytest.raises(RefusedError) as refused:
        _step("6/5 UNKNOWN 0-1", "7 0", owned, "-")
    assert refused.value.error_code is ErrorCode.FENCED_MEMBER_EPOCH


LEFT_TOPICS = [
    ("at its target, drops the topic", "5/4 STABLE 0+bar:0", None, "5/5 UNREVOKED 0|bar:0"),
    ("had let go", "5/4 STABLE 0+bar:0", "0", "5/5 STABLE 0"),
    ("revoking, drops one more", "5/5 UNREVOKED 0+bar:0|1", "1", "5/5 UNREVOKED 0|1+bar:0"),
    ("nothing to drop", "5/4 STABLE 0", None, "5/4 STABLE 0"),
]


@pytest.mark.parametrize(
    ("before", "owned", "after"),
    [row[1:] for row in LEFT_TOPICS],
    ids=[row[0] for row in LEFT_TOPICS],
)
def test_a_member_follows_its_subscription_at_once(
    before: str, owned: str | None, after: str
) -> None:
    """With the topic bar dropped, its partitions go whatever the target says."""
    around = Surroundings(
        None if owned is None else _set(owned),
        lambda _topic, _number: True,
        subscribed={TOPIC_IDS["foo"]},
        subscription_changed=True,
    )
    target = Target(5, _set("0+bar:0"))
    assert _text(reconcile(_member(before), target, around)) == after


@pytest.mark.parametrize("owned", [None, "-"])
def test_a_member_without_topics_makes_an_empty_step(owned: str | None) -> None:
    """Kafka compares two empty assignments by identity, and writes a record that only moves the previous epoch."""
    around = {"subscribed": set(), "subscribes": False, "subscription_changed": True}
    assert _text(_step("5/4 STABLE -", "5 -", owned, "-", **around)) == "5/5 STABLE -"
    around["subscribes"] = True
    assert _text(_step("5/4 STABLE -", "5 -", owned, "-", **around)) == "5/4 STABLE -"


def test_up_to_4_1_a_member_that_must_give_up_more_moves_on() -> None:
    """What it had to give up is gone, a new target takes more from it: it does not wait at the epoch it was at."""
    before = "5/5 UNREVOKED 0-1|2"
    moved = _step(before, "7 0", "0-1", "-", steps_while_revoking=True)
    assert _text(moved) == "6/5 UNREVOKED 0|1"
    assert _text(_step(before, "7 0", "0-1", "-")) == "5/5 UNREVOKED 0|1"


def test_before_4_1_a_member_waits_for_what_it_gives_up_itself() -> None:
    """The partition counts as taken although the member holds it."""
    moved = _step("5/5 UNREVOKED 0|1-2", "7 0-2", "0", "1-2", own_pending_is_free=False)
    assert _text(moved) == "7/5 UNRELEASED 0"


def test_each_partition_keeps_the_epoch_it_was_assigned_at() -> None:
    """Kept partitions keep theirs; new ones have the target's."""
    moved = _step("5/4 STABLE 0", "6 0-1", None, "-")
    foo = TOPIC_IDS["foo"]
    assert moved.assignment_epochs == {(foo, 0): 5, (foo, 1): 6}
    assert (
        _step("5/4 STABLE 0", "6 0-1", None, "-", assignment_epochs=False).assignment_epochs == {}
    )
