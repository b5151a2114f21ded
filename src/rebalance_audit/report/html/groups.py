"""Groups on the page: rows of the table of groups, and sections of single ones with states, causes and gaps."""

import shlex
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final

from rebalance_audit.bounds import NOTHING, Bounds
from rebalance_audit.figures.present import cell_of, present_of
from rebalance_audit.figures.ranking import longest_of
from rebalance_audit.figures.rows import (
    TableRow,
    bounds_in,
    epoch_noun,
    is_classic,
    longest_first,
)
from rebalance_audit.report import causes
from rebalance_audit.report.answer import worst_rebalances
from rebalance_audit.report.colours import KIND_OF_CAUSE
from rebalance_audit.report.epoch_sentences import came_and_went, partitions_text
from rebalance_audit.report.html.facts import PageFacts, rows_by_group
from rebalance_audit.report.html.gantt import gantt
from rebalance_audit.report.html.rebalances import figure, link, member_name, rebalance_row, shown
from rebalance_audit.report.names import MemberNames
from rebalance_audit.report.row_sentences import advice_of, detail_of
from rebalance_audit.report.terminal import findings
from rebalance_audit.report.timeline import Gap, by_story, gaps
from rebalance_audit.report.verdict import PREDICATES, culprit_text
from rebalance_audit.sentences import words
from rebalance_audit.sentences.sentence import Sentence
from rebalance_audit.tables.fleet_names import cluster_and_group
from rebalance_audit.visible import visible

EPOCHS_LISTED: Final = 25
"""Rows of a group's table of epochs, the latest ones."""
LONGEST_LISTED: Final = 10
REBALANCES_LISTED: Final = 25
"""Rows of a group's table of rebalances: the latest ones, and the longest of those before."""
GAPS_LISTED: Final = 10
_MINUS: Final = "\N{MINUS SIGN}"


def group_sections(
    facts: PageFacts, names: MemberNames
) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """What the template makes a section of, and its picture, for each detailed group in their order."""
    of_group = {name: rows_by_group(rows) for name, rows in facts.details.items()}
    summaries = {row["group_id"]: row for row in facts.groups}
    for group_id in facts.detailed:
        own = {name: rows.get(group_id, []) for name, rows in of_group.items()}
        section = _section(facts, summaries[group_id], own, names)
        yield section, gantt(own, names, facts.end_ms, KIND_OF_CAUSE)


def findings_by_kind(
    counts: Sequence[TableRow],
    rows: Sequence[TableRow],
    names: MemberNames,
    listed: Collection[str],
) -> list[dict[str, Any]]:
    """Findings as the page lists them: by kind in the order of `counts`, advice that is the same for all only once.

    `rows` may hold only some of those that are counted.
    """
    kinds = []
    for count in counts:
        own = [
            row
            for row in rows
            if (row["kind"], row["severity"]) == (count["kind"], count["severity"])
        ]
        advice = {names.in_sentence(row["group_id"], advice_of(row)) for row in own}
        left = count["findings"] - len(own)
        kinds.append(
            {
                "severity": count["severity"],
                "kind": causes.label(count["kind"]),
                "count_text": ""
                if count["findings"] == 1
                else f"{count['findings']:,} times in {words.counted(count['groups'], 'group')}",
                "advice": shown(min(advice)) if len(advice) == 1 else "",
                "entries": [
                    _finding(row, names, listed, with_advice=len(advice) > 1) for row in own
                ],
                "more": f"… and {left:,} more in the table gold.findings" if left else "",
            }
        )
    return kinds


def _finding(
    row: TableRow, names: MemberNames, listed: Collection[str], *, with_advice: bool
) -> dict[str, Any]:
    return {
        "group": None if row["group_id"] is None else shown(row["group_id"]),
        "link": link(row["group_id"]) if row["group_id"] in listed else "",
        "from_ms": row["from_at"],
        "to_ms": row["to_at"],
        "span": words.span(row["from_at"], row["to_at"]),
        "detail": shown(names.in_sentence(row["group_id"], detail_of(row))),
        "advice": shown(names.in_sentence(row["group_id"], advice_of(row))) if with_advice else "",
    }


def _of_one_group(
    group: TableRow, rows: Sequence[TableRow], names: MemberNames
) -> list[dict[str, Any]]:
    """What was found in one group, for its own section, which need not name the group."""
    kinds = Counter((row["severity"], row["kind"]) for row in rows)
    counts = [
        {"severity": severity, "kind": kind, "findings": count, "groups": 1}
        for (severity, kind), count in kinds.items()
    ]
    own = [
        {
            **row,
            "group_id": None,
            "detail": names.in_sentence(group["group_id"], detail_of(row)),
            "advice": names.in_sentence(group["group_id"], advice_of(row)),
            "facts": None,
        }
        for row in rows
    ]
    listed = findings_by_kind(counts, own, names, ())
    for kind in listed:
        kind["count_text"] = ""
    left = sum(group[severity] for severity in findings.STYLES) - len(rows)
    if left:
        listed[-1]["more"] = f"… and {left:,} more in the table gold.findings"
    return listed


# --- one section ---------------------------------------------------------------------------------


def _section(
    facts: PageFacts,
    group: TableRow,
    own: Mapping[str, list[TableRow]],
    names: MemberNames,
) -> dict[str, Any]:
    group_id = group["group_id"]
    epochs = own["epochs"]
    noun = epoch_noun(epochs)
    name = noun.capitalize()
    listed = epochs[: -EPOCHS_LISTED - 1 : -1]
    without = by_story(gaps(own["owned"], own["rebalances"], facts.end_ms))
    return {
        "name": shown(group_id),
        "facts": _facts(group),
        "answer": [
            shown(names.in_sentence(group_id, sentence)) for sentence in _answer(group, own, facts)
        ],
        "timeline_note": f"The picture has the latest {len(epochs):,} of {words.counted(group['epochs'], noun)}."
        if len(epochs) < group["epochs"]
        else "",
        "findings": _of_one_group(group, own["findings"], names),
        "causes": own["group_causes"],
        "held_up": [_held_up(row, names) for row in own["held_up"]],
        "rebalances": _rebalances(own, names),
        "rebalances_title": "Rebalances"
        if group["rebalances"] <= REBALANCES_LISTED
        else f"Rebalances: the last {REBALANCES_LISTED} of {group['rebalances']:,}, and the longest before",
        "unowned": [
            _unowned(group_id, story, alike, names)
            for story, alike in islice(without.items(), GAPS_LISTED)
        ],
        "epochs": [_epoch(row, names) for row in listed],
        "epoch_name": name,
        "epochs_name": f"{name}s",
        "epochs_title": f"{name}s"
        if len(listed) == group["epochs"]
        else f"{name}s: the last {len(listed)} of {group['epochs']:,}",
        "command": shown(f"rebalance-audit inspect {_arguments(facts, group_id)} --epochs"),
    }


def _arguments(facts: PageFacts, name: str) -> str:
    """What names a group of the page to `inspect`."""
    if len(facts.clusters) == 1:
        return f"{facts.arguments} --group {shlex.quote(name)}"
    cluster, group_id = cluster_and_group(name)
    return f"{facts.arguments} --cluster {shlex.quote(cluster)} --group {shlex.quote(group_id)}"


def _answer(
    group: TableRow, own: Mapping[str, list[TableRow]], facts: PageFacts
) -> Iterator[Sentence]:
    """The first sentences about a group, as the terminal prints them."""
    rebalances = own["longest"]
    tables = {
        "group_states": [row | {"group_id": group["group_id"]} for row in group["states"] or ()],
        "rebalances": rebalances,
        "epochs": own["longest_epochs"],
        "rebalance_causes": own["longest_causes"],
        "members": own["members"],
    }
    longest = None
    if rebalances:
        counted, has_creation = rebalances[0]["counted"], rebalances[0]["has_creation"]
        longest = longest_of(rebalances, counted, has_creation=has_creation)
    return worst_rebalances(tables, longest, facts.log_end_ms)


def _facts(group: TableRow) -> str:
    parts = [
        visible(group["protocol"] or words.NOTHING),
        state_text(group),
        words.counted(group["rebalances"], "rebalance"),
        f"rebalancing for {words.likely(bounds_in(group, 'not_stable'))} in total",
    ]
    unowned = bounds_in(group, "unowned_partition")
    if unowned is not None and unowned.most != 0 and words.is_known(unowned):
        lasted = words.likely(unowned)
        parts.append(f"partitions without owner for {lasted}, summed over partitions")
    parts += [
        words.counted(group[severity], f"{severity} finding")
        for severity in ("critical", "warning")
        if group[severity]
    ]
    return " · ".join(parts)


def state_text(group: TableRow) -> str:
    """`Stable (3)`: the state at the end of the log, with its number of members."""
    if group["states"] is None:
        return words.NOTHING
    return cell_of(present_of(group["states"]))


def _held_up(row: TableRow, names: MemberNames) -> dict[str, Any]:
    name = names.of(row["group_id"], row["member_id"]) if row["member_id"] else "coordinator"
    return {
        "name": shown(name),
        "rebalances": row["rebalances"],
        "lasted": words.duration(row["lasted_ms"]),
        "lasted_ms": row["lasted_ms"],
        "longest": words.duration(row["longest_ms"]),
        "longest_ms": row["longest_ms"],
        "why": "; ".join(PREDICATES[why] for why in row["why"].split()),
    }


def _rebalances(own: Mapping[str, list[TableRow]], names: MemberNames) -> list[dict[str, Any]]:
    """The newest first."""
    triggers = {(row["incarnation"], row["epoch"]): row["member_id"] for row in own["epochs"]}
    rows = own["rebalances"]
    latest = rows[-REBALANCES_LISTED:]
    longest = sorted(rows[:-REBALANCES_LISTED], key=longest_first)
    chosen = {id(row) for row in (*latest, *longest[:LONGEST_LISTED])}
    return [
        rebalance_row(
            row,
            names,
            triggers.get((row["incarnation"], row["first_epoch"])),
            link(row["group_id"], row),
        )
        for row in reversed(rows)
        if id(row) in chosen
    ]


def _unowned(
    group_id: str,
    story: tuple[int, int, str | None, str | None],
    alike: Sequence[Gap],
    names: MemberNames,
) -> dict[str, Any]:
    from_ms, to_ms, before, after = story
    return {
        "until": words.moment(to_ms),
        "lasted": words.duration(to_ms - from_ms),
        "lasted_ms": to_ms - from_ms,
        "partitions": shown(partitions_text(gap.row for gap in alike)),
        "before": shown(names.of(group_id, before)),
        "after": shown(names.of(group_id, after)),
    }


def _epoch(row: TableRow, names: MemberNames) -> dict[str, Any]:
    took = row["outcome"]
    if took == "converged" and is_classic(row):
        took = words.bounds(bounds_in(row, "not_stable"))
    elif took == "converged":
        took = words.duration(row["convergence_ms"])
    return {
        "began": words.moment(row["at_ms"]),
        "number": row["epoch"],
        "cause": causes.label(row["primary_cause"]) if row["primary_cause"] else "",
        "certainty": row["primary_certainty"] or "",
        "mark": causes.mark(row["primary_certainty"]),
        "detail": shown(names.in_sentence(row["group_id"], detail_of(row))),
        "meanwhile": ", ".join(map(causes.label, (row["meanwhile"] or "").split())),
        "took": took,
        "took_ms": row["not_stable_estimate_ms"] if is_classic(row) else row["convergence_ms"],
        "members": " ".join([words.number(row["members"]), *came_and_went(row, _MINUS)]),
        "moved": words.number(row["partitions_moved"] or None),
    }


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
        words.severities(group) or words.NOTHING,
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
