"""The full-screen view of `watch`: what goes on and who is waited for, groups by trouble, what ended last."""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from rebalance_audit.audit.rows import MEMBERS
from rebalance_audit.cli.times import clock_ms
from rebalance_audit.cli.watched_groups import WatchedGroup, WatchedGroups
from rebalance_audit.figures.present import waits
from rebalance_audit.report import causes
from rebalance_audit.report.lag_text import GroupLag
from rebalance_audit.report.names import MemberNames
from rebalance_audit.report.terminal.console import Visible
from rebalance_audit.report.terminal.layout import cell
from rebalance_audit.report.verdict import Verdicts
from rebalance_audit.sentences import words
from rebalance_audit.sentences.sentence import Name, Sentence
from rebalance_audit.visible import shortened

OPEN_SHARE: Final = 3
"""At most one line in so many is for what goes on."""
ENDED_SHARE: Final = 10
"""One rebalance that ended for so many lines."""
FRAME_LINES: Final = 8
"""Heads, blank lines, the last one."""
WRAP_COLUMNS: Final = 12
"""Columns that a line loses where it breaks between words."""
ENDED_MAX: Final = 10


class WatchScreen:
    """Draws the groups as they are now; `ended` takes the sentence of each rebalance."""

    def __init__(self, source: str, groups: WatchedGroups) -> None:
        self._source = source
        self._groups = groups
        self._ended: deque[str] = deque(maxlen=ENDED_MAX)
        self._note = ""
        self.log_end_ms: int | None = None
        """Time of the newest record (epoch ms)."""

    def ended(self, sentence: str) -> None:
        """A rebalance is over."""
        self._ended.append(sentence)

    def note(self, note: str) -> None:
        """How far the log has been read, or what is waited for."""
        self._note = note

    def drawn(self, now_ms: int, width: int, height: int) -> RenderableType:
        """The screen at a moment (epoch ms), for that many columns and lines."""
        groups = self._groups.by_trouble()
        stuck = [group for group in groups if group.is_stuck]
        going_on = sum(group.is_rebalancing for group in groups)
        head = cell(self._source, "bold")
        head.append(
            f"  {words.clock(now_ms)} UTC, {words.counted(len(groups), 'group')}, {going_on:,} rebalancing",
            "default",
        )
        if self.log_end_ms is not None:
            head.append(f", log ends at {words.clock(self.log_end_ms)}", "default")
        notes = [cell(self._note, "yellow")] if self._note else []
        lines = [_waiting(group, now_ms) for group in stuck]
        ended = [
            cell(f"- {sentence}") for sentence in list(self._ended)[-(height // ENDED_SHARE) :]
        ]
        for text in (*lines, *ended):
            text.truncate(2 * width, overflow="ellipsis")
        while _height(lines, width) > height // OPEN_SHARE:
            lines.pop()
        room = height - FRAME_LINES - _height([*notes, *lines, *ended], width)
        parts: list[RenderableType] = [head, *notes, *lines, Text()]
        parts.append(_table(groups, self._groups.lags, max(1, room), now_ms))
        if ended:
            parts += [Text(), Text("Ended last", "bold"), *reversed(ended)]
        parts.append(Text("Ctrl-C ends.", "dim"))
        return Group(*parts)

    @contextmanager
    def shown(self, console: Console) -> Iterator[Live]:
        """On the whole terminal while inside; it is as before afterwards."""
        with Live(console=console, screen=True, auto_refresh=False) as live:
            yield live

    def refresh(self, live: Live) -> None:
        """Draw it now."""
        size = live.console.size
        drawn = self.drawn(clock_ms(), size.width, size.height)
        live.update(Visible(drawn), refresh=True)


def _waiting(group: WatchedGroup, now_ms: int) -> Text:
    """For whom the group waits, be it in a rebalance that goes on or without one."""
    updates = group.updates
    assert updates is not None
    assert group.present is not None
    said = list(waits(group.present, Name(group.group_id), group.open, now_ms))
    if group.open is not None:
        said.append(Verdicts(updates.tables).set_off(group.open))
    names = MemberNames(updates.tables[MEMBERS])
    return cell(
        names.in_sentence(group.group_id, Sentence.joined(" ", filter(None, said))), "bold yellow"
    )


def _height(texts: Sequence[Text], width: int) -> int:
    """Lines that they take on a screen."""
    return sum(max(1, -(-text.cell_len // (width - WRAP_COLUMNS))) for text in texts)


def _table(
    groups: list[WatchedGroup], lags: Mapping[str, GroupLag], room: int, now_ms: int
) -> Table:
    """A line for each group; with its lag if any is known."""
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold", expand=True)
    for name, right in (
        ("Group", False),
        ("State", False),
        ("Rebalances", True),
        ("Not stable", True),
        *([("Lag", True), ("Waiting", True), ("Records/s", True)] if lags else []),
        ("Mostly", False),
    ):
        justify = "right" if right else "left"
        table.add_column(name, justify=justify, no_wrap=True, overflow="ellipsis")  # type: ignore[arg-type]
    for group in groups[:room]:
        present, totals = group.present, group.totals(now_ms)
        cause, times = totals.commonest_cause
        table.add_row(
            cell(shortened(group.group_id), "bold"),
            cell("" if present is None else present.cell(), "yellow" if group.is_stuck else ""),
            f"{totals.causes.total():,}",
            words.duration(totals.not_stable.likely),
            *(_lag_cells(lags.get(group.group_id)) if lags else []),
            "" if cause is None else f"{causes.label(cause)} {times:,}×",
        )
    if len(groups) > room:
        table.caption = f"and {words.counted(len(groups) - room, 'more group')}"
    return table


def _lag_cells(lag: GroupLag | None) -> list[str]:
    """Records, how long the oldest has been waiting, and the commit rate."""
    if lag is None or not lag.total.partitions:
        return ["", "", ""]
    total = lag.total
    waiting = total.least_ms if total.most_ms is None else total.most_ms
    rate = "" if total.per_second is None else f"{total.per_second:,.0f}"
    return [f"{total.records.least:,}", words.duration(waiting) if waiting else "", rate]
