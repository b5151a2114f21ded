"""What an audit knows of the timeouts that decide how a member ended."""

from dataclasses import dataclass
from typing import Final

_DEFAULT_SESSION_MS: Final = 45_000
"""Default of the brokers' `group.consumer.session.timeout.ms`, and of those of share and streams groups."""


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
