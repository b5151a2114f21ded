"""Whole logs for tests of the audit: their group records, group by group, and what was known outside the log."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from rebalance_audit.audit.options import AuditOptions
from rebalance_audit.replay.changes import Position
from rebalance_audit.wire.metadata_log import read_topic_names
from rebalance_audit.wire.records import Record, decode_record, group_id_of
from rebalance_audit.wire.segments.folder import open_log_folder
from tests.support.log_entries import PositionedRecord, log_entries, position_of

CAPTURES = Path(__file__).parents[1] / "golden" / "captures"
NAMES = sorted(folder.name for folder in CAPTURES.iterdir())

Records = Sequence[tuple[Record, Position]]


class Log(NamedTuple):
    """One log."""

    groups: Mapping[str, Records]
    """Group id -> its records without offset commits."""
    options: AuditOptions
    """With the names that the log has, and its end."""


def read_log(folder: Path) -> Log:
    """The log of a folder of segments."""
    opened = open_log_folder(folder)
    names = read_topic_names(opened)
    groups = defaultdict(list)
    end_ms = 0
    for entry in log_entries(opened):
        if not isinstance(entry, PositionedRecord):
            continue
        end_ms = max(end_ms, entry.record_timestamp_ms)
        record = decode_record(entry.key, entry.value)
        if isinstance(record, Record) and record.record_type > 1:
            groups[group_id_of(record.key)].append((record, position_of(entry)))
    options = AuditOptions(
        topic_name=names.name_of,
        topic_deleted_at=names.deleted_at_ms,
        topic_lives=names.lives_of,
        log_end_ms=end_ms,
    )
    return Log(groups, options)


def read_capture(name: str) -> Log:
    """One of the logs that real brokers wrote."""
    return read_log(CAPTURES / name / "segments")
