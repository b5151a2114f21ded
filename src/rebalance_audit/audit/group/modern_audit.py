"""Epochs, convergence and ownership of consumer, share and streams groups, write by write."""

from typing import TYPE_CHECKING, Any

from rebalance_audit.audit.causes.modern import interrupted_by_upgrade, judge_modern
from rebalance_audit.audit.causes.modern_scene import (
    Beginning,
    ModernScene,
    WriteEvidence,
    beginning_of,
    carries_over,
    lacks_records,
)
from rebalance_audit.audit.causes.recorded_topics import SUBSCRIPTIONS, RecordedTopics
from rebalance_audit.audit.causes.topic_metadata import GivenUp
from rebalance_audit.audit.epochs.epoch_span import EpochSpan
from rebalance_audit.audit.group import conversions
from rebalance_audit.audit.group.doubt import (
    Doubt,
    follows_gap,
    hides_revocation,
    hides_unowned,
    is_counted,
    is_from_before,
    owes_a_step,
    skips_generations,
    takes_late,
)
from rebalance_audit.audit.group.ends import Liveness
from rebalance_audit.audit.group.life import Life
from rebalance_audit.audit.members.stint import Identity, MemberEnd, MemberWatch
from rebalance_audit.audit.testimony.testimony import testify_to_epoch
from rebalance_audit.audit.verdicts.cause import (
    Certainty,
    Evidence,
    RebalanceCause,
    Verdict,
    departure_of,
    weakened,
)
from rebalance_audit.audit.writes import Write, adjoins
from rebalance_audit.replay.changes import (
    GroupEpochBumped,
    GroupRemoved,
    GroupType,
    MemberAssigned,
    MemberSubscribed,
    MemberTargeted,
    MemberUnsubscribed,
    Position,
    SharePartitionsRecorded,
    TargetInstalled,
)
from rebalance_audit.replay.groups import STABLE, UNRELEASED, ClassicGroup, ModernGroup
from rebalance_audit.replay.partitions import NOTHING, minus, union

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


class ModernAudit:
    """Follows one group while it uses a protocol in which the coordinator assigns."""

    _upgraded_at: Position | None = None
    """Last record of the write that upgraded a classic group to this one."""
    _initialised_at: Position | None = None
    """Last record about initialised share partitions since the last epoch."""
    _liveness: Liveness
    _began_unnumbered: bool = False
    """The group began with a member without topics, which from 4.3 on writes no epoch record."""
    _given_up: GivenUp
    _doubt: Doubt

    def __init__(self, life: Life, recorded: RecordedTopics) -> None:
        self._life = life
        self._recorded = recorded
        self._liveness = Liveness()
        self._given_up = GivenUp()
        self._doubt = Doubt()
        self._evidence = WriteEvidence()
        self._verdicts: tuple[Verdict, ...] = ()
        self._continues = False
        self._missing = self._is_hidden = False
        self._contradictions: tuple[Evidence, ...] = ()
        self._group = ModernGroup("", GroupType.CONSUMER)
        self._assignment_epoch = -1
        self._handlers: Mapping[type, Callable[[Any], None]] = {
            MemberSubscribed: self._subscribed,
            MemberUnsubscribed: self._unsubscribed,
            MemberTargeted: self._targeted,
            MemberAssigned: self._assigned,
            GroupEpochBumped: self._bumped,
            TargetInstalled: self._installed,
            SharePartitionsRecorded: self._initialised,
        }

    def pass_hole(self) -> None:
        """Offsets between two of the group's writes have no record."""
        self._doubt.pass_hole()

    def judge(
        self, write: Write, evidence: WriteEvidence, group: ModernGroup, *, lacks_head: bool
    ) -> None:
        """Turn one write into rows; after it, `group` is a modern group.

        `lacks_head`: records at the beginning of the write may be missing. At the start of a log that is no news.
        """
        life, bump, installed = self._life, evidence.bump, evidence.installed
        self._group, self._evidence = group, evidence
        at = group.assignment_epoch
        self._assignment_epoch = at if installed is None else installed.old_assignment_epoch
        if not evidence.kinds.keys().isdisjoint(SUBSCRIPTIONS):
            self._given_up.note(evidence.regexes)
            self._recorded.follow(write.changes, group)
        self._liveness.written(write.first)
        if life.protocol is not group.group_type or life.deleted:
            self._enter(write, group)
        self._missing = self._is_hidden = False
        if self._doubt.look_at(write, evidence, group, life):
            life.doubt()
        if lacks_head and bump is not None and (life.span is not None or self._began_unnumbered):
            self._doubt.begin(group, at_start=False)
        self._contradictions = ()
        if evidence.joined:
            life.come_back(evidence.joined)
        if bump is not None:
            life.commits.learn(life.ownership, life.watches)
        self._verdicts = () if bump is None else self._judge_causes(write, bump)
        if bump is not None and bump.old_epoch is None and self._missing:
            self._doubt.begin(group, at_start=True)
        if bump is not None:
            life.confirm_unowned(write.first.record_timestamp_ms)
            life.commits.begin_round()
        # The request that upgrades a group also joins it: states in between were never observable.
        self._continues = self._upgraded_at == write.last
        for change in write.changes:
            if (handler := self._handlers.get(type(change))) is not None:
                handler(change)
        if bump is not None:
            self._given_up.topics.clear()
            self._began_unnumbered = False
        self._doubt.settle(group, bump)
        if not self._continues and life.span is not None and life.span.is_reached(group):
            life.converge(write.last.record_timestamp_ms)
        if not group.members:
            life.drop_awaiting()

    def convert_to_classic(
        self, write: Write, evidence: WriteEvidence, group: ClassicGroup
    ) -> conversions.DowngradeKind:
        """Handle a write after which the group is a classic one."""
        return conversions.downgrade(self._life, write, evidence, group, self._judge_departure)

    # -- a write as a whole ---------------------------------------------------------------------

    def _enter(self, write: Write, group: ModernGroup) -> None:
        """Begin a life, or continue one that was classic before this write."""
        life, first = self._life, write.first
        generation = life.previous_generation
        bump = self._evidence.bump
        if (
            life.protocol is GroupType.CLASSIC
            and not life.deleted
            and generation is not None
            and bump is not None
            and bump.new_epoch >= generation.generation
            and GroupRemoved in self._evidence.kinds
            and self._evidence.is_upgrade(write, group)
        ):
            self._doubt = Doubt()
            conversions.upgrade(life, generation, first, group)
            self._upgraded_at = write.last
        elif conversions.lacks_tombstone(life, self._evidence):
            self._doubt = Doubt()
            conversions.upgrade_in_part(life, first, group)
        else:
            life.restart(group.group_type, first)
            self._recorded.restart()
            self._liveness.restart()
            self._doubt = Doubt()
            self._given_up.topics.clear()
            self._began_unnumbered = self._evidence.begins_unnumbered(group)
            if self._evidence.is_upgrade(write, group):
                self._upgraded_at = write.last

    def _judge_causes(self, write: Write, bump: GroupEpochBumped) -> tuple[Verdict, ...]:
        difference = self._recorded.look_at(bump, self._group)
        if carries_over(bump, self._life.span):
            return ()
        beginning = self._beginning(bump)
        upgrades = self._upgraded_at == write.last
        upgraded = adjoins(self._upgraded_at, write.first)
        self._missing = self._life.gap or lacks_records(
            bump, beginning, upgraded=upgrades or upgraded, is_whole=self._life.is_whole
        )
        if upgrades:
            if self._life.is_whole is False and skips_generations(bump, self._life.span):
                self._missing = True
                self._life.doubt()
            joined = (change.member_id for change in self._evidence.joined)
            new = [each for each in joined if each not in self._life.watches]
            return (interrupted_by_upgrade(bump, new),)
        is_first, self._upgraded_at = self._upgraded_at is not None, None
        scene = ModernScene(
            self._evidence,
            bump,
            self._life.watches,
            self._life.members.tallies.topics(),
            lambda member_id: Identity.of(self._group.members.get(member_id)),
            self._judge_departure,
            upgraded=upgraded,
            is_first_since_upgrade=is_first,
            beginning=beginning,
            initialised_at=self._initialised_at,
            resolved=self._group.regexes.keys(),
            dropped=self._given_up.missed_in(self._group),
            difference=difference,
            contradicted=self._recorded.contradicted,
            may_hide_members=self._doubt.hides_members(bump.position.record_timestamp_ms),
        )
        verdicts = judge_modern(scene, gap=self._in_doubt)
        self._is_hidden = follows_gap(self._life.span) and is_from_before(verdicts[0])
        if self._is_hidden:
            verdicts = tuple(map(weakened, verdicts))
        if self._life.witness is None:
            return verdicts
        logged = testify_to_epoch(self._life.witness, bump, verdicts)
        self._contradictions = logged.contradictions
        return logged.verdicts

    def _judge_departure(self, watch: MemberWatch, gone: Position, company: int) -> Verdict:
        owed_ms = self._liveness.overdue_ms(watch, gone.record_timestamp_ms)
        return self._life.ends.judge(watch, gone, company, owed_ms)

    def _beginning(self, bump: GroupEpochBumped) -> Beginning:
        life, unnumbered = self._life, self._began_unnumbered
        if life.span is not None or (life.watches and not unnumbered):
            return Beginning.NONE
        found = beginning_of(bump, self._evidence, self._group, unnumbered=unnumbered)
        # None came before where the partition lacks no record.
        return Beginning.CERTAIN if life.is_whole and found is Beginning.LIKELY else found

    @property
    def _in_doubt(self) -> bool:
        return self._missing or self._doubt.is_open or self._life.gap

    def _subscribed(self, change: MemberSubscribed) -> None:
        life = self._life
        identity = Identity.of(self._group.members.get(change.member_id))
        watch = life.watches.get(change.member_id)
        life.progress.of(change.member_id)
        unnamed = life.members.owner(change.member_id).identity
        self._doubt.confirm(change.member_id)
        if watch is None:
            replaced = self._evidence.replaced.get(change.instance_id or "")
            is_heir = replaced is not None and replaced[1].member_id == change.member_id
            watch = life.members.open(
                change.member_id,
                identity,
                self._group.group_epoch,
                change.position,
                gap=not change.joined,
                is_counted=change.joined and not is_heir,
            )
            if replaced is not None and is_heir:
                watch.stint.previous_member_id = replaced[0].member_id
                if life.span is not None:
                    life.span.progress[change.member_id] = life.progress.start(
                        change.member_id, change.position.record_timestamp_ms
                    )
        life.members.identify(watch, identity)
        named = life.members.owner(change.member_id).identity
        life.moves.rename(unnamed, named, self._group.target_of(change.member_id))
        watch.stint.protocol = str(life.protocol)
        watch.stint.last_seen_at_ms = change.position.record_timestamp_ms
        watch.last_life = change.position
        member = self._group.members.get(change.member_id)
        watch.speaks_classic = member is not None and member.classic is not None

    def _unsubscribed(self, change: MemberUnsubscribed) -> None:
        life = self._life
        watch = life.watches.get(change.member_id)
        self._doubt.confirm(change.member_id)
        if watch is None:
            return
        last_epoch = life.span.epoch if life.span else None
        replaced = self._evidence.replaced.get(change.instance_id or "")
        is_counted = replaced is None or replaced[0].member_id != change.member_id
        if replaced is not None and not is_counted:
            watch.stint.next_member_id = replaced[1].member_id
            cause, certainty = RebalanceCause.STATIC_MEMBER_REPLACED, Certainty.PROVEN
        else:
            verdict = departure_of(self._verdicts, change.member_id) or self._judge_departure(
                watch, change.position, len(self._evidence.gone) - 1
            )
            cause, certainty = verdict.cause, verdict.certainty
        end = MemberEnd(cause, certainty, last_epoch)
        life.members.close(change.member_id, change.position, end, is_counted=is_counted)

    def _targeted(self, change: MemberTargeted) -> None:
        life = self._life
        life.moves.retarget(life.members.owner(change.member_id).identity, change.old, change.new)

    def _assigned(self, change: MemberAssigned) -> None:
        life, at_ms = self._life, change.position.record_timestamp_ms
        watch = life.watches.get(change.member_id)
        if watch is None and not change.released:
            # A compacted log can have a member's assignment before its subscription.
            identity = Identity.of(self._group.members.get(change.member_id))
            watch = life.members.open(
                change.member_id, identity, self._group.group_epoch, change.position, gap=True
            )
        self._move_partitions(change)
        if watch is None or change.released:
            return
        was_revoking = watch.unrevoked_since is not None
        progress, span = life.progress.of(change.member_id), life.span
        watch.assigned(change)
        if span is None or progress is None or progress.left_or_done(watch):
            return
        progress.follow(change, was_revoking=was_revoking)
        if change.new_state == UNRELEASED:
            progress.start_waiting(at_ms)
            missing = minus(self._group.target_of(change.member_id), change.new_assigned)
            watch.waited_for |= life.ownership.others_of(missing, change.member_id)
            progress.waited_for |= watch.waited_for
        elif progress.waiting_since_ms is not None:
            progress.stop_waiting(at_ms)
        if (
            not self._continues
            and change.new_state == STABLE
            and not change.new_pending
            and change.new_member_epoch >= max(span.epoch, self._assignment_epoch)
        ):
            progress.reach(at_ms, watch.partitions)

    def _move_partitions(self, change: MemberAssigned) -> None:
        """A partition counts as owned while it is assigned or pending revocation, as in Kafka's own map of owners."""
        life = self._life
        lost = gained = NOTHING
        if change.old_assigned != change.new_assigned or change.old_pending != change.new_pending:
            old = union(change.old_assigned, change.old_pending)
            new = union(change.new_assigned, change.new_pending)
            lost, gained = minus(old, new), minus(new, old)
        if lost:
            epoch = life.span.epoch if life.span else None
            how = self._evidence.how_released(change)
            life.ownership.release(lost, change.member_id, change.position, epoch, how)
            life.overlaps.release(lost, change.member_id)
        if hides_revocation(life, self._liveness, change, self._group.group_type):
            life.doubt()
        if gained:
            life.overlaps.take(gained, change, life.ownership)
            life.ownership.take(
                gained,
                life.members.owner(change.member_id),
                change.position,
                self._group.group_epoch,
                gap=self._in_doubt or life.span is None or takes_late(life, change, gained),
                must_be_free=life.is_whole is False,
            )

    def _bumped(self, change: GroupEpochBumped) -> None:
        life = self._life
        if change.new_epoch == change.old_epoch or carries_over(change, life.span):
            return
        if life.span is not None and change.new_epoch < life.span.epoch:
            # The counter restarted without a tombstone in the log: the group's deletion is in a gap.
            life.restart(self._group.group_type, change.position, keeps_members=True)
        self._initialised_at = None
        at_ms = change.position.record_timestamp_ms
        if owes_a_step(life, self._liveness, at_ms):
            life.doubt()
        rebalance = life.open_rebalance(at_ms, None)
        before = life.span
        span = EpochSpan(
            life.group_id,
            life.incarnation,
            change.new_epoch,
            str(change.group_type),
            None,
            life.members.tallies.preferred_assignor(self._group.members),
            change.position,
            at_ms,
            None if self._missing or before is None else before.epoch,
            self._evidence.members_after_bump,
            life.members.joined_since,
            life.members.left_since,
            rebalance.rebalance_seq,
            self._in_doubt or self._is_hidden,
            follows_start=follows_gap(before),
            is_counted=is_counted(before, self._evidence, life.members.joined_since),
            verdicts=self._verdicts,
            contradictions=self._contradictions,
            is_unowned_unknown=hides_unowned(before),
        )
        life.open_span(span)
        rebalance.begin_epoch(span, life.progress.last_signs)
        life.progress.begin(before)
        if not span.members:
            life.empty(at_ms)

    def _initialised(self, change: SharePartitionsRecorded) -> None:
        self._initialised_at = change.position

    def _installed(self, change: TargetInstalled) -> None:
        self._assignment_epoch = change.new_assignment_epoch
        if change.new_assignment_epoch < 0:
            return
        life, at_ms = self._life, change.position.record_timestamp_ms
        self._liveness.installed(change.new_assignment_epoch, at_ms)
        self._doubt.installed(at_ms)
        moves = life.moves.install()
        span = life.span
        if span is not None and span.protocol != GroupType.CLASSIC:
            # A target after the write that emptied the group is for whoever joins next.
            in_time = span.outcome != "emptied" or self._evidence.bump is not None
            if (
                in_time
                and change.new_assignment_epoch >= span.epoch
                and span.target_installed_at_ms is None
                and not span.is_doubted
            ):
                span.install(at_ms, moves)
            if life.rebalance is not None:
                life.rebalance.move(moves.moved)
            # Otherwise most of what looks new was owned before the log begins.
            if not (span.gap or span.is_unowned_unknown):
                is_here = not span.is_assigned_elsewhere
                life.ownership.expect(moves.added, span.first_position, exact=is_here)
        if self._group.members:
            life.ownership.confirm(life.moves.has_owner, at_ms)
        life.install_target(change.new_assignment_epoch, at_ms)
