"""Why members of one group are gone: what the log holds about each end, put before the model of departures."""

from collections.abc import Callable, Mapping

from rebalance_audit.audit.causes.departures import CLOSE_MS, judge_departure
from rebalance_audit.audit.causes.liveness import successor_of
from rebalance_audit.audit.causes.timers import can_have_fired, fired_then
from rebalance_audit.audit.commits.rhythm import SHOWS_RHYTHM
from rebalance_audit.audit.departure_rules import DepartureRules
from rebalance_audit.audit.group.away import Away
from rebalance_audit.audit.members.member_watch import MemberWatch
from rebalance_audit.audit.ownership.commit_book import CommitBook
from rebalance_audit.audit.ownership.ownership import Ownership
from rebalance_audit.audit.testimony.witness import TOLERANCE_MS, Stay, Witness
from rebalance_audit.audit.verdicts.cause import DEPARTURES, Certainty, RebalanceCause, Verdict
from rebalance_audit.audit.verdicts.departure_facts import DepartureFacts
from rebalance_audit.replay.changes import GroupType, Position


class EndsOfMembers:
    """Judges the ends of one group's members; all state is in the parts that it is given."""

    def __init__(
        self,
        rules: DepartureRules,
        watches: Callable[[], Mapping[str, MemberWatch]],
        away: Away,
        commits: CommitBook,
        ownership: Ownership,
    ) -> None:
        self._rules = rules
        self._watches = watches
        self._away = away
        self._commits = commits
        self._ownership = ownership

    def judge(self, watch: MemberWatch, gone: Position, company: int, overdue_ms: int) -> Verdict:
        """Why a member of a consumer, share or streams group is gone.

        `company`: other members that the same write removed; `overdue_ms`: how long it had owed an answer to a target.
        """
        facts = self._facts_of(watch, gone)
        if facts.since_commit_ms is not None:
            overdue_ms = min(overdue_ms, facts.since_commit_ms)  # who commits is there
        facts = facts._replace(
            in_one_request=company,
            is_overdue=overdue_ms >= self._rules.answer_within_ms,
            has_successor=successor_of(watch, self._watches().values()) is not None,
            after_leave_ms=self._away.after_leave_ms(facts.gone_ms),
        )
        verdict = judge_departure(facts, watch, gone)
        self._away.note(verdict)
        self.learn(verdict)
        return verdict

    def learn(self, verdict: Verdict) -> None:
        """A leave shows whether the group's clients commit as they close, where its moment is known."""
        facts = verdict.facts
        if verdict.cause is not RebalanceCause.MEMBER_LEFT or facts is None:
            return
        if facts.since_commit_ms is not None and (facts.phase is None or facts.phase.leaves_empty):
            self._commits.habits.note_leave(with_commit=facts.since_commit_ms <= CLOSE_MS)

    def judge_unseen(self, watch: MemberWatch, gone: Position) -> Verdict:
        """Why a classic member is gone where the record does not show the join phase that it missed."""
        facts = self._facts_of(watch, gone)._replace(since_commit_ms=None, is_classic=True)
        return judge_departure(facts, watch, gone)

    def _facts_of(self, watch: MemberWatch, gone: Position) -> DepartureFacts:
        identity, last, rules = watch.stint.identity, watch.last_commit, self._rules
        gone_ms, poll_ms = gone.record_timestamp_ms, identity.rebalance_timeout_ms
        since_ms = None if last is None else gone_ms - last.position.record_timestamp_ms
        same = last is not None and last.position.leader_epoch == gone.leader_epoch
        seen_ms = gone_ms - watch.last_life.record_timestamp_ms
        here = watch.last_life.leader_epoch == gone.leader_epoch
        known_ms = rules.consumer_session_timeout_ms
        if here and identity.session_timeout_ms is not None:
            known_ms = identity.session_timeout_ms
        sessions_ms = rules.likely_sessions_ms if known_ms is None else (known_ms,)
        # When asked to rejoin, it has its rebalance timeout for that.
        if watch.speaks_classic and poll_ms:
            sessions_ms = tuple(min(each, poll_ms) for each in sessions_ms)
        held_ms = None
        if watch.unrevoked_since is not None and poll_ms is not None:
            held_ms = gone_ms - watch.unrevoked_since.record_timestamp_ms
        rhythm = others_ms = None
        if last is not None:
            rhythm = self._commits.rhythm_of(self._ownership.owned_by(watch.stint.member_id))
            others_ms = max(
                (
                    each.last_commit.position.record_timestamp_ms
                    for each in self._watches().values()
                    if each is not watch and each.last_commit is not None
                ),
                default=None,
            )
        habits = self._commits.habits
        is_plain = last is not None and not last.position.is_transactional
        is_own = is_plain or (rhythm is not None and rhythm.commits >= SHOWS_RHYTHM)
        may_time_out = (
            held_ms is not None and poll_ms is not None and can_have_fired(held_ms, poll_ms)
        )
        return DepartureFacts(
            gone_ms,
            False,
            identity.instance_id is not None,
            sessions_ms,
            known_ms is not None,
            poll_ms,
            seen_ms if here and not watch.speaks_classic else None,
            seen_ms,
            since_ms if since_ms is not None and since_ms >= 0 and is_own else None,
            False,
            same,
            rhythm,
            habits.idle_commits(identity.client_id),
            habits.idle_in_group,
            habits.closed_with_commit,
            habits.closed_without_commit,
            others_since_ms=None if others_ms is None else max(0, gone_ms - others_ms),
            may_time_out=watch.speaks_classic or may_time_out,
            kept_too_long=held_ms is not None
            and poll_ms is not None
            and fired_then(held_ms, poll_ms, rules.rebalance_timeout_slack_ms),
        )


def as_logged(
    witness: Witness | None,
    watch: MemberWatch,
    gone: Position,
    cause: RebalanceCause,
    certainty: Certainty,
) -> tuple[RebalanceCause, Certainty]:
    """The cause and certainty of a member's end, corrected by the broker's log if it mentions it."""
    if witness is None or cause not in {
        *DEPARTURES,
        RebalanceCause.STATIC_MEMBER_REPLACED,
    }:
        return cause, certainty
    stint, gone_ms = watch.stint, gone.record_timestamp_ms
    from_ms = gone_ms - TOLERANCE_MS
    stay = None
    if stint.protocol == GroupType.CLASSIC.value:
        # A classic member is gone up to one join phase before the record that shows it.
        from_ms = min(from_ms, watch.last_life.record_timestamp_ms)
        stay = Stay.between(watch.last_life, gone)
    found = witness.departure(
        stint.member_id,
        stint.identity.instance_id,
        from_ms,
        gone_ms + TOLERANCE_MS,
        near_ms=gone_ms,
        was_away=watch.left_for_a_while,
        stay=stay,
    )
    if found is None:
        return cause, certainty
    known = (cause, certainty) == (found.cause, Certainty.PROVEN)
    is_open = found.alternatives or (found.may_be_text and not known)
    return found.cause, Certainty.PROBABLE if is_open else Certainty.PROVEN
