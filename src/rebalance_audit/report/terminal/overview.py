"""The overview: how many groups, which of them were unsettled, and why each rebalance happened."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Final

from rich.table import Table
from rich.text import Text

from rebalance_audit.audit.verdicts.cause import Certainty
from rebalance_audit.bounds import total_of
from rebalance_audit.figures import present
from rebalance_audit.figures.groups import GroupSummary, summaries
from rebalance_audit.figures.rows import (
    RowKey,
    TableRow,
    Tables,
    began_ms,
    duration_of,
    epoch_key,
    is_classic,
    lasted,
    longest_first,
    rank_of,
    unowned_of,
)
from rebalance_audit.report import causes
from rebalance_audit.report.answer import worst_of
from rebalance_audit.report.terminal.extent import Extent
from rebalance_audit.report.terminal.findings import print_deploys, print_findings
from rebalance_audit.report.terminal.layout import ConsoleReport, cell, title_of, two_lines
from rebalance_audit.report.verdict import (
    Verdicts,
    culprit_text,
    epochs_of,
    holder_names,
    rebalance_heading,
)
from rebalance_audit.sentences import words
from rebalance_audit.sentences.sentence import Name, Sentence
from rebalance_audit.visible import shortened, visible

SHOWN: Final = 20
"""Rows of each table unless all are wanted."""
WORST_SHOWN: Final = 3
WORTH_A_SENTENCE_MS: Final = 2000
"""A shorter rebalance, in milliseconds, gets no sentence."""


def print_overview(
    layout: ConsoleReport, tables: Tables, extent: Extent, *, rebalances: int = SHOWN
) -> None:
    """Headline, groups, rebalances; usually the longest SHOWN groups and `rebalances`."""
    groups = summaries(tables)
    if not groups:
        layout.line(
            "This log has no records of groups that could be read, other than offset commits."
        )
        return
    worst = worst_of(tables, layout.end_ms)
    layout.paragraph(layout.names.in_sentence(worst.group_id, worst.sentence), "bold", indent=0)
    layout.line(headline(groups))
    print_findings(layout, tables, extent)
    _worst_rebalances(layout, tables)
    print_deploys(layout, tables, extent)
    shown = groups[: extent.rows(SHOWN)]
    layout.title(title_of("Groups", len(shown), len(groups), "most unsettled"))
    layout.print_first_fitting(_wide_groups(layout, shown), _narrow_groups(layout, shown))
    _causes(layout, tables)
    print_rebalances(
        layout,
        tables,
        tables["rebalances"],
        limit=extent.rows(rebalances),
        with_group=True,
    )
    layout.words()


def _worst_rebalances(layout: ConsoleReport, tables: Tables) -> None:
    """The longest rebalance of each of the three groups with the longest ones, with who and why; what goes on first."""
    verdicts = Verdicts(tables, layout.end_ms)
    worst: dict[str, TableRow] = {}
    for row in sorted(tables["rebalances"], key=_longest_first):
        if max(rank_of(row)) >= WORTH_A_SENTENCE_MS and len(worst) < WORST_SHOWN:
            worst.setdefault(row["group_id"], row)
    if not worst:
        return
    layout.title("Longest rebalances")
    for group_id, row in worst.items():
        heading, verdict = rebalance_heading(row), verdicts.short(row)
        text = Sentence(("- ", Name(group_id), ": ", heading, ". ", verdict))
        layout.line(layout.names.in_sentence(group_id, text))


def headline(groups: Sequence[GroupSummary]) -> str:
    """One sentence with the totals."""
    not_stable = total_of(group.not_stable for group in groups)
    owning = [group.unowned for group in groups if group.unowned is not None]
    unowned = (
        f"; partitions without owner {words.for_time(total_of(owning))}, summed over partitions"
        if owning
        else ""
    )
    still = sum(group.open_since_ms is not None for group in groups)
    going_on = f" ({still:,} still going on at the end)" if still else ""
    return (
        f"{words.counted(len(groups), 'group')}, "
        f"{words.counted(sum(group.epochs for group in groups), 'epoch')}, "
        f"{words.counted(sum(group.rebalances for group in groups), 'rebalance')}{going_on}; "
        f"not stable {words.for_time(not_stable)}, summed over groups{unowned}"
    )


def _wide_groups(layout: ConsoleReport, groups: Sequence[GroupSummary]) -> Table:
    """A line for each group."""
    numbers = ("Rebalances", "Not stable", "Longest", "Unowned")
    table = layout.table(
        "Group", "Protocol", "State", *numbers, "Mostly", "Held up by", right=numbers
    )
    for group in groups:
        table.add_row(
            cell(shortened(group.group_id), "bold"),
            cell(protocol(group)),
            present.cell_of(group.present),
            f"{group.rebalances:,}",
            words.bounds(group.not_stable),
            words.bounds(group.longest),
            words.bounds(group.unowned),
            causes.mostly(group.commonest_cause, group.commonest_cause_times),
            cell(_culprit(layout, group)),
        )
    return table


def _narrow_groups(layout: ConsoleReport, groups: Sequence[GroupSummary]) -> Table:
    """Two lines for each group."""
    table = layout.table(
        "Group", "Rebalances", "Not stable", "Mostly", right=("Rebalances", "Not stable")
    )
    for group in groups:
        culprit = _culprit(layout, group)
        table.add_row(
            two_lines(
                cell(shortened(group.group_id), "bold"),
                f"{protocol(group)}, {present.cell_of(group.present)}",
            ),
            two_lines(f"{group.rebalances:,}", words.counted(group.epochs, group.epoch_noun)),
            two_lines(
                words.bounds(group.not_stable),
                f"longest {words.bounds(group.longest)}" if group.longest else "",
            ),
            two_lines(
                causes.mostly(group.commonest_cause, group.commonest_cause_times),
                f"held up by {culprit}" if group.culprit else "",
            ),
        )
    return table


def _causes(layout: ConsoleReport, tables: Tables) -> None:
    """How often each cause was the primary cause of an epoch, and with what certainty."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for row in tables["epochs"]:
        if row["primary_cause"] is not None:
            counts[row["primary_cause"]][row["primary_certainty"]] += 1
    numbers = ("Epochs", *(f"{causes.mark(certainty)} {certainty}" for certainty in Certainty))
    table = layout.table("Cause", *numbers, right=numbers)
    for cause, certainties in sorted(counts.items(), key=lambda item: (-item[1].total(), item[0])):
        shares = (
            f"{certainties[certainty]:,}" if certainties[certainty] else ""
            for certainty in Certainty
        )
        table.add_row(causes.label(cause), f"{certainties.total():,}", *shares)
    layout.title("Causes")
    layout.print_table(table)


def print_rebalances(
    layout: ConsoleReport,
    tables: Tables,
    rebalances: Sequence[TableRow],
    *,
    limit: int | None,
    with_group: bool,
) -> None:
    """Of all groups the longest first, of one the newest; no more than `limit`."""
    if not rebalances:
        return
    triggers = trigger_members(tables)
    if with_group:
        which, ranked = "longest", sorted(rebalances, key=_longest_first)
    else:
        which, ranked = "latest", sorted(rebalances, key=_when, reverse=True)
    shown = ranked[:limit]
    layout.title(title_of("Rebalances", len(shown), len(rebalances), which) + layout.on_day())
    group_column = ("Group",) if with_group else ()
    right = ("Took", "Epochs", "Moved", "Unowned")
    after = ("Epochs", "Took", "Cause", "Held up by", "Moved", "Unowned")
    wide = layout.table("Start", *group_column, *after, right=right)
    narrow = layout.table("Start", *group_column, "Took", "Cause", right=right)
    for row in shown:
        start, (estimate, between) = layout.moment(began_ms(row)), _took(row)
        group_cell = (cell(shortened(row["group_id"])),) if with_group else ()
        held_up = ", ".join(holder_names(row, layout.names))
        wide.add_row(
            start,
            *group_cell,
            epochs_of(row),
            Text.assemble(estimate, (f" ({between.plain})", "dim")) if between.plain else estimate,
            _cause(layout, row, triggers),
            cell(held_up or words.NOTHING),
            words.number(row["partitions_moved"]),
            words.bounds(unowned_of(row)),
        )
        narrow.add_row(
            start,
            *group_cell,
            two_lines(estimate, between),
            two_lines(_cause(layout, row, triggers), _aside(row, held_up)),
        )
    layout.print_first_fitting(wide, narrow)
    legend = causes.certainty_legend()
    if any(map(is_classic, shown)):
        legend += "  – bounds: no record says when a classic group began to rebalance"
    layout.line(Text(legend, "dim"))


def _longest_first(rebalance: TableRow) -> tuple[tuple[bool, int, int], tuple[int, str, int, int]]:
    return longest_first(rebalance), _when(rebalance)


def _when(rebalance: TableRow) -> tuple[int, str, int, int]:
    """Sort key: order of time, the same for the same rows in any order."""
    return (
        rebalance["started_at"] or 0,
        rebalance["group_id"],
        rebalance["incarnation"],
        rebalance["rebalance_seq"],
    )


def trigger_members(tables: Tables) -> dict[RowKey, str | None]:
    """Group, incarnation and epoch -> the member that triggered its primary cause; None where no member did."""
    return {
        epoch_key(row): row["member_id"]
        for row in tables["rebalance_causes"]
        if row["cause_seq"] == 0
    }


def protocol(group: GroupSummary) -> str:
    """`consumer`, `classic to consumer` for a group that changed its protocol, `classic (connect)`."""
    kind = f" ({shortened(group.protocol_type)})" if group.protocol_type else ""
    return (" to ".join(group.protocols) or words.NOTHING) + kind


def _culprit(layout: ConsoleReport, group: GroupSummary) -> str:
    if group.culprit is None:
        return words.NOTHING
    name = layout.names.of(group.group_id, group.culprit.member_id)
    return culprit_text(name, group.culprit.ms)


def _cause(
    layout: ConsoleReport, row: TableRow, triggers: dict[tuple[str, int, int], str | None]
) -> Text:
    if row["primary_cause"] is None:
        return cell(words.NOTHING)
    text = causes.marked(row["primary_certainty"])
    sentence = causes.label(row["primary_cause"])
    member_id = triggers.get((row["group_id"], row["incarnation"], row["first_epoch"]))
    if member_id:
        sentence += f": {layout.names.of(row['group_id'], member_id)}"
    if others := causes.others_of(row):
        sentence += f" (and {others})"
    return text.append(visible(sentence), "default")


def _took(row: TableRow) -> tuple[Text, Text]:
    """The best estimate, and between what it lies."""
    if row["outcome"] == "open":
        so_far = lasted(row)
        return cell("still going on", "yellow"), cell(words.best_estimate(so_far) if so_far else "")
    estimate, between = words.estimate_and_bounds(duration_of(row))
    return cell(estimate), cell(between)


def _aside(row: TableRow, held_up: str) -> str:
    parts = []
    if held_up:
        parts.append(f"held up by {held_up}")
    if row["partitions_moved"]:
        parts.append(f"{row['partitions_moved']:,} moved")
    unowned = unowned_of(row)
    if unowned is not None and unowned.most != 0:
        parts.append(f"unowned {words.bounds(unowned)}")
    return "; ".join(parts)
