"""Epochs that are not reached: stuck groups, epochs without a target, slow members, blocked revocations."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from rebalance_audit.audit.causes.departure_timing import fired_then
from rebalance_audit.audit.causes.departures import evidence_at
from rebalance_audit.audit.epochs.epoch_span import EpochSpan, MemberProgress
from rebalance_audit.audit.findings.finding import AtLogEnd, Ending, Severity
from rebalance_audit.audit.findings.watcher import AfterGap, Trail, Watcher
from rebalance_audit.audit.group.held_up import last_to_reach, while_reconciling
from rebalance_audit.audit.group.time_account import HeldUpWhy, HoldUp
from rebalance_audit.audit.members.stint import Stint
from rebalance_audit.audit.rows import Row, duration_ms
from rebalance_audit.audit.verdicts.cause import Evidence
from rebalance_audit.audit.writes import is_other_coordinator
from rebalance_audit.replay.changes import GroupType, MemberAssigned, Position
from rebalance_audit.replay.groups import UNREVOKED, Group, ModernGroup
from rebalance_audit.replay.partitions import Topic, text_of
from rebalance_audit.sentences.reason import CodedReason, because

_NAMED = 3


def _began(span: EpochSpan) -> Evidence:
    return evidence_at(span.first_position, "group_epoch", epoch=span.epoch)


class StuckGroup(AfterGap):
    """Checks every epoch that took long to be reached."""

    kind = "stuck_group"
    definition = (
        "Not every member reached an epoch for at least {stuck_ms} (consumer and streams groups; the join phase "
        "of a classic group leaves no record)."
    )
    severity = Severity.CRITICAL
    at_log_end = AtLogEnd.APPEARS

    def epoch_settled(self, span: EpochSpan, position: Position, group: Group) -> None:
        """Judge an epoch that every member reached."""
        super().epoch_settled(span, position, group)
        self._judge(span, Ending(position.record_timestamp_ms))

    def epoch_ended(self, span: EpochSpan, end: Ending) -> None:
        """Judge an epoch that ended before every member reached it."""
        if span.outcome in (None, "superseded", "open", "deleted") and not self._is_doubtful:
            self._judge(span, end)

    def _judge(self, span: EpochSpan, end: Ending) -> None:
        began_ms, least_ms = span.first_position.record_timestamp_ms, self.rules.stuck_ms
        if (
            span.protocol in (GroupType.CLASSIC, GroupType.SHARE)
            or not span.members
            or not end.reached(began_ms + least_ms)
        ):
            return
        blockers, why = self._blockers(span, end)
        self.find(
            span.first_position,
            end.known_ms,
            because(
                "stuck_open" if end.is_open else "stuck",
                epoch=span.epoch,
                lasted=end.lasted(began_ms, least_ms),
                why=why,
            ),
            (_began(span),),
            members=blockers,
        )

    def _blockers(self, span: EpochSpan, end: Ending) -> tuple[list[str], CodedReason]:
        if span.is_elsewhere and not end.is_open:
            return [], because("moved_meanwhile")
        if span.target_installed_at_ms is None:
            return [], because("no_target_computed")
        progress = self.scene.life.progress.to(span)
        held_up = sorted(while_reconciling(progress, None), key=_longest_last)
        kept = [each for each in held_up if each.why is HeldUpWhy.KEPT_PARTITIONS]
        revoking = sorted(each.member_id for each in kept if each.to_ms is None and each.member_id)
        if revoking:
            return revoking, because("did_not_revoke", members=revoking)
        if kept and kept[-1].member_id is not None:
            slowest = kept[-1].member_id
            return [slowest], because(
                "slow_revocation", member=slowest, took=_longest_last(kept[-1])[0]
            )
        away = {each.member_id for each in held_up if each.member_id}
        waiting = (member for member in progress if member.waiting_since_ms is not None)
        awaited = sorted(away.union(*(member.waited_for for member in waiting)))
        if awaited:
            return awaited, because("waited_for", members=awaited)
        missing = sorted(m.member_id for m in progress if m.outcome not in ("reached", "left"))
        if missing:
            named = missing[:_NAMED]
            if (others := len(missing) - _NAMED + span.members_not_in(progress)) > 0:
                return missing, because("did_not_adopt_some", members=named, more=others)
            return missing, because("did_not_adopt", members=named)
        last, _ = last_to_reach(span)
        if len(last) == 1:
            return [last[0].member_id], because("reached_last", member=last[0].member_id)
        return [], because("holder_unknown")


def _longest_last(held_up: HoldUp) -> tuple[int, str]:
    return duration_ms(held_up.from_ms, held_up.to_ms) or 0, held_up.member_id or ""


class EpochWithoutTarget(AfterGap):
    """Checks epochs whose target came late or never."""

    kind = "epoch_without_target"
    definition = (
        "An epoch of a group with members had no target assignment for at least {no_target_ms}; some seconds are "
        "normal, since the next heartbeat of any member computes it."
    )
    severity = Severity.WARNING
    at_log_end = AtLogEnd.APPEARS

    def epoch_ended(self, span: EpochSpan, end: Ending) -> None:
        """Measure the wait for the target, at most to the end of the epoch."""
        without = (GroupType.CLASSIC, GroupType.SHARE)
        if span.protocol in without or not span.members or self._is_doubtful:
            return
        target_ms = span.target_installed_at_ms
        began_ms, least_ms = span.first_position.record_timestamp_ms, self.rules.no_target_ms
        until = end if target_ms is None else Ending(target_ms)
        # Between two coordinators none was there to compute it.
        if not until.reached(began_ms + least_ms) or (target_ms and span.is_assigned_elsewhere):
            return
        code = "no_target_late" if target_ms is not None else "no_target_in_epoch"
        if until.is_open:
            code = "no_target_at_end"
        self.find(
            span.first_position,
            until.known_ms,
            because(
                code,
                epoch=span.epoch,
                lasted=until.lasted(began_ms, least_ms),
                members=span.members,
            ),
            (_began(span),),
        )


@dataclass(slots=True)
class _Slowness:
    began: Position
    last_ms: int
    times: int = 0
    longest_ms: int = 0
    lasting: bool = False
    """Whether the latest delay still goes on when the log ends; it is not counted in `times`."""
    trail: Trail = field(default_factory=Trail)


class _SlowMembers(AfterGap):
    """Collects the delays of each living member into one finding, which is reported when the member goes."""

    what: ClassVar[str]
    """Code of what the member did slowly."""
    _slow: dict[str, _Slowness] = field(default_factory=dict)

    def note(
        self, member_id: str, began: Position, end: Ending, least_ms: int, fact: CodedReason
    ) -> None:
        """Note that the member was slow once more, for `least_ms` or longer."""
        slow = self._slow.setdefault(member_id, _Slowness(began, began.record_timestamp_ms))
        lasted = end.lasted(began.record_timestamp_ms, least_ms)
        slow.trail.add(evidence_at(began, "slow_since", what=fact, lasted=lasted))
        if end.is_open:
            slow.lasting = True
            return
        slow.times += 1
        slow.longest_ms = max(slow.longest_ms, end.at_ms - began.record_timestamp_ms)
        slow.last_ms = max(slow.last_ms, end.at_ms)

    def members_changed(
        self, arrivals: Sequence[Stint], departures: Sequence[Row], position: Position
    ) -> None:
        """Report the slow members among those that went."""
        for row in departures:
            self._close(row["member_id"])

    def ended(self, end: Ending) -> None:
        """Report all slow members that are left."""
        for member_id in list(self._slow):
            self._close(member_id)

    def _close(self, member_id: str) -> None:
        slow = self._slow.pop(member_id, None)
        if slow is not None:
            self.find(
                slow.began,
                None if slow.lasting else slow.last_ms,
                self._how_often(member_id, slow),
                slow.trail.evidence(),
                members=[member_id],
                subject=member_id,
            )

    def _how_often(self, member_id: str, slow: _Slowness) -> CodedReason:
        what = because(self.what)
        if not slow.times:
            return because("slow_now", member=member_id, what=what)
        facts = {
            "member": member_id,
            "what": what,
            "longest": slow.longest_ms,
            "again": because("and_again") if slow.lasting else None,
        }
        if slow.times == 1:
            return CodedReason("slow_once", facts)
        return CodedReason("slow_times", facts | {"times": slow.times})


class SlowRevoker(_SlowMembers):
    """Measures the time from the record that asks a member to revoke partitions to the one that shows it did."""

    kind = "slow_revoker"
    definition = (
        "A member of a consumer group took at least {slow_revoke_ms} to revoke partitions, or was "
        "removed before it had. The threshold grows with a rebalance timeout longer than Kafka's "
        "default and never exceeds that timeout."
    )
    severity = Severity.WARNING
    at_log_end = AtLogEnd.APPEARS
    what = "to_revoke"

    _asked: dict[str, tuple[Position, int]] = field(default_factory=dict)
    """Member id -> when it was asked, and its threshold in ms."""

    def ended(self, end: Ending) -> None:
        """Members that still have not revoked count too."""
        for member_id, (asked, least_ms) in self._asked.items():
            if not self._is_doubtful and end.reached(asked.record_timestamp_ms + least_ms):
                fact = because("had_not_revoked", member=member_id)
                self.note(member_id, asked, end, least_ms, fact)
        super().ended(end)

    def revocation(self, change: MemberAssigned, group: Group) -> None:
        """Follow which members are revoking partitions."""
        member_id = change.member_id
        if change.new_state == UNREVOKED and not change.released:
            watch = self.scene.life.watches.get(member_id)
            timeout_ms = None if watch is None else watch.stint.identity.rebalance_timeout_ms
            least_ms = self.rules.of_timeout(self.rules.slow_revoke_ms, timeout_ms)
            self._asked.setdefault(member_id, (change.position, least_ms))
            return
        asked, least_ms = self._asked.pop(member_id, (None, 0))
        if asked is None or self._is_doubtful or is_other_coordinator(asked, change.position):
            return
        end = Ending(change.position.record_timestamp_ms)
        if end.reached(asked.record_timestamp_ms + least_ms):
            code = "removed_before_revoking" if change.released else "slow_to_revoke"
            self.note(member_id, asked, end, least_ms, because(code, member=member_id))
            if change.released:
                self._close(member_id)


class SlowMember(_SlowMembers):
    """Measures a member's own time to an epoch: without waits for other members and without revocations."""

    kind = "slow_member"
    definition = (
        "A member of a consumer or streams group took at least {slow_member_ms} from an epoch's target to reach "
        "it, not counting waits for others and giving up partitions: it heard of it late."
    )
    severity = Severity.WARNING
    at_log_end = AtLogEnd.APPEARS
    what = "to_adopt"

    def epoch_ended(self, span: EpochSpan, end: Ending) -> None:
        """Check every member's progress to the epoch."""
        target_ms = span.target_installed_at_ms
        without = (GroupType.CLASSIC, GroupType.SHARE)
        if target_ms is None or span.protocol in without or self._is_doubtful:
            return
        for progress in self.scene.life.progress.to(span):
            if progress.outcome not in (None, "reached"):
                continue
            reached_ms = progress.reached_at_ms
            until = end if reached_ms is None else Ending(reached_ms)
            if progress.by_two_clocks and not until.is_open:
                continue
            if self._too_slow(progress, target_ms, until):
                self.note(
                    progress.member_id,
                    span.first_position,
                    until,
                    self.rules.slow_member_ms,
                    because("on_its_way", member=progress.member_id, epoch=span.epoch),
                )

    def _too_slow(self, progress: MemberProgress, target_ms: int, until: Ending) -> bool:
        """Whether the limit passed before the member reached the epoch, or had to wait or to revoke partitions."""
        up_ms = max(target_ms, progress.started_at_ms or target_ms)
        up_ms += progress.waited_ms + self.rules.slow_member_ms
        asked_ms, revoked_ms = progress.revoke_started_at_ms, progress.revoked_at_ms
        if asked_ms is not None and revoked_ms is not None:
            up_ms += revoked_ms - asked_ms
            asked_ms = None
        held_up = [moment for moment in (progress.waiting_since_ms, asked_ms) if moment is not None]
        return min(held_up) >= up_ms if held_up else until.reached(up_ms)


class SlowSync(Watcher):
    """Checks the sync phase of classic generations."""

    kind = "slow_sync"
    definition = (
        "The sync phase of a classic generation took at least {slow_sync_ms}: the leader needed that long to "
        "compute or send the assignment. In proportion more for rebalance timeouts longer than Kafka's default, "
        "and never more than that timeout."
    )
    severity = Severity.WARNING

    _slow: _Slowness | None = None
    _leaders: dict[str, None] = field(default_factory=dict)

    def epoch_began(self, span: EpochSpan) -> None:
        """Check at once: the record that ends the sync phase is the generation's only one."""
        generation = self.scene.life.previous_generation
        members = () if generation is None else generation.members.values()
        timeout_ms = max((member.rebalance_timeout_ms for member in members), default=None)
        least_ms = self.rules.of_timeout(self.rules.slow_sync_ms, timeout_ms)
        if span.sync_ms is None or span.sync_ms < least_ms or span.gap:
            return
        leader = generation.leader_member_id if generation is not None else None
        if self._slow is None:
            self._slow = _Slowness(span.first_position, 0)
        slow = self._slow
        slow.times += 1
        slow.longest_ms = max(slow.longest_ms, span.sync_ms)
        slow.last_ms = span.first_position.record_timestamp_ms
        if leader is not None and len(self._leaders) < 8:
            self._leaders[leader] = None
        slow.trail.add(
            evidence_at(span.first_position, "assigned_late", epoch=span.epoch, sync=span.sync_ms)
        )

    def ended(self, end: Ending) -> None:
        """One finding for all slow generations."""
        slow, leaders = self._slow, list(self._leaders)
        if slow is not None:
            reason = because("slow_sync_unknown", times=slow.times, longest=slow.longest_ms)
            if leaders:
                reason = because(
                    "slow_sync", times=slow.times, longest=slow.longest_ms, leaders=leaders
                )
            self.find(
                slow.began,
                slow.last_ms,
                reason,
                slow.trail.evidence(),
                members=leaders,
            )


class RevokerBlocked(Watcher):
    """Follows which topics a member is revoking, and uses when topics were deleted."""

    kind = "revoker_blocked_by_deleted_topic"
    definition = (
        "A member was removed right when its rebalance timeout ran out, without having given up partitions of a "
        "topic that was deleted by then."
    )
    severity = Severity.WARNING

    _asked: dict[str, tuple[Position, frozenset[Topic], int]] = field(default_factory=dict)

    def revocation(self, change: MemberAssigned, group: Group) -> None:
        """Follow which members are revoking which topics."""
        asked = self._asked.pop(change.member_id, None)
        if change.released:
            if asked is not None:
                self._judge(change, *asked)
        elif change.new_state == UNREVOKED and isinstance(group, ModernGroup):
            member = group.members.get(change.member_id)
            timeout_ms = member.rebalance_timeout_ms if member is not None else -1
            if member is None and asked is not None:
                timeout_ms = asked[2]
            topics = frozenset(change.new_pending)
            self._asked[change.member_id] = (change.position, topics, timeout_ms)

    def _judge(
        self,
        change: MemberAssigned,
        asked: Position,
        topics: frozenset[Topic],
        timeout_ms: int,
    ) -> None:
        gone_ms = change.position.record_timestamp_ms
        held_ms = gone_ms - asked.record_timestamp_ms
        slack_ms = self.scene.options.rules.rebalance_timeout_slack_ms
        if timeout_ms < 0 or not fired_then(held_ms, timeout_ms, slack_ms):
            return
        outside = self.scene.outside
        deleted = [
            topic
            for topic in topics
            if isinstance(topic, bytes) and outside.topic_deleted(topic, gone_ms)
        ]
        if not deleted:
            return
        names = sorted(outside.topic_name(topic) or text_of(topic) for topic in deleted)
        member_id = change.member_id
        self.find(
            asked,
            gone_ms,
            because("blocked_by_topic", member=member_id, topics=names, timeout=timeout_ms),
            (
                evidence_at(asked, "asked_to_revoke_topics", member=member_id, topics=names),
                evidence_at(change.position, "removed_later", member=member_id, later=held_ms),
            ),
            members=[member_id],
            topics=names,
            subject=member_id,
        )
