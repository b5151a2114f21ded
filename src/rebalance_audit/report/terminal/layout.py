"""How a report is laid out on a console: widths, times, names, tables, headings.

Where a row of a table does not fit it takes two lines instead of more columns, so that nothing is lost at 80. Columns
break between words; inside one only where there is no room for the longest words of all columns.
"""

from collections.abc import Iterable, Iterator
from typing import Final

from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.table import Column, Table
from rich.text import Text

from rebalance_audit.figures.rows import Tables
from rebalance_audit.report.names import MemberNames
from rebalance_audit.report.terminal.console import UNBOUNDED, Visible
from rebalance_audit.sentences import words
from rebalance_audit.visible import visible

TEXT_WIDTH: Final = 140
"""Columns of paragraphs where tables are unbounded."""
WORDS: Final = "Terms: docs/glossary.md"
"""Ends every text that uses them."""
LONGEST_WORD: Final = 45
"""Characters of a word that a column keeps whole, as a member id; more only where they are a third of the table."""

NO_ROWS: Final[Tables] = {"epochs": (), "rebalances": (), "members": ()}
"""For a report without members and times of gold."""
_ASCII: Final = str.maketrans(
    {"●": "!", "◐": "~", "○": "?", "≥": ">", "→": ">", "×": "x", "–": "-", "…": ".", "─": "-"}
)
"""One character replaced by one, so that columns stay aligned."""


class ConsoleReport:
    """One report on one console."""

    def __init__(
        self, console: Console, tables: Tables = NO_ROWS, end_ms: int | None = None
    ) -> None:
        """Takes width and encoding from the console, names and the time span from the tables.

        `end_ms`: when the log ends (epoch ms), up to which counts what goes on; None where that is not known.
        """
        self.end_ms = end_ms
        self.console = console
        self._text_width = TEXT_WIDTH if console.width >= UNBOUNDED else console.width
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

    def print_table(self, table: Table, indent: int = 0) -> None:
        """Print a table, its columns as wide as they need; where there is no room for that, fitted to their words.

        A table without rows has no head either: the title above says how many there are.
        """
        if not table.row_count:
            return
        fit(table, self.console.width - indent)
        self._print(Padding(table, (0, 0, 0, indent)) if indent else table, None)

    def print_first_fitting(self, *tables: Table) -> None:
        """Print the first table that fits but for a name of extraordinary length; the last one where none does."""
        width = self.console.width
        for table in tables[:-1]:
            if natural_width(table, longest=width // 3) <= width:
                self.print_table(table)
                return
        self.print_table(tables[-1])

    def print(self, what: RenderableType) -> None:
        """Print a paragraph."""
        self._print(what, self._text_width)

    def paragraph(self, text: str | Text, style: str = "", *, indent: int) -> None:
        """Print a text, its lines indented."""
        if isinstance(text, str):
            text = cell(text, style)
        self.print(Padding(text, (0, 0, 0, indent)))

    def _print(self, what: RenderableType, width: int | None) -> None:
        """Print anything that rich can render.

        In a file, lines do not end in the blanks that pad a terminal's width; an ASCII output gets ASCII.
        """
        what = Visible(what)
        if self.console.is_terminal and not self._ascii_only:
            self.console.print(what, width=width)
            return
        with self.console.capture() as captured:
            self.console.print(what, width=width)
        text = "".join(f"{line.rstrip()}\n" for line in captured.get().splitlines())
        if self._ascii_only:
            text = text.translate(_ASCII).encode("ascii", "backslashreplace").decode()
        self.console.file.write(text)

    def title(self, text: str) -> None:
        """A heading below a blank line."""
        self.line()
        self.line(Text(text, "bold"))

    def words(self) -> None:
        """Where the words are explained."""
        self.line()
        self.line(Text(WORDS, "dim"))

    def line(self, text: str | Text = "") -> None:
        """A line or paragraph, never read as markup."""
        if isinstance(text, str):
            text = cell(text)
        self.print(text)


def natural_width(table: Table, *, longest: int) -> int:
    """Columns that the table takes where nothing wraps that is not longer than `longest`."""
    return sum(min(longest, _natural_width(column)) for column in table.columns) + _between(table)


def fit(table: Table, width: int) -> None:
    """Narrow the columns of a table that is too wide, the widest first, none below its longest word if possible."""
    room = width - _between(table)
    widths = [_natural_width(column) for column in table.columns]
    if sum(widths) <= room:
        return
    usual = max(room // 3, LONGEST_WORD)
    floors = [
        natural if column.no_wrap else min(_longest_word(column), usual)
        for column, natural in zip(table.columns, widths, strict=True)
    ]
    while sum(widths) > room:
        spare = [has if has > floor else 0 for has, floor in zip(widths, floors, strict=True)]
        if not any(spare):
            spare = widths
        widths[spare.index(max(spare))] -= 1
    for column, has in zip(table.columns, widths, strict=True):
        column.width = has


def _between(table: Table) -> int:
    """Blanks between columns."""
    return 3 * (len(table.columns) - 1)


def _texts(column: Column) -> Iterator[str]:
    yield str(column.header)
    for each in column.cells:
        yield each.plain if isinstance(each, Text) else str(each)


def _natural_width(column: Column) -> int:
    return max((cell_len(line) for text in _texts(column) for line in text.split("\n")), default=0)


def _longest_word(column: Column) -> int:
    return max((cell_len(word) for text in _texts(column) for word in text.split()), default=0)


def title_of(what: str, shown: int, total: int, which: str) -> str:
    """`Members`; `Members: the 40 latest of 120` where not all are shown."""
    return what if shown == total else f"{what}: the {shown} {which} of {total:,}"


def cell(text: object, style: str = "") -> Text:
    """A cell of a table, or a paragraph: a text from outside as it is, control characters escaped."""
    return Text(visible(str(text)), style)


def two_lines(first: Text | str, second: Text | str) -> Text:
    """A cell of two lines, the second one dim; one line where there is no second."""
    upper = first if isinstance(first, Text) else cell(first)
    lower = second if isinstance(second, Text) else cell(second)
    if not lower.plain:
        return upper
    lower.stylize_before("dim")
    return Text("\n").join((upper, lower))
