"""The verdict in the columns `held_up_*` of gold.rebalances, as objects; `audit/group/held_up.py` decides it."""

from collections.abc import Mapping
from typing import Final, NamedTuple

from rebalance_audit.figures.rows import TableRow
from rebalance_audit.sentences import words

PREDICATES: Final[Mapping[str, str]] = {
    "kept_partitions": "kept partitions that others waited for",
    "late": "has not reached the epoch",
    "did_not_rejoin": "did not rejoin, so the rebalance lasted until it was gone",
    "silent": "sent no heartbeat until its session ended",
    "had_left": "had left temporarily, and the others waited for it",
    "coordinator": "moved to another broker, which the members may have waited for",
}
"""CodedReason code -> what is said of the one that held the rebalance up."""

COORDINATOR: Final = "coordinator"

PARTS: Final[Mapping[str, tuple[str, str]]] = {
    "kept_partitions": ("", " kept partitions"),
    "did_not_rejoin": ("", " did not rejoin"),
    "silent": ("", " was silent"),
    "had_left": ("", " had left"),
    "late": ("", " had not reached the epoch"),
    "no_assignment": ("", " had not sent the assignment"),
    "no_target": ("no target assignment", ""),
    "first_members": ("initial rebalance delay", ""),
    "coordinator": ("the coordinator moved", ""),
    "unknown": ("unknown", ""),
}
"""CodedReason code -> what is said of a part of the time, before and after the member's name."""


class HeldUp(NamedTuple):
    """One for whom the group waited."""

    member_id: str | None
    """None for the coordinator."""
    name: str
    """Instance id, else client id."""
    why: str
    """A key of `PREDICATES`."""
    ms: int | None
    """None where the log does not hold how long, and while it goes on."""
    from_ms: int | None
    to_ms: int | None
    """Since when and until when (epoch ms); None likewise."""
    certainty: str


class TimePart(NamedTuple):
    """What some of a rebalance's time went to."""

    member_id: str | None
    """None where `why` is not about one member."""
    why: str
    """A key of `PARTS`."""
    ms: int
    certainty: str


def held_up_of(rebalance: TableRow) -> list[HeldUp]:
    """Who held the rebalance up, worst first; none in tables of releases before these columns."""
    names = ("member_ids", "by", "why", "ms", "from", "to")
    count = len(rebalance.get("held_up_member_ids") or ())
    columns = [rebalance.get(f"held_up_{name}") or (None,) * count for name in names]
    # Earlier releases have the certainty of the first alone.
    sure = rebalance.get("held_up_certainties")
    sure = [rebalance.get("held_up_certainty")] * count if sure is None else sure
    return [HeldUp(*entry) for entry in zip(*columns, sure, strict=True)]


def culprit_text(name: str, waited_ms: int) -> str:
    """`pod-0 12.3 s`: for whom a group waited longest; without the time where that was before its rebalances."""
    return f"{name} {words.duration(waited_ms)}" if waited_ms else name


def time_parts_of(rebalance: TableRow) -> list[TimePart]:
    """What its time went to, most first; none while it goes on, and in tables of releases before the column."""
    return [
        TimePart(*(part[name] for name in TimePart._fields))
        for part in rebalance.get("duration_parts") or ()
    ]
