"""The full-screen view of `watch`: what goes on and who is waited for, groups by trouble, what ended last."""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from rebalance_audit.audit.rows import CONVERGENCE, EPOCHS, MEMBERS, Row
from rebalance_audit.cli.times import clock_ms
from rebalance_audit.cli.watched_groups import WatchedGroup, WatchedGroups
from rebalance_audit.report import causes
from rebalance_audit.report.lag_text import GroupLag
from rebalance_audit.report.names import MemberNames
from rebalance_audit.report.terminal.console import Visible
from rebalance_audit.report.terminal.layout import cell
from rebalance_audit.report.verdict import Verdicts
from rebalance_audit.sentences import words
from rebalance_audit.sentences.sentence import Sentence
from rebalance_audit.visible import shortened, visible

OPEN_SHARE: Final = 3
"""At most one line in so many is for what goes on."""
ENDED_SHARE: Final = 10
"""One rebalance that ended for so many lines."""
FRAME_LINES: Final = 8
"""Heads, blank lines, the last one."""
WRAP_COLUMNS: Final = 12
"""Columns that a line loses where it breaks between words."""
ENDED_MAX: Final = 10
MEMBERS_SHOWN: Final = 8


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
        going_on = [group for group in groups if group.open is not None]
        head = cell(self._source, "bold")
        head.append(
            f"  {words.clock(now_ms)} UTC, {words.counted(len(groups), 'group')}, {len(going_on):,} rebalancing",
            "default",
        )
        if self.log_end_ms is not None:
            head.append(f", log ends at {words.clock(self.log_end_ms)}", "default")
        notes = [cell(self._note, "yellow")] if self._note else []
        lines = [line for group in going_on for line in _running(group, now_ms)]
        ended = [
            cell(f"- {sentence}") for sentence in list(self._ended)[-(height // ENDED_SHARE) :]
        ]
        for text in (*lines, *ended):
            text.truncate(2 * width, overflow="ellipsis")
        while _height(lines, width) > height // OPEN_SHARE:
            lines.pop()
        room = height - FRAME_LINES - _height([*notes, *lines, *ended], width)
        parts: list[RenderableType] = [head, *notes, *lines, Text()]
        parts.append(_table(groups, self._groups.lags, max(1, room)))
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


def _running(group: WatchedGroup, now_ms: int) -> list[Text]:
    """The rebalance that goes on: one line for it, one for each member that is not there yet."""
    rebalance, updates = group.open, group.updates
    assert rebalance is not None
    assert updates is not None
    names = MemberNames(updates.tables[MEMBERS])
    verdicts = Verdicts(updates.tables)
    verdict = Sentence.joined(" ", [*verdicts.ways(rebalance), verdicts.set_off(rebalance)])
    began = rebalance["started_at"]
    since = "" if began is None else f" for {words.duration(max(0, now_ms - began))}"
    head = cell(f"{shortened(group.group_id)} rebalances{since}. ", "bold yellow")
    head.append(visible(names.in_sentence(group.group_id, verdict)), "default")
    lines = [head]
    rows = _present_rows(updates.tables, rebalance)
    awaited = {member_id for row in rows for member_id in row["waited_for"] or ()}
    late = sorted(
        (row for row in rows if row["outcome"] == "open"),
        key=lambda row: (row["member_id"] not in awaited, row["started_at"] or 0),
    )
    for row in late[:MEMBERS_SHOWN]:
        who = names.of(group.group_id, row["member_id"])
        style = "red" if row["member_id"] in awaited else "default"
        lines.append(cell(f"  {who} {_doing(row, names, now_ms)}", style))
    if len(late) > MEMBERS_SHOWN:
        lines.append(Text(f"  and {words.counted(len(late) - MEMBERS_SHOWN, 'more member')}"))
    return lines


def _height(texts: Sequence[Text], width: int) -> int:
    """Lines that they take on a screen."""
    return sum(max(1, -(-text.cell_len // (width - WRAP_COLUMNS))) for text in texts)


def _present_rows(tables: Mapping[str, list[Row]], rebalance: Mapping[str, Any]) -> list[Row]:
    """Rows of gold.convergence of its last epoch."""
    number = rebalance["incarnation"], rebalance["rebalance_seq"]
    epochs = [
        row["epoch"]
        for row in tables[EPOCHS]
        if (row["incarnation"], row["rebalance_seq"]) == number
    ]
    last = number[0], max(epochs, default=None)
    return [row for row in tables[CONVERGENCE] if (row["incarnation"], row["epoch"]) == last]


def _doing(row: Row, names: MemberNames, now_ms: int) -> str:
    """What a member that has not reached the epoch is about."""
    if row["revoke_started_at"] is not None and row["revoked_at"] is None:
        return f"was asked to give up partitions at {_ago(row['revoke_started_at'], now_ms)}"
    if row["waited_for"]:
        whom = ", ".join(names.of(row["group_id"], each) for each in row["waited_for"])
        return f"waits for {whom} since {_ago(row['started_at'], now_ms)}"
    return f"has not reached the epoch since {_ago(row['started_at'], now_ms)}"


def _ago(moment_ms: int | None, now_ms: int) -> str:
    if moment_ms is None:
        return words.UNKNOWN_TIME
    return f"{words.clock(moment_ms)} ({words.duration(max(0, now_ms - moment_ms))})"


def _table(groups: list[WatchedGroup], lags: Mapping[str, GroupLag], room: int) -> Table:
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
        present, by_cause = group.present, group.causes
        mostly = min(by_cause.items(), key=lambda each: (-each[1], each[0]), default=None)
        table.add_row(
            cell(shortened(group.group_id), "bold"),
            cell("" if present is None else present.cell(), "yellow" if group.open else ""),
            f"{by_cause.total():,}",
            words.duration(group.lost.estimate),
            *(_lag_cells(lags.get(group.group_id)) if lags else []),
            "" if mostly is None else f"{causes.label(mostly[0])} {mostly[1]:,}×",
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
