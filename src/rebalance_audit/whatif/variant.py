"""What differs: settings of the group, the number of its members, how it is deployed; the changes worth trying."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from rebalance_audit.coordinator.assignors.client_assignors import CLIENT_ASSIGNORS
from rebalance_audit.errors import BadRequest
from rebalance_audit.sentences.words import duration
from rebalance_audit.whatif.habits import RESTART_MS, USUAL_SESSIONS_MS
from rebalance_audit.whatif.script import (
    AppInstance,
    ProcessEnd,
    ProcessLife,
    Script,
    Settings,
    SlowRevocation,
    SubscriptionChange,
    exactly,
)

CLASSIC: Final = "classic"
CONSUMER: Final = "consumer"
SERVER_ASSIGNORS: Final = ("uniform", "range")
_DEFAULT_ASSIGNOR: Final = {CLASSIC: "range", CONSUMER: "uniform"}
COOPERATIVE: Final = "cooperative-sticky"
_SPARE: Final = 1.5
"""How much longer than most restarts a static member's session should last."""
_DEFAULT_SESSION_MS: Final = 45_000
_DEFAULT_HEARTBEAT_MS: Final = 3_000
WAVE_PAUSE_MS: Final = 300_000
"""Restarts that follow each other within this time belong to one deploy."""
WAVE_SHARE: Final = 0.5
"""A deploy restarts at least this share of the instances that run."""
_COPIES_APART_MS: Final = 3_000


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


# --- changes that are tried --------------------------------------------------------------------------


def variants_of(script: Script) -> list[Variant]:
    """The sensible changes for a group; each differs from its settings."""
    before = script.settings
    session_ms = _session_for_restarts(script)
    longer_ms = session_ms if session_ms > before.session_timeout_ms else None
    static = Variant(is_static=True, session_timeout_ms=longer_ms)
    changes = [static, Variant(assignor="range")]
    if before.protocol == CLASSIC:
        changes = [
            Variant(assignor=COOPERATIVE),
            static,
            replace(static, assignor=COOPERATIVE),
            Variant(protocol=CONSUMER),
            replace(static, protocol=CONSUMER),
        ]
    if before.is_static:
        changes.append(Variant(is_static=False))
        if before.protocol == CLASSIC:
            changes.append(Variant(protocol=CONSUMER, is_static=False))
    if before.session_timeout_ms < _DEFAULT_SESSION_MS:
        changes.append(Variant(session_timeout_ms=_DEFAULT_SESSION_MS))
    if before.heartbeat_interval_ms > _DEFAULT_HEARTBEAT_MS:
        changes.append(Variant(heartbeat_interval_ms=_DEFAULT_HEARTBEAT_MS))
    found = {before: Variant()}
    for change in changes:
        found.setdefault(change.settings(before), change)
    return [*found.values()][1:]


def _session_for_restarts(script: Script) -> int:
    """A usual session timeout that outlasts most restarts."""
    needed_ms = round(_SPARE * (script.habits.restart_ms or RESTART_MS).high)
    return next((each for each in USUAL_SESSIONS_MS if each >= needed_ms), USUAL_SESSIONS_MS[-1])


# --- scripts under a change --------------------------------------------------------------------------


def changed(script: Script, change: Variant) -> Script:
    """The script as it would be under a change of members or deploys; the same object without one."""
    if change.members is not None:
        script = _with_members(script, change.members)
    if change.deploy is not None:
        script = _with_deploys(script, change.deploy)
    return script


def _with_members(script: Script, members: int) -> Script:
    """The first instances by the time that they ran, or copies of them which do the same shortly after."""
    instances = sorted(script.instances, key=lambda each: (-_alive_ms(each, script), each.name))
    if members <= len(instances):
        kept = instances[:members]
    else:
        kept = list(instances)
        for number in range(members - len(instances)):
            model = instances[number % len(instances)]
            shift_ms = _COPIES_APART_MS * (1 + number // len(instances))
            kept.append(_copy(model, f"{model.name} +{1 + number // len(instances)}", shift_ms))
    names = {each.name for each in kept}
    events = [
        event
        for event in script.events
        if not isinstance(event, SlowRevocation | SubscriptionChange)
        or event.instance is None
        or event.instance in names
    ]
    return replace(script, instances=kept, events=events)


def _alive_ms(instance: AppInstance, script: Script) -> int:
    ends = (script.to_ms if life.end is None else life.end.middle for life in instance.lives)
    return sum(
        max(0, min(end_ms, script.to_ms) - max(life.start.middle, script.from_ms))
        for life, end_ms in zip(instance.lives, ends, strict=True)
    )


def _copy(model: AppInstance, name: str, shift_ms: int) -> AppInstance:
    lives = [
        ProcessLife(
            life.start.shifted(shift_ms),
            None if life.end is None else life.end.shifted(shift_ms),
            dict(life.ends),
        )
        for life in model.lives
    ]
    return AppInstance(name, model.topics, lives, model.regex)


def deploys_of(script: Script) -> list[list[tuple[AppInstance, int]]]:
    """The deploys of the log: of each the instances that it restarted, and which of their lives it ended."""
    restarts = sorted(
        (
            (life.end.middle, instance.name, instance, place)
            for instance in script.instances
            for place, life in enumerate(instance.lives[:-1])
            if life.end is not None and life.ends.get(ProcessEnd.CLOSED, 0.0) > 0.5
        ),
        key=lambda each: each[:2],
    )
    waves: list[list[tuple[AppInstance, int]]] = []
    last_ms = None
    for at_ms, name, instance, place in restarts:
        in_wave = {each.name for each, _ in waves[-1]} if waves else set()
        if last_ms is None or at_ms - last_ms > WAVE_PAUSE_MS or name in in_wave:
            waves.append([])
        waves[-1].append((instance, place))
        last_ms = at_ms
    return [wave for wave in waves if _is_deploy(wave, script.instances)]


def _is_deploy(wave: Sequence[tuple[AppInstance, int]], instances: Sequence[AppInstance]) -> bool:
    instance, place = wave[0]
    end = instance.lives[place].end
    assert end is not None
    running = sum(
        any(
            life.start.middle <= end.middle and (life.end is None or life.end.middle >= end.middle)
            for life in each.lives
        )
        for each in instances
    )
    return len(wave) > 1 and len(wave) >= WAVE_SHARE * running


def _with_deploys(script: Script, deploy: Deploy) -> Script:
    lives = {each.name: list(each.lives) for each in script.instances}
    for wave in deploys_of(script):
        first, place = wave[0]
        begin = first.lives[place].end
        assert begin is not None
        for number, (instance, ended) in enumerate(wave):
            life, after = instance.lives[ended], instance.lives[ended + 1]
            assert life.end is not None
            down_ms = max(1, after.start.middle - life.end.middle)
            at_ms = begin.middle + number * (deploy.pause_ms or 0)
            if after.end is not None:
                at_ms = min(at_ms, max(after.end.low - down_ms - 1, life.start.high + 1))
            own = lives[instance.name]
            own[ended] = replace(own[ended], end=exactly(max(at_ms, own[ended].start.high + 1)))
            own[ended + 1] = replace(own[ended + 1], start=exactly(at_ms + down_ms))
    instances = [replace(each, lives=lives[each.name]) for each in script.instances]
    return replace(script, instances=instances)
