"""Arguments and options that several commands share."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from rebalance_audit.cli import times

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

segments: Final = click.argument("segments", metavar="SEGMENTS", type=click.Path(path_type=Path))
"""A folder of `__consumer_offsets-P` folders, one such folder, or one segment file."""

groups: Final = click.option(
    "--group", "group_ids", metavar="GROUP", multiple=True, help="Only this group; may be repeated."
)

cluster: Final = click.option(
    "--cluster", metavar="NAME", help="Name of the Kafka cluster, the first column of every table."
)


def moment(*names: str, text: str) -> Callable[[Decorated], Decorated]:
    """An option that takes a moment; `text` is its help."""
    return click.option(*names, type=times.Moment(), metavar="TIME", help=f"{text} {times.HELP}")


summary_file: Final = click.option(
    "--summary",
    "summary_file",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the JSON object of --json to this file as well, at once and as a whole.",
)
"""What a command did, for the program that called it: `summaries.hand_out` writes it."""
