"""What differs: settings of the group, the number of its members, how it is deployed."""

from dataclasses import dataclass
from typing import Final

from rebalance_audit.coordinator.assignors.client_assignors import CLIENT_ASSIGNORS
from rebalance_audit.errors import BadRequest
from rebalance_audit.sentences.words import duration
from rebalance_audit.whatif.script import Settings

CLASSIC: Final = "classic"
CONSUMER: Final = "consumer"
SERVER_ASSIGNORS: Final = ("uniform", "range")
_DEFAULT_ASSIGNOR: Final = {CLASSIC: "range", CONSUMER: "uniform"}


@dataclass(frozen=True, slots=True)
class Deploy:
    """How a new version reaches the instances."""

    pause_ms: int | None
    """Rolling: from one restart to the next. None: all at once."""

    def __str__(self) -> str:
        return (
            "all at once" if self.pause_ms is None else f"rolling, {duration(self.pause_ms)} apart"
        )


@dataclass(frozen=True, slots=True)
class Variant:
    """What is asked; None: as it was."""

    protocol: str | None = None
    assignor: str | None = None
    is_static: bool | None = None
    session_timeout_ms: int | None = None
    rebalance_timeout_ms: int | None = None
    heartbeat_interval_ms: int | None = None
    members: int | None = None
    deploy: Deploy | None = None

    @property
    def is_nothing(self) -> bool:
        """Whether nothing is asked."""
        return self == Variant()

    def settings(self, before: Settings) -> Settings:
        """The settings with this change. Raises BadRequest for an assignor that the protocol does not have."""
        protocol = self.protocol or before.protocol
        assignors = before.assignors
        if protocol != before.protocol:
            assignors = (_DEFAULT_ASSIGNOR[protocol],)
        if self.assignor is not None:
            assignors = (self.assignor,)
        known = SERVER_ASSIGNORS if protocol == CONSUMER else tuple(CLIENT_ASSIGNORS)
        if assignors[0] not in known:
            raise BadRequest(
                f"The {protocol} protocol has no assignor {assignors[0]!r}, only {', '.join(known)}."
            )
        session_ms = self.session_timeout_ms or before.session_timeout_ms
        heartbeat_ms = self.heartbeat_interval_ms
        if heartbeat_ms is None:
            heartbeat_ms = before.heartbeat_interval_ms
            if self.session_timeout_ms is not None:
                heartbeat_ms = max(1, min(heartbeat_ms, session_ms // 3))
        if heartbeat_ms >= session_ms:
            raise BadRequest(
                f"A heartbeat every {duration(heartbeat_ms)} does not keep a session of {duration(session_ms)}"
                " alive: the interval must be shorter, at most a third."
            )
        return Settings(
            protocol,
            assignors,
            before.is_static if self.is_static is None else self.is_static,
            session_ms,
            self.rebalance_timeout_ms or before.rebalance_timeout_ms,
            heartbeat_ms,
        )


def describe_settings(settings: Settings) -> str:
    """Settings in a few words: `classic, range, static, session 30.0 s`."""
    membership = "static" if settings.is_static else "dynamic"
    session = duration(settings.session_timeout_ms)
    return f"{settings.protocol}, {' + '.join(settings.assignors)}, {membership}, session {session}"


def difference(before: Settings, change: Variant) -> str:
    """A change in a few words: `consumer protocol, static members, session 1 min`."""
    after = change.settings(before)
    words: list[str] = []
    if after.protocol != before.protocol:
        words.append(f"{after.protocol} protocol")
    if after.assignors != before.assignors:
        words.append(after.assignors[0])
    if after.is_static != before.is_static:
        words.append("static members" if after.is_static else "dynamic members")
    for name, of_before, of_after in (
        ("session", before.session_timeout_ms, after.session_timeout_ms),
        ("rebalance timeout", before.rebalance_timeout_ms, after.rebalance_timeout_ms),
        ("heartbeat", before.heartbeat_interval_ms, after.heartbeat_interval_ms),
    ):
        if of_after != of_before:
            words.append(f"{name} {duration(of_after)}")
    if change.members is not None:
        words.append(f"{change.members} instances")
    if change.deploy is not None:
        words.append(f"deploys {change.deploy}")
    return ", ".join(words) or "no change"
