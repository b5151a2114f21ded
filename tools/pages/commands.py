"""docs/commands.md: every command with its arguments and flags, from the commands themselves."""

import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import Final

import click

from rebalance_audit.cli.main import COMMANDS, PROGRAM, commands
from rebalance_audit.resources import checkout_root
from tools import generated_files

PAGE: Final = "docs/commands.md"

_HEAD: Final = """\
# Commands

What `--help` says of each command. What they print: [a tour](tour.md). All of them end with
0 when they are done, 2 for bad arguments or settings, 3 for a source or lake that cannot be read, 4 if a quality check
failed, and 1 for anything else.

<!-- written by `python -m tools.pages.commands --write` -->
"""


def page() -> str:
    """The text of docs/commands.md."""
    group = commands
    outer = click.Context(group, info_name=PROGRAM)
    parts = [_HEAD]
    for name in COMMANDS:
        command = group.get_command(outer, name)
        assert command is not None
        context = click.Context(command, info_name=name, parent=outer)
        parts.append("\n".join(_section(name, command, context)))
    return "\n".join(parts)


def _section(name: str, command: click.Command, context: click.Context) -> Iterator[str]:
    yield f"## {name}\n"
    usage = command.get_usage(context).removeprefix(f"Usage: {PROGRAM} ")
    yield f"```\n{' '.join(usage.split())}\n```\n"
    yield from _paragraphs(command.help or "")
    yield "| flag | meaning |\n|---|---|"
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is not None and isinstance(parameter, click.Option):
            flag, meaning = (" ".join(text.split()).replace("|", r"\|") for text in record)
            yield f"| `{flag}` | {_escaped(meaning)} |"
    yield ""
    yield from _paragraphs(command.epilog or "")


def _paragraphs(text: str) -> Iterator[str]:
    r"""Paragraphs; those that click is told to leave as they are (\b) in a block."""
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
