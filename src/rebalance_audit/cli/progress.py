"""What is being done, on stderr: a moving line on a terminal, plain lines elsewhere."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

import click
from rich.console import Console

Tell: TypeAlias = Callable[[str], None]
"""Takes what begins now."""


@contextmanager
def progress() -> Iterator[Tell]:
    """Tell steps while inside; on a terminal the line is gone afterwards."""
    if not sys.stderr.isatty():
        begin = time.monotonic()
        yield lambda step: click.echo(f"{time.monotonic() - begin:6.1f} s  {step}", err=True)
        return
    console = Console(stderr=True)
    with console.status("") as status:
        yield lambda step: status.update(f"{step} …")
