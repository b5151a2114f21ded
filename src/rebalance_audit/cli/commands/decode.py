"""`rebalance-audit decode`: every record of the log as a line of JSON."""

import re
import sys
from pathlib import Path
from typing import Final

import click

from rebalance_audit.cli import options
from rebalance_audit.cli.bad_arguments import bad_arguments
from rebalance_audit.cli.invocation import debug_option
from rebalance_audit.local.decode import Wanted, decoded_lines
from rebalance_audit.wire.generated.messages import RecordType
from rebalance_audit.wire.segments.folder import open_log_folder

MARKERS: Final = "control"

_TYPES: Final[dict[str, int | str]] = {
    MARKERS: MARKERS,
    **{record_type.name.lower().replace("_", ""): int(record_type) for record_type in RecordType},
}
"""Name in lower case without separators -> number."""

EXAMPLES: Final = """\b
Examples:
  rebalance-audit decode copy-of-log > records.jsonl
  rebalance-audit decode copy-of-log --group checkout --type GroupMetadata
  rebalance-audit decode copy-of-log --type control --from 2026-11-21T03:00Z
  rebalance-audit decode copy-of-log | jq 'select(.error)'
"""


class TypeOfRecord(click.ParamType[int | str]):
    """A record type by its number or its name in Kafka's schemas, or MARKERS."""

    name = "type"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | str:
        """The number, or MARKERS."""
        name = re.sub(r"[^a-z0-9]", "", str(value).lower())
        if name.isdecimal() and int(name) < 1 << 15:
            return int(name)
        if name not in _TYPES:
            self.fail(
                f"{str(value)!r} is no record type: give 0 to {max(RecordType)}, a name such as OffsetCommit"
                f" or ConsumerGroupMemberMetadata, or {MARKERS} for transaction markers.",
                param,
                ctx,
            )
        return _TYPES[name]


@click.command(epilog=EXAMPLES)
@options.segments
@options.groups
@click.option(
    "--type",
    "record_types",
    type=TypeOfRecord(),
    multiple=True,
    metavar="TYPE",
    help="Only records of this type, by number or name; `control` for transaction markers. May be repeated.",
)
@click.option(
    "--partition",
    "log_partitions",
    type=click.IntRange(min=0),
    multiple=True,
    metavar="N",
    help="Only this partition of __consumer_offsets; may be repeated.",
)
@options.moment("--from", "from_ms", text="Only records from this moment on.")
@options.moment("--to", "to_ms", text="Only records before this moment.")
@debug_option
def decode(
    segments: Path,
    group_ids: tuple[str, ...],
    record_types: tuple[int | str, ...],
    log_partitions: tuple[int, ...],
    from_ms: int | None,
    to_ms: int | None,
) -> None:
    """Print every record of SEGMENTS as a line of JSON, partition by partition in offset order.

    A line has partition, offset, timestamp, leaderEpoch, key {type, data} and value {version, data},
    or null for a tombstone, with data in the shape of Kafka's own JSON converters. A transaction
    marker has control instead of key and value. What cannot be decoded has error, and its raw bytes
    in base64.
    """
    folder = open_log_folder(segments)
    wanted = Wanted(
        group_ids=group_ids or None,
        record_types=frozenset(kind for kind in record_types if isinstance(kind, int))
        if record_types
        else None,
        markers=MARKERS in record_types or not (record_types or group_ids),
        from_ms=from_ms,
        to_ms=to_ms,
    )
    with bad_arguments():
        for lines in decoded_lines(folder, wanted, log_partitions):
            sys.stdout.buffer.write(lines)
