"""Why a member is gone. Leave, expiry, timeout and removal write the same records; only times and context differ."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from rebalance_audit.audit.causes.cause import (
    Certainty,
    Evidence,
    RebalanceCause,
    Verdict,
)
from rebalance_audit.audit.causes.commit_rules import (
    CLOSES_WITHIN_MS,
    CONSUMER_HEARTBEAT_MS,
    polled_late,
    stopped,
    too_recent,
    was_at_work,
)
from rebalance_audit.audit.causes.member_watch import MemberWatch
from rebalance_audit.audit.causes.silence import Silence, silence_of
from rebalance_audit.audit.causes.timers import can_have_fired, fired_then
from rebalance_audit.audit.commits.evidence import CommitEvidence
from rebalance_audit.replay.changes import Position

_LEFT = RebalanceCause.MEMBER_LEFT
_EXPIRED = RebalanceCause.MEMBER_SESSION_EXPIRED
_TIMED_OUT = RebalanceCause.MEMBER_REBALANCE_TIMEOUT
_REMOVED = RebalanceCause.MEMBER_REMOVED_BY_ADMIN
_DEPARTED = RebalanceCause.MEMBER_DEPARTED


_DEFAULT_SESSION_MS: Final = 45_000
"""Default of the brokers' `group.consumer.session.timeout.ms`, and of those of share and streams groups."""
_BEATS_MAX: Final = 12
"""For so many heartbeats in a row their times stay those of the interval."""
_REQUEST_MS: Final = 30_000
"""Default of `request.timeout.ms`: for so long a client waits for the answer to a heartbeat, and sends none."""
_STOP_WITHIN_MS: Final = 100
"""Members of an application that is stopped leave in requests of their own, this close to each other."""


@dataclass(slots=True, frozen=True)
class DepartureRules:
    """Durations that the log does not hold, in ms."""

    consumer_session_timeout_ms: int | None = None
    """The brokers' `group.consumer.session.timeout.ms`; None = unknown."""
    rebalance_timeout_slack_ms: int = 5_000
    """A removal up to this long after the rebalance timeout counts as a timeout: timers of a busy broker are late."""
    shortest_session_ms: int = 6_000
    """Minimum length of a session of unknown length: by default heartbeats come every 5 s."""
    answer_within_ms: int = 6_000
    """A living member answers a new target with its next heartbeat, which by default comes within 5 s."""

    @property
    def likely_sessions_ms(self) -> tuple[int, ...]:
        """The known session, or the default and the shortest."""
        if self.consumer_session_timeout_ms is None:
            return self.shortest_session_ms, _DEFAULT_SESSION_MS
        return (self.consumer_session_timeout_ms,)


class Circumstances(NamedTuple):
    """What the log shows around a removal, apart from the member itself."""

    company: int = 0
    """Number of other members removed in the same write."""
    overdue_ms: int = 0
    """How long the member had owed an answer to a new target."""
    successor_id: str | None = None
    """The only newer member with the same client id and host, if there is exactly one."""


class Decision(NamedTuple):
    """A cause, what else it may be, and why, in words."""

    cause: RebalanceCause
    alternatives: Sequence[RebalanceCause]
    reason: str

    @classmethod
    def among(
        cls, candidates: Sequence[RebalanceCause], cause: RebalanceCause, reason: str
    ) -> "Decision":
        """One of the candidates; the others are what else it may be."""
        return cls(cause, [each for each in candidates if each is not cause], reason)


def evidence_at(position: Position, fact: str) -> Evidence:
    """A fact that the record at `position` shows.

    It may begin with an id; one that reads like what a broker logged (`broker_log.witness.said`) is called an id.
    """
    if fact.startswith("broker "):
        fact = f"id {fact}"
    return tuple.__new__(Evidence, (*position[:3], fact))


def judge_departure(
    watch: MemberWatch,
    gone: Position,
    rules: DepartureRules,
    around: Circumstances = Circumstances(),  # noqa: B008 - it cannot change
    commits: CommitEvidence | None = None,
) -> Verdict:
    """The cause of one member's removal by the tombstones at `gone`."""
    stint = watch.stint
    silence = silence_of(commits, gone)
    facts = [
        evidence_at(watch.last_life, f"last record of member {stint.member_id}"),
        evidence_at(gone, f"member {stint.member_id} is gone"),
    ]
    if watch.unrevoked_since is not None:
        facts.insert(
            1,
            evidence_at(watch.unrevoked_since, f"{stint.member_id} was told to give up partitions"),
        )
    return verdict_on(_decide(watch, gone, rules, around, silence), watch, gone, facts, silence)


def after_another(verdict: Verdict, later_ms: int) -> Verdict:
    """The verdict on a member that went `later_ms` after another one had left: applications stop as a whole.

    Sessions end whenever each of them does, and an administrator's removals come in one request.
    """
    if not 0 <= later_ms <= _STOP_WITHIN_MS:
        return verdict
    return with_application(verdict, f"{later_ms} ms after another one had left")


def with_application(verdict: Verdict, how: str) -> Verdict:
    """The verdict on a dynamic member that went with its application, where nothing tells how; `how` it went."""
    if verdict.cause is not _DEPARTED or verdict.instance_id is not None:
        return verdict
    others = tuple(each for each in verdict.alternatives if each is not _LEFT)
    detail = f"Member {verdict.member_id} went {how}: the application was stopped."
    return verdict._replace(cause=_LEFT, alternatives=others, detail=detail)


def verdict_on(
    decision: Decision,
    watch: MemberWatch,
    gone: Position,
    facts: list[Evidence],
    silence: Silence | None,
) -> Verdict:
    """The decision as a verdict on the member; the last of `facts` is that it is gone."""
    stint = watch.stint
    if silence is not None:
        last = silence.evidence.last
        label = f"{last.topic}-{last.topic_partition}"
        facts.insert(
            -1, evidence_at(last.position, f"last commit of {stint.member_id}, for {label}")
        )
    return Verdict(
        decision.cause,
        Certainty.PROBABLE,
        gone.record_timestamp_ms,
        decision.reason,
        tuple(facts),
        stint.member_id,
        stint.identity.instance_id,
        stint.identity.client_id,
        stint.identity.client_host,
        alternatives=tuple(decision.alternatives),
    )


def _decide(
    watch: MemberWatch,
    gone: Position,
    rules: DepartureRules,
    around: Circumstances,
    silence: Silence | None,
) -> Decision:
    """The decision of the first rule that applies, in order from the strongest evidence to the weakest."""
    name = watch.stint.member_id
    if around.company:
        reason = f"Member {name} went together with {around.company} more in one request: a batch removal."
        return Decision(_REMOVED, (_LEFT,), reason)
    if watch.left_for_a_while:
        reason = (
            f"Static member {name} had left for a while and its session ran out before it returned."
        )
        return Decision(RebalanceCause.STATIC_MEMBER_EXPIRED, (_REMOVED, _TIMED_OUT), reason)
    held = _held(watch, gone)
    if held is not None and fired_then(*held, rules.rebalance_timeout_slack_ms):
        held_ms, timeout_ms = held
        reason = (
            f"Member {name} kept partitions for {held_ms} ms after it was told to give them up; "
            f"its rebalance timeout is {timeout_ms} ms."
        )
        return Decision(_TIMED_OUT, (_LEFT, _EXPIRED, _REMOVED), reason)
    may_time_out = watch.speaks_classic or (held is not None and can_have_fired(*held))
    others = (_REMOVED, _TIMED_OUT) if may_time_out else (_REMOVED,)
    silent_ms = gone.record_timestamp_ms - watch.last_life.record_timestamp_ms
    decided = (
        _by_timer(watch, gone, rules, silence, others)
        or _by_beats(watch, gone, rules, silence, others)
        or _by_commits(watch, gone, rules, silence, others)
        or _by_session(watch, gone, rules, others)
        or _by_silence(watch, silent_ms, rules, around, others, silence)
    )
    if decided is not None:
        return decided
    reason = (
        f"Member {name} is gone; the log does not tell whether it left, expired or was removed."
    )
    return Decision(_DEPARTED, (_LEFT, _EXPIRED, *others), reason)


def _held(watch: MemberWatch, gone: Position) -> tuple[int, int] | None:
    """How long the member kept partitions that it had to revoke, and its rebalance timeout; None if it had none."""
    told, timeout_ms = watch.unrevoked_since, watch.stint.identity.rebalance_timeout_ms
    if told is None or timeout_ms is None or timeout_ms < 0:
        return None
    return gone.record_timestamp_ms - told.record_timestamp_ms, timeout_ms


def _since_heartbeat_ms(watch: MemberWatch, gone: Position) -> int | None:
    """From the last heartbeat that left a record to the end; None by two clocks, or if others restart its timer."""
    last = watch.last_life
    if watch.speaks_classic or last.leader_epoch != gone.leader_epoch:
        return None
    return gone.record_timestamp_ms - last.record_timestamp_ms


def _closed(silence: Silence | None) -> bool:
    """Whether its last commit may be the one on closing."""
    return silence is not None and silence.silent_ms <= CLOSES_WITHIN_MS


def _by_timer(
    watch: MemberWatch,
    gone: Position,
    rules: DepartureRules,
    silence: Silence | None,
    others: Sequence[RebalanceCause],
) -> Decision | None:
    """Rule: a member that goes exactly a session after its last record expired; each heartbeat starts the timer.

    Which sessions are likely: the known one, or the default and the shortest. Not if it committed as it closed.
    """
    silent_ms, name = _since_heartbeat_ms(watch, gone), watch.stint.member_id
    if silent_ms is None or _closed(silence):
        return None
    if not any(fired_then(silent_ms, session_ms) for session_ms in rules.likely_sessions_ms):
        return None
    reason = f"Member {name} went {silent_ms} ms after its last heartbeat that left a record, as its session ran out."
    return Decision(_EXPIRED, (_LEFT, *others), reason)


def _by_session(
    watch: MemberWatch, gone: Position, rules: DepartureRules, others: Sequence[RebalanceCause]
) -> Decision | None:
    """Rule: a session of a member that wrote something within its session timeout did not expire."""
    identity, name = watch.stint.identity, watch.stint.member_id
    silent_ms = gone.record_timestamp_ms - watch.last_life.record_timestamp_ms
    known_ms = identity.session_timeout_ms or rules.consumer_session_timeout_ms
    if gone.leader_epoch != watch.last_life.leader_epoch:
        # A coordinator that loads a group gives classic members the others' session until their first request.
        known_ms = rules.consumer_session_timeout_ms
    session_ms = rules.shortest_session_ms if known_ms is None else known_ms
    if watch.speaks_classic:  # when told to rejoin, it has its rebalance timeout for that
        session_ms = min(session_ms, identity.rebalance_timeout_ms or session_ms)
        others = (_REMOVED,)
    if can_have_fired(silent_ms, session_ms):
        return None
    lasts = "lasts" if known_ms is not None else "is expected to last at least"
    reason = f"its last record is {silent_ms} ms older, its session {lasts} {session_ms} ms."
    alternatives = others if known_ms is not None else (*others, _EXPIRED)
    if identity.instance_id is not None:
        rest = [_LEFT, *(cause for cause in alternatives if cause is not _REMOVED)]
        return Decision(
            _REMOVED,
            rest,
            f"Member {name} was removed, as static ones leave only when told to: {reason}",
        )
    return Decision(_LEFT, alternatives, f"Member {name} left: {reason}")


def _by_commits(
    watch: MemberWatch,
    gone: Position,
    rules: DepartureRules,
    silence: Silence | None,
    others: Sequence[RebalanceCause],
) -> Decision | None:
    """Rule: who commits is alive, and who stops committing while the others go on has stopped working."""
    if silence is None or gone.leader_epoch != silence.evidence.last.position.leader_epoch:
        return None
    identity, name = watch.stint.identity, watch.stint.member_id
    known_ms = identity.session_timeout_ms or rules.consumer_session_timeout_ms
    session_ms = rules.shortest_session_ms if known_ms is None else known_ms
    if too_recent(silence, session_ms) or (known_ms is None and was_at_work(silence, session_ms)):
        cause = _LEFT if identity.instance_id is None else _REMOVED
        return Decision.among((_LEFT, *others, _EXPIRED), cause, silence.told_close(name))
    poll_ms = identity.rebalance_timeout_ms
    if identity.instance_id is None and polled_late(silence, poll_ms, rules.likely_sessions_ms):
        reason = (
            f"{silence.told(name)} Clients leave if they have not polled for max.poll.interval.ms, which they send as "
            f"their rebalance timeout: {poll_ms} ms."
        )
        return Decision.among((_LEFT, *others, _EXPIRED), _LEFT, reason)
    wrote_ms = gone.record_timestamp_ms - watch.last_life.record_timestamp_ms
    if wrote_ms >= session_ms and stopped(silence, session_ms, identity.rebalance_timeout_ms):
        return Decision(_EXPIRED, (_LEFT, *others), silence.told(name))
    return None


def _by_silence(
    watch: MemberWatch,
    silent_ms: int,
    rules: DepartureRules,
    around: Circumstances,
    others: Sequence[RebalanceCause],
    silence: Silence | None,
) -> Decision | None:
    """Rule: a member that was silent before it went, or whose process had restarted by then, did not leave."""
    name, alternatives = watch.stint.member_id, (_LEFT, *others)
    overdue_ms = around.overdue_ms
    if silence is not None:
        overdue_ms = min(overdue_ms, silence.silent_ms)  # who commits is there
    if overdue_ms >= rules.answer_within_ms:
        reason = (
            f"Member {name} had not answered a new target for {overdue_ms} ms: it was no longer "
            "there when it went."
        )
        return Decision(_EXPIRED, alternatives, reason)
    if around.successor_id is not None:
        reason = (
            f"Member {name} was still a member when {around.successor_id} of the same client and host "
            "joined: its process had ended without leaving."
        )
        return Decision(_EXPIRED, alternatives, reason)
    if watch.stint.identity.instance_id is not None:
        reason = (
            f"Static member {name} went {silent_ms} ms after its last record; static members leave for "
            "good only when told to."
        )
        return Decision(_EXPIRED, alternatives, reason)
    return None


def _by_beats(
    watch: MemberWatch,
    gone: Position,
    rules: DepartureRules,
    silence: Silence | None,
    others: Sequence[RebalanceCause],
) -> Decision | None:
    """Rule: a member expires a session after a heartbeat, and heartbeats come at the interval that brokers set.

    So its end is some intervals and a session after its last record, which a heartbeat wrote; leaves and removals come
    whenever they do. Only for some intervals: each answer delays the next heartbeat.
    """
    silent_ms, name = _since_heartbeat_ms(watch, gone), watch.stint.member_id
    if silent_ms is None:
        return None
    for session_ms in rules.likely_sessions_ms:
        beats, late_ms = divmod(silent_ms - session_ms, CONSUMER_HEARTBEAT_MS)
        here = silence is not None and silence.silent_ms < session_ms - CONSUMER_HEARTBEAT_MS
        may_wait = session_ms <= _REQUEST_MS and not _closed(silence)
        if (not here or may_wait) and 0 < beats <= _BEATS_MAX and fired_then(late_ms, 0):
            reason = (
                f"Member {name} went {silent_ms} ms after its last heartbeat that left a record: {beats} heartbeats "
                f"and a session of {session_ms} ms later."
            )
            return Decision(_EXPIRED, (_LEFT, *others), reason)
    return None


def join_names(names: Sequence[str], shown: int = 3) -> str:
    """The first `shown` names, as a list for a sentence."""
    rest = len(names) - shown
    listed = ", ".join(names[:shown])
    return f"{listed} and {rest} more" if rest > 0 else listed
