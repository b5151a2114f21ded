"""One group in detail: its epochs with causes and evidence, how each member reached them, who its members were."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Final

from rich.text import Text

from rebalance_audit.figures import present
from rebalance_audit.figures.groups import GroupSummary, summaries
from rebalance_audit.figures.rows import TableRow, Tables, unowned_of
from rebalance_audit.report import causes, row_sentences
from rebalance_audit.report.answer import answer
from rebalance_audit.report.epoch_sentences import came_and_went, outcome, partitions_text
from rebalance_audit.report.terminal.extent import Extent, has_events
from rebalance_audit.report.terminal.findings import (
    print_deploys_of_group,
    print_evidence,
    print_findings_in_detail,
)
from rebalance_audit.report.terminal.layout import ConsoleReport, cell, title_of, two_lines
from rebalance_audit.report.terminal.overview import SHOWN, print_rebalances, protocol
from rebalance_audit.report.timeline import by_story, gaps
from rebalance_audit.sentences import words
from rebalance_audit.visible import shortened, visible

MEMBERS_SHOWN: Final = 10
"""Members of one epoch, the slowest first, and of the group, the latest first, unless all are wanted."""


def print_group(layout: ConsoleReport, tables: Tables, group_id: str, extent: Extent) -> None:
    """The answer, then the group's story, the newest first; `tables` may hold other groups."""
    own: Tables = {
        name: [row for row in rows if row.get("group_id") == group_id]
        for name, rows in tables.items()
    }
    found = summaries(own)
    if not found:
        layout.line(f"{shortened(group_id)}: the log has only offset commits of this group.")
        return
    layout.line(_headline(found[0]))
    own = extent.narrowed(own)
    if extent.window.is_limited and not has_events(own):
        layout.line("  It had no rebalance in that window.")
        return
    for sentence in answer(own, layout.end_ms):
        layout.paragraph(layout.names.in_sentence(group_id, sentence), indent=2)
    print_findings_in_detail(layout, own, extent)
    print_deploys_of_group(layout, own, group_id)
    print_rebalances(layout, own, own["rebalances"], limit=extent.rows(SHOWN), with_group=False)
    if extent.every_epoch or extent.everything:
        _epochs(layout, own, found[0].epoch_noun, extent)
    else:
        noun = found[0].epoch_noun
        layout.line(Text(f"--epochs shows every {noun} with its causes and records", "dim"))
    print_ownership_gaps(layout, own["ownership"], own["rebalances"], extent)
    _members(layout, own["members"], extent)
    _glossary(layout, own["rebalance_causes"])
    layout.words()


def _headline(group: GroupSummary) -> Text:
    lives = f" of its life {group.incarnations}" if group.incarnations > 1 else ""
    text = cell(shortened(group.group_id), "bold")
    text.append(
        f": a {protocol(group)} group, {present.group_text(group.present)} at the end{lives}.",
        "not bold",
    )
    if group.last_epoch is not None:
        assignor = f", assignor {shortened(group.assignor)}" if group.assignor else ""
        last = visible(f" Last {group.epoch_noun} {group.last_epoch}{assignor};")
        text.append(last, "not bold")
        text.append(f" partition {group.log_partition} of __consumer_offsets.", "not bold")
    return text


# --- epochs --------------------------------------------------------------------------------------


def _epochs(layout: ConsoleReport, own: Tables, noun: str, extent: Extent) -> None:
    of_epoch: dict[tuple[str, int, int], list[TableRow]] = defaultdict(list)
    for name in ("rebalance_causes", "convergence"):
        for row in own[name]:
            of_epoch[name, row["incarnation"], row["epoch"]].append(row)
    newest_first = sorted(
        own["epochs"], key=lambda row: (row["incarnation"], row["epoch"]), reverse=True
    )
    shown = newest_first[: extent.at_most]
    for epoch in shown:
        life, number = epoch["incarnation"], epoch["epoch"]
        layout.line()
        layout.line(_epoch_line(layout, epoch))
        _join_phase(layout, epoch)
        for row in of_epoch["rebalance_causes", life, number]:
            _cause(layout, row, extent)
        _convergence(layout, epoch, of_epoch["convergence", life, number], extent)
    if len(shown) < len(newest_first):
        earlier = words.counted(len(newest_first) - len(shown), f"earlier {noun}")
        layout.line()
        layout.line(f"… and {earlier}")


def _epoch_line(layout: ConsoleReport, epoch: TableRow) -> Text:
    word = "Generation" if epoch["protocol"] == "classic" else "Epoch"
    text = Text(f"{word} {epoch['epoch']}", "bold")
    text.append(f"  {layout.moment(epoch['started_at'])}  {outcome(epoch)}", "not bold")
    facts = []
    if epoch["members"] is not None:
        changes = came_and_went(epoch)
        of = f" ({' '.join(changes)})" if changes else ""
        facts.append(words.counted(epoch["members"], "member") + of)
    if epoch["partitions"]:
        facts.append(words.counted(epoch["partitions"], "partition"))
    if epoch["partitions_moved"]:
        facts.append(f"{epoch['partitions_moved']:,} moved")
    unowned = unowned_of(epoch)
    if unowned is not None and unowned.most != 0:
        facts.append(f"unowned {words.bounds(unowned)}")
    if epoch["completeness"] == "gap":
        facts.append("records missing")
    if facts:
        text.append(f"; {', '.join(facts)}", "not bold")
    return text


def _join_phase(layout: ConsoleReport, epoch: TableRow) -> None:
    earliest, latest = epoch["join_started_earliest"], epoch["join_started_latest"]
    if latest is None:
        return
    since = f"between {layout.moment(earliest)} and" if earliest is not None else "at the latest"
    if earliest == latest:
        since = "at"
    text = f"joining began {since} {layout.moment(latest)}"
    layout.paragraph(text, "dim", indent=2)


def _cause(layout: ConsoleReport, row: TableRow, extent: Extent) -> None:
    text = causes.marked(row["certainty"])
    lead = "meanwhile " if causes.is_meanwhile(row) else ""
    text.append(f"{lead}{causes.label(row['cause'])}, {row['certainty']}: ", "bold default")
    detail = layout.names.in_sentence(row["group_id"], row_sentences.detail_of(row))
    text.append(visible(detail), "not bold default")
    layout.paragraph(text, indent=2)
    if row["alternatives"]:
        others = ", ".join(map(causes.label, row["alternatives"]))
        layout.paragraph(f"not excluded: {others}", "dim", indent=4)
    print_evidence(layout, row, extent, "; --all shows them")


def _convergence(
    layout: ConsoleReport, epoch: TableRow, rows: Sequence[TableRow], extent: Extent
) -> None:
    if epoch["protocol"] == "classic" or (
        not epoch["convergence_ms"] and epoch["outcome"] == "converged"
    ):
        return  # one record gave all members their assignment
    slowest_first = sorted(rows, key=lambda row: -(row["latency_ms"] or 0))
    shown = slowest_first[: extent.rows(MEMBERS_SHOWN)]
    if not slowest_first:
        return
    group_id = epoch["group_id"]
    table = layout.table(
        "Member", "Reached", "Took", "Gave up", "Waited for", "Partitions", right=("Took",)
    )
    for row in shown:
        table.add_row(
            cell(layout.names.of(group_id, row["member_id"])),
            layout.moment(row["reached_at"]) if row["outcome"] == "reached" else row["outcome"],
            words.duration(row["latency_ms"]),
            words.NOTHING
            if row["revoke_ms"] is None
            else f"{words.number(row['partitions_revoked'])} in {words.duration(row['revoke_ms'])}",
            _waited_for(layout, row),
            f"{words.number(row['partitions_before'])} → {words.number(row['partitions_after'])}",
        )
    layout.print_table(table, indent=2)
    if len(shown) < len(rows):
        layout.line(f"  … and {words.counted(len(rows) - len(shown), 'faster member')}")


def _waited_for(layout: ConsoleReport, row: TableRow) -> Text:
    if not row["waited_ms"]:
        return cell(words.NOTHING)
    members = ", ".join(layout.names.of(row["group_id"], who) for who in row["waited_for"] or ())
    return cell(f"{members or 'the assignment'}, {words.duration(row['waited_ms'])}")


# --- members, causes -----------------------------------------------------------------------------


def _members(layout: ConsoleReport, members: Sequence[TableRow], extent: Extent) -> None:
    if not members:
        return
    latest_first = sorted(members, key=lambda row: -(row["last_seen_at"] or 0))
    shown = latest_first[: extent.rows(MEMBERS_SHOWN)]
    layout.title(title_of("Members", len(shown), len(members), "latest"))
    table = layout.table("Member", "From", "To", "Host")
    for row in shown:
        name = layout.names.of(row["group_id"], row["member_id"])
        member_id = shortened(row["member_id"])
        table.add_row(
            two_lines(cell(name), "" if name == member_id else member_id),
            layout.moment(row["first_seen_at"]),
            _end_of(layout, row),
            cell(shortened((row["client_host"] or words.NOTHING).removeprefix("/"))),
        )
    layout.print_table(table)


def _end_of(layout: ConsoleReport, row: TableRow) -> Text:
    if row["left_at"] is None:
        return cell(words.NOTHING)
    how = causes.marked(row["left_certainty"]).append(causes.label(row["left_how"]), "default")
    return two_lines(layout.moment(row["left_at"]), how)


def _glossary(layout: ConsoleReport, cause_rows: Sequence[TableRow]) -> None:
    entries = causes.glossary(row["cause"] for row in cause_rows)
    if not entries:
        return
    layout.title("What the causes mean")
    for name, sentence in entries:
        text = Text(f"{name}  ", "bold")
        text.append(sentence, "not bold dim")
        layout.line(text)
    layout.line(Text(row_sentences.LEGEND, "dim"))
    if any(map(row_sentences.rests_on_log, cause_rows)):
        layout.line(Text(row_sentences.LEGEND_OF_LOGS, "dim"))


def print_ownership_gaps(
    layout: ConsoleReport,
    ownership: Sequence[TableRow],
    rebalances: Sequence[TableRow],
    extent: Extent,
) -> None:
    """A line for the partitions that were without owner together; prints nothing where there are none.

    What goes on lasts until the log ends.
    """
    together = by_story(gaps(ownership, rebalances, layout.end_ms))
    if not together:
        return
    shown = list(together.items())[: extent.rows(SHOWN)]
    layout.title(title_of("Partitions without owner", len(shown), len(together), "longest"))
    table = layout.table("Until", "Unowned", "Partitions", "Before", "After", right=("Unowned",))
    for (from_ms, to_ms, before, after), found in shown:
        group_id = found[0].row["group_id"]
        table.add_row(
            layout.moment(to_ms),
            words.duration(to_ms - from_ms),
            cell(layout.names.in_sentence(group_id, partitions_text(gap.row for gap in found))),
            cell(layout.names.of(group_id, before)),
            cell(layout.names.of(group_id, after)),
        )
    layout.print_table(table)
