"""The join phases of one classic group: when each most likely began, and who held it up."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from rebalance_audit.audit.causes.classic_scene import Generation
from rebalance_audit.audit.commits.summary import CommitSummary, most_commits
from rebalance_audit.audit.group.classic_members import by_identity
from rebalance_audit.audit.group.classic_times import JoinTimes
from rebalance_audit.audit.group.held_up import (
    NAMED_FROM_MS,
    UNANNOUNCED,
    is_unannounced,
    silent_weight,
)
from rebalance_audit.audit.group.join_phase_estimate import (
    COMMIT_PAUSE_MS,
    EARLY,
    EARLY_ON_TIMER,
    SEVERAL_PAUSES,
    Estimate,
    FinalCommits,
    Former,
    Gathering,
    JoinPhase,
    estimate,
)
from rebalance_audit.audit.group.life import Life
from rebalance_audit.audit.group.time_account import HeldUpWhy, HoldUp, hold_up_of, of_no_member
from rebalance_audit.audit.testimony.testimony import LoggedWait, Testimony
from rebalance_audit.audit.verdicts.cause import (
    DEPARTURES,
    Certainty,
    RebalanceCause,
    Verdict,
    departure_of,
)
from rebalance_audit.audit.writes import is_other_coordinator
from rebalance_audit.replay.groups import ClassicMember


class JoinPhases:
    """Collects what the log holds about a join phase, and says what most likely happened."""

    def __init__(self, life: Life) -> None:
        """`life`: of the group, as its audit keeps it."""
        self._life = life
        self.gathering = Gathering()

    def estimate(
        self,
        old: Generation | None,
        new: Generation,
        verdicts: Sequence[Verdict],
        times: JoinTimes,
    ) -> Estimate:
        """What most likely happened in the join phase."""
        life = self._life
        before = {} if old is None else by_identity(old)
        now = by_identity(new)
        created = old is None and life.created_at is not None and new.generation == 1
        if created and times.shown_ms is not None:
            self.gathering.learn_delay(times.end_ms - times.shown_ms, len(now))
        committed = life.commits.of_round_by_member(life.ownership)
        stayed = sum(old is not None and each.member_id in old.members for each in now.values())
        phase = JoinPhase(
            times.end_ms,
            times.shown_ms,
            [
                Former(
                    member.member_id,
                    member.session_timeout_ms,
                    is_back := identity in now,
                    is_back and now[identity].member_id != member.member_id,
                    not is_back and (departure is None or departure.cause in UNANNOUNCED),
                    silent_weight(departure),
                    None if old is None else self._last_commits(member, old, committed),
                )
                for identity, member in before.items()
                if identity not in now or member.member_id in committed
                for departure in (departure_of(verdicts, member.member_id),)
            ],
            max((each.rebalance_timeout_ms for each in before.values()), default=None),
            stayed,
            len(now) - stayed,
            min((each.session_timeout_ms for each in (now or before).values()), default=0),
            created,
            life.commits.usual_pause_ms(),
            any(each.cause is RebalanceCause.MEMBER_DEPARTED for each in verdicts),
            bool(verdicts) and verdicts[0].cause is RebalanceCause.COOPERATIVE_FOLLOW_UP,
            any(each.session_timeout_ms == each.rebalance_timeout_ms for each in before.values()),
        )
        return estimate(phase, self.gathering)

    def held_up(
        self,
        new: Generation,
        logged: Testimony,
        likely: Estimate,
        times: JoinTimes,
    ) -> Iterator[HoldUp]:
        """Members that the join phase waited for or that went silent before it, and one that rejoined late.

        Where a broker's log has the join phase, it says whom that waited for: `logged`.
        """
        began_ms, start_ms, end_ms = logged.join_started_ms, times.start_ms, times.end_ms
        waited = set()
        for wait in logged.waits:
            if began_ms is not None and wait.until_ms - began_ms >= NAMED_FROM_MS:
                waited.add(wait.member_id)
                yield self._awaited(wait, new, began_ms)
        for verdict in logged.verdicts:
            member_id = verdict.member_id
            watch = self._life.watches.get(member_id or "")
            if verdict.cause is RebalanceCause.PENDING_MEMBER_EXPIRED:
                yield hold_up_of(verdict, HeldUpWhy.DID_NOT_REJOIN, start_ms, verdict.at_ms)
            if watch is None or member_id in waited or verdict.cause not in DEPARTURES:
                continue
            timed_out = verdict.cause is RebalanceCause.MEMBER_REBALANCE_TIMEOUT
            if began_ms is None and (timed_out or member_id in likely.waited_for):
                yield hold_up_of(verdict, HeldUpWhy.DID_NOT_REJOIN, start_ms, end_ms)
            elif is_unannounced(verdict):
                gone_ms = start_ms if began_ms is None else began_ms
                since_ms, session_ms = watch.last_sign_ms, watch.stint.identity.session_timeout_ms
                if session_ms is not None and not timed_out:
                    # Each heartbeat renews its session: it sent some after its last record.
                    since_ms = max(since_ms, gone_ms - session_ms)
                yield hold_up_of(verdict, HeldUpWhy.SILENT, since_ms, gone_ms)
        late = new.members.get(likely.late or "")
        if late is not None and all(wait.until_ms < end_ms for wait in logged.waits):
            name, why = late.instance_id or late.client_id, HeldUpWhy.KEPT_PARTITIONS
            yield HoldUp(late.member_id, name, why, Certainty.PROBABLE, start_ms, end_ms)

    def _awaited(self, wait: LoggedWait, new: Generation, began_ms: int) -> HoldUp:
        identity = self._life.watches[wait.member_id].stint.identity
        name, member_id, why = identity.instance_id, wait.member_id, HeldUpWhy.DID_NOT_REJOIN
        if wait.is_back:
            back = (each for each in new.members.values() if each.instance_id == name)
            member_id = next((each.member_id for each in back), member_id)
            why = HeldUpWhy.HAD_LEFT
        name = name or identity.client_id or member_id
        return HoldUp(member_id, name, why, wait.certainty, began_ms, wait.until_ms)

    def steps(
        self, old: Generation | None, new: Generation, start_ms: int, end_ms: int
    ) -> Iterator[HoldUp]:
        """What a generation takes besides hold-ups; its join phase lasts from `start_ms` to `end_ms`."""
        leader = new.members.get(new.leader_member_id or "")
        if leader is not None:
            yield HoldUp(
                leader.member_id,
                leader.instance_id or leader.client_id,
                HeldUpWhy.NO_ASSIGNMENT,
                Certainty.PROVEN,
                end_ms,
                new.position.record_timestamp_ms,
            )
        created = old is None and self._life.created_at is not None
        if created or (old is not None and not old.members):
            yield of_no_member(HeldUpWhy.FIRST_MEMBERS, Certainty.PROBABLE, start_ms, end_ms)

    def began_after_move(self, old: Generation | None, start_ms: int) -> bool:
        """Whether a commit shows that the coordinator had moved before the join phase began at `start_ms`."""
        watches = self._life.watches
        return old is not None and any(
            watch.last_commit is not None
            and watch.last_commit.position.record_timestamp_ms < start_ms
            and is_other_coordinator(old.position, watch.last_commit.position)
            for member_id in old.members
            if (watch := watches.get(member_id)) is not None
        )

    def last_worked(self, old: Generation) -> Mapping[str, int]:
        """When each member of a generation worked last, by its commits (epoch ms); without those that made none."""
        committed = self._life.commits.of_round_by_member(self._life.ownership)
        usual_ms = self._life.commits.usual_pause_ms() or COMMIT_PAUSE_MS
        return {
            member.member_id: last.last_ms if last.is_early else last.last_ms + usual_ms // 2
            for member in old.members.values()
            if (last := self._last_commits(member, old, committed)) is not None
        }

    def _last_commits(
        self,
        member: ClassicMember,
        old: Generation,
        committed: Mapping[str, Sequence[CommitSummary]],
    ) -> FinalCommits | None:
        """What the member committed last in the generation before. `committed`: by member id."""
        summaries, watch = committed.get(member.member_id), self._life.watches.get(member.member_id)
        if not summaries or watch is None or watch.last_commit is None:
            return None
        most = most_commits(summaries)
        usual_ms = self._life.commits.usual_pause_ms() or COMMIT_PAUSE_MS
        pause_ms = most.pause_ms
        if pause_ms is None:
            pause_ms = most.last_ms - old.position.record_timestamp_ms
        timer_ms = most.timer_ms or self._life.commits.usual_pause.timer_ms()
        early_ms = EARLY * usual_ms if timer_ms is None else EARLY_ON_TIMER * timer_ms
        last_ms = watch.last_commit.position.record_timestamp_ms
        worked_ms = _worked_until(summaries, last_ms, SEVERAL_PAUSES * usual_ms)
        return FinalCommits(last_ms, pause_ms < early_ms, worked_ms, most.commits == 1)


def _worked_until(summaries: Iterable[CommitSummary], last_ms: int, pause_ms: int) -> int:
    """The last commit before a pause of that length that ended with the very last one; that one if there is none."""
    earlier = [each.last_ms for each in summaries if each.last_ms < last_ms - pause_ms]
    for each in summaries:
        if each.last_ms >= last_ms - pause_ms:
            before_ms = each.last_ms - (each.pause_ms or 0)
            if each.pause_ms is None or before_ms >= last_ms - pause_ms:
                return last_ms
            earlier.append(before_ms)
    return max(earlier, default=last_ms)
