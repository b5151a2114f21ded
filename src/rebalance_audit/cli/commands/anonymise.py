"""`rebalance-audit anonymise`: a copy of a log with pseudonyms in place of names."""

import os
import stat
from pathlib import Path
from typing import Final

import click

from rebalance_audit.cli import options
from rebalance_audit.cli.invocation import bad_arguments, debug_option, quiet_option
from rebalance_audit.cli.output import HandOut, document, echo, summarised, write_file
from rebalance_audit.cli.progress import slow_progress
from rebalance_audit.cli.source import SEGMENTS, path_of
from rebalance_audit.new_file import replacing

EXAMPLES: Final = """\b
Examples:
  head -c 32 /dev/urandom > key                      once; keep it, and never share it
  rebalance-audit anonymise copy-of-log --key key --out to-share
  rebalance-audit anonymise copy-of-log --key key --out to-share --broker-log logs/ --shift-times
  rebalance-audit anonymise copy-of-log --key key --out to-share --mapping names.json
"""
REPORT: Final = "anonymised.json"
_FOR_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO
_OWNER_ALONE: Final = stat.S_IRUSR | stat.S_IWUSR


@click.command(epilog=EXAMPLES)
@click.argument("segments", metavar=SEGMENTS, type=click.Path())
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    required=True,
    help="New folder for the anonymised segments and anonymised.json.",
)
@options.path(
    "--key",
    "key_file",
    required=True,
    text="File of at least 16 random bytes. Anyone who has it can check whether a given name is in the log.",
)
@click.option(
    "--shift-times",
    is_flag=True,
    help="Shift all times into the past, by a number of hours that only the key reveals.",
)
@options.path(
    "--mapping",
    "mapping_file",
    text="Also write each name with its pseudonym, as JSON. Keep this file to yourself.",
)
@click.option(
    "--offsets-partitions",
    type=click.IntRange(min=1, max=10_000),
    metavar="N",
    help="Number of partitions of __consumer_offsets. [default: as in __cluster_metadata-0, else 50]",
)
@options.broker_logs
@options.broker_log_zone
@summarised()
@quiet_option
@debug_option
def anonymise(
    segments: str,
    out: Path,
    key_file: Path,
    hand_out: HandOut,
    *,
    broker_logs: tuple[Path, ...],
    broker_log_zone: str | None,
    shift_times: bool,
    mapping_file: Path | None,
    offsets_partitions: int | None,
) -> None:
    """Write a copy of SEGMENTS to share, with pseudonyms in place of names.

    Replaces group, client, instance, member and topic ids, topic names, hosts, racks, regular
    expressions, user data, commit metadata, connectors, URLs, and all other text that is not a
    word of Kafka's protocol. The same key gives the same pseudonyms. Anything that cannot be read is
    left out. Counts, times, offsets and numbers are kept: the report lists what they still show, and
    docs/anonymise.md explains it.
    """
    from rebalance_audit.anonymise import disclosure  # noqa: PLC0415 - 0.5 s
    from rebalance_audit.anonymise.log import Choices, anonymise_log, read_key  # noqa: PLC0415 - as above

    if mapping_file is not None:
        _require_apart(mapping_file, out, key_file)
    key = read_key(key_file)
    if key_file.stat().st_mode & _FOR_OTHERS:
        echo(f"Warning: other users may read the key {key_file}: chmod 600 {key_file}.", err=True)
    with slow_progress() as on_progress, bad_arguments():
        found = anonymise_log(
            *(path_of(segments), out, key, broker_logs),
            broker_log_time_zone=broker_log_zone or "UTC",
            choices=Choices(offsets_partitions, shift_times, mapping_file is not None),
            on_progress=on_progress,
        )
    report = disclosure.disclosure_summary(found, out)
    write_file(
        document({name: value for name, value in report.items() if name != "out"}), out / REPORT
    )
    if mapping_file is not None:
        _write_private(
            document({kind.value: names for kind, names in found.mapping.items()}), mapping_file
        )
    hand_out(report, disclosure.disclosure_text(found, out))


def _require_apart(mapping_file: Path, out: Path, key_file: Path) -> None:
    """Raises click.UsageError for a mapping that would go to others, or take the key's place."""
    mapping = mapping_file.resolve()
    if mapping.is_relative_to(out.resolve()):
        raise click.UsageError("--mapping must not be inside --out, which is for others.")
    if mapping == key_file.resolve():
        raise click.UsageError("--mapping must not be the file of --key, which it would overwrite.")


def _write_private(content: bytes, file: Path) -> None:
    """Writes a file that is the owner's alone from its first byte on, also in place of another. Raises OSError."""
    file.parent.mkdir(parents=True, exist_ok=True)
    os.close(os.open(file, os.O_WRONLY | os.O_CREAT, _OWNER_ALONE))
    file.chmod(_OWNER_ALONE)
    with replacing(file) as new:
        new.chmod(_OWNER_ALONE)
        new.write_bytes(content)
