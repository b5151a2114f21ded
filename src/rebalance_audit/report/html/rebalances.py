"""Rebalances and rollouts on the page: bars in lanes, rows in tables. All say what the text says of the same row."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, Final, NamedTuple
from urllib.parse import quote

from rebalance_audit.figures.rows import TableRow, duration_of, is_classic, unowned_of
from rebalance_audit.report import causes
from rebalance_audit.report.colours import COST_NUMBERS
from rebalance_audit.report.deploys import KINDS, TOOLS, deploy_costs, deploy_name, during_note
from rebalance_audit.report.html.facts import rows_by_group
from rebalance_audit.report.names import MemberNames
from rebalance_audit.report.verdict import (
    PREDICATES,
    HeldUp,
    epochs_of,
    held_up_of,
    rebalance_name,
    time_sentence,
)
from rebalance_audit.sentences import words
from rebalance_audit.visible import shortened, visible

TEXT_MAX: Final = 400
"""Most characters of one sentence: names in it may be of any length."""
HOLDERS_MAX: Final = 3
"""Names in one cell."""


class RebalanceBar(NamedTuple):
    """One rebalance over time."""

    from_ms: int
    to_ms: int
    maybe_from_ms: int | None
    """Since when a classic group may have been rebalancing; None where the log says when it began."""
    cost: int
    """Number of what cost the time in `COSTS`."""
    text: str
    key: str


def shown(text: str) -> str:
    """A text of the log as the page shows it: control characters escaped, and no longer than the page can show."""
    return shortened(visible(text), TEXT_MAX)


def link(group_id: str, rebalance: TableRow | None = None) -> str:
    """The address of a group's section within the page, or of one of its rebalances.

    It stays the same when the page is written again.
    """
    at = f"&rebalance={rebalance_anchor(rebalance)}" if rebalance is not None else ""
    return f"#group={quote(shown(group_id), safe='')}{at}"


def rebalance_anchor(rebalance: TableRow) -> str:
    """`7`: the number of a rebalance; `1.7` in the second life of its group."""
    number, life = rebalance["rebalance_seq"], rebalance["incarnation"]
    return f"{life}.{number}" if life else f"{number}"


def rebalance_bar(row: TableRow, end_ms: int, names: MemberNames) -> RebalanceBar:
    """The bar; that of a classic group begins at the best estimate."""
    took, ended_ms = duration_of(row), row["ended_at"]
    to_ms = max(end_ms, row["began_ms"]) if ended_ms is None else ended_ms
    maybe_ms = None
    if took is not None and is_classic(row) and took.least != took.most:
        maybe_ms = None if took.most is None else to_ms - took.most
    holders = held_up_of(row)
    return RebalanceBar(
        row["began_ms"],
        to_ms,
        maybe_ms,
        COST_NUMBERS[holders[0].why if holders else None],
        _text(row, holders, names),
        rebalance_anchor(row),
    )


def _text(row: TableRow, holders: list[HeldUp], names: MemberNames) -> str:
    took = duration_of(row)
    lasted = "still going on" if took is None else words.likely(took)
    parts = [f"{rebalance_name(row)}: {lasted}"]
    if holders:
        first = holders[0]
        how_long = "" if first.ms is None else f" for {words.duration(first.ms)}"
        parts.append(
            f"held up by {holder_name(row['group_id'], first, names)}{how_long}"
            f" ({row['held_up_certainty']}), which {PREDICATES[first.why]}"
        )
    cause = row["primary_cause"]
    why = f"{causes.label(cause)} ({row['primary_certainty']})" if cause else "unknown"
    return "; ".join([*parts, f"cause: {why}"])


def holder_name(group_id: str, holder: HeldUp, names: MemberNames) -> str:
    """The name of one that held a rebalance up."""
    if holder.member_id is None:
        return holder.name
    return member_name(group_id, holder.member_id, holder.name, names)


def member_name(group_id: str, member_id: str, name: str, names: MemberNames) -> str:
    """As the text calls a member; `name` where the page has no room for the group's members."""
    known = names.of(group_id, member_id)
    return shortened(name) if known == shortened(member_id) else known


def rebalance_row(
    row: TableRow, names: MemberNames, trigger_id: str | None, address: str
) -> dict[str, Any]:
    """The cells of a table's row, with what they are sorted by. `trigger_id`: the member that set it off."""
    group_id, took, unowned = row["group_id"], duration_of(row), unowned_of(row)
    holders = held_up_of(row)
    cause = row["primary_cause"]
    others = causes.others_of(row)
    held_up = ", ".join(holder_name(group_id, each, names) for each in holders[:HOLDERS_MAX])
    if len(holders) > HOLDERS_MAX:
        held_up += f" and {len(holders) - HOLDERS_MAX:,} more"
    time = time_sentence(row)
    return {
        "key": rebalance_anchor(row),
        "link": address,
        "group": shown(group_id),
        "cost": COST_NUMBERS[holders[0].why if holders else None],
        "began": words.moment(row["began_ms"]),
        "began_ms": row["began_ms"],
        "to_ms": row["ended_at"],
        "about": is_classic(row) and took is not None and took.least != took.most,
        "epochs": epochs_of(row),
        **figure(row["outcome"] == "open", took, "took"),
        "mark": causes.mark(row["primary_certainty"]),
        "certainty": row["primary_certainty"] or "",
        "cause_id": cause,
        "cause": causes.label(cause) if cause else words.NOTHING,
        "who": shown(names.of(group_id, trigger_id)) if trigger_id else "",
        "others": f"and {others}" if others else "",
        "held_up": shown(held_up) or words.NOTHING,
        "why": PREDICATES[holders[0].why] if holders else "",
        "time": "" if time is None else visible(names.in_sentence(group_id, time)),
        "moved": words.number(row["partitions_moved"]),
        "moved_count": row["partitions_moved"] or 0,
        **figure(False, unowned, "unowned"),
    }


def figure(is_open: bool, lasted: Any, name: str) -> Mapping[str, Any]:
    """`<name>`: the estimate, `<name>_bounds`: between what it lies, `<name>_ms`: what it is sorted by."""
    if is_open:
        return {name: "still going on", f"{name}_bounds": "", f"{name}_ms": 1 << 60}
    text, between = words.estimate_and_bounds(lasted)
    return {
        name: text,
        f"{name}_bounds": between,
        f"{name}_ms": 0 if lasted is None else lasted.likely,
    }


def swimlane(
    group_ids: Sequence[str],
    rows: Sequence[TableRow],
    end_ms: int,
    cause_numbers: Mapping[str, int],
    names: MemberNames,
) -> dict[str, Any]:
    """`groups`: for each of `group_ids` its bars of from, width, cause, what cost the time, text, key, doubt before.

    The best estimate says where the bar of a classic group begins, and the doubt since how long before that the group
    may have been rebalancing (ms).
    """
    origin = min((row["began_ms"] for row in rows), default=0)
    of_group = rows_by_group(rows)
    return {
        "origin": origin,
        "groups": [
            [_bar(row, origin, end_ms, cause_numbers, names) for row in of_group.get(group_id, ())]
            for group_id in group_ids
        ],
    }


def _bar(
    row: TableRow,
    origin: int,
    end_ms: int,
    cause_numbers: Mapping[str, int],
    names: MemberNames,
) -> list[Any]:
    from_ms, to_ms, maybe_ms, cost, text, key = rebalance_bar(row, end_ms, names)
    doubt = 0 if maybe_ms is None else max(0, from_ms - maybe_ms)
    cause = cause_numbers.get(row["primary_cause"])
    return [from_ms - origin, to_ms - from_ms, cause, cost, text, key, doubt]


LISTED_MAX: Final = 100
GROUPS_MAX: Final = 5
"""Groups that are named in one row."""


def deploys_table(rows: Sequence[TableRow], listed: Collection[str]) -> dict[str, Any]:
    """Rows of the table, the costliest first, and a note on what it leaves out."""
    costs = deploy_costs(rows)
    notes = []
    if len(costs) > LISTED_MAX:
        notes.append(f"The costliest {LISTED_MAX} of {words.counted(len(costs), 'rollout')}.")
    if note := during_note(rows):
        notes.append(note)
    return {
        "rows": [
            {
                "name": ("" if cost.deploy["kind"] == "rollout" else KINDS[cost.deploy["kind"]])
                + shown(deploy_name(cost.deploy)),
                "tool": TOOLS.get(cost.deploy["tool"], cost.deploy["tool"]),
                "began": words.moment(cost.deploy["started_at"]),
                "ended": "no end recorded"
                if cost.deploy["ended_at"] is None
                else words.moment(cost.deploy["ended_at"]),
                "groups": [
                    {"name": shown(group_id), "link": link(group_id) if group_id in listed else ""}
                    for group_id in cost.groups[:GROUPS_MAX]
                ],
                "more_groups": max(0, len(cost.groups) - GROUPS_MAX),
                "rebalances": cost.rebalances,
                "not_stable": words.likely(cost.not_stable),
                "not_stable_ms": 0 if cost.not_stable is None else cost.not_stable.likely,
                "records": cost.records,
                "certainty": cost.certainty,
            }
            for cost in costs[:LISTED_MAX]
        ],
        "note": " ".join(notes),
    }
