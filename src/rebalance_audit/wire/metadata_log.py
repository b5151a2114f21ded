"""What the `__cluster_metadata` log beside the segments says about topics: names, deletions and shapes."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from rebalance_audit.wire.metadata_records import TopicMade, TopicRemoved, decode_metadata_record
from rebalance_audit.wire.primitives import DecodeError
from rebalance_audit.wire.segments.bad_bytes import BadBytes, TailNote
from rebalance_audit.wire.segments.columns import ColumnChunk, read_columns
from rebalance_audit.wire.segments.folder import OFFSETS_TOPIC, LogFolder, not_readable
from rebalance_audit.wire.topic_names import ClusterImage, TopicNames, TopicNameSource

_SNAPSHOT: Final = ".checkpoint"


class _Beginning(NamedTuple):
    """Where the shapes of topics begin."""

    snapshot: Path | None
    """None: the log begins at its first record, or no snapshot goes on with it."""
    offset: int
    """First offset of the log whose record counts; a snapshot holds all before it."""


def read_topic_names(folder: LogFolder) -> TopicNames:
    """The topics that the `__cluster_metadata` log beside the folder's segments defines; none if it is not there.

    Raises SourceNotReadable for a file that cannot be read.
    """
    names, image = _read(folder)
    for topic_id, shapes in image.finish().items():
        names.add_shapes(topic_id, shapes)
    return names


def read_leaders(folder: LogFolder) -> Mapping[int, int]:
    """Partition of `__consumer_offsets` -> broker id of its last leader, and so of its coordinator.

    Brokers that stop give up what they lead: the last one that led counts. Nothing where the `__cluster_metadata` log
    is not beside the folder's segments, or begins after the topic. Raises SourceNotReadable.
    """
    return _read(folder)[1].leaders(OFFSETS_TOPIC)


def _read(folder: LogFolder) -> tuple[TopicNames, ClusterImage]:
    names, image = TopicNames(), ClusterImage()
    beginning = _beginning(folder.metadata_segments)
    for file in folder.metadata_segments:
        try:
            for found in read_columns(file):
                if isinstance(found, BadBytes):
                    names.notes.append(found.detail)
                elif not isinstance(found, TailNote):
                    _add_records(names, image, beginning, file, found)
        except OSError as error:
            raise not_readable(file, error) from error
    return names, image


def _beginning(files: Sequence[Path]) -> _Beginning:
    """The log from its first record, or from the first snapshot that its segments continue."""
    first = min((_offset(file) for file in files if file.suffix != _SNAPSHOT), default=None)
    if first is None or first == 0:
        return _Beginning(None, 0)
    going_on = [file for file in files if file.suffix == _SNAPSHOT and _offset(file) >= first]
    snapshot = min(going_on, key=_offset, default=None)
    return _Beginning(snapshot, first if snapshot is None else _offset(snapshot))


def _offset(file: Path) -> int:
    """`00000000000000000123-0000000004.checkpoint` holds all records before 123; a segment begins with its number."""
    return int(file.name[:20])


def _add_records(
    names: TopicNames, image: ClusterImage, beginning: _Beginning, file: Path, chunk: ColumnChunk
) -> None:
    records = (row for run, rows in chunk.by_run() if not run.is_control for row in rows)
    for offset, timestamp_ms, _, value in records:
        if value is None:
            continue
        try:
            record = decode_metadata_record(value)
        except DecodeError as error:
            names.notes.append(f"The metadata record at offset {offset} of {file}: {error}.")
            continue
        if isinstance(record, TopicMade):
            source = TopicNameSource.CLUSTER_METADATA
            names.add(record.topic_id, record.name, source, timestamp_ms)
        elif isinstance(record, TopicRemoved):
            names.mark_deleted(record.topic_id, timestamp_ms)
        if record is None:
            continue
        if file == beginning.snapshot:
            # The offsets in a snapshot count its own records.
            image.add(record, beginning.offset - 1, timestamp_ms)
        elif file.suffix != _SNAPSHOT and offset >= beginning.offset:
            image.add(record, offset, timestamp_ms)
