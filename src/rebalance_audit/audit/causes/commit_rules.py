"""How a member's offset commits tell a leave from an expiry.

What the coordinator does with a commit (checked in Kafka's sources of 3.3 to 4.3):

- Classic groups: each commit outside of a transaction restarts the member's session timer, in every release
  (GroupCoordinator.doCommitOffsets, from 4.0 OffsetMetadataManager.validateOffsetCommit). So a member that is gone
  sooner after its commit than its session lasts did not expire.
- Consumer groups: commits restart no timer, and neither do those in transactions in any group. But who commits is
  alive, and was heard at most one heartbeat interval before.

What clients do is in `commits.libraries`. Silence is weaker evidence than a commit: a member that has nothing to commit
is silent too. It counts only if the member had never been silent as long, and if the group went on.
"""

from collections.abc import Sequence
from typing import Final

from rebalance_audit.audit.causes.silence import (
    HEARTBEAT_MS,
    LATE_MS,
    Silence,
)
from rebalance_audit.audit.causes.timers import fired_then

HEARTBEATS_PER_SESSION: Final = 3
"""At least: Kafka's documentation asks for heartbeats at most a third of the session apart."""
CLOSES_WITHIN_MS: Final = 200
"""A client that closes commits and leaves in two requests, one right after the other."""
CONSUMER_HEARTBEAT_MS: Final = 5_000
"""Default and least of the brokers' `group.consumer.heartbeat.interval.ms`."""


def too_recent(silence: Silence, session_ms: int) -> bool:
    """Whether a member committed so recently that its session can hardly have run out, though it restarted no timer.

    It can where heartbeats are lost, or come as seldom as sessions end, and commits pass.
    """
    least_ms = session_ms - session_ms // HEARTBEATS_PER_SESSION
    return silence.is_its_own and silence.silent_ms < least_ms


def was_at_work(silence: Silence, shortest_session_ms: int) -> bool:
    """Whether a member committed within the shortest session, and had not been silent for longer than before.

    Where the session is not known, nothing speaks for one that short, and nothing for a member that had stopped.
    """
    at_work = silence.longest_ms is not None and not silence.is_unusual
    return at_work and silence.is_its_own and silence.silent_ms < shortest_session_ms


def stopped(silence: Silence, session_ms: int, rebalance_timeout_ms: int | None) -> bool:
    """Whether a member of a consumer group had stopped working about as long before as its session lasts.

    Not if its rebalance timeout passed then. Clients set it to `max.poll.interval.ms`, after which a member that no
    longer polls leaves by itself: by up to one pause of its rhythm later than after its last commit. Who goes still
    later did not leave.
    """
    return (
        silence.silent_ms >= session_ms - session_ms // HEARTBEATS_PER_SESSION
        and silence.is_unusual
        and silence.had_to_commit
        and not _fits_late_poll(silence, rebalance_timeout_ms)
    )


def polled_late(
    silence: Silence, rebalance_timeout_ms: int | None, sessions_ms: Sequence[int]
) -> bool:
    """Whether a member of a consumer group left as its application had not polled for `max.poll.interval.ms`.

    Clients commit as they poll, and send that interval as their rebalance timeout. So its end follows the last commit
    by as much, or by up to one pause of its rhythm more; unless one of the likely sessions ends then too. That began
    with a heartbeat, at most one interval before the member stopped.
    """
    if rebalance_timeout_ms is None or rebalance_timeout_ms <= 0:
        return False
    if fired_then(silence.silent_ms, rebalance_timeout_ms):
        return True
    if not (silence.is_unusual and silence.had_to_commit):
        return False
    later_ms = _late_poll_ms(silence)
    return _fits_late_poll(silence, rebalance_timeout_ms) and not any(
        session_ms - min(session_ms // HEARTBEATS_PER_SESSION, CONSUMER_HEARTBEAT_MS)
        <= silence.silent_ms
        <= session_ms + later_ms
        for session_ms in sessions_ms
    )


def stopped_before_join_phase(
    silence: Silence, session_ms: int, rebalance_timeout_ms: int | None, *, static: bool
) -> bool:
    """Whether a classic member had stopped working before the join phase that it missed, and its session had run out.

    A member that leaves commits first, and the others stop committing within a heartbeat or two. If they went on for
    longer, it stopped before. Where nobody is left there was no join phase: the timer wrote the record. A member that
    commits on a timer and last did so when it was due, after all others, did not commit on closing.
    """
    if silence.silent_ms < session_ms or not silence.is_unusual:
        return False
    longest_ms = silence.longest_ms or 0
    beyond_ms = session_ms + longest_ms + session_ms // HEARTBEATS_PER_SESSION
    in_time = silence.silent_ms <= beyond_ms
    if not static and _polls_too_late(silence, rebalance_timeout_ms) and not in_time:
        return False
    went_on_ms = silence.went_on_ms
    if silence.on_timer and silence.kept_rhythm and went_on_ms is None:
        return True
    if silence.evidence.is_empty:
        return in_time or silence.on_timer
    return went_on_ms is not None and went_on_ms > session_ms // HEARTBEATS_PER_SESSION


def stopped_before_fail_over(
    silence: Silence, session_ms: int, rebalance_timeout_ms: int | None
) -> bool:
    """Whether a classic member stopped working while the others went on, with one coordinator and the next.

    The next one starts all timers as it loads the group. So its session ran out later than after its last commit, and
    the others show that they were there meanwhile.
    """
    went_on_ms = silence.went_on_ms
    return (
        went_on_ms is not None
        and went_on_ms >= session_ms
        and silence.is_unusual
        and silence.had_to_commit
        and not _polls_too_late(silence, rebalance_timeout_ms)
    )


def closed_first(silence: Silence, session_ms: int) -> bool:
    """Whether a member committed out of its rhythm, and only then the others stopped for a join phase: it closed."""
    went_on_ms = silence.went_on_ms
    return (
        silence.kept_rhythm is False
        and not silence.evidence.last.position.is_transactional
        and went_on_ms is not None
        and went_on_ms <= min(HEARTBEAT_MS, session_ms // HEARTBEATS_PER_SESSION)
    )


def may_have_held_up(silence: Silence, session_ms: int, rebalance_timeout_ms: int) -> bool:
    """Whether a join phase may have run into the rebalance timeout while it waited for this member.

    Members that poll hear of a join phase with their next heartbeat, commit, and give up their partitions. Then nobody
    commits until it ends.
    """
    heard_ms = min(HEARTBEAT_MS, session_ms // HEARTBEATS_PER_SESSION)
    waited_ms = silence.others_silent_ms
    return silence.silent_ms >= rebalance_timeout_ms - heard_ms and (
        waited_ms is None or waited_ms >= rebalance_timeout_ms - heard_ms
    )


def held_up(silence: Silence, rebalance_timeout_ms: int) -> bool:
    """Whether a member that may have been waited for had committed when the join phase began, so that it was there."""
    return (
        silence.others_silent_ms is not None
        and silence.is_unusual
        and silence.silent_ms <= rebalance_timeout_ms
    )


def _late_poll_ms(silence: Silence) -> int:
    """How much later than after its last commit a member leaves that no longer polls: it polled once more."""
    return (silence.longest_ms or 0) + LATE_MS


def _fits_late_poll(silence: Silence, rebalance_timeout_ms: int | None) -> bool:
    return (
        rebalance_timeout_ms is not None
        and rebalance_timeout_ms > 0
        and (0 <= silence.silent_ms - rebalance_timeout_ms <= _late_poll_ms(silence))
    )


def _polls_too_late(silence: Silence, rebalance_timeout_ms: int | None) -> bool:
    return rebalance_timeout_ms is not None and silence.silent_ms >= rebalance_timeout_ms > 0
