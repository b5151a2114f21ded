"""A script with another number of instances, or with its deploys done another way."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from rebalance_audit.whatif.script import (
    AppInstance,
    ProcessEnd,
    ProcessLife,
    Script,
    SlowRevocation,
    SubscriptionChange,
)
from rebalance_audit.whatif.spread import exactly
from rebalance_audit.whatif.variant import Deploy, Variant

WAVE_PAUSE_MS: Final = 300_000
"""Restarts that follow each other within this time belong to one deploy."""
WAVE_SHARE: Final = 0.5
"""A deploy restarts at least this share of the instances that run."""
_COPIES_APART_MS: Final = 3_000


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
    return sum(
        max(
            0,
            min(script.to_ms if life.end is None else life.end.middle, script.to_ms)
            - max(life.start.middle, script.from_ms),
        )
        for life in instance.lives
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


# --- deploys ---------------------------------------------------------------------------------------


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
