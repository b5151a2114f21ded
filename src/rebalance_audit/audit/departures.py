"""Why a member is gone. Leave, expiry, timeout and removal write the same records: only times and company tell."""

from collections.abc import Sequence
from dataclasses import dataclass

from rebalance_audit.audit.cause import Certainty, Evidence, RebalanceCause, Verdict
from rebalance_audit.audit.member_watch import MemberWatch
from rebalance_audit.coordinator.changes import Position

_LEFT = RebalanceCause.MEMBER_LEFT
_EXPIRED = RebalanceCause.MEMBER_SESSION_EXPIRED
_TIMED_OUT = RebalanceCause.MEMBER_REBALANCE_TIMEOUT
_REMOVED = RebalanceCause.MEMBER_REMOVED_BY_ADMIN
_DEPARTED = RebalanceCause.MEMBER_DEPARTED


@dataclass(slots=True, frozen=True)
class DepartureRules:
    """Times the log does not hold."""

    consumer_session_timeout_ms: int | None = None
    """`group.consumer.session.timeout.ms` of the brokers; None = unknown, then leave and expiry stay undecided."""
    rebalance_timeout_slack_ms: int = 5_000
    """A removal this long after the rebalance timeout still counts as the timeout's (timers fire late, never early)."""


def evidence_at(position: Position, fact: str) -> Evidence:
    """A fact that the record at `position` shows."""
    return Evidence(position.log_partition, position.log_offset, position.record_timestamp_ms, fact)


def judge_departure(
    watch: MemberWatch, gone: Position, company: int, rules: DepartureRules
) -> Verdict:
    """The cause of one member's tombstones at `gone`, removed together with `company` others in one write."""
    cause, certainty, alternatives, reason = _decide(watch, gone, company, rules)
    stint = watch.stint
    facts = [
        evidence_at(watch.last_life, f"last record of member {stint.member_id}"),
        evidence_at(gone, f"member {stint.member_id} is gone"),
    ]
    if watch.unrevoked_since is not None:
        facts.insert(
            1,
            evidence_at(watch.unrevoked_since, f"{stint.member_id} was told to give up partitions"),
        )
    return Verdict(
        cause,
        certainty,
        gone.record_timestamp_ms,
        reason,
        tuple(facts),
        stint.member_id,
        stint.identity.instance_id,
        stint.identity.client_id,
        stint.identity.client_host,
        alternatives=alternatives,
    )


def _decide(
    watch: MemberWatch, gone: Position, company: int, rules: DepartureRules
) -> tuple[RebalanceCause, Certainty, tuple[RebalanceCause, ...], str]:
    name = watch.stint.member_id
    probable = Certainty.PROBABLE
    if watch.left_for_a_while:
        reason = (
            f"Static member {name} had left for a while and its session ran out before it returned."
        )
        return RebalanceCause.STATIC_MEMBER_EXPIRED, probable, (_REMOVED,), reason
    if company:
        reason = f"Member {name} went together with {company} more in one request: a batch removal."
        return _REMOVED, probable, (_LEFT,), reason
    alternatives = [_LEFT, _EXPIRED, _REMOVED]
    if watch.speaks_classic:
        alternatives.append(_TIMED_OUT)
    told = watch.unrevoked_since
    timeout_ms = watch.stint.identity.rebalance_timeout_ms
    if told is not None and timeout_ms is not None and timeout_ms >= 0:
        held_ms = gone.record_timestamp_ms - told.record_timestamp_ms
        late_ms = held_ms - timeout_ms
        if 0 <= late_ms <= rules.rebalance_timeout_slack_ms:
            reason = (
                f"Member {name} kept partitions for {held_ms} ms after it was told to give them up; "
                f"its rebalance timeout is {timeout_ms} ms."
            )
            return _TIMED_OUT, probable, (_LEFT, _EXPIRED, _REMOVED), reason
        if late_ms > 0:
            alternatives.append(_TIMED_OUT)
    session_ms = watch.stint.identity.session_timeout_ms or rules.consumer_session_timeout_ms
    silent_ms = gone.record_timestamp_ms - watch.last_life.record_timestamp_ms
    if session_ms is not None and silent_ms < session_ms and not watch.speaks_classic:
        reason = (
            f"Member {name} left: its last record is {silent_ms} ms older, "
            f"its session lasts {session_ms} ms."
        )
        return _LEFT, probable, (_REMOVED,), reason
    reason = (
        f"Member {name} is gone; the log does not tell whether it left, expired or was removed."
    )
    return _DEPARTED, probable, tuple(alternatives), reason


def join_names(names: Sequence[str], shown: int = 3) -> str:
    """A short list for a sentence."""
    rest = len(names) - shown
    listed = ", ".join(names[:shown])
    return f"{listed} and {rest} more" if rest > 0 else listed
