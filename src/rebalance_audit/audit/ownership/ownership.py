"""Who owned which partition, and how long partitions had no owner.

A member owns a partition from the record that puts it into the member's assignment to the record in which it is neither
assigned nor pending revocation, by the coordinator's clock. Between two owners the partition is *unowned*. That time
counts only once it is certain that a member subscribes to the topic, which a target assignment shows.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from rebalance_audit.audit.commits.summary import EndedStretch, commit_columns
from rebalance_audit.audit.members.stint import Identity
from rebalance_audit.audit.rows import OWNERSHIP, Emit, completeness, duration_ms
from rebalance_audit.audit.writes import is_other_coordinator
from rebalance_audit.replay.changes import Position
from rebalance_audit.replay.partitions import Partitions, Topic, TopicPartition, each

_new = tuple.__new__
"""Makes a named tuple without a call of its `__new__`: moving partitions takes most of the time here."""


class Owner(NamedTuple):
    """A member as the owner of partitions."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str

    @staticmethod
    def of(member_id: str, identity: Identity | None) -> "Owner":
        """A member with its identity; None if its record is missing."""
        if identity is None:
            return Owner(member_id, None, "", "")
        return Owner(member_id, identity.instance_id, identity.client_id, identity.client_host)

    @property
    def identity(self) -> str:
        """Instance id of a static member, else the member id; it stays the same when a static member's id changes."""
        return self.instance_id or self.member_id


class _Holding(NamedTuple):
    owner: Owner
    position: Position
    epoch: int | None
    unowned_before_ms: int | None
    previous_member_id: str | None
    gap: bool
    topic_id: str | None = None
    """Known from before the group's protocol changed; the partition is now keyed by the topic's name."""


class _Loose(NamedTuple):
    """A partition given up in the current write; its owner may get it back within that write."""

    partition: TopicPartition
    holding: _Holding
    position: Position
    epoch: int | None
    how: str


@dataclass(slots=True)
class _Unowned:
    since_ms: int
    previous_member_id: str | None
    confirmed: bool
    """True once it is certain that a member subscribes to the partition's topic."""
    exact: bool
    """False if the partition's last owner may have given it up earlier (classic groups), or by another clock."""
    is_cut: bool = False
    """The coordinator moved: `since_ms` is its successor's first moment, and the time before is not known."""


_NEVER = _Unowned(0, None, confirmed=False, exact=False)
"""Stands for a partition that had no earlier owner in this log."""


class Ownership:
    """Every partition of one group: its current owner, or since when it has none."""

    incarnation: int = 0
    is_shared: bool = False
    """Several members may have a partition at once, so it is unknown when the last of them gave it up."""
    _held: dict[TopicPartition, _Holding]
    _unowned: dict[TopicPartition, _Unowned]
    _confirmed: int = 0
    _clock_ms: int | None = None
    written: Position | None = None
    """The first record of the newest write."""

    def __init__(
        self,
        group_id: str,
        emit: Emit,
        topic_names: Callable[[TopicPartition], tuple[str | None, str | None]],
        count_unowned: Callable[[int, int, int], None],
        end_commits: Callable[[TopicPartition], EndedStretch],
    ) -> None:
        """`topic_names` returns (topic id, topic) as text; `count_unowned` takes (partitions, from ms, to ms).

        `end_commits` takes a partition by its topic's name, and returns what its owner committed.
        """
        self._group_id = group_id
        self._emit = emit
        self._topic_names = topic_names
        self._count_unowned = count_unowned
        self._end_commits = end_commits
        self._held = {}
        self._sure: set[TopicPartition] | None = None
        """Those in `_held` without a gap; None until they are known."""
        self._unowned = {}
        self._write_offset = 0
        self._released: dict[TopicPartition, _Loose] = {}
        self._carried: dict[TopicPartition, _Loose] = {}
        """What was owned when the group's protocol changed, by topic name."""
        self._names: dict[Topic, tuple[str | None, str | None]] = {}
        """Topic -> its id and name as in the rows of the current write."""
        self._topics_of: dict[str, list[Topic]] = {}
        """Topic name -> ids by which `_held` has the topic, oldest first; forgotten when something is taken."""

    def owner_of(self, partition: TopicPartition) -> Owner | None:
        """The current owner, or None."""
        holding = self._held.get(partition)
        return holding.owner if holding else None

    def others_of(self, partitions: Partitions, member_id: str) -> set[str]:
        """Ids of the members that own the partitions, without this member."""
        owners = {self.owner_of(partition) for partition in each(partitions)}
        return {owner.member_id for owner in owners if owner is not None} - {member_id}

    def free_since(self, at_ms: int) -> Iterator[TopicPartition]:
        """Partitions without owner since this time (epoch ms) or longer."""
        for partition, unowned in self._unowned.items():
            if unowned.since_ms <= at_ms:
                yield partition

    def owner_by_name(self, partition: TopicPartition) -> Owner | None:
        """The current owner of a partition that is given by its topic's name; None also if the id's name is unknown."""
        holding = self._holding_by_name(partition)
        return holding.owner if holding else None

    def held_since_ms(self, partition: TopicPartition) -> int | None:
        """Since when that owner has it (epoch ms); None without one."""
        holding = self._holding_by_name(partition)
        return holding.position.record_timestamp_ms if holding else None

    def _holding_by_name(self, partition: TopicPartition) -> _Holding | None:
        name, number = partition
        holding = self._held.get(partition)
        if holding is None and isinstance(name, str):
            ids = self._topics_of.get(name)
            for topic in reversed(self._learn_ids(name) if ids is None else ids):
                holding = holding or self._held.get((topic, number))
        return holding

    def owned_by(self, member_id: str) -> Iterator[TopicPartition]:
        """What a member owns, by the topic's name; without topics whose name is unknown."""
        for partition, holding in self._held.items():
            if holding.owner.member_id == member_id:
                name = self._topic_names(partition)[1]
                if name is not None:
                    yield name, partition[1]

    def _learn_ids(self, name: str) -> list[Topic]:
        self._topics_of.clear()
        for topic in dict.fromkeys(held for held, _ in self._held):
            known = self._topic_names((topic, 0))[1]
            if known is not None:
                self._topics_of.setdefault(known, []).append(topic)
        return self._topics_of.setdefault(name, [])

    def begin_write(self, first: Position) -> None:
        """Advance time to a write. What begins and ends within one write was never observable and gets no row."""
        self._write_offset, at_ms = first.log_offset, first.record_timestamp_ms
        self._names.clear()
        if self.written is not None and is_other_coordinator(self.written, first):
            # Some of their time passed between two clocks: epochs must note it, though its length is unknown.
            if self._unowned:
                self._count_unowned(len(self._unowned), at_ms, at_ms)
            for unowned in self._unowned.values():
                unowned.since_ms, unowned.exact = at_ms, False
                unowned.is_cut |= not unowned.confirmed
            self._clock_ms = None  # the time in between is by two clocks
        self.written = first
        self.advance(at_ms)

    def settle(self) -> None:
        """The write is over: what was given up in it is final."""
        for given_up in (self._released, self._carried):
            for loose in given_up.values():
                self._end(*loose)
            given_up.clear()

    def convert(self, position: Position, epoch: int | None) -> None:
        """The group's protocol changes: a member that has a partition before and after the change goes on owning it.

        One protocol names topics by id, the other by name; ownership of a topic without a known name ends here.
        """
        for partition, held in self._held.items():
            topic_id, name = self._topic_names(partition)
            loose = _Loose(
                partition,
                held._replace(topic_id=topic_id or held.topic_id),
                position,
                epoch,
                "handed_over",
            )
            if name is None:
                self._released[partition] = loose
            else:
                self._carried[name, partition[1]] = loose
        self._held.clear()
        self._sure = None
        self._topics_of.clear()
        self.forget_unowned()

    def advance(self, now_ms: int) -> None:
        """Advance unowned time. Clocks of two coordinators may differ; here time never runs backwards."""
        if self._clock_ms is not None and now_ms > self._clock_ms and self._confirmed:
            self._count_unowned(self._confirmed, self._clock_ms, now_ms)
        self._clock_ms = now_ms if self._clock_ms is None else max(now_ms, self._clock_ms)

    def take(
        self,
        partitions: Partitions,
        owner: Owner,
        position: Position,
        epoch: int | None,
        *,
        gap: bool = False,
        since_known: bool = True,
        must_be_free: bool = False,
    ) -> None:
        """`owner` owns the partitions from this record on.

        If `since_known` is False, unowned time before it counts only for partitions unowned before this record.
        `must_be_free`: what is not known to have been free may have been taken by a record that is missing.
        """
        holdings, unowned = self._held, self._unowned
        member_id, at_ms = owner.member_id, position.record_timestamp_ms
        self._topics_of.clear()
        for partition in each(partitions):
            held, is_sure = holdings.get(partition), not gap
            if held is None:
                loose = self._take_loose(partition)
                if loose is not None:
                    if loose.holding.owner.member_id == member_id:
                        holdings[partition] = loose.holding
                        self._sure = None
                        self._confirmed -= unowned.pop(partition, _NEVER).confirmed
                        continue
                    self._end(*loose)
                before = unowned.pop(partition, _NEVER)
                is_free = before is not _NEVER if loose is None else not loose.holding.gap
                is_sure &= is_free or not must_be_free
                if before.confirmed:
                    self._confirmed -= 1
                elif (
                    (before.exact or before.is_cut)
                    and before.previous_member_id is not None
                    and before.since_ms < at_ms
                ):
                    self._count_unowned(1, before.since_ms, at_ms)
            elif held.owner.member_id == member_id:
                continue
            else:
                self._end(partition, held, position, epoch, "handed_over")
                # Records may be missing since then: one in which it was given up, and one in which it was taken.
                is_sure &= not (must_be_free and held.gap)
                before = _Unowned(at_ms, held.owner.member_id, False, since_known and is_sure)
            if is_sure and self._sure is not None:
                self._sure.add(partition)
            known = before.exact and (since_known or before.since_ms < at_ms) and not self.is_shared
            holdings[partition] = _new(
                _Holding,
                (
                    owner,
                    position,
                    epoch,
                    max(0, at_ms - before.since_ms) if known else None,
                    before.previous_member_id,
                    not is_sure,
                    None,
                ),
            )

    def _take_loose(self, partition: TopicPartition) -> _Loose | None:
        """The owner that gave the partition up in this write, if that is not final yet."""
        loose = self._released.pop(partition, None)
        if loose is None and self._carried:
            name = self._topic_names(partition)[1]
            loose = None if name is None else self._carried.pop((name, partition[1]), None)
            if loose is not None:
                # The target, which comes first, made it one without owner.
                self._confirmed -= self._unowned.get(partition, _NEVER).confirmed
                self._unowned[partition] = _Unowned(
                    loose.position.record_timestamp_ms,
                    loose.holding.owner.member_id,
                    confirmed=False,
                    exact=True,
                )
        return loose

    def release(
        self,
        partitions: Partitions,
        member_id: str,
        position: Position,
        epoch: int | None,
        how: str,
    ) -> None:
        """The member no longer owns the partitions; those that another member has taken since stay with it."""
        holdings, unowned, released = self._held, self._unowned, self._released
        at_ms, write_offset = position.record_timestamp_ms, self._write_offset
        for partition in each(partitions):
            held = holdings.get(partition)
            if held is None or held.owner.member_id != member_id:
                continue
            del holdings[partition]
            (self._sure or set()).discard(partition)
            previous_member_id: str | None = member_id
            if held.position.log_offset >= write_offset:  # the ownership began in this write
                previous_member_id = held.previous_member_id
            else:
                released[partition] = _new(_Loose, (partition, held, position, epoch, how))
            unowned[partition] = _Unowned(at_ms, previous_member_id, False, True)

    def expect(self, partitions: Iterable[TopicPartition], since: Position, *, exact: bool) -> None:
        """Count new target partitions without an owner as unowned since the epoch that added them.

        `exact`: the epoch began by the clock that runs now.
        """
        since_ms = since.record_timestamp_ms
        for partition in partitions:
            if partition not in self._held and partition not in self._unowned:
                self._unowned[partition] = _Unowned(since_ms, None, confirmed=False, exact=exact)

    def confirm(
        self, subscribed: Callable[[TopicPartition], bool], now_ms: int, *, is_end: bool = False
    ) -> None:
        """Count the unowned partitions to which a member subscribes, now and from now on.

        The others are forgotten, unless an epoch or the log ends at `now_ms`.
        """
        if is_end:
            self.advance(now_ms)
        for partition, unowned in list(self._unowned.items()):
            if not subscribed(partition):
                if not is_end:
                    self._confirmed -= self._unowned.pop(partition).confirmed
            elif not unowned.confirmed:
                unowned.confirmed = True
                self._confirmed += 1
                self._count_unowned(1, unowned.since_ms, max(now_ms, unowned.since_ms))

    def unowned(self) -> Iterator[TopicPartition]:
        """Partitions without an owner to which a member certainly subscribes."""
        return (partition for partition, each in self._unowned.items() if each.confirmed)

    def doubt(self) -> None:
        """Records may be missing: what is held may have had other owners meanwhile, and what is not may have one."""
        for partition in list(self._held if self._sure is None else self._sure):
            self._held[partition] = self._held[partition]._replace(gap=True)
        self._sure = set()
        for loose in (self._released, self._carried):
            for partition, one in loose.items():
                loose[partition] = one._replace(holding=one.holding._replace(gap=True))
        self.forget_unowned()

    def forget_unowned(self) -> None:
        """Forget all unowned partitions: the group has no members and so no subscriptions."""
        self._unowned.clear()
        self._confirmed = 0

    def end_all(self, position: Position, epoch: int | None, *, is_whole: bool | None) -> None:
        """The group is gone: every interval ends here.

        Only empty groups are deleted: unless the log is whole, the record that took what is still held may be missing.
        """
        self.settle()
        if is_whole is not True:
            self.doubt()
        self.finish(position, epoch, "group_ended")
        self.forget_unowned()

    def finish(
        self, position: Position | None = None, epoch: int | None = None, how: str = "open"
    ) -> None:
        """Intervals end; or the log ends, and they stay open."""
        for partition, held in self._held.items():
            self._end(partition, held, position, epoch, how)
        self._held.clear()
        self._sure = None

    def _end(
        self,
        partition: TopicPartition,
        held: _Holding,
        position: Position | None,
        epoch: int | None,
        how: str,
    ) -> None:
        names = self._names.get(partition[0])
        if names is None:
            names = self._names[partition[0]] = self._topic_names(partition)
        topic_id, topic = names
        ended = None if topic is None else self._end_commits((topic, partition[1]))
        owner, began, from_epoch, unowned_before_ms, previous_member_id, gap, known_id = held
        member_id, instance_id, client_id, client_host = owner
        from_ms, to_ms = began.record_timestamp_ms, None
        to_offset = held_ms = None
        if position is not None:
            to_offset, to_ms = position.log_offset, position.record_timestamp_ms
            if not is_other_coordinator(began, position):
                held_ms = duration_ms(from_ms, to_ms)
        self._emit(
            OWNERSHIP,
            {
                "group_id": self._group_id,
                "incarnation": self.incarnation,
                "topic_id": topic_id or known_id,
                "topic": topic,
                "topic_partition": partition[1],
                "from_offset": began.log_offset,
                "from_at": from_ms,
                "from_epoch": from_epoch,
                "to_offset": to_offset,
                "to_at": to_ms,
                "to_epoch": epoch,
                "member_id": member_id,
                "instance_id": instance_id,
                "client_id": client_id,
                "client_host": client_host,
                "held_ms": held_ms,
                "unowned_before_ms": unowned_before_ms,
                "previous_member_id": previous_member_id,
                **commit_columns(ended, gap=gap, is_open=position is None),
                "how_ended": how,
                "log_partition": began.log_partition,
                "completeness": completeness(gap),
            },
        )
