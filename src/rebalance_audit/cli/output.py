"""How results and texts of a command reach people on stdout and stderr, programs, and files.

Tables go through a console of `report.terminal.console`.
"""

import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Mapping
from functools import partial, wraps
from pathlib import Path
from typing import Any, TypeAlias

import click
import orjson

from rebalance_audit.cli import options
from rebalance_audit.new_file import replacing
from rebalance_audit.shown_settings import without_credentials
from rebalance_audit.tables.json_values import JSON_VERSION, json_bytes
from rebalance_audit.visible import visible


def echo(text: str, *, err: bool = False) -> None:
    """Print lines; every control character but the breaks between them is shown as an escape, credentials as hidden.

    An id from the log may hold a line break, too: whoever joins lines makes each `visible` before.
    """
    click.echo("\n".join(map(visible, without_credentials(text).split("\n"))), err=err)


HandOut: TypeAlias = Callable[[Mapping[str, Any], str | Callable[[], None]], None]
"""Takes the summary and the text for people, or what prints it: `hand_out` with what the command line says."""


def summarised(
    json_help: str = "Print the summary as one JSON object.",
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """--json and --summary; the command gets `hand_out`, a HandOut, in their place."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @click.option("--json", "as_json", is_flag=True, help=json_help)
        @options.path(
            "--summary",
            "summary_file",
            text="Also write the JSON object to this file, atomically.",
        )
        @wraps(command)
        def run(*args: Any, as_json: bool, summary_file: Path | None, **kwargs: Any) -> Any:
            printed = partial(hand_out, as_json=as_json, summary_file=summary_file)
            return command(*args, hand_out=printed, **kwargs)

        return run

    return decorate


def hand_out(
    summary: Mapping[str, Any],
    text: str | Callable[[], None],
    *,
    as_json: bool,
    summary_file: Path | None,
) -> None:
    """Prints `text`, or calls what prints it, or with `as_json` prints the summary.

    Writes the summary to `summary_file` first, where one is given.
    The file's folder is created. A reader of the file sees the old content or all of the new. Raises OSError.
    """
    shown = {
        name: without_credentials(value) if isinstance(value, str) else value
        for name, value in summary.items()
    }
    printed = document(shown)
    if summary_file is not None:
        write_file(printed, summary_file)
    if as_json:
        click.echo(printed, nl=False)
    elif isinstance(text, str):
        echo(folded(text))
    else:
        text()


def document(shape: Mapping[str, Any]) -> bytes:
    """An object for programs as text in lines, `schema_version` first."""
    form = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
    return json_bytes({"schema_version": JSON_VERSION, **shape}, form)


def folded(text: str) -> str:
    """Lines longer than the terminal is wide, or than COLUMNS, broken between words and indented; none in a file."""
    if not (sys.stdout.isatty() or os.environ.get("COLUMNS")):
        return text
    return "\n".join(_fold(line, shutil.get_terminal_size().columns) for line in text.splitlines())


def _fold(line: str, width: int) -> str:
    if len(line) <= width:
        return line
    indent = " " * (len(line) - len(line.lstrip()) + 2)
    return textwrap.fill(
        line,
        width,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def write_file(document: bytes, file: Path) -> None:
    """Writes a file atomically, and creates its folder. Raises OSError."""
    with replacing(file) as new:
        new.write_bytes(document)
