"""Only replay changes the state of groups: every write to it is watched while real and simulated logs go through.

Handlers make records, rules apply them. The guard below sees each assignment to a group's attributes and each change of
the dicts and sets that they hold, and notes which module made it.
"""

import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from rebalance_audit.audit.log_audit import LogAudit
from rebalance_audit.coordinator.handling import Dialect
from rebalance_audit.replay.changes import GroupType
from rebalance_audit.replay.groups import ClassicGroup, GroupSlot, ModernGroup, ModernMember
from rebalance_audit.replay.shard import Shard
from rebalance_audit.replay.step import Policy
from rebalance_audit.sim.options import Overrides
from rebalance_audit.sim.scenario import simulate
from tests.support.log_entries import apply_entry, entries_of, records_of
from tests.wire.golden import CAPTURE_NAMES, capture

STATE_CLASSES = (GroupSlot, ClassicGroup, ModernGroup, ModernMember)

STATE_WRITERS = {
    "rebalance_audit.replay.classic": "a classic group's snapshot takes the place of the group",
    "rebalance_audit.replay.modern.assignments": "targets and current assignments",
    "rebalance_audit.replay.groups": "what follows from a write: owners, members not yet converged",
    "rebalance_audit.replay.modern.kinds": "a record makes the group that it belongs to",
    "rebalance_audit.replay.modern.rules": "epochs, what members say of themselves, topics, the group's end",
    "rebalance_audit.replay.offsets": "committed and pending offsets",
    "rebalance_audit.replay.playback": "the last applied offset, and the group as it was where a record is refused",
}
"""Module -> what it changes. Another one needs a reason: state that records alone cannot rebuild is soft state."""

_DICT_CHANGES = (
    "__setitem__",
    "__delitem__",
    "__ior__",
    "clear",
    "pop",
    "popitem",
    "setdefault",
    "update",
)
_SET_CHANGES = (
    *(
        "__iand__",
        "__ior__",
        "__isub__",
        "__ixor__",
        "add",
        "clear",
        "difference_update",
        "discard",
    ),
    *("intersection_update", "pop", "remove", "symmetric_difference_update", "update"),
)


class Guard:
    """Replaces the ways to change state by ones that note the caller's module."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.writers: set[str] = set()
        self._dict = self._watched(dict, _DICT_CHANGES)
        self._set = self._watched(set, _SET_CHANGES)
        for cls in STATE_CLASSES:
            monkeypatch.setattr(cls, "__setattr__", self._setter(), raising=False)

    def _note(self) -> None:
        """The module two frames up, unless that is a constructor, whose object no one else has yet."""
        caller = sys._getframe(2)
        if caller.f_code.co_name != "__init__":
            self.writers.add(caller.f_globals["__name__"])

    def _setter(self) -> Callable[[Any, str, Any], None]:
        def set_attribute(state: Any, name: str, value: Any) -> None:
            self._note()
            if type(value) is dict:
                value = self._dict(value)
            elif type(value) is set:
                value = self._set(value)
            object.__setattr__(state, name, value)

        return set_attribute

    def _watched(self, base: type, changes: tuple[str, ...]) -> Callable[[Any], Any]:
        def noting(change: str) -> Callable[..., Any]:
            plain = getattr(base, change)

            def noted(*arguments: Any, **named: Any) -> Any:
                self._note()
                return plain(*arguments, **named)

            return noted

        return type(f"Watched{base.__name__}", (base,), {name: noting(name) for name in changes})


@pytest.fixture
def guard(monkeypatch: pytest.MonkeyPatch) -> Iterator[Guard]:
    """Watches all state that is made during a test."""
    with monkeypatch.context() as patched:
        yield Guard(patched)


def test_only_the_rules_of_replay_change_the_state_of_groups(guard: Guard) -> None:
    """Coordinators under faults and their reloads, the audit and the replay of every capture: one list of writers.

    The list is exact: a module that no longer writes leaves it.
    """
    for dialect in (Dialect.R3_7, Dialect.R4_4):
        simulate(3, Overrides(minutes=1, groups=6, dialect=dialect))
    for name in CAPTURE_NAMES:
        segments = capture(name).segments
        shards: dict[int, Shard] = {}
        for entry in entries_of(segments):
            number = entry.log_partition
            apply_entry(shards.setdefault(number, Shard(number, Policy.LENIENT)), entry)
        audit = LogAudit()
        for record, position in records_of(segments):
            audit.feed(record, position)
        audit.tables()
    assert sorted(guard.writers) == sorted(STATE_WRITERS)


@pytest.mark.parametrize(
    "code",
    [
        "slot.group = None",
        "group.group_epoch += 1",
        "member.member_epoch = 7",
        "setattr(member, 'member_state', 'STABLE')",
        "members = group.members\ndel members['A']",
        "group.targets.update(A={})",
        "slot.offsets[('foo', 0)] = None",
    ],
)
def test_the_guard_sees_who_writes(guard: Guard, code: str) -> None:
    """Assignments, and changes of what an attribute holds, also by another name for it."""
    member = ModernMember("A")
    group = ModernGroup("g", GroupType.CONSUMER, members={"A": member})
    slot = GroupSlot("g", group)
    assert guard.writers == {"rebalance_audit.replay.groups"}, "it counts its members"
    guard.writers.clear()
    names = {
        "__name__": "rebalance_audit.audit.intruder",
        "slot": slot,
        "group": group,
        "member": member,
    }
    exec(code, names)  # noqa: S102 - code as another module would have it
    assert guard.writers == {"rebalance_audit.audit.intruder"}
