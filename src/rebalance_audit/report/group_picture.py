"""One group as a picture for a ticket: the verdict, and bars in lanes, from the stretches that the page draws too."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import cycle
from typing import Final, NamedTuple

from rebalance_audit.figures.rows import TableRow, Tables, began_ms, epoch_began_at
from rebalance_audit.moments import micros_of
from rebalance_audit.report.answer import answer
from rebalance_audit.report.colours import (
    CAUSE_KINDS,
    COSTS,
    KIND_OF_CAUSE,
    MARKS,
    OWNERS,
    STATES,
)
from rebalance_audit.report.names import MemberNames
from rebalance_audit.report.timeline import (
    UncertainStretch,
    doubts,
    gaps,
    held_stretches,
    owned,
    partition_of,
    revocations,
    states,
)
from rebalance_audit.report.verdict import held_up_of, holder_names
from rebalance_audit.sentences import words
from rebalance_audit.visible import visible

LANES_MAX: Final = 40
"""Of more members, partitions or groups only those with the most bars are drawn."""
STATE: Final = "state"
REBALANCES: Final = "rebalances"
CAUSES: Final = "causes"

IN_THE_GROUP: Final = "#8a93a0"
GIVING_UP: Final = MARKS["giving_up"].light
WITHOUT_OWNER: Final = MARKS["unowned"].light
GAP: Final = "xxxx"
"""Distinguishes it from an owner by more than the hue."""
UNCERTAIN: Final = "////"
LOW: Final = 0.35
"""Height of what must not hide the rest."""
_NO_OWNER_COLOUR: Final = IN_THE_GROUP


class Bar(NamedTuple):
    """A stretch of time in a lane."""

    lane: str
    from_ms: int
    to_ms: int
    colour: str
    name: str = ""
    """Written on it where there is room."""
    hatch: str = ""
    """Lines across, in matplotlib's notation."""
    height: float = 0.7
    """Share of the lane."""


class Mark(NamedTuple):
    """A moment in a lane."""

    lane: str
    at_ms: int
    colour: str


class Meaning(NamedTuple):
    """An entry of a legend."""

    text: str
    colour: str
    hatch: str = ""
    is_mark: bool = False


class GroupPicture(NamedTuple):
    """What is drawn; times are epoch milliseconds."""

    verdict: list[str]
    """Sentences for people: the answer of `explain`, and when the log ends."""
    span: tuple[int, int]
    group: list[Bar]
    """Its states and rebalances."""
    causes: list[Mark]
    """One per epoch."""
    members: list[Bar]
    member_lanes: list[str]
    owner_colours: Mapping[str, str]
    """Lane of a member -> its colour as an owner."""
    partitions: list[Bar]
    partition_lanes: list[str]
    left_out: int
    """Partitions without a lane."""
    meanings: list[Meaning]


def group_picture(
    own: Tables, group_id: str, asked: tuple[int | None, int | None], log_end_ms: int | None
) -> GroupPicture:
    """The picture of the group whose rows `own` holds; `asked`: the window, where not all of the time is wanted."""
    names = MemberNames(own["members"])
    moments = list(_moments(own))
    if log_end_ms is not None:
        moments.append(log_end_ms)
    first = min(moments, default=0) if asked[0] is None else asked[0]
    end_ms = max(moments, default=0)
    last = end_ms if asked[1] is None else asked[1]
    span = first, max(last, first + 1)
    found = doubts(own["rebalances"], end_ms)
    stretches = states(own["group_states"], found, end_ms)
    group = [
        Bar(
            STATE,
            each.from_ms,
            each.to_ms,
            STATES[each.state].shades.light,
            each.state,
            "" if each.is_certain else UNCERTAIN,
            LOW if STATES[each.state].is_quiet else 0.7,
        )
        for each in stretches
    ]
    group += [_rebalance(row, names, end_ms) for row in own["rebalances"]]
    stays = list(_stays(own["members"], names, first, end_ms))
    held = [
        Bar(
            names.of(group_id, str(holder.member_id)),
            from_ms,
            to_ms,
            COSTS[holder.why].shades.light,
            height=LOW,
        )
        for from_ms, to_ms, holder, _ in held_stretches(own["rebalances"], end_ms)
    ]
    revoking = [
        Bar(names.of(group_id, row["member_id"]), from_ms, to_ms, GIVING_UP)
        for from_ms, to_ms, row in revocations(own, end_ms)
    ]
    members = [*stays, *revoking, *held]
    lanes = _chosen([bar.lane for bar in (*stays, *held)], {bar.lane for bar in held})
    colours = dict(zip(lanes, cycle(shades.light for shades in OWNERS), strict=False))
    partitions = list(_partitions(own, names, colours, found, end_ms))
    rows = sorted({partition_of(row) for row in own["ownership"]})
    kept = set(_chosen([bar.lane for bar in partitions]))
    below = [lane for lane in map(_partition_lane, rows) if lane in kept]
    causes = [
        Mark(CAUSES, at_ms, _CAUSE_COLOURS[KIND_OF_CAUSE[row["primary_cause"]]])
        for row in own["epochs"]
        if (at_ms := epoch_began_at(row)) is not None
    ]
    return GroupPicture(
        _verdict(own, group_id, names, span, log_end_ms),
        span,
        group,
        causes,
        members,
        lanes,
        colours,
        partitions,
        below,
        len(rows) - len(below),
        _meanings([*group, *members, *partitions], causes),
    )


_CAUSE_COLOURS: Final = [kind.shades.light for kind in CAUSE_KINDS]


def _verdict(
    own: Tables,
    group_id: str,
    names: MemberNames,
    span: tuple[int, int],
    log_end_ms: int | None,
) -> list[str]:
    """Of the rebalances and findings in the window."""
    columns = {"rebalances": ("started_at", "ended_at"), "findings": ("from_at", "to_at")}
    inside = dict(own)
    for table, (begin, end) in columns.items():
        begun = [row for row in own[table] if (row[begin] or 0) <= span[1]]
        inside[table] = [row for row in begun if (row[end] or span[1]) >= span[0]]
    said = [
        visible(names.in_sentence(group_id, sentence)) for sentence in answer(inside, log_end_ms)
    ]
    if not inside["rebalances"]:
        said.insert(0, "No rebalance in this time.")
    if log_end_ms is not None:
        said.append(f"Log ends at {words.utc(log_end_ms)}.")
    return said


def _rebalance(row: TableRow, names: MemberNames, end_ms: int) -> Bar:
    """As on the page: from the best estimate of its start, in the colour of what cost the time."""
    holders = held_up_of(row)
    to_ms = end_ms if row["ended_at"] is None else row["ended_at"]
    begun_ms = began_ms(row)
    from_ms = to_ms if begun_ms is None else begun_ms
    cost = COSTS[holders[0].why if holders else None]
    who = next(iter(holder_names(row, names)), "")
    return Bar(REBALANCES, from_ms, to_ms, cost.shades.light, who)


def _stays(
    rows: Iterable[TableRow], names: MemberNames, first_ms: int, end_ms: int
) -> Iterator[Bar]:
    for row in sorted(rows, key=lambda row: row["first_seen_at"] or 0):
        from_ms = first_ms if row["first_seen_at"] is None else row["first_seen_at"]
        to_ms = end_ms if row["left_at"] is None else row["left_at"]
        yield Bar(names.of(row["group_id"], row["member_id"]), from_ms, to_ms, IN_THE_GROUP)


def _partitions(
    own: Tables,
    names: MemberNames,
    colours: Mapping[str, str],
    found: Sequence[UncertainStretch],
    end_ms: int,
) -> Iterator[Bar]:
    for gap in gaps(own["ownership"], own["rebalances"], end_ms):
        lane = _partition_lane(partition_of(gap.row))
        yield Bar(lane, gap.from_ms, gap.to_ms, WITHOUT_OWNER, hatch=GAP)
    for piece in owned(own["ownership"], found, end_ms):
        owner = names.of(piece.row["group_id"], piece.row["member_id"])
        colour = colours.get(owner, _NO_OWNER_COLOUR)
        lane = _partition_lane(partition_of(piece.row))
        hatch = "" if piece.is_certain else UNCERTAIN
        yield Bar(lane, piece.from_ms, piece.to_ms, colour, owner, hatch)


def _partition_lane(partition: tuple[str, int]) -> str:
    topic, number = partition
    return f"{topic} {number}"


def _moments(own: Tables) -> Iterator[int]:
    """Times that a calendar holds: a corrupt record may contain any."""
    columns = {
        "members": ("first_seen_at", "left_at"),
        "epochs": ("started_at", "converged_at"),
        "ownership": ("from_at", "to_at"),
        "group_states": ("from_at", "to_at"),
        "rebalances": ("started_at", "ended_at"),
    }
    for table, names in columns.items():
        for row in own[table]:
            yield from (row[name] for name in names if micros_of(row[name]) is not None)


def _chosen(lanes: Sequence[str], needed: Iterable[str] = ()) -> list[str]:
    """The lanes in their order; if there are too many, those that are needed and those with the most bars."""
    counts = Counter(lanes)
    first = set(needed)
    ranked = sorted(counts, key=lambda lane: (lane not in first, -counts[lane]))
    most = set(ranked[:LANES_MAX])
    return [lane for lane in counts if lane in most]


def _meanings(bars: Sequence[Bar], causes: Sequence[Mark]) -> list[Meaning]:
    """The legend: what the picture has, and no more."""
    drawn, hatches = {(bar.lane, bar.colour) for bar in bars}, {bar.hatch for bar in bars}
    colours = {colour for _, colour in drawn}
    in_states = {bar.name for bar in bars if bar.lane == STATE}
    alike: dict[str, list[str]] = {}
    for name, look in STATES.items():
        if name in in_states:
            alike.setdefault(look.shades.light, []).append(name)
    found = [Meaning(f"state: {', '.join(names)}", colour) for colour, names in alike.items()]
    found += [
        Meaning(f"time lost: {cost.name}", cost.shades.light)
        for cost in COSTS.values()
        if cost.shades.light in colours
    ]
    there = {mark.colour for mark in causes}
    found += [
        Meaning(f"cause: {kind.name}", kind.shades.light, is_mark=True)
        for kind in CAUSE_KINDS
        if kind.shades.light in there
    ]
    members = [
        Meaning("in the group", IN_THE_GROUP),
        Meaning("was asked to give up partitions", GIVING_UP),
        Meaning("without owner", WITHOUT_OWNER, GAP),
    ]
    found += [each for each in members if each.colour in colours]
    if UNCERTAIN in hatches:
        found.append(Meaning("hatched: not certain", "#ffffff", UNCERTAIN))
    return found
