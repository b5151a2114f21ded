"""Whether a static member of a classic group closed or died, which leaves no record: its last commit shows it.

A client that closes commits as it does so, at any moment of its commit interval. The last commit of one that died came
on the interval. So a last commit off the interval shows a close. One on it shows a death as far as chance would not
bring a close there, and as far as the group's other members died as well.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from rebalance_audit.audit.rows import Row
from rebalance_audit.audit.verdicts.cause import RebalanceCause
from rebalance_audit.whatif.habits import last_commit_of
from rebalance_audit.whatif.join_phases import EpochKey, PhaseTimes
from rebalance_audit.whatif.memberships import REPLACED, MemberStint, Slot
from rebalance_audit.whatif.script import Ends, ProcessEnd

_EARLY: Final = 0.01
_LATE: Final = 0.03
_DRIFT: Final = 0.012
"""Shares of the interval: how early and how late a commit on time may come, and how much later each further one."""
_FIRST_LATE: Final = 0.15
"""The first commit after an assignment, which also takes the time until the application polls."""
_ON_TIME_WHEN_DEAD: Final = 0.95
_TOGETHER_MS: Final = 250
"""Instances that start again on different machines do not do so within this time of each other."""
_PRIOR_CLOSED: Final = 4.0
_PRIOR_DEAD: Final = 1.0
"""Before a log says anything, of five ends one is a death."""
_ROUNDS: Final = 20
_FROZEN: Final = 0.1
"""Share of the silent ones that were suspended, and whose successor was started beside them."""


class _Sign(NamedTuple):
    """What a last commit shows."""

    on_time: bool
    by_chance: float
    """Probability that a close would look the same."""


def static_ends(
    slots: Sequence[Slot],
    stretches: Mapping[str, Sequence[Row]],
    phases: Mapping[EpochKey, PhaseTimes],
    interval_ms: int,
) -> dict[tuple[str, int], Ends]:
    """Member id and begin of each stint of a static member -> how it ended."""
    signs: dict[tuple[str, int], _Sign] = {}
    for slot in slots:
        for stint in slot.stints:
            if _is_silent(stint):
                sign = _sign(stint, stretches, phases, interval_ms)
                if sign is not None:
                    signs[stint.member["member_id"], stint.from_ms] = sign
    share = _PRIOR_DEAD / (_PRIOR_DEAD + _PRIOR_CLOSED)
    dead: dict[tuple[str, int], float] = {}
    for _ in range(_ROUNDS):
        dead = {key: _dead(sign, share) for key, sign in signs.items()}
        share = (_PRIOR_DEAD + sum(dead.values())) / (_PRIOR_DEAD + _PRIOR_CLOSED + len(dead))
    return {key: _ends(probability) for key, probability in dead.items()}


def went_on(
    slots: Sequence[Slot], stretches: Mapping[str, Sequence[Row]], interval_ms: int
) -> frozenset[tuple[str, int]]:
    """Member id and begin of each stint whose process went on under another member id.

    When a coordinator was away for longer than their sessions, static members come back at once, all with new ids, and
    no process was restarted. Their commits went on until then.
    """
    replaced = [
        (stint.to_ms, stint)
        for slot in slots
        for stint in slot.stints
        if stint.how == REPLACED and stint.to_ms is not None
    ]
    replaced.sort(key=lambda each: each[0])
    found: set[tuple[str, int]] = set()
    begin = 0
    while begin < len(replaced):
        end = begin
        while end < len(replaced) and replaced[end][0] - replaced[begin][0] <= _TOGETHER_MS:
            end += 1
        together = [stint for _, stint in replaced[begin:end]]
        at_ms = replaced[begin][0]
        running = sum(any(_is_at(stint, at_ms) for stint in slot.stints) for slot in slots)
        if len(together) > 1 and 2 * len(together) >= running:
            found.update(
                (stint.member["member_id"], stint.from_ms)
                for stint in together
                if _worked_on(stint, stretches, interval_ms)
            )
        begin = end
    return frozenset(found)


def _is_at(stint: MemberStint, at_ms: int) -> bool:
    return stint.from_ms < at_ms and (stint.to_ms is None or stint.to_ms >= at_ms)


def _worked_on(
    stint: MemberStint, stretches: Mapping[str, Sequence[Row]], interval_ms: int
) -> bool:
    """Whether the commits of a member went on until it was replaced, as far as it commits at all."""
    last_ms = last_commit_of(stint, stretches)
    assert stint.to_ms is not None
    return last_ms is None or stint.to_ms - last_ms <= (1 + _FIRST_LATE) * interval_ms


def _is_silent(stint: MemberStint) -> bool:
    """Whether a static member ended without a word, which a close and a death both are."""
    member = stint.member
    return (
        stint.to_ms is not None
        and member["protocol"] == "classic"
        and member["instance_id"] is not None
        and (stint.how == REPLACED or RebalanceCause.MEMBER_SESSION_EXPIRED in stint.weights)
    )


def _dead(sign: _Sign, share: float) -> float:
    if not sign.on_time:
        return 0.02
    if_dead = share * _ON_TIME_WHEN_DEAD
    return if_dead / (if_dead + (1 - share) * sign.by_chance)


def _ends(dead: float) -> Ends:
    if dead < 0.1:
        return {ProcessEnd.CLOSED: 1.0}
    return {
        ProcessEnd.CLOSED: 1 - dead,
        ProcessEnd.KILLED: dead * (1 - _FROZEN),
        ProcessEnd.FROZEN: dead * _FROZEN,
    }


def _sign(
    stint: MemberStint,
    stretches: Mapping[str, Sequence[Row]],
    phases: Mapping[EpochKey, PhaseTimes],
    interval_ms: int,
) -> _Sign | None:
    """None where the stint has no commits."""
    last_ms = last_commit_of(stint, stretches)
    if last_ms is None:
        return None
    rows = [
        row
        for row in stretches[stint.member["member_id"]]
        if stint.from_ms <= row["last_committed_at"] <= last_ms
    ]
    # A generation begins the timer anew, also for a member whose partitions stay.
    begun_ms = max(
        stint.from_ms,
        *(row["from_at"] or 0 for row in rows if (row["from_at"] or 0) <= last_ms),
        *(
            phase.stable_ms
            for phase in phases.values()
            if phase.key[0] == stint.incarnation and stint.from_ms <= phase.stable_ms <= last_ms
        ),
    )
    first_ms = min(
        (row["first_committed_at"] for row in rows if row["first_committed_at"] >= begun_ms),
        default=None,
    )
    if first_ms is None or first_ms - begun_ms > (1 + 2 * _FIRST_LATE) * interval_ms:
        # Its first commit of this generation is not known: the interval is counted from the assignment.
        return _on_time(last_ms - begun_ms, interval_ms, late=_FIRST_LATE)
    if first_ms - begun_ms < (1 - _EARLY) * interval_ms:
        return _Sign(on_time=False, by_chance=1.0)
    if first_ms == last_ms:
        return _on_time(last_ms - begun_ms, interval_ms, late=_FIRST_LATE)
    return _on_time(last_ms - first_ms, interval_ms, late=_LATE)


def _on_time(past_ms: int, interval_ms: int, *, late: float) -> _Sign:
    whole = max(1, round(past_ms / ((1 + _DRIFT / 2) * interval_ms)))
    late += _DRIFT * whole
    off = past_ms / interval_ms - whole
    return _Sign(-_EARLY <= off <= late, min(1.0, _EARLY + late))
