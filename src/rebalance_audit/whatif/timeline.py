"""One way in which a script may have happened: every uncertain moment and every uncertain end drawn."""

from collections.abc import Sequence
from enum import IntEnum
from typing import Final, NamedTuple

from rebalance_audit.sim.chance import Chance
from rebalance_audit.whatif.script import (
    AppInstance,
    CoordinatorMove,
    Event,
    ProcessEnd,
    ProcessLife,
    Script,
    SlowRevocation,
    Spread,
    SubscriptionChange,
    TopicDeletion,
    TopicExpansion,
)

LEAD_MS: Final = 120_000
"""How long before the window the processes that run at its begin are started."""
_START_APART_MS: Final = 400
_WINDOW_EDGE_MS: Final = 500
"""A slow revocation begins with what set off the rebalance, which may have come just before the estimate."""


class ActionKind(IntEnum):
    """What happens; of things at the same moment the lower ones come first."""

    GROW = 0
    SUBSCRIBE = 1
    BE_SLOW = 2
    BE_USUAL = 3
    CLOSE = 4
    KILL = 5
    FREEZE = 6
    REMOVE = 7
    START = 8
    MOVE = 9
    DELETE = 10


class TimedAction(NamedTuple):
    """Something that happens from outside."""

    at_ms: int
    kind: ActionKind
    instance: str = ""
    topic: str = ""
    number: int = 0
    """Partitions of the topic, or milliseconds."""
    topics: tuple[str, ...] = ()


_LASTING: Final = frozenset({ActionKind.GROW, ActionKind.DELETE, ActionKind.SUBSCRIBE})
"""What still counts if it happened before the first process starts."""
_BY_END: Final = {
    ProcessEnd.CLOSED: ActionKind.CLOSE,
    ProcessEnd.KILLED: ActionKind.KILL,
    ProcessEnd.FROZEN: ActionKind.FREEZE,
    ProcessEnd.REMOVED: ActionKind.REMOVE,
}


def draw_timeline(script: Script, seed: int) -> list[TimedAction]:
    """All actions in order of time. A seed draws the same whatever the settings of the run are."""
    actions: list[TimedAction] = []
    begin_ms = script.from_ms - LEAD_MS
    running: list[tuple[int, str]] = []
    for instance in script.instances:
        actions += _of_instance(instance, seed, begin_ms, script.to_ms, running)
    for place, (_, name) in enumerate(sorted(running)):
        actions.append(TimedAction(begin_ms + place * _START_APART_MS, ActionKind.START, name))
    for place, event in enumerate(script.events):
        chance = Chance(seed, f"what-if/event {place}")
        actions += [
            action
            for action in _of_event(event, chance, script.instances)
            if action.at_ms >= begin_ms or action.kind in _LASTING
        ]
    return sorted(action for action in actions if action.at_ms < script.to_ms)


def _of_instance(
    instance: AppInstance,
    seed: int,
    begin_ms: int,
    to_ms: int,
    running: list[tuple[int, str]],
) -> list[TimedAction]:
    chance = Chance(seed, f"what-if/{instance.name}")
    actions: list[TimedAction] = []
    earliest_ms = 0
    for place, life in enumerate(instance.lives):
        of_life = chance.stream(f"life {place}")
        start_ms = max(life.start.draw(of_life), earliest_ms)
        end_ms = (
            None if life.end is None else max(_end_ms(life.end, life, of_life, seed), start_ms + 1)
        )
        earliest_ms = start_ms if end_ms is None else end_ms + 1
        if start_ms >= to_ms:
            break
        if end_ms is not None and end_ms <= begin_ms:
            continue
        if start_ms < begin_ms:
            running.append((start_ms, instance.name))
        else:
            actions.append(TimedAction(start_ms, ActionKind.START, instance.name))
        if end_ms is not None:
            kind = _BY_END[_how(life, of_life, is_last=place == len(instance.lives) - 1)]
            actions.append(TimedAction(end_ms, kind, instance.name))
    return actions


def _end_ms(end: Spread, life: ProcessLife, of_life: Chance, seed: int) -> int:
    """Members whose removal has the same bounds are removed by one request, at the same moment."""
    if ProcessEnd.REMOVED in life.ends:
        of_life = Chance(seed, f"what-if/removal {end.low} {end.high}")
    return end.draw(of_life)


def _how(life: ProcessLife, chance: Chance, *, is_last: bool) -> ProcessEnd:
    ends: Sequence[ProcessEnd] = list(life.ends)
    how = chance.weighted(ends, [life.ends[end] for end in ends])
    # Whoever never goes on is as good as dead.
    return ProcessEnd.KILLED if how is ProcessEnd.FROZEN and is_last else how


def _of_event(
    event: Event,
    chance: Chance,
    instances: Sequence[AppInstance],
) -> list[TimedAction]:
    match event:
        case TopicExpansion():
            at_ms = event.at.draw(chance)
            return [TimedAction(at_ms, ActionKind.GROW, topic=event.topic, number=event.partitions)]
        case TopicDeletion():
            return [TimedAction(event.at.draw(chance), ActionKind.DELETE, topic=event.topic)]
        case CoordinatorMove():
            return [
                TimedAction(
                    event.at.draw(chance), ActionKind.MOVE, number=event.pause_ms.draw(chance)
                )
            ]
        case SubscriptionChange():
            at_ms = event.at.draw(chance)
            return [TimedAction(at_ms, ActionKind.SUBSCRIBE, event.instance, topics=event.topics)]
        case SlowRevocation():
            start_ms, end_ms = event.start.draw(chance), event.end.draw(chance)
            alive = [each.name for each in instances if _is_alive(each, start_ms, end_ms)]
            name = event.instance or (chance.choice(alive) if alive else instances[0].name)
            revoke_ms = event.revoke_ms.draw(chance)
            return [
                TimedAction(start_ms - _WINDOW_EDGE_MS, ActionKind.BE_SLOW, name, number=revoke_ms),
                TimedAction(end_ms + _WINDOW_EDGE_MS, ActionKind.BE_USUAL, name),
            ]


def _is_alive(instance: AppInstance, start_ms: int, end_ms: int) -> bool:
    """Whether a process of the instance surely ran all the time."""
    return any(
        life.start.high <= start_ms and (life.end is None or life.end.low >= end_ms)
        for life in instance.lives
    )
