"""The table of rollouts on the page."""

from collections.abc import Collection, Sequence
from typing import Any, Final

from rebalance_audit.figures.rows import TableRow
from rebalance_audit.report.deploys import KINDS, TOOLS, deploy_costs, deploy_name, during_note
from rebalance_audit.report.html.rebalances import link, shown
from rebalance_audit.sentences import words

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
                "ended": _ended(cost.deploy),
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


def _ended(row: TableRow) -> str:
    ended_ms = row["ended_at"]
    return "no end recorded" if ended_ms is None else words.moment(ended_ms)
