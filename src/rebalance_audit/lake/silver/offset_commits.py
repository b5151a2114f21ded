"""silver.offset_commits: made from all of bronze, or extended by new records.

The next marker of its producer decides a commit in a transaction, perhaps several runs later. So new markers also
decide commits that were left open; and if records come late, between known ones, the transactions of their partitions
are decided again.
"""

from collections.abc import Iterable
from functools import partial
from typing import Final, NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.lake.records import routing
from rebalance_audit.lake.silver.log_reading import LogRead, read_once
from rebalance_audit.lake.storage.data_files import FILE, DataFiles, write_rows
from rebalance_audit.lake.storage.sinks import Sink
from rebalance_audit.tables.arrow_types import ddl_of_columns
from rebalance_audit.tables.schemas import TableName

OPEN: Final = "open"


class WrittenCommits(NamedTuple):
    """What a run wrote of the offset commits that it decoded."""

    given: int
    """Commits to decode."""
    decoded: int
    """Those of them that could be."""
    rows: DataFrame
    """Their rows of the table."""
    decided: DataFrame | None = None
    """Earlier commits whose transaction the new markers end, see `NewRecords.decided`; None without markers."""


def read_to_write(
    sink: Sink, records: DataFrame, regex: str | None, *, are_new: bool, with_packs: bool
) -> LogRead:
    """Read records of bronze, with rows for the table in files: `are_new` if it can have none of them."""
    folder = sink.data_folder(TableName.OFFSET_COMMITS, to_append=are_new)
    constants = {"cluster": sink.cluster}
    return read_once(records, sink.lake.stage, folder, constants, regex, with_packs=with_packs)


def replace_commits(
    sink: Sink, read: LogRead, records: DataFrame, regex: str | None
) -> WrittenCommits:
    """Make the commits of the groups that the regular expression matches the groups' rows.

    `records` are all records of the cluster in bronze, `read` by `read_to_write`.
    """
    name = TableName.OFFSET_COMMITS
    rows = _rows(sink, read, records, regex)
    if sink.is_empty(name):
        sink.append(name, rows)
    else:
        scope = routing.in_groups(regex, F.col("group_id"))
        sink.merge(name, rows.frame, sink.keys_within(name, scope))
    return WrittenCommits(read.given, rows.count(), rows.frame)


def add_commits(
    sink: Sink,
    read: LogRead,
    records: DataFrame,
    history: DataFrame,
    *,
    is_late: bool,
    is_clean: bool,
) -> WrittenCommits:
    """Add the commits of new records, `read` by `read_to_write`; decide the transactions that new markers end.

    `history` are all records of the cluster in bronze, read only if `is_late`, that is if a new record comes before
    known ones. If the last run was cut short (not `is_clean`), the table may have some of the rows already.
    """
    name = TableName.OFFSET_COMMITS
    rows = _rows(sink, read, records, None)
    # The table has a row of a record that is new in bronze only if a run was cut short after this very commit.
    if is_clean:
        sink.append(name, rows)
    else:
        sink.merge(name, rows.frame)
    written = WrittenCommits(read.given, rows.count(), rows.frame)
    if not read.counts.has_transactions or sink.is_empty(name):
        return written
    is_again = is_late or not is_clean
    ended = (
        _redecided(history, read.counts.partitions) if is_again else _closed(sink, _markers(read))
    )
    ended = sink.lake.stage.keep(ended)
    sink.merge(name, ended)
    if not read.counts.controls:
        return written
    places = ended.select("partition", "group_id", "offset", F.lit(is_again).alias("is_late"))
    return written._replace(decided=places)


def _rows(sink: Sink, read: LogRead, records: DataFrame, regex: str | None) -> DataFiles:
    """The decoded commits, those in transactions too."""
    rows = read.rows
    assert rows is not None  # a folder was given
    if not read.counts.has_transactions:
        return rows
    ended = routing.ended_commits(records, _markers(read), regex)
    write = partial(write_rows, folder=rows.folder, constants={"cluster": sink.cluster})
    more = ended.mapInArrow(write, ddl_of_columns(FILE)).collect()
    return DataFiles(rows.spark, rows.folder, [*rows.described, *(row.asDict() for row in more)])


def _markers(read: LogRead) -> DataFrame:
    return read.small.where(routing.is_control())


def _closed(sink: Sink, markers: DataFrame) -> DataFrame:
    """The commits that were open and no longer are."""
    known = sink.for_cluster(TableName.OFFSET_COMMITS)
    # Files have statistics of the state: one without open commits is not read.
    were_open = known.where(F.col("transaction_state") == OPEN)
    ended = routing.ended(were_open, markers).drop(routing.MARKER)
    return ended.where(F.col("transaction_state") != OPEN)


def _redecided(history: DataFrame, partitions: Iterable[int]) -> DataFrame:
    """All commits in transactions, in these partitions."""
    present = history.where(F.col("partition").isin(sorted(partitions)))
    return routing.ended_commits(present, present.where(routing.is_control()))
