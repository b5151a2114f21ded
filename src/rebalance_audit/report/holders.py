"""Who held a rebalance up: the members for which the group had to wait, and how that is known."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, NamedTuple, TypeAlias

from rebalance_audit.report.summary import TableRow, duration_of, is_classic

NAMED_FROM_PERCENT: Final = 10
"""Share of a rebalance for which the group must wait for a member to name it."""
NAMED_FROM_MS: Final = 100

_WITHOUT_A_WORD: Final = frozenset(
    {
        "member_departed",
        "member_session_expired",
        "member_rebalance_timeout",
        "static_member_expired",
    }
)
"""Ends of members that did not tell the coordinator that they leave, or may not have."""
_EXPIRIES: Final = frozenset({"member_session_expired", "member_rebalance_timeout"})

_Interval: TypeAlias = tuple[int, int]
"""From, to; epoch milliseconds."""


class How(StrEnum):
    """In which way a member held a rebalance up; the values are predicates of a sentence about it."""

    RELEASED_LATE = "kept partitions that others waited for"
    NOT_RELEASED = "kept partitions that others waited for, and did not release them"
    STILL_HOLDING = "was told to give up partitions that others wait for, and has not"
    SILENT = "did not answer until it was removed"
    NOT_REJOINED = "did not rejoin until the broker removed it, as its log says"
    GONE = "is gone without a word: the join phase may have waited for it until its session or rebalance timeout"


class HoldUp(NamedTuple):
    """A member for which a group waited."""

    member_id: str
    kept_ms: int | None
    """None where the log does not tell how long, or whether at all."""
    how: How


class Stretch(NamedTuple):
    """One epoch of a rebalance with its rows, and when it was over for the rebalance (epoch milliseconds)."""

    epoch: TableRow
    until_ms: int
    progress: Sequence[TableRow]
    causes: Sequence[TableRow]


def holders_of(rebalance: TableRow, stretches: Sequence[Stretch]) -> list[HoldUp]:
    """The members for which the group waited for a share worth naming, the longest first."""
    took = duration_of(rebalance)
    if took is None:
        return [] if is_classic(rebalance) else list(_still_holding(stretches))
    found = (
        list(_in_join_phases(stretches))
        if is_classic(rebalance)
        else list(_while_reconciling(rebalance, stretches))
    )
    least_ms = max(NAMED_FROM_MS, took.least * NAMED_FROM_PERCENT // 100)
    named = [who for who in found if who.kept_ms is None or who.kept_ms >= least_ms]
    ranked = sorted(named, key=lambda who: (-(who.kept_ms or 0), who.member_id))
    longest: dict[str, HoldUp] = {}
    for who in ranked:
        longest.setdefault(who.member_id, who)
    return list(longest.values())


def _while_reconciling(rebalance: TableRow, stretches: Sequence[Stretch]) -> Iterator[HoldUp]:
    """Consumer, share and streams groups: every step of every member is a record."""
    kept: dict[str, list[_Interval]] = defaultdict(list)
    released: dict[str, bool] = {}
    silent: dict[str, int] = {}
    seen: dict[str, int] = {}
    """Member -> place of the last epoch in which it has a row: where it has none it did nothing."""
    removed = {
        row["member_id"]: stretch.epoch["started_at"]
        for stretch in stretches
        for row in stretch.causes
        if row["cause"] in _WITHOUT_A_WORD
    }
    for place, (_, until_ms, progress, _) in enumerate(stretches):
        awaited = {member_id for row in progress for member_id in row["waited_for"] or ()}
        for row in progress:
            member_id, told_ms = row["member_id"], row["revoke_started_at"]
            if row["reached_at"] is not None:
                released[member_id] = True
                silent.pop(member_id, None)
            if told_ms is not None:
                if member_id in awaited or row["revoked_at"] is None:
                    gave_up_ms = row["revoked_at"]
                    kept[member_id].append((told_ms, gave_up_ms or until_ms))
                    released[member_id] = gave_up_ms is not None
            elif row["reached_at"] is None and not row["waited_for"]:
                first = row
                if member_id not in seen or seen[member_id] + 1 < place:
                    first = stretches[seen.get(member_id, -1) + 1].epoch
                silent.setdefault(member_id, first["started_at"] or rebalance["started_at"])
            seen[member_id] = place
    for member_id, intervals in kept.items():
        how = How.RELEASED_LATE if released[member_id] else How.NOT_RELEASED
        yield HoldUp(member_id, _covered(intervals, rebalance), how)
    for member_id, since_ms in silent.items():
        removed_ms = removed.get(member_id)
        if removed_ms is not None:
            yield HoldUp(member_id, _covered([(since_ms, removed_ms)], rebalance), How.SILENT)


def _still_holding(stretches: Sequence[Stretch]) -> Iterator[HoldUp]:
    """Of a rebalance that goes on: those that its last epoch waits for."""
    if not stretches:
        return
    last = stretches[-1]
    awaited = {member_id for row in last.progress for member_id in row["waited_for"] or ()}
    for row in last.progress:
        if (
            row["revoke_started_at"] is not None
            and row["revoked_at"] is None
            and row["member_id"] in awaited
        ):
            yield HoldUp(row["member_id"], None, How.STILL_HOLDING)


def _in_join_phases(stretches: Iterable[Stretch]) -> Iterator[HoldUp]:
    """Classic groups: a member that is gone when the join phase ends; the broker's log has the time of its removal."""
    for epoch, _, _, its_causes in stretches:
        began_ms, ended_ms = epoch["join_started_latest"], epoch["started_at"]
        for row in its_causes:
            # What set the rebalance off was over when it began.
            if row["cause_seq"] == 0 or row["cause"] not in _WITHOUT_A_WORD:
                continue
            logged = [
                item["at"]
                for item in row["evidence"]
                if began_ms is not None
                and ended_ms is not None
                and began_ms < item["at"] <= ended_ms
            ]
            if logged and row["cause"] in _EXPIRIES:
                yield HoldUp(row["member_id"], max(logged) - began_ms, How.NOT_REJOINED)
            else:
                yield HoldUp(row["member_id"], None, How.GONE)


def _covered(intervals: Iterable[_Interval], rebalance: Mapping[str, Any]) -> int:
    """Milliseconds of the rebalance that any of the intervals covers."""
    covered_ms, reached_ms = 0, rebalance["started_at"]
    for from_ms, to_ms in sorted(intervals):
        end_ms = min(to_ms, rebalance["ended_at"])
        covered_ms += max(0, end_ms - max(from_ms, reached_ms))
        reached_ms = max(reached_ms, end_ms)
    return covered_ms
