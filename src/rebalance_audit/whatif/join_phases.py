"""When the join phase of each classic generation began and ended, and when members gave up what they had for it."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final

from rebalance_audit.audit.rows import Row
from rebalance_audit.audit.verdicts.cause import RebalanceCause
from rebalance_audit.whatif.group_rows import GroupRows

EpochKey = tuple[int, int]
"""Incarnation and epoch."""

_FOLLOW_UP: Final = RebalanceCause.COOPERATIVE_FOLLOW_UP.value


@dataclass(slots=True)
class PhaseTimes:
    """One generation; moments are epoch milliseconds."""

    key: EpochKey
    earliest_ms: int
    """Not before this."""
    begin_ms: int
    """Most likely."""
    complete_ms: int
    """All members have joined."""
    stable_ms: int
    """The leader's assignment is in the log."""
    gave_up: dict[str, int] = field(default_factory=dict)
    """Member id -> its last commit before the generation, of those whose partitions changed hands with it."""
    is_follow_up: bool = False
    is_first: bool = False
    """Whether the group had no members before."""

    @property
    def length_ms(self) -> int:
        """From its likely begin to its end."""
        return self.complete_ms - self.begin_ms


def join_phases(rows: GroupRows) -> dict[EpochKey, PhaseTimes]:
    """The join phases of all classic generations in the log."""
    gave_up = _gave_up(rows.ownership)
    follow_ups = {
        (row["incarnation"], row["epoch"]) for row in rows.causes if row["cause"] == _FOLLOW_UP
    }
    found: dict[EpochKey, PhaseTimes] = {}
    for row in rows.epochs:
        phase = _phase(row, gave_up)
        if phase is not None:
            phase.is_follow_up = phase.key in follow_ups
            found[phase.key] = phase
    return found


def _phase(row: Row, gave_up: Mapping[EpochKey, dict[str, int]]) -> PhaseTimes | None:
    complete_ms = row["started_at"]
    if row["protocol"] != "classic" or complete_ms is None:
        return None
    stable_ms = row["target_installed_at"] or complete_ms
    key = (row["incarnation"], row["epoch"])
    earliest_ms = row["join_started_earliest"] or complete_ms
    estimate_ms = row["not_stable_estimate_ms"]
    begin_ms = complete_ms if estimate_ms is None else stable_ms - estimate_ms
    commits = {
        member: at_ms
        for member, at_ms in gave_up.get(key, {}).items()
        if earliest_ms <= at_ms <= complete_ms
    }
    begin_ms = min(max(begin_ms, earliest_ms), complete_ms)
    is_first = bool(row["members"]) and row["members"] == row["members_joined"]
    return PhaseTimes(
        key, earliest_ms, begin_ms, complete_ms, stable_ms, commits, is_first=is_first
    )


def _gave_up(ownership: Sequence[Row]) -> dict[EpochKey, dict[str, int]]:
    found: dict[EpochKey, dict[str, int]] = {}
    for row in ownership:
        if row["to_epoch"] is None or row["last_committed_at"] is None:
            continue
        of_epoch = found.setdefault((row["incarnation"], row["to_epoch"]), {})
        known = of_epoch.get(row["member_id"], 0)
        of_epoch[row["member_id"]] = max(known, row["last_committed_at"])
    return found


def heard_after_ms(phase: PhaseTimes, gone: Collection[str]) -> list[int]:
    """How long before the end of the join phase each member that stayed gave up partitions for it.

    `gone`: members that did not stay; their last commits show when they closed or died. A member that commits only on
    its interval shows when it last did so, which may be long before.
    """
    longest_ms = 2 * phase.length_ms + 1_000
    return sorted(
        phase.complete_ms - at_ms
        for member, at_ms in phase.gave_up.items()
        if member not in gone and phase.complete_ms - at_ms < longest_ms
    )


def follow_up_delays(
    phases: Mapping[EpochKey, PhaseTimes],
) -> list[tuple[PhaseTimes, PhaseTimes, int]]:
    """Each generation with its cooperative follow-up, and the milliseconds from its assignment to the other's begin."""
    ordered = sorted(phases.values(), key=lambda phase: phase.key)
    return [
        (before, after, after.complete_ms - before.stable_ms)
        for before, after in pairwise(ordered)
        if after.is_follow_up and after.key[0] == before.key[0]
    ]
