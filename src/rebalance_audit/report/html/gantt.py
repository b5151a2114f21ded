"""One group over time, as data of a picture: its states, epochs, and a lane for each member and each partition.

What a mark says is written here: the script of the page only draws. Times are milliseconds after the picture's origin.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from rebalance_audit.report import causes, words
from rebalance_audit.report.html.colours import REBALANCING, STATES
from rebalance_audit.report.names import MemberNames
from rebalance_audit.report.summary import TableRow, epoch_noun, is_classic, is_share
from rebalance_audit.report.terminal.ownership_gaps import partitions_text
from rebalance_audit.visible import shortened, visible

LANES_MAX: Final = 60
"""Lanes of members, and of partitions: more cannot be told apart."""
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


def gantt(
    own: Mapping[str, Sequence[TableRow]],
    names: MemberNames,
    log_end_ms: int | None,
    cause_numbers: Mapping[str, int],
) -> dict[str, Any]:
    """The data of one group's picture.

    `own`: its rows of `states`, `epochs`, `unowned`, `owned` and `progress`; times in epoch milliseconds.
    """
    states = list(_states(own))
    moments = [
        *(row["from_at"] for row in (*own["states"], *own["owned"])),
        *(row["to_at"] for row in (*own["states"], *own["owned"])),
        *(row["at_ms"] for row in own["epochs"]),
        *(row["converged_at"] for row in own["epochs"]),
    ]
    known = [moment for moment in moments if moment is not None]
    origin = min(known, default=0)
    end = max([*known, *([log_end_ms] if log_end_ms else [])], default=0)
    lanes = _lanes(own)
    # Then the rows of `owned` show the newest member that got a partition.
    at_least = any(map(is_share, own["epochs"]))
    number = {key: place for place, key in enumerate(lanes)}
    partitions = _partitions(own["owned"])
    return {
        "origin": origin,
        "to": end - origin,
        "noun": epoch_noun(own["epochs"]),
        "states": [
            [began - origin, (end if ended is None else ended) - origin, state, text]
            for began, ended, state, text in states
        ],
        "epochs": [
            [row["at_ms"] - origin, cause_numbers.get(row["primary_cause"]), _epoch_text(row)]
            for row in own["epochs"]
            if row["at_ms"] is not None
        ],
        "unowned": [
            [
                row["to_at"] - row["unowned_before_ms"] - origin,
                row["to_at"] - origin,
                _cut(
                    f"{words.counted(len(row['partitions']), 'partition')} without owner for "
                    f"{words.duration(row['unowned_before_ms'])}: {partitions_text(row['partitions'])}"
                ),
            ]
            for row in own["unowned"]
            if row["to_at"] is not None
        ],
        "lanes": [_cut(names.of(*lanes[key])) for key in lanes],
        "owned": [
            [
                number[key],
                stretch.from_ms - origin,
                stretch.to_ms - origin,
                len(stretch.rows),
                _cut(_owned_text(stretch.rows, at_least=at_least)),
            ]
            for key, stretches in _stretches(own["owned"], end).items()
            if key in number
            for stretch in stretches
        ],
        "on_the_way": list(_on_the_way(own["progress"], names, number, origin, end)),
        "giving_up": list(_giving_up(own["progress"], number, origin, end)),
        "partitions": [_cut(f"{topic} {partition}") for topic, partition in partitions],
        "held": [
            [
                partitions[place],
                row["from_at"] - origin,
                (end if row["to_at"] is None else row["to_at"]) - origin,
                number.get(_key(row)),
                _cut(names.of(row["group_id"], row["member_id"])),
            ]
            for row in own["owned"]
            if (place := _partition(row)) in partitions
        ],
        "at_least": at_least,
        "note": _note(own, shared=at_least),
    }


def _key(row: TableRow) -> str:
    """What a member's lane is about: a static member keeps it when its member id changes."""
    return f"static {row['instance_id']}" if row["instance_id"] else f"dynamic {row['member_id']}"


def _partition(row: TableRow) -> tuple[str, int]:
    return row["topic"] or row["topic_id"] or words.NOTHING, row["topic_partition"]


def _lanes(own: Mapping[str, Sequence[TableRow]]) -> dict[str, tuple[str, str]]:
    """Key of a lane -> group and latest member id; the first to come first. Of many those with most to tell."""
    first: dict[str, int] = {}
    latest: dict[str, tuple[str, str]] = {}
    marks: Counter[str] = Counter()
    rows = [(row["from_at"], row) for row in own["owned"]]
    rows += [(row["started_at"], row) for row in own["progress"]]
    for moment, row in sorted(rows, key=lambda each: each[0]):
        key = _key(row)
        first.setdefault(key, moment)
        latest[key] = row["group_id"], row["member_id"]
        marks[key] += 1
    told = {key for key, _ in marks.most_common(LANES_MAX)}
    return {key: latest[key] for key in first if key in told}


def _partitions(rows: Sequence[TableRow]) -> dict[tuple[str, int], int]:
    """Topic and partition -> lane, in their order; of many those that changed hands most often."""
    changes = Counter(map(_partition, rows))
    told = sorted(partition for partition, _ in changes.most_common(LANES_MAX))
    return {partition: place for place, partition in enumerate(told)}


def _owned_text(rows: Sequence[TableRow], *, at_least: bool) -> str:
    verb = "had at least" if at_least else "owned"
    return f"{verb} {words.counted(len(rows), 'partition')}: {partitions_text(rows)}"


def _note(own: Mapping[str, Sequence[TableRow]], *, shared: bool) -> str:
    members = len({_key(row) for row in (*own["owned"], *own["progress"])})
    partitions = len({_partition(row) for row in own["owned"]})
    told = []
    if shared:
        told.append(SHARED)
    if members > LANES_MAX:
        told.append(f"Lanes of {LANES_MAX} of {members:,} members, those with most changes.")
    if partitions > LANES_MAX:
        told.append(f"Lanes of {LANES_MAX} of {partitions:,} partitions, those with most changes.")
    return " ".join(told)


def _states(
    own: Mapping[str, Sequence[TableRow]],
) -> Iterator[tuple[int, int | None, int, str]]:
    for row in own["states"]:
        if row["from_at"] is not None:
            lasted = (
                "to the end of the log"
                if row["to_at"] is None
                else f"for {words.duration(row['to_at'] - row['from_at'])}"
            )
            state = row["group_state"]
            yield row["from_at"], row["to_at"], _STATE_NUMBERS[state], f"{state} {lasted}"
    for row in own["epochs"]:
        began, ended = row["join_started_latest"], row["converged_at"]
        if is_classic(row) and None not in (began, ended) and began <= ended:
            yield began, ended, _STATE_NUMBERS[REBALANCING], _rebalancing_text(row)


def _rebalancing_text(row: TableRow) -> str:
    """How long a classic group took to reach its next generation, as far as its record tells."""
    least = words.duration(row["converged_at"] - row["join_started_latest"])
    earliest_ms = row["join_started_earliest"]
    if earliest_ms == row["join_started_latest"]:
        return f"rebalancing, {least}"
    most = "" if earliest_ms is None else f" to {words.duration(row['converged_at'] - earliest_ms)}"
    return f"rebalancing, {least}{most or ' at least'}: no record says when it began"


def _epoch_text(row: TableRow) -> str:
    why = ""
    if row["primary_cause"]:
        why = f": {causes.label(row['primary_cause'])} ({row['primary_certainty']})"
    return f"{'generation' if is_classic(row) else 'epoch'} {row['epoch']}{why}"


def _stretches(rows: Sequence[TableRow], end: int) -> dict[str, list[_Owned]]:
    """Key of a lane -> stretches in which the member owned the same partitions, in their order."""
    changes: dict[str, dict[int, list[tuple[bool, TableRow]]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for row in rows:
        until = end if row["to_at"] is None else row["to_at"]
        if until > row["from_at"]:
            changes[_key(row)][row["from_at"]].append((True, row))
            changes[_key(row)][until].append((False, row))
    found: dict[str, list[_Owned]] = {}
    for key, by_moment in changes.items():
        now: dict[int, TableRow] = {}
        moments = sorted(by_moment)
        found[key] = []
        for moment, following in zip(moments, [*moments[1:], end], strict=True):
            for begins, row in by_moment[moment]:
                if begins:
                    now[id(row)] = row
                else:
                    now.pop(id(row), None)
            if now and following > moment:
                found[key].append(_Owned(moment, following, list(now.values())))
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
    """Lane, from, to, text: from the record that told the member to give up partitions to the one that says it has."""
    for row in rows:
        if row["revoke_started_at"] is None or _key(row) not in number:
            continue
        until, open_ended = _until(row, row["revoked_at"], end)
        took = words.duration(until - row["revoke_started_at"])
        text = f"told to give up partitions for epoch {row['epoch']}: gave them up in {took}"
        if open_ended:
            text = f"told to give up partitions for epoch {row['epoch']}: had not after {took}"
        yield [number[_key(row)], row["revoke_started_at"] - origin, until - origin, _cut(text)]


def _until(row: TableRow, moment: int | None, end: int) -> tuple[int, bool]:
    """When a mark ends, and whether what it waits for never came: then it ends with the epoch, or with the log."""
    if moment is not None:
        return moment, False
    return max(row["until_ms"] or end, row["started_at"]), True


def _cut(text: str) -> str:
    return shortened(visible(text), TEXT_MAX)
