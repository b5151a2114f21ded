"""What it tells about a member's end that it comes back under its own id.

A client of the consumer protocol makes one member id and keeps it until it is closed (Java: AbstractMembershipManager;
librdkafka: rd_kafka_cgrp_new). So a member id that joins again did not close: the coordinator fenced it, an
administrator removed it, or it left as its application did not poll, and joined with its next poll. It had polled when
it last committed.
"""

from typing import NamedTuple

from rebalance_audit.audit.causes.cause import RebalanceCause, Verdict
from rebalance_audit.audit.causes.commit_rules import CONSUMER_HEARTBEAT_MS
from rebalance_audit.audit.causes.silence import LATE_MS, Silence
from rebalance_audit.audit.findings.finding import spell_ms

_LEFT = RebalanceCause.MEMBER_LEFT
_EXPIRED = RebalanceCause.MEMBER_SESSION_EXPIRED
_REMOVED = RebalanceCause.MEMBER_REMOVED_BY_ADMIN
_DEPARTED = RebalanceCause.MEMBER_DEPARTED


class Absence(NamedTuple):
    """What is known of a member that is gone, until the next epoch begins."""

    silent_ms: int
    """From its last commit to its end."""
    longest_ms: int | None
    """The longest pause that was nothing special for it; None if that is unknown."""
    poll_ms: int
    """Its rebalance timeout: clients set it to `max.poll.interval.ms`."""

    @classmethod
    def after(cls, silence: Silence | None, poll_ms: int | None) -> "Absence | None":
        """None without a commit of its own, by the clock of the coordinator that saw it go."""
        if silence is None or poll_ms is None or poll_ms <= 0:
            return None
        last = silence.evidence.last.position
        if last.is_transactional or last.leader_epoch != silence.gone.leader_epoch:
            return None
        return cls(silence.silent_ms, silence.longest_ms, poll_ms)


def after_return(verdict: Verdict, absence: Absence, back_ms: int) -> Verdict:
    """The verdict on a member's end, now that it is known to come back under its id at `back_ms`.

    A client that an administrator removed hears of it with its next heartbeat, and joins again at once.
    """
    if verdict.cause not in (_DEPARTED, _LEFT) or not verdict.alternatives:
        return verdict
    if absence.silent_ms >= absence.poll_ms - LATE_MS:
        return verdict  # it may have polled too late
    away_ms = back_ms - verdict.at_ms
    is_quick = 0 <= away_ms <= CONSUMER_HEARTBEAT_MS + LATE_MS
    if absence.longest_ms is None:
        if is_quick:
            return verdict
        cause = _EXPIRED
    else:
        cause = _REMOVED if is_quick and absence.silent_ms <= absence.longest_ms else _EXPIRED
    if cause not in verdict.alternatives:
        return verdict
    others = dict.fromkeys((_LEFT, *verdict.alternatives))
    del others[cause]
    how = "somebody removed it" if cause is _REMOVED else "its session ran out"
    detail = (
        f"{verdict.member_id} last committed {spell_ms(absence.silent_ms)} before it was removed, and came back under "
        f"its id {spell_ms(away_ms)} after. Clients that close do not come back, and it had polled within "
        f"max.poll.interval.ms ({absence.poll_ms} ms). So {how}."
    )
    return verdict._replace(cause=cause, alternatives=tuple(others), detail=detail)
