"""When and how the processes of each instance started and ended, as far as the log shows it."""

from bisect import bisect_right
from collections.abc import Sequence
from operator import itemgetter
from typing import Final, NamedTuple

from rebalance_audit.audit.verdicts.cause import RebalanceCause
from rebalance_audit.whatif.habits import RESTART_MS
from rebalance_audit.whatif.memberships import REPLACED, MemberStint, Slot
from rebalance_audit.whatif.script import (
    AppInstance,
    Ends,
    ProcessEnd,
    ProcessLife,
    SlowRevocation,
    Spread,
    exactly,
)

_EXPIRED: Final = RebalanceCause.MEMBER_SESSION_EXPIRED.value
_TIMED_OUT: Final = RebalanceCause.MEMBER_REBALANCE_TIMEOUT.value
_STATIC_EXPIRED: Final = RebalanceCause.STATIC_MEMBER_EXPIRED.value
_REMOVED: Final = RebalanceCause.MEMBER_REMOVED_BY_ADMIN.value
_LEAST_WEIGHT: Final = 0.1
"""Ends that are less likely are left out."""
_TOGETHER_MS: Final = 250
"""Instances that start again on different machines do not do so within this time of each other."""
_FIRST_LATE: Final = 0.15
"""Share of the commit interval by which the first commit after an assignment may be late."""
_CLOSED: Ends = {ProcessEnd.CLOSED: 1.0}
_SILENT: Ends = {ProcessEnd.KILLED: 0.5, ProcessEnd.FROZEN: 0.5}
"""A classic member whose client came back after its session had ended: no record shows whether as another process."""


class Clues(NamedTuple):
    """What the timing of members follows from; durations in milliseconds."""

    session_ms: int
    heartbeat_ms: int
    commit_interval_ms: int
    is_static: bool
    went_on: frozenset[tuple[str, int]] = frozenset()
    """Those whose process went on under another member id."""


def went_on(slots: Sequence[Slot], interval_ms: int) -> frozenset[tuple[str, int]]:
    """Member id and begin of each stint whose process went on under another member id.

    When a coordinator was away for longer than their sessions, static members come back at once, all with new ids, and
    no process was restarted. Their commits went on until then.
    """
    stints = (stint for slot in slots for stint in slot.stints if stint.how == REPLACED)
    replaced = sorted(
        (stint.to_ms, place, stint) for place, stint in enumerate(stints) if stint.to_ms
    )
    found: set[tuple[str, int]] = set()
    while replaced:
        at_ms = replaced[0][0]
        end = bisect_right(replaced, at_ms + _TOGETHER_MS, key=itemgetter(0))
        together = [stint for _, _, stint in replaced[:end]]
        del replaced[:end]
        running = sum(any(_is_at(stint, at_ms) for stint in slot.stints) for slot in slots)
        if len(together) > 1 and 2 * len(together) >= running:
            found.update(
                (stint.member["member_id"], stint.from_ms)
                for stint in together
                if _worked_on(stint, interval_ms)
            )
    return frozenset(found)


def _is_at(stint: MemberStint, at_ms: int) -> bool:
    return stint.from_ms < at_ms and (stint.to_ms is None or stint.to_ms >= at_ms)


def _worked_on(stint: MemberStint, interval_ms: int) -> bool:
    """Whether the commits of a member went on until it was replaced, as far as it commits at all."""
    assert stint.to_ms is not None
    last_ms = stint.last_commit_ms
    return last_ms is None or stint.to_ms - last_ms <= (1 + _FIRST_LATE) * interval_ms


class Story(NamedTuple):
    """An instance, and what else its memberships show."""

    instance: AppInstance
    slow: list[SlowRevocation]


def story_of(slot: Slot, clues: Clues) -> Story:
    """The processes of one instance."""
    first = slot.stints[0].member
    lives: list[ProcessLife] = []
    slow: list[SlowRevocation] = []
    pending: SlowRevocation | None = None
    continues = False
    for place, stint in enumerate(slot.stints):
        after = slot.stints[place + 1] if place + 1 < len(slot.stints) else None
        start = _start(stint, slot.stints[place - 1] if place else None, clues)
        if continues:
            life = lives.pop()
        elif pending is not None:
            # It was removed for being slow and came back by itself: one process.
            took_ms = max(1_000, start.middle - pending.start.middle)
            pending.end = start.shifted(1_000)
            pending.revoke_ms = exactly(took_ms)
            slow.append(pending)
            pending = None
            life = lives.pop()
        else:
            life = ProcessLife(start)
        continues = (stint.member["member_id"], stint.from_ms) in clues.went_on
        if stint.to_ms is not None and not continues:
            if after is not None and _was_slow(stint):
                begin_ms = _slow_since(stint)
                pending = SlowRevocation(
                    exactly(begin_ms), exactly(stint.to_ms), slot.name, exactly(1)
                )
            else:
                life.end, life.ends = _end(stint, after, clues)
        lives.append(life)
    _order(lives)
    topics = tuple(first["subscribed_topics"] or ())
    return Story(AppInstance(slot.name, topics, lives, first["subscribed_regex"]), slow)


def _start(stint: MemberStint, before: MemberStint | None, clues: Clues) -> Spread:
    at_ms, phase = stint.from_ms, stint.began_in
    if phase is None:
        start = exactly(at_ms)
        if before is not None and _had_to_wait(before, stint, clues):
            # Refused under the same instance id until the session of the process before had ended.
            dead_ms = (before.to_ms or at_ms) - clues.session_ms
            start = Spread(min(dead_ms + 2_000, at_ms), at_ms)
        return start
    heard_ms = min(
        (each for each in phase.gave_up.values() if each >= phase.begin_ms),
        default=phase.complete_ms,
    )
    if before is not None and before.to_ms == at_ms:
        # Its predecessor was missed in the same generation: it joined somewhere in the phase.
        return Spread(phase.begin_ms, max(phase.begin_ms, phase.complete_ms - 1))
    low_ms = max(phase.earliest_ms, phase.begin_ms - clues.heartbeat_ms // 2)
    return Spread(min(low_ms, heard_ms), heard_ms, min(max(phase.begin_ms, low_ms), heard_ms))


def _had_to_wait(before: MemberStint, stint: MemberStint, clues: Clues) -> bool:
    return (
        clues.is_static
        and stint.member["protocol"] == "consumer"
        and before.how == _EXPIRED
        and before.to_ms is not None
        and stint.from_ms - before.to_ms < clues.session_ms
    )


def _was_slow(stint: MemberStint) -> bool:
    """Whether it was removed because it did not give up partitions, or did not rejoin, in time."""
    weight, expired = (stint.weights.get(each, 0.0) for each in (_TIMED_OUT, _EXPIRED))
    is_likely = stint.was_awaited and weight >= max(_LEAST_WEIGHT, expired)
    return stint.how == _TIMED_OUT or is_likely


def _slow_since(stint: MemberStint) -> int:
    assert stint.to_ms is not None
    if stint.ended_in is not None:
        return stint.ended_in.begin_ms
    return int(stint.to_ms - (stint.member["rebalance_timeout_ms"] or 0)) - 1


def _end(stint: MemberStint, after: MemberStint | None, clues: Clues) -> tuple[Spread, Ends]:
    assert stint.to_ms is not None
    last_ms, phase = stint.last_commit_ms, stint.ended_in
    closed = stint.member["closed_weight"]
    session_ms = stint.member["session_timeout_ms"] or clues.session_ms
    if stint.how in {REPLACED, _STATIC_EXPIRED}:
        if stint.member["protocol"] == "consumer":
            # It announced that it leaves for a while, and the record of that is the last one that has it.
            return exactly(stint.member["last_seen_at"] or stint.to_ms), _CLOSED
        return _static_end(stint, session_ms, clues)
    is_back_soon = after is not None and after.from_ms - stint.to_ms <= 2 * clues.heartbeat_ms
    if stint.how == _REMOVED and is_back_soon:
        # An administrator removed it, and its process joined again with its next heartbeats.
        return _closed_at(stint, None, clues), {ProcessEnd.REMOVED: 1.0}
    ends = _ends(stint, after)
    if ends.get(ProcessEnd.CLOSED, 0.0) > 0.5:
        if closed is not None and last_ms is not None:
            return _after_commit(last_ms, stint, closed, clues), ends
        return _closed_at(stint, last_ms, clues), ends
    expired_high_ms = stint.to_ms if phase is None else phase.complete_ms
    expired_low_ms = expired_high_ms
    if phase is not None and (after is None or after.from_ms != stint.to_ms):
        expired_low_ms -= clues.heartbeat_ms
    died = Spread(expired_low_ms - session_ms, expired_high_ms - session_ms + clues.heartbeat_ms)
    if last_ms is not None:
        died = died.within(last_ms, last_ms + round(1.1 * clues.commit_interval_ms))
    return died.within(stint.from_ms, stint.to_ms), ends


def _ends(stint: MemberStint, after: MemberStint | None) -> Ends:
    """The audit's weights; a process that fell silent is in the group until its session ends."""
    weights = stint.weights or {stint.how or _EXPIRED: 1.0}
    silent = weights.get(_EXPIRED, 0.0) + weights.get(_TIMED_OUT, 0.0)
    total = sum(weights.values())
    if not total:
        return {ProcessEnd.CLOSED: 0.5, ProcessEnd.KILLED: 0.5}
    silent /= total
    if silent < _LEAST_WEIGHT:
        return dict(_CLOSED)
    if stint.member["closed_weight"] is not None:
        # A static member expires whether its process closed or died.
        silent *= 1 - stint.member["closed_weight"]
    if 1 - silent < _LEAST_WEIGHT:
        silent = 1.0
    ends = {end: silent * weight for end, weight in _dead(stint, after).items()}
    return {ProcessEnd.CLOSED: 1 - silent, **ends} if silent < 1 else ends


def _dead(stint: MemberStint, after: MemberStint | None) -> Ends:
    """How a member fell silent."""
    if after is None or stint.to_ms is None or after.from_ms <= stint.to_ms:
        # Whoever joins before the session of the process before has ended is another process.
        return {ProcessEnd.KILLED: 1.0}
    if after.member["member_id"] == stint.member["member_id"]:
        return {ProcessEnd.FROZEN: 1.0}
    # A process that goes on keeps its member id in the consumer protocol.
    return {ProcessEnd.KILLED: 1.0} if stint.member["protocol"] == "consumer" else _SILENT


def _closed_at(stint: MemberStint, last_ms: int | None, clues: Clues) -> Spread:
    assert stint.to_ms is not None
    phase = stint.ended_in
    if phase is None:
        return exactly(stint.to_ms)
    near_ms = max(phase.earliest_ms, phase.begin_ms - clues.heartbeat_ms)
    if last_ms is not None and near_ms <= last_ms <= phase.complete_ms:
        # Clients that commit as they close do so right before they leave.
        return exactly(last_ms)
    low_ms = phase.earliest_ms if last_ms is None else max(phase.earliest_ms, last_ms)
    begin_ms = min(max(phase.begin_ms, low_ms), phase.complete_ms)
    return Spread(max(low_ms, begin_ms - clues.heartbeat_ms), phase.complete_ms, begin_ms)


def _static_end(stint: MemberStint, session_ms: int, clues: Clues) -> tuple[Spread, Ends]:
    """A static classic member ends without a record; its successor and its commits bound the moment."""
    assert stint.to_ms is not None
    # Away for longer it would not have been replaced: its session would have ended.
    earliest_ms = max(stint.from_ms, stint.to_ms - session_ms)
    closed = stint.member["closed_weight"]
    closed = 0.5 if closed is None else closed
    ends = {ProcessEnd.CLOSED: closed, ProcessEnd.KILLED: 1 - closed}
    if stint.last_commit_ms is None:
        likely_ms = max(earliest_ms, stint.to_ms - RESTART_MS.middle)
        return Spread(earliest_ms, stint.to_ms, likely_ms), ends
    return _after_commit(max(stint.last_commit_ms, earliest_ms), stint, closed, clues), ends


def _after_commit(last_ms: int, stint: MemberStint, closed: float, clues: Clues) -> Spread:
    """When a process ended: with its last commit if it closed, else up to an interval later."""
    assert stint.to_ms is not None
    until_ms = last_ms + round((1 - closed) * clues.commit_interval_ms)
    return Spread(last_ms, max(last_ms, min(stint.to_ms, until_ms)))


def _order(lives: list[ProcessLife]) -> None:
    """A process ends after it starts, and the next one starts after that."""
    for place, life in enumerate(lives):
        if life.end is None:
            continue
        life.end = life.end.within(life.start.low + 1, max(life.end.high, life.start.low + 1))
        if place + 1 < len(lives):
            following = lives[place + 1]
            following.start = following.start.within(
                life.end.low + 1, max(following.start.high, life.end.low + 1)
            )
