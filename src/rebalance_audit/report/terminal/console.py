"""Consoles that obey no text from outside: neither rich's markup nor control characters in it."""

import os
import sys
from typing import IO, Any, Final, Literal

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.segment import Segment

from rebalance_audit.visible import visible

UNBOUNDED: Final = 10_000
"""Console columns of files: tables are as wide as their cells."""


def console(file: IO[str], **settings: Any) -> Console:
    """A console of rich for which `[red]`, `:smile:` and `1.5` are text and nothing else."""
    return Console(file=file, markup=False, emoji=False, highlight=False, **settings)


def stdout_console() -> Console:
    """Standard output: escape codes only on a terminal and without NO_COLOR.

    Elsewhere COLUMNS says how wide it is; without that, tables are as wide as their cells.
    """
    color_system: Literal["auto"] | None = None if os.environ.get("NO_COLOR") else "auto"
    width = None if sys.stdout.isatty() or os.environ.get("COLUMNS") else UNBOUNDED
    return console(sys.stdout, width=width, color_system=color_system)


def stderr_console() -> Console:
    """Standard error, for progress."""
    return console(sys.stderr)


def file_console(file: IO[str]) -> Console:
    """A file; its content does not depend on where it is written from."""
    return console(file, width=UNBOUNDED, color_system=None)


class Visible:
    """What a report prints, with every control character in its texts escaped: none of them reaches the console.

    Texts from outside are escaped before they are measured (`layout.cell`); this holds where that was forgotten.
    """

    def __init__(self, what: RenderableType) -> None:
        self._what = what

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Rich's own codes of styles are no text; the line breaks in a segment are rich's."""
        for segment in console.render(self._what, options):
            if segment.control:
                yield segment
            else:
                lines = segment.text.split("\n")
                yield Segment("\n".join(map(visible, lines)), segment.style)
