"""silver.offset_commits: what is new in bronze added to it.

A commit inside a transaction is decided by the next marker of its producer, which may come runs later. So new markers
look back at the commits that were left open; and where records come late, between others that are known, the
transactions of their partitions are decided anew.
"""

from typing import Final, NamedTuple

from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.lake.records import routing
from rebalance_audit.lake.records.record_counts import RecordCounts
from rebalance_audit.lake.storage.sinks import Sink, Written
from rebalance_audit.table_schemas import TableName

OPEN: Final = "open"


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

    def release(self) -> None:
        """Free what is held."""
        if self.held is not None:
            self.held.unpersist()


def replace_commits(
    sink: Sink, records: DataFrame, markers: DataFrame, regex: str | None, counts: RecordCounts
) -> WrittenCommits:
    """Decode all commits of the groups that the regular expression matches, and make them the groups' rows.

    `records` are all records of the cluster in bronze, `counts` theirs, `markers` the control records among them.
    """
    decoded = routing.decoded_commits(records, regex)
    scope = routing.in_groups(regex, F.col("group_id"))
    given = counts.commits if regex is None else routing.commits(records, regex).count()
    written = []
    if given or not sink.is_empty(TableName.OFFSET_COMMITS):
        rows = routing.offset_commits(decoded, markers if counts.has_transactions else None)
        written.append(sink.replace(TableName.OFFSET_COMMITS, rows, scope))
    there = sink.of_cluster(TableName.OFFSET_COMMITS)
    found = there.where(scope).count()
    undecodable = routing.undecodable_commits(decoded) if found < given else None
    return WrittenCommits(tuple(written), given, found, there, undecodable, None)


def add_commits(
    sink: Sink,
    records: DataFrame,
    history: DataFrame,
    counts: RecordCounts,
    *,
    is_late: bool,
    is_clean: bool,
) -> WrittenCommits:
    """Decode the new records' commits and add them; decide the transactions that new markers end.

    `history` are all records of the cluster in bronze, looked at only where `is_late`, that is where a new record lies
    before known ones. Where the last run was cut short (not `is_clean`) some rows may be there.
    """
    if is_clean and not is_late and not counts.has_transactions:
        return _appended(sink, records, counts)
    decoded = routing.decoded_commits(records, None).persist(StorageLevel.MEMORY_AND_DISK)
    markers = records.where(routing.is_control()) if counts.has_transactions else None
    rows = routing.offset_commits(decoded, markers)
    found = decoded.where("commit.reason is null").count()
    written = []
    if found:
        # Silver has what bronze had: new rows of bronze are in it only where a run was cut short behind this commit.
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


def _appended(sink: Sink, records: DataFrame, counts: RecordCounts) -> WrittenCommits:
    """Commits behind all that silver has, and none of a transaction."""
    # What follows reads two columns or three: from the table, which costs less than to hold all of them here.
    decoded = routing.decoded_commits(records, None)
    written = sink.append(TableName.OFFSET_COMMITS, routing.offset_commits(decoded, None))
    found = written.inserted
    rows = sink.of_cluster(TableName.OFFSET_COMMITS).where(counts.places())
    undecodable = None
    if found < counts.commits:
        undecodable = routing.undecodable_commits(decoded).persist(StorageLevel.MEMORY_AND_DISK)
    return WrittenCommits((written,), counts.commits, found, rows, undecodable, undecodable)


def _closed(sink: Sink, markers: DataFrame) -> DataFrame:
    """The commits that were open so far and are not any more."""
    known = sink.of_cluster(TableName.OFFSET_COMMITS)
    # The text is in the files' statistics: a file without open commits is not looked at.
    were_open = known.where(F.col("transaction_state") == OPEN)
    return routing.ended(were_open, markers).where(F.col("transaction_state") != OPEN)


def _redecided(history: DataFrame, records: DataFrame) -> DataFrame:
    """All commits of transactions of the partitions that the new records are in."""
    partitions = [row[0] for row in records.select("partition").distinct().collect()]
    there = history.where(F.col("partition").isin(partitions))
    of_transactions = there.where(
        F.coalesce("is_transactional", F.lit(False)) | routing.is_control()
    )
    decoded = routing.decoded_commits(of_transactions, None)
    return routing.offset_commits(decoded, of_transactions.where(routing.is_control()))
