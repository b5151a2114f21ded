"""silver.offset_commits: made from all of bronze, or extended by new records.

The next marker of its producer decides a commit in a transaction, perhaps several runs later. So new markers also
decide commits that were left open; and if records come late, between known ones, the transactions of their partitions
are decided again.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.lake.records import routing
from rebalance_audit.lake.records.commit_columns import COMMIT, decode_commits
from rebalance_audit.lake.records.commit_packs import PACK, READ, commits_of, packed
from rebalance_audit.lake.records.routing import RecordCounts
from rebalance_audit.lake.storage.data_files import (
    FILE,
    DataFile,
    DataFiles,
    DataFolder,
    described_in,
    write_rows,
)
from rebalance_audit.lake.storage.sinks import Sink
from rebalance_audit.lake.storage.stage import GivenRows
from rebalance_audit.tables.arrow_types import ddl_of_columns, padded, schema_of_columns
from rebalance_audit.tables.schemas import TableName, table_schemas

OPEN: Final = "open"
LEFT: Final[Mapping[str, str]] = {**FILE, **PACK}
"""What leaves the tasks that write commits."""


class WrittenCommits(NamedTuple):
    """What a run wrote of the offset commits that it decoded."""

    given: int
    """Commits to decode."""
    decoded: int
    """Those of them that could be."""
    rows: DataFrame
    """Their rows of the table."""
    undecodable: DataFrame | None
    """Rows of silver.quarantine for the others; None if there are none."""
    decided: DataFrame | None = None
    """Earlier commits whose transaction the new markers end, see `NewRecords.decided`; None without markers."""
    packs: DataFrame | None = None
    """Packs of all commits given, see `commit_packs`, where the tasks that wrote the rows made them."""


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
    scope = routing.in_groups(regex, F.col("group_id"))
    given = counts.commits if regex is None else routing.commits(records, regex).count()
    name, is_first = TableName.OFFSET_COMMITS, sink.is_empty(TableName.OFFSET_COMMITS)
    ends = markers if counts.has_transactions else None
    rows, packs = _rows(sink, records, regex, ends, are_new=is_first, with_packs=True)
    if is_first:
        sink.append(name, rows)
    else:
        sink.merge(name, rows.frame, sink.keys_within(name, scope))
    return _written(rows, given, records, regex, packs)


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
    markers = records.where(routing.is_control()) if counts.has_transactions else None
    # The table has a row of a record that is new in bronze only if a run was cut short after this very commit.
    rows, _ = _rows(sink, records, None, markers, are_new=is_clean)
    name = TableName.OFFSET_COMMITS
    if is_clean:
        sink.append(name, rows)
    else:
        sink.merge(name, rows.frame)
    written = _written(rows, counts.commits, records, None)
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


def _rows(
    sink: Sink,
    records: DataFrame,
    regex: str | None,
    markers: DataFrame | None,
    *,
    are_new: bool,
    with_packs: bool = False,
) -> tuple[GivenRows, DataFrame | None]:
    """The decoded commits, for `Sink.append` if they `are_new`, else for a merge; and packs, see WrittenCommits."""
    schema, stage = table_schemas()[TableName.OFFSET_COMMITS], sink.lake.stage
    folder = sink.data_folder(schema) if are_new else None
    decoded = routing.decoded_commits(records, regex)
    if folder is None:
        rows = routing.offset_commits(decoded, markers).withColumn("cluster", F.lit(sink.cluster))
        return stage.put(rows.select(*schema.column_names), schema.column_types), None
    constants = {"cluster": sink.cluster}
    given = routing.commits(records, regex).select(*READ, "producer_id")
    write = partial(write_commits, folder=folder, constants=constants, with_packs=with_packs)
    left = stage.put(given.mapInArrow(write, ddl_of_columns(LEFT)), LEFT)
    described = described_in(left)
    if markers is not None:
        write = partial(write_rows, folder=folder, constants=constants)
        ended = routing.ended_commits(decoded, markers).mapInArrow(write, ddl_of_columns(FILE))
        described += [row.asDict() for row in ended.collect()]
    packs = left.frame.where("kind is not null").select(*PACK) if with_packs else None
    return DataFiles(sink.lake.spark, folder, described), packs


def write_commits(
    batches: Iterable[pa.RecordBatch],
    folder: DataFolder,
    constants: Mapping[str, object],
    *,
    with_packs: bool,
) -> Iterator[pa.RecordBatch]:
    """Write commits outside of transactions to a data file; yields what describes it, and perhaps packs of all."""
    file, left = DataFile(folder, constants), schema_of_columns(LEFT)

    def written() -> Iterator[pa.RecordBatch]:
        for batch in batches:
            file.write(rows_outside_transactions(batch))
            yield batch

    commits = written()
    packs = packed(commits_of(commits)) if with_packs else ()
    yield from (padded(pack, left) for pack in packs)
    for _ in commits:
        pass  # without packs nothing else has read them
    yield from (padded(row, left) for row in file.described())


def rows_outside_transactions(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Rows of the table, without the cluster, for those commits that can be decoded and are in no transaction."""
    decoded, flag = decode_commits(batch["key"], batch["value"]), batch["is_transactional"]
    columns = {
        **{name: batch[name] for name in ("partition", "offset", "timestamp", "producer_id")},
        **{name: decoded.field(name) for name in COMMIT},
        "tombstone": batch["value"].is_null(),
        "transaction_state": pc.if_else(flag.is_null(), "unknown", "none"),
    }
    is_plain = pc.and_not(decoded.field("reason").is_null(), pc.fill_null(flag, False))
    return pa.RecordBatch.from_arrays([*columns.values()], [*columns]).filter(is_plain)


def _written(
    rows: GivenRows,
    given: int,
    records: DataFrame,
    regex: str | None,
    packs: DataFrame | None = None,
) -> WrittenCommits:
    found, undecodable = rows.count(), None
    if found < given:
        undecodable = routing.undecodable_commits(routing.decoded_commits(records, regex))
    return WrittenCommits(given, found, rows.frame, undecodable, packs=packs)


def _closed(sink: Sink, markers: DataFrame) -> DataFrame:
    """The commits that were open and no longer are."""
    known = sink.for_cluster(TableName.OFFSET_COMMITS)
    # Files have statistics of the state: one without open commits is not read.
    were_open = known.where(F.col("transaction_state") == OPEN)
    ended = routing.ended(were_open, markers).drop(routing.MARKER)
    return ended.where(F.col("transaction_state") != OPEN)


def _redecided(history: DataFrame, records: DataFrame) -> DataFrame:
    """All commits in transactions, in the partitions that have new records."""
    partitions = [row[0] for row in records.select("partition").distinct().collect()]
    present = history.where(F.col("partition").isin(partitions))
    of_transactions = present.where(
        F.coalesce("is_transactional", F.lit(False)) | routing.is_control()
    )
    decoded = routing.decoded_commits(of_transactions, None)
    return routing.offset_commits(decoded, of_transactions.where(routing.is_control()))
