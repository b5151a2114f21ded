"""Progress on stderr: a moving line on a terminal, plain lines elsewhere."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import click
from rich.console import Console
from rich.text import Text

from rebalance_audit.cli.invocation import Invocation
from rebalance_audit.cli.output import echo
from rebalance_audit.report.terminal.console import stderr_console
from rebalance_audit.steps import OnProgress, no_progress
from rebalance_audit.visible import visible

SLOW_S: Final = 2.0
"""Faster steps show no progress."""
PAUSE_S: Final = 0.1
"""Between two states of one line."""
CLEARED: Final = "\r\x1b[K"


@contextmanager
def progress() -> Iterator[OnProgress]:
    """Reports steps while inside, unless --quiet was given; on a terminal the line is removed at the end."""
    if wants_quiet():
        yield no_progress
        return
    if not sys.stderr.isatty():
        begin = time.monotonic()
        yield lambda step: echo(f"{time.monotonic() - begin:6.1f} s  {visible(step)}", err=True)
        return
    console = stderr_console()
    with console.status("") as status:
        yield lambda step: status.update(Text(visible(f"{step} …")))


@contextmanager
def slow_progress(
    console: Console | None = None, clock: Callable[[], float] = time.monotonic
) -> Iterator[OnProgress]:
    """Show frequent updates of mostly fast steps: only on a terminal, and only after SLOW_S.

    No thread draws the line: the audit forks.
    """
    console = console or stderr_console()
    if wants_quiet() or not console.is_terminal:
        yield no_progress
        return
    begin = due = clock()

    def on_progress(step: str) -> None:
        nonlocal due
        now = clock()
        if now - begin >= SLOW_S and now >= due:
            due = now + PAUSE_S
            console.file.write(f"{CLEARED}{visible(step)} …")
            console.file.flush()

    try:
        yield on_progress
    finally:
        # A forked copy of this process may have printed progress.
        if clock() - begin >= SLOW_S:
            console.file.write(CLEARED)
            console.file.flush()


@contextmanager
def slow_step(
    step: str, console: Console | None = None, patience_s: float = SLOW_S
) -> Iterator[None]:
    """Names one long step that reports no progress itself: only on a terminal, and only once it has taken so long.

    A thread draws it, so nothing inside may fork.
    """
    console = console or stderr_console()
    if wants_quiet() or not console.is_terminal:
        yield
        return
    is_over = threading.Event()

    def draw() -> None:
        if not is_over.wait(patience_s):
            with console.status(Text(visible(f"{step} …"))):
                is_over.wait()

    drawing = threading.Thread(target=draw, daemon=True)
    drawing.start()
    try:
        yield
    finally:
        is_over.set()
        drawing.join()


def wants_quiet() -> bool:
    """Whether --quiet was given."""
    context = click.get_current_context(silent=True)
    invocation = None if context is None else context.find_object(Invocation)
    return invocation is not None and invocation.quiet
