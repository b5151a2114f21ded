"""What became of the files given with --broker-log: a sentence each on stderr, an object each for programs."""

from collections.abc import Sequence
from typing import Any, Final

from rebalance_audit.audit.broker_log.file_report import BrokerLogFile
from rebalance_audit.cli.output import echo
from rebalance_audit.sentences.words import iso
from rebalance_audit.visible import visible

_USELESS_SHOWN: Final = 10
"""Of files without a usable line, so many have a sentence: folders hold many other logs."""


def print_file_notes(files: Sequence[BrokerLogFile]) -> None:
    """One sentence a file on stderr; a warning where a file has no usable line of a coordinator."""
    left_out = 0
    useless = 0
    for each in files:
        if each.is_useless:
            useless += 1
            if useless > _USELESS_SHOWN:
                left_out += 1
                continue
        lead = "Warning: " if each.is_useless else ""
        echo(visible(f"{lead}{each.sentence}"), err=True)
    if left_out:
        echo(f"Warning: {left_out:,} more files without a usable line of a coordinator.", err=True)


def file_for_programs(each: BrokerLogFile) -> dict[str, Any]:
    """The figures of one file; times as ISO 8601."""
    fields = each._asdict()
    first_ms, last_ms = fields.pop("first_ms"), fields.pop("last_ms")
    return {
        **fields,
        "first_at": None if first_ms is None else iso(first_ms),
        "last_at": None if last_ms is None else iso(last_ms),
    }
