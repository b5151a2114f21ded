"""What a group waits for at the end of the log: who has not arrived, what waits for whom, what has no consumer.

A function of the replayed state alone, so that text, tables, metrics and views read one answer. Members that have
arrived are never in it. How long something has lasted is up to readers: the log's end moves on without a record.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Final, NamedTuple, Protocol

from rebalance_audit import limits
from rebalance_audit.audit.causes.classic_scene import Generation
from rebalance_audit.audit.commits.rhythm import SHOWS_RHYTHM
from rebalance_audit.audit.commits.summary import most_commits
from rebalance_audit.audit.group.progress_tracker import FollowedLife
from rebalance_audit.audit.group.time_account import HeldUpWhy
from rebalance_audit.audit.members.stint import MemberWatch
from rebalance_audit.audit.options import AuditOptions
from rebalance_audit.audit.ownership.commit_book import CommitBook
from rebalance_audit.audit.ownership.ownership import Ownership
from rebalance_audit.audit.rows import Row
from rebalance_audit.audit.testimony.of_generations import OpenJoinPhase, open_join_phase
from rebalance_audit.audit.testimony.witness import Witness
from rebalance_audit.audit.verdicts.cause import Certainty
from rebalance_audit.replay.changes import GroupType
from rebalance_audit.replay.groups import (
    STABLE,
    STATIC_LEAVE_EPOCH,
    UNRELEASED,
    UNREVOKED,
    ClassicGroup,
    Group,
    ModernGroup,
    ModernMember,
)
from rebalance_audit.replay.partitions import Partitions, TopicPartition, count, union_of
from rebalance_audit.replay.partitions import each as partitions_in

_NAMED: Final = limits.AWAITED_MEMBERS.most
_STOPPED_PAUSES: Final = 3
_STOPPED_MS: Final = 5_000
"""A classic member has stopped committing after so many of its longest pauses, and at least so long."""
_EXAMPLES: Final = 10
"""Partitions and waiting members that are named for each awaited one."""


class Awaited(NamedTuple):
    """A member for which the group waits."""

    member_id: str
    name: str
    """Instance id, else client id."""
    why: HeldUpWhy
    certainty: Certainty
    since_ms: int
    """When the group began to wait for it (epoch ms): with the first epoch that it has not reached, or when it left."""
    last_record_ms: int
    """Its last record that only a living member can cause (epoch ms)."""
    last_commit_ms: int | None
    """The last commit for a partition that it owned; None if it made none."""
    partitions: Mapping[TopicPartition, None]
    """What it holds that others have in their target."""
    waiting: Mapping[str, None]
    """Those others, by member id."""


@dataclass(slots=True)
class GroupNow:
    """A group at the end of the log."""

    awaited: list[Awaited] = field(default_factory=list)
    """Those that hold what others have as target; where there are none, those that have not reached the epoch."""
    not_arrived: int = 0
    """Members that are not stable at the group's epoch, those that wait among them."""
    partitions: int | None = None
    """Partitions that members have; None where they own none, or the log does not show it."""
    unconsumed: list[TopicPartition] = field(default_factory=list)
    """Assigned by the target, but no member has them, or one that left temporarily."""
    stopped: list[Row] = field(default_factory=list)
    """Classic members that used to commit on a timer and have not for long: perhaps a join phase goes on."""
    silent_since_ms: int | None = None
    """Classic: the last commit of any member (epoch ms), where all have stopped, and none commits on a timer."""
    join_phase: OpenJoinPhase | None = None
    removed: list[Row] = field(default_factory=list)
    """Members that join phase has waited for, until the coordinator removed them."""
    is_stuck: bool = False
    """Whether it waits for somebody, or has members without any partition."""
    due_ms: int | None = None
    """The earliest log end (epoch ms) by which more have stopped without a record; None if there is none."""

    def add_unconsumed(self, group: Group | None, unowned: Iterable[TopicPartition]) -> None:
        """Of members that are gone, while no target has given their partitions to others; not in share groups."""
        if isinstance(group, ModernGroup) and group.group_type is not GroupType.SHARE:
            self.unconsumed += set(unowned).difference(self.unconsumed)
            self.is_stuck |= bool(self.unconsumed)

    def state_columns(self, name_of: Callable[[TopicPartition], str]) -> Row:
        """The columns of gold.group_states that only the current row of a group has."""
        phase = self.join_phase
        unconsumed = sorted(self.unconsumed, key=lambda each: (str(each[0]), each[1]))
        return {
            "awaited": [
                {
                    "member_id": each.member_id,
                    "name": each.name,
                    "why": each.why.value,
                    "certainty": each.certainty.text,
                    "since": each.since_ms,
                    "last_record_at": each.last_record_ms,
                    "last_commit_at": each.last_commit_ms,
                    "partitions": len(each.partitions),
                    "some_partitions": list(map(name_of, islice(each.partitions, _EXAMPLES))),
                    "waiting": len(each.waiting),
                    "some_waiting": list(islice(each.waiting, _EXAMPLES)),
                }
                for each in self.awaited[:_NAMED]
            ],
            "awaited_members": len(self.awaited),
            "not_arrived": self.not_arrived,
            "partitions_at_end": self.partitions,
            "unconsumed": len(self.unconsumed),
            "some_unconsumed": list(map(name_of, unconsumed[:_NAMED])),
            "stopped": self.stopped[:_NAMED],
            "silent_since": self.silent_since_ms,
            "join_phase_since": None if phase is None else phase.prepared.at_ms,
            "join_phase_reason": None if phase is None else phase.prepared.text,
            "join_phase_joined_at": None if phase is None else phase.joined_at_ms,
            "join_phase_removed": self.removed[:_NAMED],
            "is_stuck": self.is_stuck,
        }

    def held_up_columns(self) -> Row:
        """The columns `held_up_*` of gold.rebalances for one that goes on."""
        named = self.awaited[:_NAMED]
        return {
            "held_up_by": [each.name for each in named],
            "held_up_member_ids": [each.member_id for each in named],
            "held_up_from": [each.since_ms for each in named],
            "held_up_to": [None] * len(named),
            "held_up_ms": [None] * len(named),
            "held_up_why": [each.why.value for each in named],
            "held_up_certainties": [each.certainty.text for each in named],
            "held_up_certainty": named[0].certainty.text if named else None,
        }


NO_PRESENT: Final[Row] = dict.fromkeys(GroupNow().state_columns(str))
"""The same columns of a state that is over, or unknown."""


class LifeNow(FollowedLife, Protocol):
    """What it needs of a group's life."""

    previous_generation: Generation | None
    witness: Witness | None
    gap: bool
    commits: CommitBook
    ownership: Ownership
    options: AuditOptions


def group_now(group: Group | None, life: LifeNow) -> GroupNow:
    """The present of a group; nothing of one that is gone."""
    match group:
        case ModernGroup():
            return _of_modern(group, life)
        case ClassicGroup():
            return _of_classic(group, life)
        case _:
            return GroupNow()


def log_end(life: LifeNow) -> int | None:
    """When the log ends (epoch ms): with its last record, else with the group's; None without any."""
    written = life.ownership.written
    if life.options.log_end_ms is not None or written is None:
        return life.options.log_end_ms
    return written.record_timestamp_ms


def _of_classic(group: ClassicGroup, life: LifeNow) -> GroupNow:
    found = GroupNow()
    if life.span is not None and life.span.owns_partitions:
        if not life.span.is_unread:
            found.partitions = sum(member.partition_count for member in group.members.values())
        _look_for_stopped(found, life)
    last, end_ms = life.previous_generation, life.options.log_end_ms
    if life.witness is None or last is None or end_ms is None:
        return found
    from_ms = last.position.record_timestamp_ms
    found.join_phase = open_join_phase(life.witness, group.generation, from_ms, end_ms)
    if found.join_phase is not None:
        found.is_stuck = True
        for member_id, at_ms in found.join_phase.removed.items():
            watch = life.watches.get(member_id)
            name = member_id if watch is None else _name(watch)
            found.removed.append({"member_id": member_id, "name": name, "at": at_ms})
    return found


def _name(watch: MemberWatch) -> str:
    identity = watch.stint.identity
    return identity.instance_id or identity.client_id or watch.stint.member_id


def _look_for_stopped(found: GroupNow, life: LifeNow) -> None:
    """Members stop committing while they rejoin; those that commit on a timer do not stop for lack of records."""
    end_ms = life.options.log_end_ms
    if end_ms is None:
        return
    others: list[tuple[int, int]] = []
    due: list[int] = []
    for member_id, summaries in life.commits.of_round_by_member(life.ownership).items():
        watch, summary = life.watches.get(member_id), most_commits(summaries)
        if watch is None or watch.last_commit is None:
            continue
        last_ms = watch.last_commit.position.record_timestamp_ms
        stopped_ms = last_ms + max(_STOPPED_MS, _STOPPED_PAUSES * summary.longest_ms)
        is_timed = summary.unchanged or life.commits.habits.idle_commits(
            watch.stint.identity.client_id
        )
        if summary.commits < SHOWS_RHYTHM or not is_timed:
            others.append((stopped_ms, last_ms))
        elif end_ms < stopped_ms:
            due.append(stopped_ms)
        else:
            stopped = {"member_id": member_id, "name": _name(watch), "last_commit_at": last_ms}
            found.stopped.append({**stopped, "interval_ms": summary.interval_ms or 0})
    found.stopped.sort(key=lambda row: (row["last_commit_at"], row["name"], row["member_id"]))
    if others and not found.stopped and not due:
        all_ms, _ = max(others)
        if end_ms < all_ms:
            due.append(all_ms)
        else:
            found.silent_since_ms = max(last_ms for _, last_ms in others)
    found.due_ms = min(due, default=None)


def _of_modern(group: ModernGroup, life: LifeNow) -> GroupNow:
    members = group.members
    has = union_of(member.assigned for member in members.values())
    has_target = group.assignment_epoch >= group.group_epoch
    not_arrived = group.unconverged_count if has_target else len(members)
    found = GroupNow(not_arrived=not_arrived, partitions=count(has))
    found.is_stuck = bool(members) and not found.partitions
    if not found.not_arrived:
        return found
    held: dict[str, dict[TopicPartition, None]] = defaultdict(dict)
    waiting: dict[str, dict[str, None]] = defaultdict(dict)
    if group.group_type is not GroupType.SHARE:
        for member_id, member in members.items():
            for partition in _lacking(group.target_of(member_id), member):
                holder = group.owners.get(partition)
                if holder is None:
                    found.unconsumed.append(partition)
                elif holder != member_id and holder in members:
                    held[holder][partition] = None
                    waiting[holder][member_id] = None
        for member in members.values():
            if member.member_epoch == STATIC_LEAVE_EPOCH:
                found.unconsumed += partitions_in(member.assigned)
    keeping = [
        member
        for member in map(members.__getitem__, held)
        if member.member_state != STABLE or member.member_epoch < group.group_epoch
    ]
    late = [each for each in members.values() if each.member_epoch < group.group_epoch]
    slow = sorted(group.unconverged) if not keeping and not late else ()
    is_sure = not (life.gap or group.disputed or (life.span is not None and life.span.gap))
    for member in keeping or late or [members[each] for each in slow]:
        watch = life.watches.get(member.member_id)
        if watch is not None:
            who = member.member_id
            awaited = _awaited(group, member, watch, life, held.get(who, {}), waiting.get(who, {}))
            found.awaited.append(
                awaited if is_sure else awaited._replace(certainty=Certainty.POSSIBLE)
            )
    found.is_stuck |= bool(found.awaited or found.unconsumed)
    found.awaited.sort(
        key=lambda each: (-len(each.waiting), each.since_ms, each.name, each.member_id)
    )
    return found


def _lacking(target: Partitions, member: ModernMember) -> Iterator[TopicPartition]:
    for topic, numbers in target.items():
        has = member.assigned.get(topic, frozenset()) | member.pending_revocation.get(
            topic, frozenset()
        )
        for number in sorted(numbers - has):
            yield topic, number


def _awaited(
    group: ModernGroup,
    member: ModernMember,
    watch: MemberWatch,
    life: LifeNow,
    partitions: Mapping[TopicPartition, None],
    waiting: Mapping[str, None],
) -> Awaited:
    last_commit_ms = None
    if watch.last_commit is not None:
        last_commit_ms = watch.last_commit.position.record_timestamp_ms
    if member.member_epoch == STATIC_LEAVE_EPOCH:
        why, certainty = HeldUpWhy.HAD_LEFT, Certainty.PROVEN
    else:
        why = HeldUpWhy.LATE
        if member.member_state == UNREVOKED:
            why = HeldUpWhy.KEPT_PARTITIONS
        # A member that has not heard of the epoch does not know that it waits.
        is_shown = any(group.members[each].member_state == UNRELEASED for each in waiting)
        certainty = Certainty.PROVEN if is_shown else Certainty.PROBABLE
    since_ms = watch.last_life.record_timestamp_ms
    if life.rebalance is not None:
        if why is not HeldUpWhy.HAD_LEFT:
            since_ms = watch.stint.first_position.record_timestamp_ms
        since_ms = max(since_ms, life.rebalance.began_after(member.member_epoch) or 0)
        if why is HeldUpWhy.KEPT_PARTITIONS and life.span is not None:
            asked_ms = life.rebalance.hold_ups.asked_since(member.member_id, life.span)
            since_ms = max(since_ms, asked_ms or 0)
    return Awaited(
        member.member_id,
        _name(watch),
        why,
        certainty,
        since_ms,
        watch.last_life.record_timestamp_ms,
        last_commit_ms,
        partitions,
        waiting,
    )
