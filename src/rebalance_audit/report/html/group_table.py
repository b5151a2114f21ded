"""The table of groups on the page: a row per group, and what it is sorted by."""

from collections.abc import Sequence
from typing import Any, Final

from rebalance_audit.bounds import NOTHING, Bounds
from rebalance_audit.figures.rows import TableRow, bounds_in
from rebalance_audit.report import causes
from rebalance_audit.report.held_up import culprit_text
from rebalance_audit.report.html.groups import state_text
from rebalance_audit.report.html.rebalances import figure, member_name, shown
from rebalance_audit.report.names import MemberNames
from rebalance_audit.report.terminal import findings
from rebalance_audit.sentences import words

GROUP_COLUMNS: Final = (
    # heading, whether its values are numbers
    ("Group", False),
    ("Protocol", False),
    ("State", False),
    ("Rebalances", True),
    ("Rebalancing for", True),
    ("Longest", True),
    ("Without owner", True),
    ("Mostly", False),
    ("Held up by", False),
    ("Findings", False),
)

NOUNS: Final = {"critical": "critical finding", "warning": "warning", "info": "note"}


def sort_keys(group: TableRow, cells: Sequence[Any]) -> list[Any]:
    """What the table of groups is sorted by, for each of GROUP_COLUMNS. `cells`: the group's row."""
    name, protocol, state, _, _, _, _, commonest_cause, held_up, _ = cells
    found = [group[severity] for severity in findings.STYLES]
    return [
        name,
        protocol,
        state,
        group["rebalances"],
        group["not_stable_estimate_ms"],
        (bounds_in(group, "longest") or NOTHING).likely,
        group["unowned_partition_estimate_ms"] or 0,
        commonest_cause,
        held_up,
        sum(count * 1000**rank for rank, count in enumerate(reversed(found))),
    ]


def cells_of(group: TableRow, names: MemberNames) -> list[Any]:
    """One row of the table of groups: a text for each of GROUP_COLUMNS, or an estimate and its bounds."""
    found = (
        words.counted(group[severity], NOUNS[severity])
        for severity in findings.STYLES
        if group[severity]
    )
    return [
        shown(group["group_id"]),
        shown(group["protocol"]) if group["protocol"] else words.NOTHING,
        state_text(group).replace(" (", "\N{NO-BREAK SPACE}("),
        f"{group['rebalances']:,}" + (" (going on)" if group["still_open"] else ""),
        estimate_cell(bounds_in(group, "not_stable")),
        estimate_cell(bounds_in(group, "longest")),
        estimate_cell(bounds_in(group, "unowned_partition")),
        causes.label(group["commonest_cause"]) if group["commonest_cause"] else words.NOTHING,
        _culprit(group, names),
        ", ".join(found) or words.NOTHING,
    ]


def estimate_cell(lasted: Bounds | None) -> list[str]:
    """The best estimate, and the bounds where it is not exact."""
    cells = figure(False, lasted, "it")
    return [cells["it"], cells["it_bounds"]]


def _culprit(group: TableRow, names: MemberNames) -> str:
    """`c74 2×`: for whom the group waited longest, and in how many rebalances."""
    culprit = group["culprit"]
    if culprit is None:
        return words.NOTHING
    name = member_name(group["group_id"], culprit["member_id"], culprit["name"], names)
    return culprit_text(shown(name), culprit["ms"])
