"""docs/commands.md: every command with its arguments and flags, from the commands themselves."""

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from textwrap import dedent
from typing import Final

import click

from rebalance_audit.cli.main import COMMANDS, PROGRAM, commands
from rebalance_audit.resources import checkout_root
from workshop import generated_files

PAGE: Final = "docs/commands.md"
SHARED_BY: Final = 4
"""A flag that so many commands have with the same meaning is described once."""
AS_TIME: Final = (
    "ISO 8601 (UTC without a zone), epoch milliseconds, or relative to now: -15m, -2h, -1d."
)

Flag = tuple[str, str]
"""Flag with its value, and its meaning."""

_HEAD: Final = """\
# Commands

What `--help` prints. Output: [a tour](tour.md). Exit codes: 0 done, 2 bad arguments or settings, 3 source or lake not
readable, 4 a quality check failed, 1 anything else.

TIME is ISO 8601 (UTC without a zone), epoch milliseconds, or relative to now: -15m, -2h, -1d.

<!-- written by `python -m workshop.pages.commands --write` -->
"""


def page() -> str:
    """The text of docs/commands.md."""
    outer = click.Context(commands, info_name=PROGRAM)
    flags = {name: list(_flags(_command(name, outer), outer, name)) for name in COMMANDS}
    times = Counter(flag for of_command in flags.values() for flag in of_command)
    shared = {flag for flag in times if times[flag] >= SHARED_BY}
    parts = [_HEAD, "## Shared flags\n", _table(flag for flag in times if flag in shared)]
    for name in COMMANDS:
        context = click.Context(_command(name, outer), info_name=name, parent=outer)
        parts.append("\n".join(_section(name, context, flags[name], shared)))
    return "\n".join(parts)


def _command(name: str, outer: click.Context) -> click.Command:
    command = commands.get_command(outer, name)
    assert command is not None
    return command


def _flags(command: click.Command, outer: click.Context, name: str) -> Iterator[Flag]:
    context = click.Context(command, info_name=name, parent=outer)
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None and isinstance(parameter, click.Option):
            flag, meaning = (" ".join(text.split()).replace("|", r"\|") for text in record)
            yield flag, _escaped(meaning.replace(f" {AS_TIME}", ""))


def _section(
    name: str, context: click.Context, flags: list[Flag], shared: set[Flag]
) -> Iterator[str]:
    yield f"## {name}\n"
    usage = context.command.get_usage(context).removeprefix(f"Usage: {PROGRAM} ")
    yield f"```\n{' '.join(usage.split())}\n```\n"
    yield from _paragraphs(context.command.help or "")
    own = [flag for flag in flags if flag not in shared]
    if own:
        yield _table(own)
    names = [
        f"`--{flag.partition('--')[2].partition(' ')[0]}`"
        for flag, meaning in flags
        if (flag, meaning) in shared
    ]
    yield f"Shared: {', '.join(names)}.\n"
    yield from _paragraphs(context.command.epilog or "")


def _table(flags: Iterable[Flag]) -> str:
    rows = "".join(f"| `{flag}` | {meaning} |\n" for flag, meaning in flags)
    return f"| flag | meaning |\n|---|---|\n{rows}"


def _paragraphs(text: str) -> Iterator[str]:
    r"""Paragraphs; those that click must leave as they are (\b) in a block."""
    for paragraph in dedent(text).strip().split("\n\n"):
        if paragraph.startswith("\b"):
            title, _, lines = dedent(paragraph.removeprefix("\b").strip("\n")).partition("\n")
            yield f"{title}\n\n```\n{dedent(lines)}\n```\n" if lines else f"{title}\n"
        elif paragraph:
            yield f"{_escaped(' '.join(paragraph.split()))}\n"


def _escaped(text: str) -> str:
    return text.replace("<", "&lt;").replace("*", r"\*")


def due() -> dict[Path, str]:
    """The page in its place."""
    return {checkout_root() / PAGE: page()}


if __name__ == "__main__":
    sys.exit(generated_files.main(due))
