"""One epoch or generation, from its begin until its row is final, which may be after the next one has begun."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from rebalance_audit.audit.epochs.target_moves import Moves
from rebalance_audit.audit.members.stint import MemberWatch
from rebalance_audit.audit.rows import Row, completeness, duration_ms
from rebalance_audit.audit.verdicts.cause import Evidence, RebalanceCause, Verdict, stated
from rebalance_audit.bounds import Bounds, bounds_columns
from rebalance_audit.replay.changes import GroupType, MemberAssigned, Position
from rebalance_audit.replay.groups import UNREVOKED, ModernGroup
from rebalance_audit.replay.partitions import count, minus


@lru_cache(1024)
def _texts(causes: tuple[RebalanceCause, ...]) -> tuple[str, ...]:
    return tuple(cause.text for cause in causes)


@dataclass(slots=True)
class MemberProgress:
    """How one member reaches one epoch."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    started_at_ms: int | None
    partitions_before: int
    reached_at_ms: int | None = None
    revoke_started_at_ms: int | None = None
    revoked_at_ms: int | None = None
    waiting_since_ms: int | None = None
    waited_ms: int = 0
    waited_for: set[str] = field(default_factory=set)
    waited_since_ms: int | None = None
    waited_until_ms: int | None = None
    """From the first wait to the end of the last one (epoch ms); the end is None while it waits."""
    is_away: bool = False
    """It is a static member that had left temporarily, for some of the epoch at least."""
    partitions_after: int | None = None
    partitions_revoked: int = 0
    partitions_assigned: int = 0
    outcome: str | None = None
    work: tuple[str, ...] | None = None
    """Classic: what the member has then in the words of its protocol; None if that has none, or it is not known."""
    by_two_clocks: bool = False
    """The coordinator moved before the member reached the epoch: no duration is known."""
    is_new: bool = False
    """Classic: the previous generation did not have the member, or it had other work in the words of its protocol."""

    def go_on(self, watch: MemberWatch) -> None:
        """Go on with what the member does since an earlier epoch: it gives partitions up, waits for some, is away."""
        self.is_away |= watch.left_for_a_while
        if watch.unrevoked_since is not None:
            self.revoke_started_at_ms = watch.unrevoked_since.record_timestamp_ms
        if watch.waiting:
            self.waiting_since_ms = self.waited_since_ms = self.started_at_ms
            self.waited_for |= watch.waited_for

    def left_or_done(self, watch: MemberWatch) -> bool:
        """Whether nothing more can happen to it in the epoch; notes whether it has left temporarily."""
        self.is_away |= watch.left_for_a_while
        return self.outcome is not None

    def follow(self, change: MemberAssigned, *, was_revoking: bool) -> None:
        """Count what the record assigned to the member and took from it, and note whether it has any to give up."""
        at_ms = change.position.record_timestamp_ms
        old, new = change.old_assigned, change.new_assigned
        if old != new:
            self.partitions_assigned += count(minus(new, old))
            self.partitions_revoked += count(minus(old, new))
        if change.new_state == UNREVOKED:
            if self.revoke_started_at_ms is None:
                self.revoke_started_at_ms = at_ms
        elif was_revoking:
            self.revoked_at_ms = at_ms

    def reach(self, at_ms: int, partitions: int) -> None:
        """It has all that the epoch gives it."""
        self.reached_at_ms = at_ms
        self.partitions_after = partitions
        self.outcome = "reached"

    def start_waiting(self, at_ms: int) -> None:
        """Begin to wait for partitions that other members hold, unless it waits already."""
        if self.waiting_since_ms is None:
            self.waiting_since_ms = at_ms
            self.waited_since_ms = at_ms if self.waited_since_ms is None else self.waited_since_ms
            self.waited_until_ms = None

    def stop_waiting(self, at_ms: int) -> None:
        """End the wait for partitions that other members hold, if one is going on."""
        if self.waiting_since_ms is not None:
            self.waited_ms += max(0, at_ms - self.waiting_since_ms)
            self.waiting_since_ms, self.waited_until_ms = None, at_ms

    def is_changed_by_generation(self) -> bool:
        """Classic: whether the generation brought the member, or gave it partitions or took some."""
        return self.is_new or bool(self.partitions_assigned or self.partitions_revoked)

    def row(self, span: "EpochSpan", outcome: str) -> Row:
        """The row of gold.convergence; `outcome` applies unless the member has one of its own."""
        started_at_ms, reached_at_ms = self.started_at_ms, self.reached_at_ms
        is_unsure = self.by_two_clocks or span.is_doubted
        known = span.owns_partitions and not span.is_unread
        return {
            "group_id": span.group_id,
            "incarnation": span.incarnation,
            "epoch": span.epoch,
            "member_id": self.member_id,
            "instance_id": self.instance_id,
            "client_id": self.client_id,
            "client_host": self.client_host,
            "started_at": started_at_ms,
            "reached_at": reached_at_ms,
            "latency_ms": None
            if started_at_ms is None or is_unsure
            else duration_ms(started_at_ms, reached_at_ms),
            "revoke_started_at": self.revoke_started_at_ms,
            "revoked_at": self.revoked_at_ms,
            "revoke_ms": None
            if self.revoke_started_at_ms is None or is_unsure
            else duration_ms(self.revoke_started_at_ms, self.revoked_at_ms),
            "waited_ms": self.waited_ms,
            "waited_for": sorted(self.waited_for) if self.waited_for else [],
            "partitions_before": self.partitions_before if known else None,
            "partitions_after": self.partitions_after if known else None,
            "partitions_revoked": self.partitions_revoked if known else None,
            "partitions_assigned": self.partitions_assigned if known else None,
            "work": None if self.work is None else list(self.work),
            "outcome": self.outcome or outcome,
        }


@dataclass(slots=True)
class EpochSpan:
    """One epoch or generation, until the next one begins."""

    group_id: str
    incarnation: int
    epoch: int
    protocol: str
    protocol_type: str | None
    assignor: str | None
    first_position: Position
    started_at_ms: int | None
    previous_epoch: int | None
    members: int
    members_joined: int
    members_left: int
    rebalance_seq: int
    gap: bool
    join_started_earliest_ms: int | None = None
    join_started_latest_ms: int | None = None
    sync_ms: int | None = None
    target_installed_at_ms: int | None = None
    converged_at_ms: int | None = None
    partitions: int | None = None
    partitions_moved: int | None = None
    partitions_added: int | None = None
    partitions_dropped: int | None = None
    follows_start: bool = False
    """Compaction left the epoch before as the first one of the log: its target may not be all there."""
    is_counted: bool = True
    """Who joined and left is kept apart from members that were there before."""
    owns_partitions: bool = True
    """False for a classic group whose members are no consumers: what is said of partitions has no meaning there."""
    is_unread: bool = False
    """Classic: an assignment of this generation or of the one before cannot be read."""
    unowned_partition_ms: int = 0
    """Exact, from the records; a classic generation has bounds in `unowned` instead."""
    not_stable: Bounds | None = None
    """Classic: time from the begin of the join phase to the record."""
    unowned: Bounds | None = None
    """Classic: unowned time until the generation's record, summed over its partitions."""
    is_doubted: bool = False
    """Records of the time in which it was the group's epoch may be missing: its durations may miss something."""
    is_unowned_unknown: bool = False
    """No epoch that the log shows whole has converged yet: partitions may be unowned that the log never had.

    Also where the log lacks records, and none shows that the epoch converged.
    """
    is_doubted_since: bool = False
    """Records may be missing since all members had reached it: partitions may be unowned that the log does not show."""
    has_moved: bool = False
    is_counted_elsewhere: bool = False
    """It did, and some time without owner passed since then."""
    is_assigned_elsewhere: bool = False
    """The coordinator moved before the target was there."""
    is_converged_elsewhere: bool = False
    """The coordinator moved between the target and the moment at which all members had reached it."""
    ended_at_ms: int | None = None
    outcome: str | None = None
    superseded_by: int | None = None
    verdicts: tuple[Verdict, ...] = ()
    contradictions: tuple[Evidence, ...] = ()
    """Statements of a broker's log that the records contradict."""
    progress: dict[str, MemberProgress] = field(default_factory=dict)
    """Members for which something happened in its time; classic: also the last of all, which all reach it with."""
    untouched: int = 0
    """Members at its begin that have no record since, and so are not in `progress`; classic: those as before."""
    untouched_by_two_clocks: bool = False
    """The coordinator moved in its time: no durations of these members are known."""
    quiet: list[MemberProgress] = field(default_factory=list)
    """When it has ended: the progress of those of them that findings examine."""
    members_unchanged: int | None = None
    """When it has ended: the number of its members without a row of gold.convergence."""
    settled_slowest: tuple[str | None, int | None] | None = None
    """The result of `slowest`, kept once `progress` is no longer needed."""

    @property
    def is_elsewhere(self) -> bool:
        """The coordinator moved before all members had reached it: its durations begin and end by two clocks."""
        return self.is_assigned_elsewhere or self.is_converged_elsewhere

    @property
    def is_cut(self) -> bool:
        """Some of its time without owner is not counted: the coordinator moved meanwhile, or records are missing."""
        return self.is_elsewhere or self.is_counted_elsewhere or self.is_doubted_since

    def move(self) -> None:
        """Another coordinator writes from now on: durations that go on now are by two clocks."""
        if self.outcome == "emptied":
            return
        self.has_moved = True
        if self.target_installed_at_ms is None:
            self.is_assigned_elsewhere = True
        elif self.converged_at_ms is None:
            self.is_converged_elsewhere = True
        self.untouched_by_two_clocks = self.protocol != GroupType.CLASSIC
        for progress in self.progress.values():
            progress.by_two_clocks |= progress.reached_at_ms is None

    def install(self, at_ms: int | None, moves: Moves) -> None:
        """Its target is there; `at_ms` is None if it assigns nothing, as no member is left."""
        self.target_installed_at_ms = at_ms
        self.partitions = moves.partitions
        self.partitions_moved = len(moves.moved)
        self.partitions_added = len(moves.added)
        self.partitions_dropped = len(moves.dropped)

    def count_unowned(self, partitions: int, from_ms: int, to_ms: int) -> None:
        """Add the part of the time without owner that falls into the epoch."""
        if self.unowned is not None:
            return  # a generation's only record gives no more than bounds
        start_ms = self.first_position.record_timestamp_ms
        end_ms = to_ms if self.ended_at_ms is None else min(to_ms, self.ended_at_ms)
        self.is_counted_elsewhere |= self.has_moved
        self.unowned_partition_ms += partitions * max(0, end_ms - max(from_ms, start_ms))

    def is_reached(self, group: ModernGroup) -> bool:
        """Whether the group, whose coordinator assigns, has converged at the epoch."""
        return (
            self.outcome is None
            and self.protocol != GroupType.CLASSIC
            and len(group.members) > 0
            and group.assignment_epoch >= self.epoch
            and not group.unconverged_count
        )

    def awaits_target(self) -> bool:
        """Whether a later target record can still complete the row of this superseded epoch."""
        return self.target_installed_at_ms is None and self.outcome == "superseded"

    def slowest(self) -> tuple[str | None, int | None]:
        """Member id and latency (ms) of the last member that reached the epoch; (None, None) if none has yet."""
        if self.settled_slowest is not None:
            return self.settled_slowest
        unsure = self.is_unowned_unknown and self.converged_at_ms is None
        two_clocks = self.untouched and self.untouched_by_two_clocks
        two_clocks = two_clocks or any(each.by_two_clocks for each in self.progress.values())
        if self.is_doubted or unsure or two_clocks:
            return None, None
        reached = [
            (reached_at_ms - started_at_ms, progress.member_id)
            for progress in self.progress.values()
            if (reached_at_ms := progress.reached_at_ms) is not None
            and (started_at_ms := progress.started_at_ms) is not None
            and reached_at_ms >= started_at_ms
        ]
        if not reached:
            return None, None
        latency_ms, member_id = max(reached)
        return member_id, latency_ms

    def members_not_in(self, progress: Sequence[MemberProgress]) -> int:
        """How many of its members `progress` leaves out."""
        return self.untouched + len(self.progress) - len(progress)

    def settle(self) -> None:
        """Drop the state that only cause and member rows need, after those rows have been emitted."""
        self.settled_slowest = self.slowest()
        self.progress, self.quiet = {}, []
        self.untouched, self.untouched_by_two_clocks = 0, False
        self.verdicts = tuple(
            verdict._replace(
                reasons=(), evidence=(), topics=(), alternatives=(), weights=(), facts=None
            )
            for verdict in self.verdicts[:1]
        )

    def unowned_time(self) -> Bounds | None:
        """Unowned time, summed over partitions; None if records that would show it may be missing.

        What passed while the coordinator moved is not known, nor what did after a hole, nor anything in a share group.
        """
        if not self.owns_partitions:
            return None
        if self.unowned is not None:
            return self.unowned
        if self.is_doubted or self.is_unowned_unknown or self.protocol == GroupType.SHARE:
            return None
        known_ms = self.unowned_partition_ms
        return Bounds(known_ms, None if self.is_cut else known_ms, known_ms)

    def epoch_row(self) -> Row:
        """The row of gold.epochs."""
        slowest_member_id, slowest_member_ms = self.slowest()
        primary = self.verdicts[0] if self.verdicts else None
        # If the previous epoch is lost, there is nothing to compare with.
        compared = not self.gap or self.previous_epoch is not None
        has_target = self.owns_partitions and not self.is_unread
        has_target_before = has_target and compared and not self.follows_start
        unowned = self.unowned_time()
        return {
            "group_id": self.group_id,
            "incarnation": self.incarnation,
            "epoch": self.epoch,
            "protocol": self.protocol,
            "protocol_type": self.protocol_type,
            "assignor": self.assignor,
            "log_partition": self.first_position.log_partition,
            "first_offset": self.first_position.log_offset,
            "started_at": self.started_at_ms,
            "join_started_earliest": self.join_started_earliest_ms,
            "join_started_latest": self.join_started_latest_ms,
            "target_installed_at": self.target_installed_at_ms,
            "converged_at": self.converged_at_ms,
            "assign_ms": None
            if self.is_assigned_elsewhere
            else duration_ms(self.started_at_ms, self.target_installed_at_ms),
            "reconcile_ms": None
            if self.is_converged_elsewhere or self.is_doubted
            else duration_ms(self.target_installed_at_ms, self.converged_at_ms),
            "convergence_ms": None
            if self.is_elsewhere or self.is_doubted
            else duration_ms(self.started_at_ms, self.converged_at_ms),
            "sync_ms": self.sync_ms,
            "outcome": self.outcome,
            "superseded_by": self.superseded_by,
            "previous_epoch": self.previous_epoch,
            "members": self.members,
            "members_joined": self.members_joined if compared and self.is_counted else None,
            "members_left": self.members_left if compared and self.is_counted else None,
            "members_unchanged": self.members_unchanged,
            "partitions": self.partitions if has_target else None,
            "partitions_moved": self.partitions_moved if has_target_before else None,
            "partitions_added": self.partitions_added if has_target_before else None,
            "partitions_dropped": self.partitions_dropped if has_target_before else None,
            "unowned_partition_ms": None if unowned is None else unowned.exact,
            **bounds_columns(self.not_stable, "not_stable"),
            **bounds_columns(unowned, "unowned_partition"),
            "slowest_member_id": slowest_member_id,
            "slowest_member_ms": slowest_member_ms,
            "primary_cause": primary.cause.text if primary else None,
            "primary_certainty": primary.certainty.text if primary else None,
            "rebalance_seq": self.rebalance_seq,
            "coordinator_epoch": self.first_position.leader_epoch,
            "completeness": completeness(self.gap),
        }

    def cause_rows(self) -> Iterable[Row]:
        """The rows of gold.rebalance_causes."""
        for cause_seq, verdict in enumerate(self.verdicts):
            yield {
                "group_id": self.group_id,
                "incarnation": self.incarnation,
                "epoch": self.epoch,
                "cause_seq": cause_seq,
                "cause": verdict.cause.text,
                "role": verdict.role.text,
                "certainty": verdict.certainty.text,
                "at": verdict.at_ms,
                "member_id": verdict.member_id,
                "instance_id": verdict.instance_id,
                "client_id": verdict.client_id,
                "client_host": verdict.client_host,
                "topics": list(verdict.topics),
                "alternatives": list(_texts(verdict.alternatives)),
                "alternative_weights": verdict.alternative_weights,
                **stated(verdict.reasons, verdict.evidence),
            }

    def convergence_rows(self) -> Iterable[Row]:
        """The rows of gold.convergence; members that did not reach the epoch get the epoch's outcome.

        Only of members for which something happened, the others are counted: there would be a row for each member in
        each epoch.
        """
        fate = "open" if self.outcome == "open" else "superseded"
        is_classic = self.protocol == GroupType.CLASSIC
        changed = [
            progress
            for progress in self.progress.values()
            if not is_classic or progress.is_changed_by_generation()
        ]
        self.members_unchanged = self.untouched + len(self.progress) - len(changed)
        return [progress.row(self, fate) for progress in changed]
