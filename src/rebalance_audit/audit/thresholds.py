"""The thresholds from which on something is worth a finding, and durations that the log does not hold."""

from dataclasses import dataclass
from typing import Final

_DEFAULT_SESSION_MS: Final = 45_000
"""Default of the brokers' `group.consumer.session.timeout.ms`, and of those of share and streams groups."""
DEFAULT_REBALANCE_TIMEOUT_MS = 300_000
"""Kafka's default of max.poll.interval.ms, in ms: how long a member may take, for which the thresholds are meant."""


@dataclass(slots=True, frozen=True)
class FindingRules:
    """Thresholds of the findings; times in milliseconds. The defaults are those of `conf/base.toml`."""

    repeat_pause_ms: int = 86_400_000
    storm_epochs: int = 30
    storm_epochs_per_member: int = 3
    storm_window_ms: int = 600_000
    loop_epochs: int = 5
    loop_epochs_per_member: int = 2
    loop_pause_ms: int = 300_000
    flapping_returns: int = 3
    flapping_window_ms: int = 1_800_000
    instance_takeovers: int = 4
    instance_window_ms: int = 900_000
    expiries: int = 4
    expiries_share_percent: int = 10
    expiries_window_ms: int = 300_000
    silent_ms: int = 300_000
    silent_commits: int = 10
    silent_pauses: int = 3
    silent_pauses_unsure: int = 10
    stopped_ms: int = 900_000
    stalled_ms: int = 300_000
    beyond_end_ms: int = 60_000
    flood_commits: int = 6_000
    flood_per_second: int = 100
    wave_members: int = 3
    wave_share_percent: int = 90
    wave_pause_ms: int = 120_000
    assumed_session_timeout_ms: int = 45_000
    stuck_ms: int = 300_000
    no_target_ms: int = 30_000
    slow_revoke_ms: int = 10_000
    slow_member_ms: int = 30_000
    slow_sync_ms: int = 10_000
    unowned_ms: int = 60_000
    unbalanced_ms: int = 300_000
    unbalanced_factor: int = 2
    unbalanced_difference: int = 3
    unsticky_moves: int = 20
    unsticky_factor: int = 2
    mixed_ms: int = 3_600_000
    coordinator_share_percent: int = 25
    coordinator_window_ms: int = 60_000
    dead_ms: int = 604_800_000
    hanging_ms: int = 900_000
    growth_records: int = 360_000
    eager_generations: int = 2

    @staticmethod
    def of_timeout(least_ms: int, timeout_ms: int | None) -> int:
        """A threshold for a member with this rebalance timeout: in proportion to a long one, never above it."""
        if timeout_ms is None:
            return least_ms
        in_proportion_ms = least_ms * timeout_ms // DEFAULT_REBALANCE_TIMEOUT_MS
        return min(max(least_ms, in_proportion_ms), timeout_ms)


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
