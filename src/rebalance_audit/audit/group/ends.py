"""Why members of one group are gone: what the log holds about each end, put before the model of departures.

That is also what a living member would have written before, and whether clients come back after.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from rebalance_audit.audit.causes.departure_timing import can_have_fired, fired_then
from rebalance_audit.audit.causes.departures import CLOSE_MS, judge_departure, judged_again
from rebalance_audit.audit.commits.rhythm import SHOWS_RHYTHM
from rebalance_audit.audit.members.stint import MemberWatch, Stint
from rebalance_audit.audit.ownership.commit_book import CommitBook
from rebalance_audit.audit.ownership.ownership import Ownership
from rebalance_audit.audit.testimony.witness import TOLERANCE_MS, Witness
from rebalance_audit.audit.thresholds import DepartureRules
from rebalance_audit.audit.verdicts.cause import (
    DEPARTURES,
    Certainty,
    DepartureFacts,
    RebalanceCause,
    Verdict,
)
from rebalance_audit.replay.changes import GroupType, MemberSubscribed, Position

INSTALLS_MAX: Final = 64
"""Number of targets remembered; a member at an older one has been overdue for longer than the oldest of them."""
COMPARED_MAX: Final = 500
"""Largest group in which successors are looked for; in larger groups members usually share their client ids."""


class Install(NamedTuple):
    """A target assignment was installed."""

    assignment_epoch: int
    at_ms: int


@dataclass(slots=True)
class Liveness:
    """The targets that members had to answer, and since when the current coordinator was there to be answered."""

    installs: list[Install] = field(default_factory=list)
    leader_epoch: int | None = None
    leader_since_ms: int = 0

    def written(self, position: Position) -> None:
        """Note a record; a new leader epoch shows a new coordinator."""
        if position.leader_epoch != self.leader_epoch:
            self.leader_epoch = position.leader_epoch
            self.leader_since_ms = position.record_timestamp_ms

    def installed(self, assignment_epoch: int, at_ms: int) -> None:
        """Note a new target: the next heartbeat of every member at an earlier epoch writes its assignment."""
        self.installs.append(Install(assignment_epoch, at_ms))
        del self.installs[:-INSTALLS_MAX]

    def restart(self) -> None:
        """Drop the state: a new group restarts the epoch counter."""
        self.installs.clear()

    def overdue_ms(self, watch: MemberWatch, now_ms: int) -> int:
        """How long (ms) the member has owed an answer to a new target; 0 if it owes none."""
        since_ms = self.owes_since_ms(watch)
        return 0 if since_ms is None else max(0, now_ms - max(since_ms, self.leader_since_ms))

    def owes_since_ms(self, watch: MemberWatch) -> int | None:
        """When the target came (epoch ms) that the member has not answered, maybe to another coordinator, or None."""
        if watch.unrevoked_since is not None:
            return None  # it is revoking partitions, for which it has its rebalance timeout
        for install in self.installs:
            if install.assignment_epoch > watch.member_epoch:
                return install.at_ms
        return None


def successor_of(watch: MemberWatch, watches: Collection[MemberWatch]) -> str | None:
    """The only other member with the same client id and host, if it joined after this member's last record."""
    stint = watch.stint
    identity = stint.identity
    if len(watches) > COMPARED_MAX or identity.instance_id is not None:
        return None
    alike = [
        other.stint
        for other in watches
        if other.stint.identity.client_id == identity.client_id
        and other.stint.identity.client_host == identity.client_host
        and other is not watch
    ]
    if len(alike) != 1 or alike[0].first_position.log_offset < watch.last_life.log_offset:
        return None
    return alike[0].member_id


AWAY_MS: Final = 30_000
"""Clients that were removed alive are back long before."""


@dataclass(slots=True)
class Away:
    """When a member last left, and the members whose rows wait for what comes next."""

    _left_at_ms: int | None = None
    """When a member last left (epoch ms); None if none has."""
    _stints: list[Stint] = field(default_factory=list)
    """Members that left a classic group empty."""

    @property
    def has_rows(self) -> bool:
        """Whether rows of members wait."""
        return bool(self._stints)

    @property
    def since_ms(self) -> int | None:
        """Since when the group is empty (epoch ms) where rows of members wait."""
        return max((stint.left_at_ms or 0 for stint in self._stints), default=None)

    def wait(self, stint: Stint) -> None:
        """A member of a classic group is gone, and none is left."""
        self._stints.append(stint)

    def take_rows(self) -> list[Stint]:
        """The members whose rows wait, once."""
        stints, self._stints = self._stints, []
        return stints

    def note(self, verdict: Verdict) -> None:
        """A member is gone."""
        if verdict.cause is RebalanceCause.MEMBER_LEFT:
            self._left_at_ms = verdict.at_ms

    def after_leave_ms(self, at_ms: int) -> int | None:
        """How long before another member left; None if none has."""
        return None if self._left_at_ms is None else at_ms - self._left_at_ms


def ids_come_back(
    joined: Collection[MemberSubscribed], verdicts: tuple[Verdict, ...]
) -> tuple[Verdict, ...]:
    """The causes of the current epoch, now that these members join: a client keeps its id until it is closed."""
    at_ms = {change.member_id: change.position.record_timestamp_ms for change in joined}
    known: dict[str, DepartureFacts] = {}
    for verdict in verdicts:
        facts, member_id = verdict.facts, verdict.member_id
        if facts is not None and not facts.is_static and member_id in at_ms:
            back_ms = at_ms[member_id] - facts.gone_ms
            known[member_id] = facts._replace(back_ms=back_ms, kept_id=True)
    return judged_again(verdicts, known)


def clients_come_back(
    clients: Collection[tuple[str, str]], at_ms: int, verdicts: tuple[Verdict, ...]
) -> tuple[Verdict, ...]:
    """Verdicts once clients of a classic group join under new ids. `clients`: client ids and hosts."""
    waiting = list(clients)
    known: dict[str, DepartureFacts] = {}
    for verdict in verdicts:
        facts, member_id = verdict.facts, verdict.member_id
        if facts is None or member_id is None:
            continue
        after_ms = max(0, at_ms - facts.gone_ms)
        client = (verdict.client_id or "", verdict.client_host or "")
        if client in waiting:
            waiting.remove(client)
            known[member_id] = facts._replace(back_ms=after_ms)
        else:
            known[member_id] = facts._replace(away_ms=after_ms)
    return judged_again(verdicts, known)


@dataclass(slots=True)
class EndsOfMembers:
    """Judges the ends of one group's members; all state is in the parts that it is given."""

    _rules: DepartureRules
    _watches: Callable[[], Mapping[str, MemberWatch]]
    _away: Away
    _commits: CommitBook
    _ownership: Ownership

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
        stay = watch.last_life, gone
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
