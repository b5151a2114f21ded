"""The groups of a log at a moment, replayed from its segments."""

from collections.abc import Collection
from typing import TYPE_CHECKING

from rebalance_audit.local.byte_ranges import ranges_of
from rebalance_audit.local.survey import survey
from rebalance_audit.replay.state import State, state_at
from rebalance_audit.wire import key_bytes
from rebalance_audit.wire.metadata_log import read_topic_names
from rebalance_audit.wire.segments.bad_bytes import BadBytes, TailNote
from rebalance_audit.wire.segments.folder import LogFolder
from rebalance_audit.wire.topic_names import TopicName, TopicNames

if TYPE_CHECKING:
    from rebalance_audit.local.segment_records import SegmentRecords


def segment_state(
    folder: LogFolder, group_ids: Collection[str] = (), at_ms: int | None = None
) -> State:
    """All groups, or only `group_ids`, as of `at_ms` (epoch milliseconds) or the log's end.

    Raises SourceNotReadable, OSError that names the file, and UnknownGroup for a group that no record names.
    """
    return state_at(_SegmentLog(folder), group_ids, at_ms)


def group_ids_of(folder: LogFolder) -> set[str]:
    """Ids of all groups that any key of the log names, deleted ones included. Raises OSError that names the file."""
    found: set[bytes | None] = set()
    for part in ranges_of(folder, folder.segments):
        for each in part.read():
            if not isinstance(each, BadBytes | TailNote):
                found.update(map(key_bytes.group_bytes, each.all().keys))
    return {group_id.decode(errors="replace") for group_id in found if group_id}


class _SegmentLog:
    """A folder of segments as `state_at` reads it."""

    def __init__(self, folder: LogFolder) -> None:
        self._folder = folder

    def topic_names(self) -> TopicNames:
        return read_topic_names(self._folder)

    def names_in_records(self) -> Collection[TopicName]:
        return survey(self._folder)[1].values()

    def log_partitions(self) -> Collection[int]:
        return self._folder.segments.keys()

    def records(
        self, log_partition: int, group_ids: Collection[str], at_ms: int | None
    ) -> "SegmentRecords":
        from rebalance_audit.local.segment_records import SegmentRecords  # noqa: PLC0415 - imports numpy

        return SegmentRecords(self._folder, log_partition, at_ms, key_bytes.of_groups(group_ids))

    def group_ids(self) -> set[str]:
        return group_ids_of(self._folder)
