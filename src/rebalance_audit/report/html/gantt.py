"""One group over time, as data of a picture: its rebalances, states, epochs, and a lane for each member and partition.

What a mark says is written here: the script of the page only draws. Times are milliseconds after the picture's origin.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from rebalance_audit.figures.rows import (
    TableRow,
    epoch_noun,
    is_share,
    unowned_of,
)
from rebalance_audit.report import causes
from rebalance_audit.report.colours import COST_NUMBERS, REBALANCING, STATES
from rebalance_audit.report.epoch_sentences import partitions_text
from rebalance_audit.report.html.rebalances import rebalance_bar
from rebalance_audit.report.names import MemberNames
from rebalance_audit.report.timeline import (
    Gap,
    Owned,
    Partition,
    StateStretch,
    by_story,
    doubts,
    gaps,
    held_until,
    owned,
    partition_of,
    states,
)
from rebalance_audit.report.verdict import PREDICATES, held_up_of, rebalance_name
from rebalance_audit.sentences import words
from rebalance_audit.visible import shortened, visible

LANES_MAX: Final = 60
"""Lanes of members, and of partitions: more cannot be distinguished."""
SHARED: Final = (
    "Members of a share group have partitions in common. Each partition is drawn with the member that got it last:"
    " members may have had more than their lanes show, and how long a partition was without owner is not known."
)
TEXT_MAX: Final = 300
"""Most characters of what a mark says."""

_STATE_NUMBERS: Final = {name: number for number, name in enumerate(STATES)}


class _Owned(NamedTuple):
    """A stretch of time in which a member owned the same partitions."""

    from_ms: int
    to_ms: int
    rows: Sequence[TableRow]
    is_certain: bool


def gantt(
    own: Mapping[str, Sequence[TableRow]],
    names: MemberNames,
    end_ms: int,
    cause_numbers: Mapping[str | None, int],
) -> dict[str, Any]:
    """The data of one group's picture.

    `own`: its rows of `states`, `epochs`, `rebalances`, `owned`, `progress` and `lag`; times in epoch milliseconds.
    `end_ms`: where the picture ends.
    """
    found = doubts(own["rebalances"], end_ms)
    stretches = states(own["states"], found, end_ms)
    moments = [
        *(moment for stretch in stretches for moment in (stretch.from_ms, stretch.to_ms)),
        *(row[name] for row in own["owned"] for name in ("from_at", "to_at")),
        *(row[name] for row in own["epochs"] for name in ("at_ms", "converged_at")),
    ]
    known = [moment for moment in moments if moment is not None]
    origin = min(known, default=0)
    end = max([*known, end_ms])
    lanes = _lanes(own)
    # Then the rows of `owned` show the newest member that got a partition.
    at_least = any(map(is_share, own["epochs"]))
    number = {key: place for place, key in enumerate(lanes)}
    lane_of = {row["member_id"]: place for place, rows in enumerate(lanes.values()) for row in rows}
    partitions = _partitions(own["owned"])
    pieces = list(owned(own["owned"], found, end))
    without = gaps(own["owned"], own["rebalances"], end_ms)
    return {
        "origin": origin,
        "to": end - origin,
        "noun": epoch_noun(own["epochs"]),
        "rebalances": [
            [bar.from_ms - origin, bar.to_ms - origin, bar.cost, _cut(bar.text), bar.key]
            for bar in (rebalance_bar(row, end_ms, names) for row in own["rebalances"])
        ],
        "states": [
            [
                stretch.from_ms - origin,
                stretch.to_ms - origin,
                _STATE_NUMBERS[stretch.state],
                _state_text(stretch),
                stretch.is_certain,
            ]
            for stretch in stretches
        ],
        "epochs": [
            [row["at_ms"] - origin, cause_numbers.get(row["primary_cause"]), _epoch_text(row)]
            for row in own["epochs"]
            if row["at_ms"] is not None
        ],
        "unowned": [
            *(
                [from_ms - origin, to_ms - origin, _cut(_gap_text(alike)), True]
                for (from_ms, to_ms, _, _), alike in by_story(without).items()
            ),
            *(
                [
                    doubt.likely_ms - origin,
                    doubt.ended_ms - origin,
                    _cut(
                        "partitions may have been without owner: "
                        f"{words.likely(unowned_of(row))}, summed over partitions"
                    ),
                    False,
                ]
                for row in own["rebalances"]
                for doubt in doubts([row], end_ms)
                if doubt.may_revoke
            ),
        ],
        "lanes": [
            _cut(names.of(rows[-1]["group_id"], rows[-1]["member_id"])) for rows in lanes.values()
        ],
        "owned": [
            [
                number[key],
                stretch.from_ms - origin,
                stretch.to_ms - origin,
                len(stretch.rows),
                _cut(_owned_text(stretch, at_least=at_least)),
                stretch.is_certain,
            ]
            for key, its_stretches in _stretches(pieces, end).items()
            if key in number
            for stretch in its_stretches
        ],
        "held_up": list(_held_up(own["rebalances"], lane_of, origin, end_ms)),
        "on_the_way": list(_on_the_way(own["progress"], names, number, origin, end)),
        "giving_up": list(_giving_up(own["progress"], number, origin, end)),
        "partitions": [_cut(f"{topic} {partition}") for topic, partition in partitions],
        "held": [
            [
                partitions[place],
                piece.from_ms - origin,
                piece.to_ms - origin,
                number.get(_key(piece.row)),
                _cut(names.of(piece.row["group_id"], piece.row["member_id"])),
                piece.is_certain,
            ]
            for piece in pieces
            if (place := partition_of(piece.row)) in partitions
        ],
        "gaps": [
            [partitions[place], gap.from_ms - origin, gap.to_ms - origin]
            for gap in without
            if (place := partition_of(gap.row)) in partitions
        ],
        "lag": [
            [row["from_ms"] - origin, row["from_ms"] + row["lasted_ms"] - origin, *_lag_mark(row)]
            for row in own["lag"]
        ],
        "at_least": at_least,
        "note": _note(own, shared=at_least),
    }


def _lag_mark(row: TableRow) -> Iterator[Any]:
    """Lag and its text, commit rate and its text; null where they are not known."""
    lag, rate = row["lag_records"], row["per_second"]
    of = f"of {words.counted(row['partitions'], 'partition')}"
    waits = f", waiting for up to {words.duration(row['waiting_ms'])}" if row["waiting_ms"] else ""
    least = "" if row["is_exact"] else "at least "
    yield lag
    yield "" if lag is None else f"lag {of}: {least}{words.counted(lag, 'record')}{waits}"
    yield rate
    yield "" if rate is None else f"commits {of}: {rate:,.1f} records a second"


def _key(row: TableRow) -> str:
    """What a member's lane is about: a static member keeps it when its member id changes."""
    return f"static {row['instance_id']}" if row["instance_id"] else f"dynamic {row['member_id']}"


def _lanes(own: Mapping[str, Sequence[TableRow]]) -> dict[str, list[TableRow]]:
    """Key of a lane -> rows with its member ids, the latest last; the first to come first.

    Of many those that held rebalances up, and those with most to show.
    """
    first: dict[str, int] = {}
    rows_of: dict[str, list[TableRow]] = {}
    marks: Counter[str] = Counter()
    rows = [(row["from_at"], row) for row in own["owned"]]
    rows += [(row["started_at"], row) for row in own["progress"]]
    for moment, row in sorted(rows, key=lambda each: each[0]):
        key = _key(row)
        first.setdefault(key, moment)
        lane = rows_of.setdefault(key, [])
        if not lane or lane[-1]["member_id"] != row["member_id"]:
            lane.append(row)
        marks[key] += 1
    lane_of = {row["member_id"]: key for key, lane in rows_of.items() for row in lane}
    for rebalance in own["rebalances"]:
        for holder in held_up_of(rebalance):
            if holder.member_id is None:
                continue
            if holder.member_id not in lane_of:
                who = {"group_id": rebalance["group_id"], "member_id": holder.member_id}
                key = lane_of[holder.member_id] = f"culprit {holder.member_id}"
                first[key], rows_of[key] = rebalance["began_ms"], [who]
            marks[lane_of[holder.member_id]] += 1_000_000
    shown = {key for key, _ in marks.most_common(LANES_MAX)}
    return {
        key: rows_of[key] for key in sorted(first, key=lambda each: first[each]) if key in shown
    }


def _partitions(rows: Sequence[TableRow]) -> dict[Partition, int]:
    """Topic and partition -> lane, in their order; of many those that changed hands most often."""
    changes = Counter(map(partition_of, rows))
    shown = sorted(partition for partition, _ in changes.most_common(LANES_MAX))
    return {partition: place for place, partition in enumerate(shown)}


def _held_up(
    rebalances: Sequence[TableRow], lane_of: Mapping[str, int], origin: int, end_ms: int
) -> Iterator[list[Any]]:
    """Lane, from, to, what it cost, text: for how long the group waited for a member."""
    for row in rebalances:
        for holder, to_ms in held_until(row, end_ms):
            lane = lane_of.get(holder.member_id or "")
            if lane is None:
                continue
            begin_ms = row["began_ms"] if holder.from_ms is None else holder.from_ms
            lasted = "" if holder.ms is None else f" for {words.duration(holder.ms)}"
            text = f"held up {rebalance_name(row)}{lasted}: {PREDICATES[holder.why]}"
            cost = COST_NUMBERS[holder.why]
            yield [lane, begin_ms - origin, max(begin_ms, to_ms) - origin, cost, _cut(text)]


def _gap_text(alike: Sequence[Gap]) -> str:
    lasted = words.duration(alike[0].to_ms - alike[0].from_ms)
    count = words.counted(len(alike), "partition")
    return f"{count} without owner for {lasted}: {partitions_text(gap.row for gap in alike)}"


def _owned_text(stretch: _Owned, *, at_least: bool) -> str:
    verb = "had at least" if at_least else "owned"
    what = f"{words.counted(len(stretch.rows), 'partition')}: {partitions_text(stretch.rows)}"
    if stretch.is_certain:
        return f"{verb} {what}"
    return f"may have given up {what}. The log does not hold when the group began to rebalance"


def _note(own: Mapping[str, Sequence[TableRow]], *, shared: bool) -> str:
    members = len({_key(row) for row in (*own["owned"], *own["progress"])})
    partitions = len({partition_of(row) for row in own["owned"]})
    cut = (
        f"Lanes of {LANES_MAX} of {count:,} {what}, those with most changes."
        for what, count in (("members", members), ("partitions", partitions))
        if count > LANES_MAX
    )
    return " ".join([*([SHARED] if shared else ()), *cut])


def _state_text(stretch: StateStretch) -> str:
    lasted = words.duration(stretch.to_ms - stretch.from_ms)
    if stretch.state == REBALANCING:
        return f"{'' if stretch.is_certain else 'probably '}rebalancing for {lasted}"
    if not stretch.is_certain:
        return f"{stretch.state}, or rebalancing already: no record says when that began"
    return f"{stretch.state} " + ("to the end of the log" if stretch.is_open else f"for {lasted}")


def _epoch_text(row: TableRow) -> str:
    why = ""
    if row["primary_cause"]:
        why = f": {causes.label(row['primary_cause'])} ({row['primary_certainty']})"
    return f"{epoch_noun((row,))} {row['epoch']}{why}"


def _stretches(pieces: Sequence[Owned], end: int) -> dict[str, list[_Owned]]:
    """Key of a lane -> stretches in which the member owned the same partitions, in their order."""
    changes: dict[str, dict[int, list[tuple[bool, Owned]]]] = defaultdict(lambda: defaultdict(list))
    for piece in pieces:
        if piece.to_ms > piece.from_ms:
            changes[_key(piece.row)][piece.from_ms].append((True, piece))
            changes[_key(piece.row)][piece.to_ms].append((False, piece))
    found: dict[str, list[_Owned]] = {}
    for key, by_moment in changes.items():
        now: dict[int, Owned] = {}
        moments = sorted(by_moment)
        found[key] = []
        for moment, following in zip(moments, [*moments[1:], end], strict=True):
            for begins, piece in by_moment[moment]:
                if begins:
                    now[id(piece)] = piece
                else:
                    now.pop(id(piece), None)
            if now and following > moment:
                rows = [piece.row for piece in now.values()]
                is_certain = all(piece.is_certain for piece in now.values())
                found[key].append(_Owned(moment, following, rows, is_certain))
    return found


def _on_the_way(
    rows: Sequence[TableRow],
    names: MemberNames,
    number: Mapping[str, int],
    origin: int,
    end: int,
) -> Iterator[list[Any]]:
    """Lane, from, to, lanes that it waited for, text: from the start of an epoch until the member had reached it."""
    lane_of = {row["member_id"]: number.get(_key(row)) for row in rows}
    for row in rows:
        if _key(row) not in number:
            continue
        until, open_ended = _until(row, row["reached_at"], end)
        blockers = [lane_of.get(each) for each in row["waited_for"] or ()]
        took = words.duration(until - row["started_at"])
        text = f"on its way to epoch {row['epoch']} for {took}"
        if open_ended:
            text = f"did not reach epoch {row['epoch']} ({row['outcome']})"
        if row["waited_ms"]:
            whom = ", ".join(names.of(row["group_id"], each) for each in row["waited_for"] or ())
            text += f"; waited {words.duration(row['waited_ms'])} for {whom or 'the assignment'}"
        yield [
            number[_key(row)],
            row["started_at"] - origin,
            until - origin,
            [lane for lane in blockers if lane is not None] if row["waited_ms"] else None,
            _cut(text),
        ]


def _giving_up(
    rows: Sequence[TableRow], number: Mapping[str, int], origin: int, end: int
) -> Iterator[list[Any]]:
    """Lane, from, to, text: from the record that asked the member to revoke partitions to the one that shows it did."""
    for row in rows:
        if row["revoke_started_at"] is None or _key(row) not in number:
            continue
        until, open_ended = _until(row, row["revoked_at"], end)
        took = words.duration(until - row["revoke_started_at"])
        outcome = f"had not after {took}" if open_ended else f"gave them up in {took}"
        text = f"asked to give up partitions for epoch {row['epoch']}: {outcome}"
        yield [number[_key(row)], row["revoke_started_at"] - origin, until - origin, _cut(text)]


def _until(row: TableRow, moment: int | None, end: int) -> tuple[int, bool]:
    """When a mark ends, and whether what it waits for never came: then it ends with the epoch, or with the log."""
    if moment is not None:
        return moment, False
    return max(row["until_ms"] or end, row["started_at"]), True


def _cut(text: str) -> str:
    return shortened(visible(text), TEXT_MAX)
