"""Texts that are longer than the terminal go through a pager, as git's do."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import click
from rich.console import Console

from rebalance_audit.report.terminal.console import stdout_console

LESS_OPTIONS: Final = "FRX"
"""Ends where the text fits, keeps colours, leaves the text on the terminal; git's own defaults."""


@contextmanager
def paged_console() -> Iterator[Console]:
    """Standard output; on a terminal, what is printed inside goes to $PAGER in the end if it is longer than that.

    No pager without an interactive terminal.
    """
    console = stdout_console()
    if not (console.is_terminal and sys.stdin.isatty()):
        yield console
        return
    with console.capture() as captured:
        yield console
    text = captured.get()
    if text.count("\n") < console.height:
        click.echo(text, nl=False, color=True)
        return
    os.environ.setdefault("LESS", LESS_OPTIONS)
    click.echo_via_pager(text, color=True)
