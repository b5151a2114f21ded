"""Progress on stderr: a moving line on a terminal, plain lines elsewhere."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import click
from rich.console import Console

from rebalance_audit.cli.invocation import Invocation
from rebalance_audit.steps import Tell


@contextmanager
def progress() -> Iterator[Tell]:
    """Reports steps while inside, unless --quiet was given; on a terminal the line is removed at the end."""
    context = click.get_current_context(silent=True)
    invocation = None if context is None else context.find_object(Invocation)
    if invocation is not None and invocation.quiet:
        yield lambda _: None
        return
    if not sys.stderr.isatty():
        begin = time.monotonic()
        yield lambda step: click.echo(f"{time.monotonic() - begin:6.1f} s  {step}", err=True)
        return
    console = Console(stderr=True)
    with console.status("") as status:
        yield lambda step: status.update(f"{step} …")
