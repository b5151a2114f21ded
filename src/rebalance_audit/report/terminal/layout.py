"""How a report is laid out on a console: widths, times, names, tables, headings.

On a console narrower than WIDE a table row takes two lines instead of more columns, so that nothing is lost at 80.
"""

from collections.abc import Iterable
from typing import Final

from rich.box import SIMPLE_HEAD
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from rebalance_audit.report import words
from rebalance_audit.report.names import MemberNames
from rebalance_audit.report.summary import Tables

WIDE: Final = 140
"""Console columns from which on a table row fits on one line."""

_ASCII: Final = str.maketrans(
    {"●": "!", "◐": "~", "○": "?", "≥": ">", "→": ">", "×": "x", "–": "-", "…": ".", "─": "-"}
)
"""One character replaced by one, so that columns stay aligned."""


class ConsoleReport:
    """One report on one console."""

    def __init__(self, console: Console, tables: Tables) -> None:
        """Takes width and encoding from the console, names and the time span from the tables."""
        self.console = console
        self.wide = console.width >= WIDE
        self._ascii_only = console.options.ascii_only
        self.names = MemberNames(tables["members"])
        moments = [
            moment
            for name, column in (("epochs", "started_at"), ("rebalances", "ended_at"))
            for row in tables[name]
            if (moment := row[column]) is not None
        ]
        self.one_day = (
            words.day(moments[0])
            if moments and words.day(min(moments)) == words.day(max(moments))
            else None
        )
        """The day of the whole report, when there is only one."""

    def moment(self, timestamp_ms: int | None) -> str:
        """A time; with its day only where the report spans several."""
        return words.clock(timestamp_ms) if self.one_day else words.moment(timestamp_ms)

    def on_day(self) -> str:
        """Follows a heading above times: their day and zone."""
        return f" on {self.one_day}, times in UTC" if self.one_day else ", times in UTC"

    def table(self, *columns: str, right: Iterable[str] = ()) -> Table:
        """An empty table; `right` names its numeric columns, which never wrap."""
        table = Table(
            box=SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1), header_style="bold"
        )
        for name in columns:
            numbers = name in right
            table.add_column(
                name,
                justify="right" if numbers else "left",
                no_wrap=numbers,
                overflow="fold",
            )
        return table

    def print(self, what: RenderableType) -> None:
        """Print anything that rich can render.

        In a file, lines do not end in the blanks that pad a terminal's width; an ASCII output gets ASCII.
        """
        if self.console.is_terminal and not self._ascii_only:
            self.console.print(what)
            return
        with self.console.capture() as captured:
            self.console.print(what)
        text = "".join(f"{line.rstrip()}\n" for line in captured.get().splitlines())
        self.console.file.write(_in_ascii(text) if self._ascii_only else text)

    def title(self, text: str) -> None:
        """A heading below a blank line."""
        self.line()
        self.line(Text(text, "bold"))

    def line(self, text: str | Text = "") -> None:
        """A line or paragraph, never read as markup."""
        if isinstance(text, str):
            text = Text(words.visible(text))
        self.print(text)


def cell(text: object, style: str = "") -> Text:
    """A cell of a table: the text as it is, control characters escaped."""
    return Text(words.visible(str(text)), style)


def two_lines(first: Text | str, second: Text | str) -> Text:
    """A cell of two lines, the second one dim; one line where there is no second."""
    upper = first if isinstance(first, Text) else cell(first)
    lower = second if isinstance(second, Text) else cell(second)
    if not lower.plain:
        return upper
    lower.stylize_before("dim")
    return Text("\n").join((upper, lower))


def _in_ascii(text: str) -> str:
    return text.translate(_ASCII).encode("ascii", "backslashreplace").decode()
