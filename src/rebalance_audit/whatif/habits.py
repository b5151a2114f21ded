"""How long what a group's clients do takes, measured in its log, and what has to be taken for granted."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Final, NamedTuple

from rebalance_audit.audit.rows import Row
from rebalance_audit.audit.verdicts.cause import RebalanceCause
from rebalance_audit.whatif.group_rows import GroupRows
from rebalance_audit.whatif.memberships import (
    EpochKey,
    PhaseTimes,
    Slot,
    follow_up_delays,
    heard_after_ms,
    members_gone,
)
from rebalance_audit.whatif.script import Spread, spread_of

USUAL_INTERVALS_MS: Final = (500, 1_000, 2_000, 3_000, 5_000, 10_000, 15_000, 20_000, 30_000)
"""What people configure."""
USUAL_COMMITS_MS: Final = (1_000, 2_000, 3_000, 5_000, 10_000, 15_000, 30_000, 60_000)
USUAL_SESSIONS_MS: Final = (6_000, 10_000, 15_000, 20_000, 30_000, 45_000, 60_000, 90_000, 120_000)
COMMIT_INTERVAL_MS: Final = 5_000
"""Default of `auto.commit.interval.ms`."""
CLASSIC_HEARTBEAT_MS: Final = 3_000
"""Default of `heartbeat.interval.ms`."""
CONSUMER_HEARTBEAT_MS: Final = 5_000
"""Default of `group.consumer.heartbeat.interval.ms`."""
CONSUMER_SESSION_MS: Final = 45_000
"""Default of `group.consumer.session.timeout.ms`."""
RESTART_MS: Final = Spread(2_000, 60_000, 10_000)
"""Where no instance came back in the log."""
SLOW_FACTOR: Final = 4
SLOW_LEAST_MS: Final = 1_500
"""A revocation is slow from this and so many times the median on."""
LATENCY_MAX_MS: Final = 120
"""What a sync phase takes beyond such latencies, the leader takes to assign."""
_LINGER_MS: Final = 5
"""How long the coordinator keeps a batch open."""
_MEAN_PER_TYPICAL: Final = 1.2
"""Of the latencies that the simulator draws (`Chance.latency_ms`)."""
_MEAN_FROM: Final = 5
"""Fewer samples have no mean to trust: then the shortest counts."""
_CLOCKS: Final = 1.03
"""Commits and expiries are stamped at different steps of the coordinator."""
_SAMPLES_MIN: Final = 2
_LEAST_HEARTBEAT_MS: Final = 1_000
"""What few samples can show at best."""


@dataclass(slots=True)
class Measured:
    """Habits as far as the log shows them."""

    heartbeat_interval_ms: int | None = None
    consumer_session_most_ms: int | None = None
    """At most; None where no session is known to have ended."""
    latency_ms: int | None = None
    leader_ms: int = 0
    revoke_ms: Spread | None = None
    commit_interval_ms: int | None = None
    slow_from_ms: int = SLOW_LEAST_MS


def measure_habits(
    rows: GroupRows, slots: Sequence[Slot], phases: Mapping[EpochKey, PhaseTimes]
) -> Measured:
    """The habits of a group."""
    found = Measured()
    found.commit_interval_ms = _commit_interval(rows.ownership)
    sync_ms = _sync(rows.epochs)
    if sync_ms is not None:
        found.latency_ms = min(max(1, round(sync_ms / 2 / _MEAN_PER_TYPICAL)), LATENCY_MAX_MS)
        found.leader_ms = max(0, sync_ms - round(2 * _MEAN_PER_TYPICAL * LATENCY_MAX_MS))
    revocations = [row["revoke_ms"] for row in rows.convergence if row["revoke_ms"] is not None]
    if revocations:
        usual_ms = median(revocations)
        found.slow_from_ms = max(SLOW_LEAST_MS, round(SLOW_FACTOR * usual_ms))
        usual = [each for each in revocations if each < found.slow_from_ms]
        found.revoke_ms = spread_of(usual, 0.1) if len(usual) >= _MEAN_FROM else None
    found.heartbeat_interval_ms = (
        _consumer_heartbeat(rows.convergence)
        if any(row["protocol"] == "consumer" for row in rows.epochs)
        else _classic_heartbeat(slots, phases)
    )
    found.consumer_session_most_ms = _consumer_session_most(slots)
    return found


def _usual(value_ms: float, usual: Sequence[int]) -> int:
    """The shortest usual interval that is at least the value, but for a tenth."""
    return next((each for each in usual if each >= 0.9 * value_ms), usual[-1])


def _commit_interval(ownership: Iterable[Row]) -> int | None:
    """Clients restart their timer with an assignment, so the first commit comes one interval after it."""
    first = [
        row["first_committed_at"] - row["from_at"]
        for row in ownership
        if row["first_committed_at"] is not None
        and row["from_at"] is not None
        and row["first_committed_at"] != row["last_committed_at"]
    ]
    if len(first) < _SAMPLES_MIN:
        return None
    return min(USUAL_COMMITS_MS, key=lambda each: abs(each - median(first)))


def _sync(epochs: Iterable[Row]) -> int | None:
    """What a sync phase takes on average, in milliseconds: the leader hears, assigns and answers."""
    syncs: list[int] = sorted(row["sync_ms"] for row in epochs if row["sync_ms"] is not None)
    if not syncs:
        return None
    if len(syncs) < _MEAN_FROM:
        return max(0, syncs[0] - _LINGER_MS)
    # The mean, since what is lost adds up; without the few that waited for something else.
    usual = syncs[: max(1, round(0.95 * len(syncs)))]
    return max(0, round(fmean(usual)) - _LINGER_MS)


def _consumer_heartbeat(convergence: Iterable[Row]) -> int | None:
    """Members that have nothing to revoke and nothing to wait for reach an epoch with their next heartbeat."""
    latencies = sorted(
        row["latency_ms"]
        for row in convergence
        if row["latency_ms"] is not None and row["revoke_ms"] is None and row["waited_ms"] == 0
    )
    seen = [each for each in latencies if each > 1]
    if len(seen) < _SAMPLES_MIN:
        return None
    return max(_usual(seen[round(0.9 * (len(seen) - 1))], USUAL_INTERVALS_MS), _LEAST_HEARTBEAT_MS)


def _classic_heartbeat(slots: Sequence[Slot], phases: Mapping[EpochKey, PhaseTimes]) -> int | None:
    gone = members_gone(slots)
    seen = [
        max(times)
        for key, phase in phases.items()
        if (times := heard_after_ms(phase, gone.get(key, ())))
    ]
    seen += [delay_ms for _, _, delay_ms in follow_up_delays(phases)]
    if len(seen) < _SAMPLES_MIN:
        return None
    # The median: revocations that took long and sessions that had to end are among them.
    # Of several members, the last one hears after three quarters of an interval or so.
    usual_ms = _usual(median(seen), USUAL_INTERVALS_MS)
    if len(seen) < _MEAN_FROM:
        # Few rebalances may all have waited for something else.
        usual_ms = min(usual_ms, CLASSIC_HEARTBEAT_MS)
    return max(usual_ms, _LEAST_HEARTBEAT_MS)


def _consumer_session_most(slots: Sequence[Slot]) -> int | None:
    """The shortest time from a last commit to the end of the session after it."""
    return min(
        (
            stint.to_ms - stint.last_commit_ms
            for slot in slots
            for stint in slot.stints
            if stint.member["protocol"] == "consumer"
            and stint.weights.get(RebalanceCause.MEMBER_SESSION_EXPIRED, 0.0) >= 0.5
            and stint.to_ms is not None
            and stint.last_commit_ms is not None
        ),
        default=None,
    )


def consumer_session_ms(most_ms: int | None) -> int:
    """Kafka's default unless a session ended sooner; then the longest usual one that is not longer than that."""
    if most_ms is None or _CLOCKS * most_ms >= CONSUMER_SESSION_MS:
        return CONSUMER_SESSION_MS
    fitting = [each for each in USUAL_SESSIONS_MS if each <= _CLOCKS * most_ms]
    return fitting[-1] if fitting else most_ms


# --- what no log shows -------------------------------------------------------------------------------


class ProtocolTimes(NamedTuple):
    """Durations in milliseconds, measured on logs and callbacks of Kafka 4.3 clients."""

    latency_ms: int
    revoke_ms: Spread
    assign_ms: Spread


_CLASSIC: Final = ProtocolTimes(5, Spread(5, 150, 30), Spread(5, 40, 10))
"""The application's thread talks to the coordinator itself, with its next poll."""
_CONSUMER: Final = ProtocolTimes(5, Spread(100, 350, 200), Spread(50, 200, 95))
"""A background thread talks to the coordinator and hands each callback to the application's next poll."""


def times_of(protocol: str) -> ProtocolTimes:
    """The times of a protocol."""
    return _CONSUMER if protocol == "consumer" else _CLASSIC
