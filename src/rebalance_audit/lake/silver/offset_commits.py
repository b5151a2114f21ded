"""silver.offset_commits: made from all of bronze, or extended by new records.

The next marker of its producer decides a commit in a transaction, perhaps several runs later. So new markers also
decide commits that were left open; and if records come late, between known ones, the transactions of their partitions
are decided again.
"""

from typing import Final, NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.lake.records import routing
from rebalance_audit.lake.records.record_counts import RecordCounts
from rebalance_audit.lake.storage.sinks import Sink
from rebalance_audit.lake.storage.stage import Staged
from rebalance_audit.tables.schemas import TableName, table_schemas

OPEN: Final = "open"


class WrittenCommits(NamedTuple):
    """What a run wrote of the offset commits that it decoded."""

    given: int
    """Commits to decode."""
    decoded: int
    """Those of them that could be."""
    rows: DataFrame
    """Their rows of the table, from the stage."""
    undecodable: DataFrame | None
    """Rows of silver.quarantine for the others; None if there are none."""
    decided: DataFrame | None = None
    """Earlier commits whose transaction the new markers end, see `NewRecords.decided`; None without markers."""


def replace_commits(
    sink: Sink,
    records: DataFrame,
    markers: DataFrame,
    regex: str | None,
    counts: RecordCounts,
) -> WrittenCommits:
    """Decode all commits of the groups that the regular expression matches, and make them the groups' rows.

    `records` are all records of the cluster in bronze, `counts` theirs, `markers` the control records among them.
    """
    decoded = routing.decoded_commits(records, regex)
    scope = routing.in_groups(regex, F.col("group_id"))
    given = counts.commits if regex is None else routing.commits(records, regex).count()
    rows = routing.offset_commits(decoded, markers if counts.has_transactions else None)
    staged = _staged(sink, rows)
    name = TableName.OFFSET_COMMITS
    if sink.is_empty(name):
        sink.append(name, staged)
    else:
        sink.merge(name, staged.frame, sink.keys_within(name, scope))
    return _written(staged, given, decoded)


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

    `history` are all records of the cluster in bronze, read only if `is_late`, that is if a new record comes before
    known ones. If the last run was cut short (not `is_clean`), the table may have some of the rows already.
    """
    decoded = routing.decoded_commits(records, None)
    markers = records.where(routing.is_control()) if counts.has_transactions else None
    staged = _staged(sink, routing.offset_commits(decoded, markers))
    name = TableName.OFFSET_COMMITS
    # The table has a row of a record that is new in bronze only if a run was cut short after this very commit.
    if is_clean:
        sink.append(name, staged)
    else:
        sink.merge(name, staged.frame)
    written = _written(staged, counts.commits, decoded)
    if markers is None or sink.is_empty(name):
        return written
    is_again = is_late or not is_clean
    ended = _redecided(history, records) if is_again else _closed(sink, markers)
    ended = sink.lake.stage.keep(ended)
    sink.merge(name, ended)
    if not counts.controls:
        return written
    places = ended.select("partition", "group_id", "offset", F.lit(is_again).alias("is_late"))
    return written._replace(decided=places)


def _staged(sink: Sink, rows: DataFrame) -> Staged:
    schema = table_schemas()[TableName.OFFSET_COMMITS]
    rows = rows.withColumn("cluster", F.lit(sink.cluster)).select(*schema.column_names)
    return sink.lake.stage.put(rows, schema.column_types)


def _written(staged: Staged, given: int, decoded: DataFrame) -> WrittenCommits:
    found = staged.count()
    undecodable = routing.undecodable_commits(decoded) if found < given else None
    return WrittenCommits(given, found, staged.frame, undecodable)


def _closed(sink: Sink, markers: DataFrame) -> DataFrame:
    """The commits that were open and no longer are."""
    known = sink.of_cluster(TableName.OFFSET_COMMITS)
    # Files have statistics of the state: one without open commits is not read.
    were_open = known.where(F.col("transaction_state") == OPEN)
    ended = routing.ended(were_open, markers).drop(routing.MARKER)
    return ended.where(F.col("transaction_state") != OPEN)


def _redecided(history: DataFrame, records: DataFrame) -> DataFrame:
    """All commits in transactions, in the partitions that have new records."""
    partitions = [row[0] for row in records.select("partition").distinct().collect()]
    there = history.where(F.col("partition").isin(partitions))
    of_transactions = there.where(
        F.coalesce("is_transactional", F.lit(False)) | routing.is_control()
    )
    decoded = routing.decoded_commits(of_transactions, None)
    return routing.offset_commits(decoded, of_transactions.where(routing.is_control()))
