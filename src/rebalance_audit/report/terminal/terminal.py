"""The audit on a terminal or in a file: what was read, what happened, what was odd."""

from collections.abc import Iterator, Sequence
from typing import Final

from rich.console import Console

from rebalance_audit.audit.group.classic_members import SENTENCES
from rebalance_audit.audit.log_facts import LogFacts
from rebalance_audit.figures.rows import Tables
from rebalance_audit.report.terminal.extent import Extent, has_events
from rebalance_audit.report.terminal.group_detail import print_group
from rebalance_audit.report.terminal.layout import ConsoleReport, cell
from rebalance_audit.report.terminal.overview import print_overview
from rebalance_audit.sentences import words
from rebalance_audit.visible import shortened

NOTES_SHOWN: Final = 10


def print_report(
    console: Console,
    tables: Tables,
    facts: LogFacts,
    group_ids: Sequence[str],
    extent: Extent,
    now_ms: int | None = None,
) -> None:
    """The overview, or each group of `group_ids` in detail; `now_ms` (epoch ms): says how old the log's end is."""
    layout = ConsoleReport(console, tables, facts.last_ms)
    _read(layout, facts, now_ms)
    _answer(layout, tables, group_ids, extent)
    notes = list(_warnings(facts))
    if notes:
        layout.title("What to know about this log")
    for note in notes:
        layout.line(f"- {note}")


def print_lake_report(
    console: Console,
    tables: Tables,
    source: str,
    group_ids: Sequence[str],
    extent: Extent,
    end_ms: int | None,
) -> None:
    """Print the report of a lake's gold tables, which `source` names; they have no facts about the files."""
    layout = ConsoleReport(console, tables, end_ms)
    layout.line(cell(source, "bold"))
    _answer(layout, tables, group_ids, extent)


def _answer(
    layout: ConsoleReport,
    tables: Tables,
    group_ids: Sequence[str],
    extent: Extent,
) -> None:
    kept = extent.narrowed(tables)
    for sentence in extent.left_out(tables, kept, named=bool(group_ids)):
        layout.line(cell(sentence, "bold"))
    if group_ids:
        for group_id in group_ids:
            layout.line()
            print_group(layout, tables, group_id, extent)
    elif extent.window.is_limited and not has_events(kept):
        layout.line("No rebalance began in that window.")
    else:
        print_overview(layout, kept, extent)


def _read(layout: ConsoleReport, facts: LogFacts, now_ms: int | None) -> None:
    layout.line(cell(facts.source, "bold"))
    counts = (
        f"{words.counted(facts.records, 'record')}, {facts.offset_commits:,} of them offset commits, in "
        f"{words.counted(facts.log_partitions, 'partition')} ({words.size(facts.size_bytes)})"
    )
    if facts.first_ms is not None and facts.last_ms is not None:
        first, last = words.moment(facts.first_ms), words.moment(facts.last_ms)
        counts += f", since {first[:-4]} UTC. Log ends at {last[:-4]} UTC"
        if now_ms is not None and now_ms >= facts.last_ms:
            counts += f" ({words.ago(now_ms - facts.last_ms)})"
    layout.line(f"{counts}.")


def _warnings(facts: LogFacts) -> Iterator[str]:
    """What a reader should know before trusting the answer."""
    for reason, times in facts.undecodable.items():
        records = words.counted(times, "group record")
        yield f"{records} could not be decoded ({reason.replace('_', ' ')}); `decode` prints them."
    for group_id, kinds in facts.anomalies.items():
        met = ", ".join(f"{kind.replace('_', ' ')} {times:,}×" for kind, times in kinds.items())
        yield f"{shortened(group_id)}: records out of place ({met})."
    for group_id, parts in facts.unread.items():
        met = "; ".join(f"{times:,} {SENTENCES[part]}" for part, times in parts.items())
        yield f"{shortened(group_id)}: {met}."
    yield from facts.notes[:NOTES_SHOWN]
    if len(facts.notes) > NOTES_SHOWN:
        more = words.counted(len(facts.notes) - NOTES_SHOWN, "more note")
        yield f"… and {more} on the files."
    if facts.unfinished_ends:
        ends = words.counted(facts.unfinished_ends, "segment ends", "segments end")
        yield f"{ends} in reserved space or half a batch, as files of a running broker do."
