"""meta.runs and meta.progress: what ran, how far earlier runs of a cluster got, and whether the last one finished.

A run's row in meta.runs is its first commit (running) and its last one (done, failed), meta.progress its last but one.
So if the run log has a later run than meta.progress, that run left its work half done, or did only part of it on
purpose (`--groups`, `--from`): gold may be ahead of the snapshots, and no affected group may be resumed.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final

from rebalance_audit.audit.holes import Holes, holes_of
from rebalance_audit.errors import later_release
from rebalance_audit.lake.records.record_counts import RecordCounts
from rebalance_audit.lake.session.splits import parallel_map
from rebalance_audit.lake.storage.sinks import Sink
from rebalance_audit.lake.storage.table_log import TableMark
from rebalance_audit.lake.storage.tables import Lake
from rebalance_audit.moments import utc_datetime
from rebalance_audit.shown_settings import without_credentials
from rebalance_audit.tables.schemas import GOLD_TABLES, TableName, table_schemas
from rebalance_audit.version import __version__

ALL: Final = "all"
"""Layers of a run that goes through bronze."""


class RunLog:
    """The row of one run."""

    def __init__(self, lake: Lake, cluster: str, run_id: str, entry: Mapping[str, Any]) -> None:
        """`entry` has the columns that are known when the run begins. Nothing is written yet."""
        self._lake = lake
        self._entry = {**entry, "run_id": run_id, "source": without_credentials(entry["source"])}
        self._sink = Sink(lake, cluster, run_id, is_log=True)
        self.run_number: int | None = None
        """Set by `start`. Ingests have none: audits go by what bronze has, not by who wrote it."""
        self.retries = 0
        """How often the run has begun its work again."""

    def start(self, *, is_numbered: bool = True) -> None:
        """The first commit of a run: if it cannot be made, nothing else is tried.

        The table's version numbers the runs: each makes commits of its own, one after the other. A table that was
        recreated has earlier runs with higher numbers than its version.
        """

        def rows(version: int) -> list[dict[str, Any]]:
            if is_numbered:
                names = ("run_number",)
                earlier = self._lake.read_small(TableName.RUNS, self._sink.cluster, names)
                self.run_number = max([version, *(row["run_number"] or 0 for row in earlier)]) + 1
            return [self._row("running")]

        self._sink.append_rows(TableName.RUNS, rows)

    def end(self, columns: Mapping[str, Any]) -> None:
        """The last commit of a run that succeeded; `columns` are its results."""
        self._update("done", columns)

    @contextmanager
    def noting_failure(self) -> Iterator[None]:
        """Record the error that ends the block, if possible, and raise it."""
        try:
            yield
        except Exception as error:
            sentence = without_credentials(str(error)).partition("\n")[0] or type(error).__name__
            try:
                self._update("failed", {"error": sentence})
            except Exception as another:  # noqa: BLE001 - whatever ended the run may prevent this too
                error.add_note(f"{TableName.RUNS} could not be updated: {another}")
            raise

    def _row(self, outcome: str) -> dict[str, Any]:
        return {
            **self._entry,
            "run_number": self.run_number,
            "outcome": outcome,
            "retries": self.retries,
            "package_version": __version__,
            "spark_version": self._lake.spark.version,
        }

    def _update(self, outcome: str, columns: Mapping[str, Any]) -> None:
        row = {**self._row(outcome), "ended_at": datetime.now(UTC), **columns}
        self._sink.rewrite(TableName.RUNS, [row])


BUILT_ON: Final = (
    *GOLD_TABLES,
    TableName.RECORDS,
    TableName.OFFSET_COMMITS,
    TableName.GROUP_RECORDS,
    TableName.QUARANTINE,
    TableName.SNAPSHOTS,
    TableName.BROKER_LOG,
    TableName.END_OFFSETS,
)
"""The tables that a run over new records resumes from or adds to."""


PROGRESS_COLUMNS: Final = (
    "partition",
    "bronze_version",
    "run_number",
    "run_id",
    "replayed_to",
    "last_record_at",
    "records",
    "holes",
    "records_between_holes",
    "lost_before",
    "table_ids",
    "table_versions",
    "table_commits",
)


@dataclass(frozen=True, slots=True)
class PartitionProgress:
    """One partition of the log."""

    next_offset: int
    """Offset after the last record that gold includes."""
    last_ms: int | None
    """Largest record time, epoch milliseconds."""
    records: int
    """All records so far, offset commits and markers too."""
    holes: Holes | None = None
    """Between its records; None if they may be markers of transactions, which some sources do not show."""

    @property
    def is_whole(self) -> bool:
        """Whether the partition has a record at each offset from 0 to its last one."""
        return self.records == self.next_offset


@dataclass(frozen=True, slots=True)
class Progress:
    """What the next run can resume from."""

    bronze_version: int
    """Version of bronze.records that the tables include."""
    partitions: Mapping[int, PartitionProgress] = field(default_factory=dict)
    gaps: Mapping[int, Sequence[int]] = field(default_factory=dict)
    """Log partition -> offsets, ascending, before which something is known to be lost."""
    run_number: int = 0
    """Number of the run that got this far."""
    run_id: str | None = None
    is_clean: bool = True
    """Whether no later run has written tables."""
    tables: Mapping[str, TableMark] = field(default_factory=dict)
    """The tables that a run builds on, as that run left them."""

    @property
    def last_ms(self) -> int | None:
        """Largest record time of the log so far, epoch milliseconds."""
        moments = [part.last_ms for part in self.partitions.values() if part.last_ms is not None]
        return max(moments, default=None)

    @property
    def whole(self) -> frozenset[int]:
        """The partitions that lack no record."""
        return frozenset(number for number, part in self.partitions.items() if part.is_whole)

    @property
    def holes(self) -> Mapping[int, Holes]:
        """Partition -> where it lacks records; only partitions where that is known."""
        return {
            number: part.holes for number, part in self.partitions.items() if part.holes is not None
        }

    def turned_since(self, before: "Progress") -> frozenset[int]:
        """The known partitions where other records are known to be missing now."""
        return frozenset(
            number
            for number, part in before.partitions.items()
            if part.is_whole != self.partitions[number].is_whole
            or not _same(part.holes, self.partitions[number].holes, part.next_offset)
        )

    def has_late(self, counts: RecordCounts) -> bool:
        """Whether any partition got a record before those that are known."""
        return any(self.is_late(partition, counts) for partition in counts.partitions)

    def is_late(self, partition: int, counts: RecordCounts) -> bool:
        """Whether a partition got a record before those that are known."""
        before, found = self.partitions.get(partition), counts.partitions[partition]
        return before is not None and found.first_offset < before.next_offset

    def after(self, counts: RecordCounts) -> "Progress":
        """The same when the new records of a counts are known too, but not where they lack any."""
        after = dict(self.partitions)
        for partition, found in counts.partitions.items():
            before = after.get(partition, PartitionProgress(0, None, 0))
            moments = [at for at in (before.last_ms, found.last_ms) if at is not None]
            after[partition] = PartitionProgress(
                max(before.next_offset, found.next_offset),
                max(moments, default=None),
                before.records + found.records,
            )
        return replace(self, partitions=after)

    def lacking(self, holes: Mapping[int, Holes | None]) -> "Progress":
        """The same when it is known where some partitions lack records."""
        parts = {
            number: replace(self.partitions[number], holes=found) for number, found in holes.items()
        }
        return replace(self, partitions={**self.partitions, **parts})


def progress_of(lake: Lake, cluster: str, rules: str, run_number: int) -> Progress | None:
    """The progress in meta.progress and meta.runs; None if everything must be rebuilt.

    `run_number` is the number of the run that asks, `rules` the digest of its thresholds. Raises LakeNotReadable,
    and LakeNotWritable for a run of a later release.
    """
    progress = lake.read_small(TableName.PROGRESS, cluster, PROGRESS_COLUMNS)
    versions = {row["bronze_version"] for row in progress}
    numbers = {row["run_number"] for row in progress}
    if len(versions) != 1 or len(numbers) != 1 or None in versions | numbers:
        return None
    (version,), (number,) = versions, numbers
    if number >= run_number:
        return None  # the run log was lost
    later = [
        row
        for row in lake.read_small(TableName.RUNS, cluster, ("run_number", "layers", "rules"))
        if (row["run_number"] or 0) > number and row["run_number"] != run_number
    ]
    if not progress[0]["table_ids"].keys() <= table_schemas().keys():
        raise later_release(lake.path)
    # A run straight from a source to gold, or with other thresholds, may have changed groups that are not affected.
    if any(row["layers"] != ALL or row["rules"] != rules for row in later):
        return None
    return Progress(
        bronze_version=version,
        partitions={
            row["partition"]: PartitionProgress(
                row["replayed_to"], row["last_record_at"], row["records"], _holes(row)
            )
            for row in progress
        },
        gaps={row["partition"]: row["lost_before"] or () for row in progress},
        run_number=number,
        run_id=progress[0]["run_id"],
        is_clean=not later,
        tables=_marks(progress[0]),
    )


def changes_by_others(lake: Lake, since: Progress) -> dict[str, str]:
    """Tables that are no longer as the last run left them, each with what happened to it. Raises LakeNotReadable.

    Commits of this program's runs are no such changes, also those for other clusters of the lake.
    """
    happened = parallel_map(lambda known: lake.change_since(*known), since.tables.items())
    found = zip(since.tables, happened, strict=True)
    return {name: what for name, what in found if what is not None}


def marks_of_tables(lake: Lake) -> dict[str, TableMark]:
    """The tables that a run builds on, as they are now. Raises LakeNotReadable."""
    marks = zip(BUILT_ON, parallel_map(lake.mark, BUILT_ON), strict=True)
    return {name: mark for name, mark in marks if mark is not None}


def progress_columns(reached: Progress) -> list[dict[str, Any]]:
    """What rows of meta.progress say of the log and the tables: one row per partition, without cluster and run."""
    ids = {name: mark.table_id for name, mark in reached.tables.items()}
    versions = {name: mark.version for name, mark in reached.tables.items()}
    commits = {name: mark.made_by for name, mark in reached.tables.items()}
    return [
        {
            "partition": partition,
            "ingested_to": part.next_offset,
            "replayed_to": part.next_offset,
            "last_record_at": utc_datetime(part.last_ms),
            "records": part.records,
            "bronze_version": reached.bronze_version,
            "lost_before": list(reached.gaps.get(partition, ())) or None,
            **_hole_columns(part.holes),
            "table_ids": ids,
            "table_versions": versions,
            "table_commits": commits,
        }
        for partition, part in reached.partitions.items()
    ]


def _hole_columns(holes: Holes | None) -> dict[str, Any]:
    if holes is None:
        return {"holes": None, "records_between_holes": None}
    ranges = [*zip(holes.firsts, holes.ends, strict=True)]
    return {"holes": ranges, "records_between_holes": holes.apart}


def _holes(row: Any) -> Holes | None:
    if row["holes"] is None:
        return None
    ranges = [(hole["first_offset"], hole["end_offset"]) for hole in row["holes"]]
    return holes_of(ranges)._replace(apart=row["records_between_holes"])


def _same(before: Holes | None, now: Holes | None, next_offset: int) -> bool:
    """Whether two agree on the offsets before one; where holes are unknown, the audit assumes none."""
    then, since = (each or Holes() for each in (before, now))
    since = since.until(next_offset)
    return (then.firsts, then.ends) == (since.firsts, since.ends)


def _marks(row: Any) -> dict[str, TableMark]:
    versions, commits = row["table_versions"], row["table_commits"] or {}
    return {
        name: TableMark(found, versions[name], commits.get(name))
        for name, found in row["table_ids"].items()
    }
