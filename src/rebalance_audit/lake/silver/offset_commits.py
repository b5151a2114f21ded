"""silver.offset_commits: made from all of bronze, or extended by what is new there.

The next marker of its producer decides a commit in a transaction, and may come several runs later. So new markers also
decide commits that were left open; and if records come late, between known ones, the transactions of their partitions
are decided again.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.lake.records import routing
from rebalance_audit.lake.records.record_counts import RecordCounts
from rebalance_audit.lake.silver.commit_files import (
    files_of_commits,
    files_of_files,
    first_names,
    groups_noted,
)
from rebalance_audit.lake.storage.data_files import DataFiles
from rebalance_audit.lake.storage.sinks import Sink, Written
from rebalance_audit.lake.storage.table_files import TableFiles
from rebalance_audit.tables.schemas import TableName

OPEN: Final = "open"


class CommitFiles(NamedTuple):
    """Files of the table that tasks have written."""

    rows: int
    files: TableFiles
    topics: Mapping[str, str] | None
    """Topic id -> the first name of it among the rows; None for too many."""
    groups: Sequence[tuple[int, str]] | None
    """Log partition and id of each group that has rows; None for too many."""


class WrittenCommits(NamedTuple):
    """What a run wrote of the offset commits that it decoded."""

    written: tuple[Written, ...]
    """What each of the table's commits changed."""
    given: int
    """Commits that were to be decoded."""
    decoded: int
    """Those of them that could be."""
    rows: DataFrame
    """Rows of the table: those that were decoded, or more."""
    undecodable: DataFrame | None
    """Rows of silver.quarantine for the others; None if there are none."""
    held: DataFrame | None
    """What the frames are made from, in memory until `release`."""
    by_tasks: CommitFiles | None = None
    """The files that have exactly these rows, if tasks wrote them."""

    @property
    def topics(self) -> Mapping[str, str] | None:
        """Topic id -> the first name of it among the commits that were decoded; None if nobody has noted them."""
        return None if self.by_tasks is None else self.by_tasks.topics

    def release(self) -> None:
        """Free what is held."""
        if self.held is not None:
            self.held.unpersist()


def replace_commits(
    sink: Sink,
    records: DataFrame,
    markers: DataFrame,
    regex: str | None,
    counts: RecordCounts,
    bronze: TableFiles | None = None,
) -> WrittenCommits:
    """Decode all commits of the groups that the regular expression matches, and make them the groups' rows.

    `records` are all records of the cluster in bronze, `counts` theirs, `markers` the control records among them;
    `bronze` has the files that they are in, where tasks can read them.
    """
    decoded = routing.decoded_commits(records, regex)
    scope = routing.in_groups(regex, F.col("group_id"))
    given = counts.commits if regex is None else routing.commits(records, regex).count()
    written, was_empty = [], sink.is_empty(TableName.OFFSET_COMMITS)
    files = None
    if given and was_empty and not counts.has_transactions:
        files = _appended_files(sink, records, regex, bronze)
    if files is not None:
        written.append(Written(inserted=files.rows))
    elif given or not was_empty:
        rows = routing.offset_commits(decoded, markers if counts.has_transactions else None)
        written.append(sink.replace(TableName.OFFSET_COMMITS, rows, scope))
    there = sink.of_cluster(TableName.OFFSET_COMMITS)
    found = sum(each.inserted for each in written) if was_empty else there.where(scope).count()
    undecodable = routing.undecodable_commits(decoded) if found < given else None
    return WrittenCommits(tuple(written), given, found, there, undecodable, None, files)


def add_commits(
    sink: Sink,
    records: DataFrame,
    history: DataFrame,
    counts: RecordCounts,
    *,
    is_late: bool,
    is_clean: bool,
    new: TableFiles | None = None,
) -> WrittenCommits:
    """Decode the new records' commits and add them; decide the transactions that new markers end.

    `history` are all records of the cluster in bronze, read only if `is_late`, that is if a new record comes before
    known ones. If the last run was cut short (not `is_clean`), the table may have some of the rows already. `new` are
    the files of bronze with the new records, where tasks can read them.
    """
    if is_clean and not is_late and not counts.has_transactions:
        return _appended(sink, records, counts, new)
    decoded = routing.decoded_commits(records, None).persist(StorageLevel.MEMORY_AND_DISK)
    markers = records.where(routing.is_control()) if counts.has_transactions else None
    rows = routing.offset_commits(decoded, markers)
    found = decoded.where("commit.reason is null").count()
    written = []
    if found:
        # The table has a row of a record that is new in bronze only if a run was cut short after this very commit.
        written.append(
            sink.append(TableName.OFFSET_COMMITS, rows)
            if is_clean
            else sink.upsert(TableName.OFFSET_COMMITS, rows)
        )
    if markers is not None and not sink.is_empty(TableName.OFFSET_COMMITS):
        decided = (
            _redecided(history, records) if is_late or not is_clean else _closed(sink, markers)
        )
        written.append(sink.upsert(TableName.OFFSET_COMMITS, decided))
    undecodable = routing.undecodable_commits(decoded) if found < counts.commits else None
    return WrittenCommits(tuple(written), counts.commits, found, rows, undecodable, decoded)


def _appended(
    sink: Sink, records: DataFrame, counts: RecordCounts, new: TableFiles | None
) -> WrittenCommits:
    """Commits after all that the table has, none of them in a transaction."""
    # What follows reads two or three columns, from the table: that costs less than holding all commits in memory.
    decoded = routing.decoded_commits(records, None)
    files = _appended_files(sink, records, None, new)
    if files is not None:
        written = Written(inserted=files.rows)
    else:
        written = sink.append(TableName.OFFSET_COMMITS, routing.offset_commits(decoded, None))
    found = written.inserted
    rows = sink.of_cluster(TableName.OFFSET_COMMITS).where(counts.within())
    undecodable = None
    if found < counts.commits:
        undecodable = routing.undecodable_commits(decoded).persist(StorageLevel.MEMORY_AND_DISK)
    return WrittenCommits((written,), counts.commits, found, rows, undecodable, undecodable, files)


def _appended_files(
    sink: Sink, records: DataFrame, regex: str | None, bronze: TableFiles | None = None
) -> CommitFiles | None:
    def told(files: DataFiles) -> DataFrame:
        if bronze is None or regex is not None:
            return files_of_commits(records, regex, files, sink.cluster)
        return files_of_files(records.sparkSession, bronze, files)

    done = sink.append_files(TableName.OFFSET_COMMITS, told)
    if done is None:
        return None
    files = sink.files_named(TableName.OFFSET_COMMITS, done.names)
    return CommitFiles(done.rows, files, first_names(done.noted), groups_noted(done.noted))


def _closed(sink: Sink, markers: DataFrame) -> DataFrame:
    """The commits that were open and no longer are."""
    known = sink.of_cluster(TableName.OFFSET_COMMITS)
    # Files have statistics of the state: one without open commits is not read.
    were_open = known.where(F.col("transaction_state") == OPEN)
    return routing.ended(were_open, markers).where(F.col("transaction_state") != OPEN)


def _redecided(history: DataFrame, records: DataFrame) -> DataFrame:
    """All commits in transactions, in the partitions that have new records."""
    partitions = [row[0] for row in records.select("partition").distinct().collect()]
    there = history.where(F.col("partition").isin(partitions))
    of_transactions = there.where(
        F.coalesce("is_transactional", F.lit(False)) | routing.is_control()
    )
    decoded = routing.decoded_commits(of_transactions, None)
    return routing.offset_commits(decoded, of_transactions.where(routing.is_control()))
