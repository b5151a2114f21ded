"""A folder of segment files as a source: `segments:DIR`, or `segments:URL` for storage that is not mounted."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.lake.records.commit_packs import PACK_DDL, READ, commits_of, packed
from rebalance_audit.lake.records.record_columns import DAMAGE, PASSED_OVER, RECORD
from rebalance_audit.lake.records.routing import in_groups
from rebalance_audit.lake.session.pieces import Pieces
from rebalance_audit.lake.sources.remote_log import RemoteLog
from rebalance_audit.lake.sources.segment_frames import DEFAULT_SPLIT_BYTES, read_segments
from rebalance_audit.lake.sources.source import Source
from rebalance_audit.location import local_path
from rebalance_audit.wire.metadata_log import read_topic_names
from rebalance_audit.wire.segments.folder import (
    FileMark,
    LogFolder,
    Segment,
    open_log_folder,
)
from rebalance_audit.wire.topic_names import TopicNames

KnownFiles: TypeAlias = Mapping[int, Collection[FileMark]]
"""Log partition -> segment files that need not be read."""


class SegmentsSource(Source):
    """A folder of segment files; every worker must see it at the same path, or read its URL with fsspec."""

    counts_what_it_leaves_out = True
    shows_markers = True

    def __init__(
        self,
        spec: str,
        location: str,
        split_target_bytes: int = DEFAULT_SPLIT_BYTES,
        storage_options: Mapping[str, str] | None = None,
    ) -> None:
        """Large mounted files are cut into pieces of about `split_target_bytes`; options are those of fsspec."""
        path = local_path(location)
        is_remote = path is None and "://" in location
        super().__init__(spec, location if is_remote else str((path or Path(location)).absolute()))
        self._split_target_bytes = split_target_bytes
        self._storage_options = storage_options or {}
        self._remote = RemoteLog(location, self._storage_options) if is_remote else None
        self._known: KnownFiles = {}
        self._folder: LogFolder | None = None
        """As it was when an ingest began; None for as it is."""

    def without(self, known: KnownFiles) -> "SegmentsSource":
        """The folder as it is now, without the files that are known. Raises SourceNotReadable."""
        other = SegmentsSource(
            self.spec, self.location, self._split_target_bytes, self._storage_options
        )
        other._known, other._folder = known, self._open()
        return other

    def files(self) -> dict[int, frozenset[FileMark]]:
        """Log partition -> its segment files, including those that are known. Raises SourceNotReadable."""
        return {
            number: frozenset(segment.mark for segment in segments)
            for number, segments in self._open().segments.items()
        }

    def check(self) -> None:
        """Open the folder."""
        self._open()

    def records(
        self,
        spark: SparkSession,
        cluster: str,  # noqa: ARG002 - a folder has one cluster's log
        without_record_types: Collection[int] = (),
    ) -> DataFrame:
        """The records, with the columns DAMAGE and PASSED_OVER as well."""
        return self._rows(spark, [*RECORD, DAMAGE, PASSED_OVER], without_record_types).frame

    def to_store(
        self,
        spark: SparkSession,
        cluster: str,  # noqa: ARG002 - a folder has one cluster's log
    ) -> Pieces[Any]:
        """Read and stored by the same tasks."""
        return self._rows(spark, [*RECORD, DAMAGE])

    def offsets(
        self,
        spark: SparkSession,
        cluster: str,  # noqa: ARG002 - a folder has one cluster's log
    ) -> DataFrame:
        """Without the bytes of the records."""
        return self._rows(spark, ["partition", "offset"]).frame

    def commit_packs(
        self,
        spark: SparkSession,
        cluster: str,  # noqa: ARG002 - a folder has one cluster's log
        groups_regex: str | None,
    ) -> DataFrame:
        """Made where the segments are read: no commit becomes a row."""
        rows = self._rows(spark, READ)
        packs = rows.through(lambda batches: packed(commits_of(batches)), PACK_DDL)
        return packs.where(in_groups(groups_regex, F.col("group_id")))

    def _rows(
        self, spark: SparkSession, columns: Sequence[str], left_out: Collection[int] = ()
    ) -> Pieces[Any]:
        return read_segments(
            spark,
            self._unread(),
            columns=columns,
            split_target_bytes=self._split_target_bytes,
            without_record_types=left_out,
            remote=self._remote,
        )

    def first_offsets(self) -> dict[int, int]:
        """Partition -> lowest offset in the names of files that are not known."""
        begins: dict[int, int] = {}
        for segment in self._unread():
            number, begin = segment.log_partition, segment.base_offset
            begins[number] = min(begin, begins.get(number, begin))
        return begins

    def _unread(self) -> list[Segment]:
        """The segments whose files are not known, in log order."""
        return [
            segment
            for number, segments in (self._folder or self._open()).segments.items()
            for segment in segments
            if segment.mark not in self._known.get(number, ())
        ]

    def topic_names(self, cluster: str = "") -> TopicNames:  # noqa: ARG002 - it has one
        """Names in the `__cluster_metadata` log beside the segments, if there is one."""
        if self._remote is not None:
            return self._remote.topic_names()
        return read_topic_names(self._open())

    def _open(self) -> LogFolder:
        return open_log_folder(self.location) if self._remote is None else self._remote.open()
