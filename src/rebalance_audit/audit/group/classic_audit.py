"""Generations of classic groups: every record is the snapshot of a finished generation."""

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from operator import itemgetter

from rebalance_audit.audit.causes.classic import judge_classic
from rebalance_audit.audit.causes.classic_scene import ClassicScene, Generation, replaced_by
from rebalance_audit.audit.causes.departure_model import closed_silently
from rebalance_audit.audit.causes.departure_weights import SURE
from rebalance_audit.audit.causes.modern_scene import WriteEvidence
from rebalance_audit.audit.causes.same_members import is_cooperative, with_protocol
from rebalance_audit.audit.epochs.epoch_span import EpochSpan
from rebalance_audit.audit.epochs.generation_delta import GenerationDelta, delta_of, same_identity
from rebalance_audit.audit.group import classic_members
from rebalance_audit.audit.group.classic_times import (
    ClassicTimes,
    JoinTimes,
    join_times,
    stopped_by,
)
from rebalance_audit.audit.group.conversions import DowngradeKind
from rebalance_audit.audit.group.doubt import follows_gap
from rebalance_audit.audit.group.join_phases import JoinPhases
from rebalance_audit.audit.group.life import Life
from rebalance_audit.audit.group.rebalance import Rebalance
from rebalance_audit.audit.members.stint import MemberEnd
from rebalance_audit.audit.rows import duration_ms
from rebalance_audit.audit.testimony.of_generations import testify_to_generation
from rebalance_audit.audit.testimony.testimony import Testimony
from rebalance_audit.audit.verdicts.cause import Certainty, RebalanceCause, Verdict, departure_of
from rebalance_audit.bounds import UNBOUNDED
from rebalance_audit.replay.changes import GenerationCompleted, GroupType
from rebalance_audit.replay.groups import ClassicGroup, ClassicMember


class ClassicAudit:
    """Follows one group while it uses the classic protocol, in which the leader assigns."""

    _downgraded: bool = False
    """The previous record downgraded a consumer group to this one, so that it had to rebalance at once."""

    def __init__(self, life: Life) -> None:
        self._life = life
        self.times = ClassicTimes()
        self.join_phases = JoinPhases(life)
        """The times, and the delay of the join phases, are part of the state, see `GroupAudit.parts`."""

    def judge(self, evidence: WriteEvidence, group: ClassicGroup, downgrade: DowngradeKind) -> None:
        """Turn one write into rows; after it, `group` is a classic group."""
        for change in evidence.kinds.get(GenerationCompleted, ()):
            self._complete(change, group, downgrade)

    def _complete(
        self, change: GenerationCompleted, group: ClassicGroup, downgrade: DowngradeKind
    ) -> None:
        life, position = self._life, change.position
        said_ms = group.current_state_timestamp_ms
        since_ms = said_ms if said_ms >= 0 else None
        new = Generation(
            group.generation,
            group.protocol_name,
            group.leader_member_id,
            group.members,
            position,
            not set(map(_INSTANCE_ID, group.members.values())) <= {None},
            since_ms,
            since_ms,
            group.protocol_type,
        )
        old = life.previous_generation
        began_anew = old is not None and new.generation < old.generation
        if downgrade is not DowngradeKind.NONE:
            self._adopt(new)
            self._downgraded = downgrade is DowngradeKind.REBALANCES
        elif life.protocol is not GroupType.CLASSIC or life.deleted or began_anew:
            life.restart(GroupType.CLASSIC, position)
            self._downgraded = False
            self.times.forget()
        old = life.previous_generation
        if new.generation == 0 and not new.members:
            created_ms = position.record_timestamp_ms
            if new.joined_at_ms is not None:
                created_ms = min(created_ms, new.joined_at_ms)
            life.create(position._replace(record_timestamp_ms=created_ms))
        elif old is not None and old.generation == new.generation:
            self._update(old, new)
        else:
            self._open(old, new)

    def _adopt(self, new: Generation) -> None:
        """Take over the generation that a downgrade leaves: the consumer group's last epoch, now as a generation."""
        gap = self._life.gap
        delta = delta_of({}, new.members)
        self._follow_members(None, new, delta, (), gap=gap)
        lacks = self._life.is_whole is False
        self._follow_partitions(None, new, delta, since_known=False, gap=gap, must_be_free=lacks)
        self._life.moves.install()
        self._life.follow(new._replace(joined_at_ms=None))

    def _update(self, old: Generation, new: Generation) -> None:
        """Handle another record of the same generation: a static member came back, or the leader synced twice.

        Each return has a record of its own, so two in one show that the record of the first is missing.
        """
        span = self._life.span
        gap = len(replaced_by(old, new)) > 1
        if gap:
            self._life.doubt()
        if span is not None and span.unowned is not None:
            worked = self.join_phases.last_worked(old)
            span.unowned = span.unowned.plus(self.times.came_back(old, new, worked))
        delta = delta_of(old.members, new.members)
        self._follow_members(old, new, delta, (), gap=gap)
        self._follow_partitions(old, new, delta, since_known=True, gap=gap)
        self._life.moves.install()
        self._life.follow(new._replace(joined_at_ms=old.joined_at_ms))

    def _open(self, old: Generation | None, new: Generation) -> None:
        """Handle a new generation: look at it, judge its causes, make its epoch, and let that take effect."""
        life = self._life
        if life.away.has_rows:
            clients = [(each.client_id, each.client_host) for each in new.members.values()]
            life.judge_absences(clients, new.position.record_timestamp_ms)
        life.commits.learn(life.ownership, life.watches)
        scene = self._scene(old, new)
        logged = self._judge_causes(scene)
        times = join_times(scene, life.created_at, logged.join_started_ms)
        rebalance = life.open_rebalance(
            times.latest_ms, times.unstable_ms, continues=self.times.hands_out(new)
        )
        likely = self.join_phases.estimate(old, new, logged.verdicts, times)
        times = times.with_estimate(likely)
        rebalance.hold_ups.add(self.join_phases.held_up(new, logged, likely, times))
        if times.moved_here and not self.join_phases.began_after_move(old, times.start_ms):
            rebalance.hold_ups.moves = True
        span = self._span(scene, logged, times, rebalance.rebalance_seq)
        self._enter(scene, times, span, rebalance)
        life.follow(new)
        life.commits.begin_round(
            span.first_position.record_timestamp_ms, stopped_by(new, life.ownership)
        )
        self._downgraded = False

    def _scene(self, old: Generation | None, new: Generation) -> ClassicScene:
        life = self._life
        first = old is None and self._is_first(new)
        gap = life.gap or (old is None and not first)
        base = old.generation if old is not None else 0
        skipped = 0 if gap and old is None else new.generation - base - 1
        # A generation that no leader assigned leaves no record. Where records are missing, its record may be one.
        gap = gap or (skipped > 0 and life.is_whole is False)
        replaced = replaced_by(old, new)
        return ClassicScene(
            old,
            new,
            delta_of({} if old is None else old.members, new.members),
            life.watches,
            first,
            self._downgraded,
            skipped,
            replaced,
            life.commits,
            life.ownership,
            gap or self._may_repeat(old, new, replaced),
        )

    def _judge_causes(self, scene: ClassicScene) -> Testimony:
        """The causes, confirmed or corrected by the broker's log if there is one."""
        life = self._life
        judged = judge_classic(scene)
        for verdict in judged:
            life.ends.learn(verdict)
        logged = Testimony(judged)
        if life.witness is not None:
            logged = testify_to_generation(life.witness, scene, judged)
        return logged._replace(verdicts=with_protocol(scene.new, logged.verdicts))

    def _span(
        self, scene: ClassicScene, logged: Testimony, times: JoinTimes, rebalance_seq: int
    ) -> EpochSpan:
        life, old, new = self._life, scene.old, scene.new
        at_ms = new.position.record_timestamp_ms
        sync_ms = duration_ms(new.joined_at_ms, at_ms)
        if scene.gap and new.has_static:
            sync_ms = None  # its first record may be lost; then this is a static member's return
        came_back = {member.member_id for member in scene.replaced.values()}
        joined = len(scene.delta.joined) - len(scene.replaced) + life.members.joined_since
        left = len(scene.delta.gone) - len(came_back) + life.members.left_since
        return EpochSpan(
            life.group_id,
            life.incarnation,
            new.generation,
            GroupType.CLASSIC.value,
            new.protocol_type or None,
            new.protocol_name,
            new.position,
            new.joined_at_ms,
            None if old is None or life.gap else old.generation,
            len(new.members),
            joined,
            left,
            rebalance_seq,
            scene.gap,
            times.earliest_ms,
            times.latest_ms,
            sync_ms,
            # A cooperative generation may have taken partitions away.
            follows_start=follows_gap(life.span) and is_cooperative(new),
            verdicts=logged.verdicts,
            contradictions=logged.contradictions,
            not_stable=times.not_stable(at_ms),
            owns_partitions=new.kind.owns_partitions,
            is_unread=scene.is_unread,
        )

    def _enter(
        self, scene: ClassicScene, times: JoinTimes, span: EpochSpan, rebalance: Rebalance
    ) -> None:
        life, old, new = self._life, scene.old, scene.new
        at_ms, is_hidden = new.position.record_timestamp_ms, scene.gap or span.is_unread
        if is_hidden:
            life.ownership.doubt()  # the generations that are missing may have moved what was held
        waits = not new.members and life.witness is None
        # Unowned time that ends here belongs to the previous generation, so partitions move first.
        self._follow_members(old, new, scene.delta, span.verdicts, gap=scene.gap, waits=waits)
        moved = self._follow_partitions(old, new, scene.delta, since_known=False, gap=is_hidden)
        if is_hidden:
            life.ownership.forget_unowned()  # nor is it known since when others are free
        was_first = follows_gap(life.span)
        life.open_span(span)
        assert span.not_stable is not None
        unowned = self.times.unowned(old, new, moved, times, span.not_stable, span.sync_ms)
        may_return = new.has_static and life.is_whole is False
        if (was_first or times.moved_here or may_return) and unowned.exact is not None:
            unowned = unowned._replace(most=None)  # what was taken away before left no record
        span.unowned = UNBOUNDED if span.is_unread else unowned
        end_ms = at_ms if span.sync_ms is None else times.end_ms
        steps = self.join_phases.steps(old, new, times.start_ms, end_ms)
        rebalance.hold_ups.end_generation(at_ms - span.not_stable.likely, at_ms, steps)
        rebalance.begin_epoch(span)
        takes_away = self.times.took_away(old, new)
        moves = life.moves.install(takes_away=takes_away)
        span.install(at_ms if new.members else None, moves)
        rebalance.move(moves.moved)
        classic_members.reach(span, new, scene.delta, moved)
        if new.members:
            life.converge(at_ms, takes_away=takes_away)
        else:
            life.empty(at_ms)

    def _is_first(self, new: Generation) -> bool:
        """Whether the first record that the log has of a group is its first one.

        A static member's return repeats the record of a generation with its new id, so where records are missing the
        first one may be.
        """
        life = self._life
        if life.created_at is not None or life.is_whole is True:
            return True
        return new.generation == 1 and not (new.has_static and life.is_whole is False)

    def _may_repeat(
        self, old: Generation | None, new: Generation, replaced: Mapping[str, ClassicMember]
    ) -> bool:
        """Whether the record may repeat its generation's first one, which is missing, after a static member came back.

        The first one comes with the leader's assignment, which seldom takes longer than a member takes to answer.
        """
        life = self._life
        if life.is_whole is not False or not new.has_static:
            return False
        took_ms = duration_ms(new.joined_at_ms, new.position.record_timestamp_ms) or 0
        return old is None or bool(replaced) or took_ms > life.options.rules.answer_within_ms

    # -- members and partitions -----------------------------------------------------------------

    def _follow_members(
        self,
        old: Generation | None,
        new: Generation,
        delta: GenerationDelta,
        verdicts: Sequence[Verdict],
        *,
        gap: bool,
        waits: bool = False,
    ) -> None:
        life, position = self._life, new.position
        last_epoch = old.generation if old is not None else None
        if old is None and life.span is not None:
            last_epoch = life.span.epoch  # last epoch of the downgraded consumer group
        by_instance = {
            member.instance_id: member.member_id
            for member in (new.members.values() if new.has_static else ())
            if member.instance_id is not None
        }
        previous_ids: dict[str, str] = {}
        for member_id in [known for known in life.watches if known not in new.members]:
            leaver = life.watches[member_id]
            closed_weight, instance_id = None, leaver.stint.identity.instance_id
            if instance_id is not None:
                owned, habits = life.ownership.owned_by(member_id), life.commits.habits
                rhythm = life.commits.rhythm_of(owned, with_round=True)
                closed_weight = closed_silently(rhythm, habits)
                if closed_weight >= SURE:
                    habits.note_leave(with_commit=True)
            heir = by_instance.get(instance_id or "")
            if heir is not None:
                leaver.stint.next_member_id = heir
                previous_ids[heir] = member_id
                # Within one generation, or within the write of a downgrade, only a replacement explains the new id.
                # Across two generations the old id may have been dropped first.
                same = old is None or old.generation == new.generation
                cause = RebalanceCause.STATIC_MEMBER_REPLACED
                certainty = Certainty.PROVEN if same else Certainty.PROBABLE
                dropped = departure_of(verdicts, member_id)
                if dropped is not None:
                    cause, certainty = dropped.cause, dropped.certainty
            else:
                verdict = departure_of(verdicts, member_id)
                verdict = verdict or life.ends.judge_unseen(leaver, position)
                cause, certainty = verdict.cause, verdict.certainty
            end = MemberEnd(cause, certainty, last_epoch, closed_weight)
            life.members.close(member_id, position, end, waits=waits)
        # A generation's record is written again when one static member returns: no sign of life of the others.
        repeats = old is not None and old.generation == new.generation
        for before, member in delta.differing:
            member_id = member.member_id
            watch = life.watches.get(member_id)
            if watch is None:
                identity = classic_members.identity_of(member)
                watch = life.members.open(member_id, identity, new.generation, position, gap=gap)
            elif not same_identity(before, member):
                life.members.identify(watch, classic_members.identity_of(member))
            watch.stint.protocol = GroupType.CLASSIC.value
            watch.partitions = member.partition_count
            if member.member_id in previous_ids:
                watch.stint.previous_member_id = previous_ids[member.member_id]
                watch.last_life = position
        for watch in life.watches.values():
            watch.stint.last_seen_at_ms = position.record_timestamp_ms
            if not repeats:
                watch.last_life = position

    def _follow_partitions(
        self,
        old: Generation | None,
        new: Generation,
        delta: GenerationDelta,
        *,
        since_known: bool,
        gap: bool = False,
        must_be_free: bool = False,
    ) -> Mapping[str, classic_members.Shift]:
        """Move every partition whose owner changed; returns the shifts by instance id, or by member id without one."""
        life, position = self._life, new.position
        ownership = life.ownership
        before, after = delta.before, delta.after
        moved = classic_members.shifts(before, after)
        instances: AbstractSet[str | None] = frozenset()
        if new.has_static:
            instances = {member.instance_id for member in new.members.values()} - {None}
        for member_id, shift in moved.items():
            how = "revoked"
            if member_id not in after:
                heir = before[member_id].instance_id in instances
                how = "handed_over" if heir else "member_left"
            ownership.release(shift.lost, member_id, position, new.generation, how)
        moved_by_identity = moved
        if new.has_static or (old is not None and old.has_static):
            moved_by_identity = classic_members.shifts(
                classic_members.identified(before), classic_members.identified(after)
            )
        for identity, shift in moved_by_identity.items():
            life.moves.shift(identity, shift.lost, shift.gained)
        for member_id, shift in moved.items():
            if not shift.gained:
                continue
            owner = life.members.owner(member_id)
            ownership.take(
                shift.gained,
                owner,
                position,
                new.generation,
                gap=gap,
                since_known=since_known,
                must_be_free=must_be_free,
            )
        return moved_by_identity


_INSTANCE_ID = itemgetter(ClassicMember._fields.index("instance_id"))
