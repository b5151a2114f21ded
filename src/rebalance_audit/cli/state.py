"""`rebalance-audit state`: groups, members, assignments and offsets at a moment, as JSON."""

import re
import sys
from pathlib import Path
from typing import Any, Final

import click
import orjson

from rebalance_audit.cli import options
from rebalance_audit.cli.invocation import debug_option
from rebalance_audit.cli.segment_state import group_ids_of, replay_partition
from rebalance_audit.cli.unknown_group import require_known
from rebalance_audit.coordinator.describe import describe_group
from rebalance_audit.report import words
from rebalance_audit.wire.log_folder import open_log_folder
from rebalance_audit.wire.topic_names import read_topic_names

EXAMPLES: Final = """\b
Examples:
  rebalance-audit state copy-of-log | jq '.groups[] | {group_id, state}'
  rebalance-audit state copy-of-log --group checkout
  rebalance-audit state copy-of-log --at 2026-11-21T03:12Z
"""

_NUMBERS: Final = re.compile(rb"\[\s+-?\d+(?:,\s+-?\d+)*\s+\]")


@click.command(epilog=EXAMPLES)
@options.segments
@options.groups
@options.moment(
    "--at", "at_ms", text="As of this moment, which is the end of the log if not given."
)
@debug_option
def state(segments: Path, group_ids: tuple[str, ...], at_ms: int | None) -> None:
    """Print the groups as they stood at a moment: state, members, assignments, committed offsets.

    One JSON object. Types, states and assignors are spelled as Kafka's own describe commands spell
    them; a topic id stands where the log has no name for it.
    """
    folder = open_log_folder(segments)
    names = read_topic_names(folder)
    replayed = [
        replay_partition(folder, number, names, at_ms, group_ids) for number in folder.segments
    ]
    groups = sorted(
        (
            described
            for part in replayed
            for slot in part.shard.groups()
            if (described := describe_group(slot, names)) is not None
        ),
        key=lambda group: str(group["group_id"]),
    )
    if any(all(part.shard.slot(name) is None for part in replayed) for name in group_ids):
        require_known(group_ids, group_ids_of(folder))
    if undecodable := sum(part.undecodable for part in replayed):
        click.echo(
            f"{words.count(undecodable, 'record')} could not be decoded and are left out;"
            " `decode` prints them with the reason.",
            err=True,
        )
    last_ms = max((part.last_ms for part in replayed if part.last_ms is not None), default=None)
    print_state(words.iso(last_ms if at_ms is None else at_ms), groups)


def print_state(at: str | None, groups: list[dict[str, Any]]) -> None:
    """The object on stdout."""
    form = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE
    shape = orjson.dumps({"at": at, "groups": groups}, option=form)
    # Partition numbers on one line; only structure has line breaks, in strings they are escaped.
    sys.stdout.buffer.write(_NUMBERS.sub(lambda found: b"".join(found[0].split()), shape))
