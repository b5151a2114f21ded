"""A small coordinator for tests: it writes legal logs of one group in the shorthand, whatever it is asked to do.

It knows the order of the records of each event and when a member may take a partition, and nothing of replay. What it
is asked and cannot do in its state it leaves out.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

PARTITIONS = 6


@dataclass
class Member:
    """A member of a consumer group as the model sees it."""

    epoch: int = 0
    previous: int = 0
    assigned: set[int] = field(default_factory=set)
    pending: set[int] = field(default_factory=set)
    instance_id: str | None = None


def spans(numbers: Iterable[int]) -> str:
    """Partition numbers in the shorthand."""
    return ",".join(map(str, sorted(numbers))) or "-"


class LogModel:
    """One group id over its lives. `log` holds the records so far, one line each."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.offsets: set[int] = set()
        self.generation: int | None = None
        """Of the classic group; None when there is none with a record."""
        self.classic_members: list[str] = []
        self.epoch: int | None = None
        """Of the consumer group; None when there is none."""
        self.assignment_epoch = 0
        self.members: dict[str, Member] = {}
        self.targets: dict[str, set[int]] = {}
        self.regexes: set[str] = set()
        self._names = 0

    def do(self, event: str, number: int) -> None:
        """Let something happen; `number` chooses a member, a partition or how many."""
        EVENTS[event](self, number)

    def _write(self, *lines: str) -> None:
        self.log += lines

    def _new_name(self) -> str:
        self._names += 1
        return f"m{self._names}"

    def _one(self, number: int) -> str | None:
        names = sorted(self.members)
        return names[number % len(names)] if names else None

    # --- consumer groups ---

    def join(self, number: int) -> None:
        """A member joins, static if the number is even; the target is computed at once."""
        if self.generation is not None:
            return
        name = self._new_name()
        member = Member(instance_id=f"i{name}" if number % 2 == 0 else None)
        self.epoch = (self.epoch or 0) + 1
        self.members[name] = member
        self._write(self._describe(name), f"3 {self.epoch} h{number}")
        self._install()
        self._step(name)

    def _describe(self, name: str) -> str:
        instance_id = self.members[name].instance_id
        return f"5 {name} instance={instance_id}" if instance_id else f"5 {name}"

    def refresh(self, number: int) -> None:
        """Topics changed: the epoch moves, the target waits for a heartbeat."""
        if self.epoch is None or not self.members:
            return
        self.epoch += 1
        self._write(f"3 {self.epoch} h{number}")

    def heartbeat(self, number: int) -> None:
        """A member asks: install what is due, then take one step towards its target."""
        name = self._one(number)
        if name is None or self.epoch is None or self.members[name].epoch == -2:
            return
        if self.assignment_epoch < self.epoch:
            self._install()
        self._step(name)

    def _install(self) -> None:
        assert self.epoch is not None
        names = sorted(self.members)
        for index, name in enumerate(names):
            target = set(range(index, PARTITIONS, len(names)))
            if self.targets.get(name) != target:
                self.targets[name] = target
                self._write(f"7 {name} {spans(target)}")
        self.assignment_epoch = self.epoch
        self._write(f"6 {self.epoch} t={1000 + self.epoch}")

    def _step(self, name: str) -> None:
        member = self.members[name]
        target = self.targets[name]
        member.pending = set()
        member.previous = member.epoch
        revoke = member.assigned - target
        if revoke:
            member.assigned &= target
            member.pending = revoke
            self._write_current(name, "UNREVOKED")
            return
        held = set().union(
            *(m.assigned | m.pending for other, m in self.members.items() if other != name)
        )
        member.assigned |= target - held
        member.epoch = self.assignment_epoch
        self._write_current(name, "STABLE" if member.assigned == target else "UNRELEASED")

    def _write_current(self, name: str, state: str) -> None:
        member = self.members[name]
        assigned = spans(member.assigned)
        pending = f"|{spans(member.pending)}" if member.pending else ""
        self._write(f"8 {name} {member.epoch}/{member.previous} {state} {assigned}{pending}")

    def leave(self, number: int) -> None:
        """A member leaves or is fenced; the last one takes the target epoch along."""
        name = self._one(number)
        if name is None or self.epoch is None:
            return
        self._remove(name)
        self.epoch += 1
        self._write(f"3 {self.epoch}")
        if not self.members:
            self.assignment_epoch = self.epoch
            self._write(f"6 {self.epoch}")

    def _remove(self, name: str) -> None:
        self._write(f"8t {name}", f"7t {name}", f"5t {name}")
        self.targets.pop(name, None)
        del self.members[name]

    def away(self, number: int) -> None:
        """A static member leaves for a while."""
        name = self._one(number)
        if name is None or self.members[name].instance_id is None:
            return
        member = self.members[name]
        member.epoch, member.pending = -2, set()
        self._write_current(name, "STABLE")

    def back(self, number: int) -> None:
        """A static member that is away returns under a new member id."""
        name = self._one(number)
        if name is None or self.members[name].epoch != -2:
            return
        old, target = self.members[name], self.targets[name]
        self._remove(name)
        new = self._new_name()
        self.members[new] = Member(0, 0, old.assigned, set(), old.instance_id)
        self.targets[new] = target
        self._write(self._describe(new), f"7 {new} {spans(target)}")
        self._write_current(new, "STABLE")
        self._step(new)

    def resolve(self, number: int) -> None:
        """An expression is resolved, or forgotten if it was before."""
        if self.epoch is None:
            return
        expression = f"r{number}.*"
        if expression in self.regexes:
            self.regexes.remove(expression)
            self._write(f"16t {expression}")
        else:
            self.regexes.add(expression)
            self._write(f"16 {expression} foo v={number}")

    def record_topics(self, number: int) -> None:
        """A broker of 4.0 records the topics."""
        if self.epoch is not None:
            self._write(f"4 foo:{number + 1}")

    # --- classic groups and the ways between ---

    def generation_ends(self, number: int) -> None:
        """A classic generation with some members, some of them new."""
        if self.epoch is not None:
            return
        kept = self.classic_members[: number % 3]
        self.classic_members = [*kept, self._new_name()]
        self.generation = (self.generation or 0) + 1
        self._write_generation()

    def _write_generation(self) -> None:
        names = self.classic_members
        rows = [
            f"{name}={spans(range(index, PARTITIONS, len(names)))}"
            for index, name in enumerate(names)
        ]
        self._write(" ".join([f"2 {self.generation}", *(["range", *rows] if rows else [])]))

    def generation_empties(self, _number: int) -> None:
        """The last classic member is gone."""
        if self.generation is None or not self.classic_members:
            return
        self.generation += 1
        self.classic_members = []
        self._write(f"2 {self.generation} type=consumer")

    def upgrade(self, _number: int) -> None:
        """The first member with the consumer protocol comes to a classic group."""
        if self.generation is None:
            return
        self._write("2t")
        names, generation = self.classic_members, self.generation
        self.generation, self.classic_members = None, []
        if names:
            self.epoch = self.assignment_epoch = generation
            shares = {
                name: set(range(index, PARTITIONS, len(names))) for index, name in enumerate(names)
            }
            self.members = {
                name: Member(generation, generation, set(share)) for name, share in shares.items()
            }
            self.targets = shares
            self._write(*(f"5 {name} classic=range" for name in names), f"3 {generation}")
            self._write(*(f"7 {name} {spans(share)}" for name, share in shares.items()))
            self._write(f"6 {generation}")
            for name in names:
                self._write_current(name, "STABLE")
        self.join(1)

    def downgrade(self, _number: int) -> None:
        """The last member with the consumer protocol leaves; the others go on as a classic group."""
        if self.epoch is None or self.assignment_epoch < self.epoch:
            return
        names = sorted(self.members)
        self._write(*(f"8t {name}" for name in names), *(f"7t {name}" for name in names), "6t")
        self._write(*(f"5t {name}" for name in names))
        generation = self.epoch
        self._forget_consumer_group()
        self._write("4t", "3t")
        self.generation = generation if names[1:] else 0
        self.classic_members = names[1:]
        self._write_generation()

    def _forget_consumer_group(self) -> None:
        self._write(*(f"16t {expression}" for expression in sorted(self.regexes)))
        self.epoch, self.assignment_epoch = None, 0
        self.members, self.targets, self.regexes = {}, {}, set()

    # --- offsets, and the end ---

    def commit(self, number: int) -> None:
        """Somebody commits an offset."""
        self.offsets.add(number)
        self._write(f"1 foo:{number} {len(self.log)}")

    def expire(self, number: int) -> None:
        """An offset expires; with the last one an empty classic group goes as well."""
        if number not in self.offsets:
            return
        self.offsets.remove(number)
        self._write(f"1t foo:{number}")
        if not self.offsets and self.epoch is None and not self.classic_members:
            self._write("2t")
            self.generation = None

    def delete(self, _number: int) -> None:
        """The group is deleted, if it is there and has no members."""
        if self.members or self.classic_members or self.epoch is self.generation is None:
            return
        self._write(*(f"1t foo:{number}" for number in sorted(self.offsets)))
        self.offsets = set()
        if self.epoch is None:
            self._write("2t")
            self.generation = None
        else:
            self._write("6t")
            self._forget_consumer_group()
            self._write("4t", "3t")


EVENTS: dict[str, Callable[[LogModel, int], None]] = {
    method.__name__: method
    for method in (
        LogModel.join,
        LogModel.heartbeat,
        LogModel.refresh,
        LogModel.leave,
        LogModel.away,
        LogModel.back,
        LogModel.resolve,
        LogModel.record_topics,
        LogModel.generation_ends,
        LogModel.generation_empties,
        LogModel.upgrade,
        LogModel.downgrade,
        LogModel.commit,
        LogModel.expire,
        LogModel.delete,
    )
}
