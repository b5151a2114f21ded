"""A log, read once: commits become rows of their table and packs, all other records are kept, and all are counted.

One task does all of that with its part of the log. What leaves it is small: the others are one record in a hundred, and
a pack has 24 bytes of each commit. They are staged, because the reducer has to know the end of the log, its gaps and
the names of topics before it sees the first record.
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from functools import partial
from typing import Any, Final, NamedTuple

import orjson
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.lake.records import routing
from rebalance_audit.lake.records.commit_columns import COMMIT, UNDECODABLE, decode_commits
from rebalance_audit.lake.records.commit_packs import IS_DECODABLE, PACK, Packing, are_commits
from rebalance_audit.lake.records.record_columns import DAMAGE, OF_SEGMENTS, RECORD
from rebalance_audit.lake.records.record_counts import RecordCounts, RecordTally, counts_in
from rebalance_audit.lake.records.topics import TopicsOfCommits, names_in_reports
from rebalance_audit.lake.session.splits import Splits, through
from rebalance_audit.lake.storage.data_files import FILE, DataFile, DataFiles, DataFolder
from rebalance_audit.lake.storage.stage import TABLE, Stage
from rebalance_audit.tables.arrow_types import ddl_of_columns, padded, schema_of_columns
from rebalance_audit.wire.topic_names import TopicName

OTHERS: Final = "others"
PACKS: Final = "packs"
ODD: Final = "undecodable"
REPORTS: Final = "reports"
_AS_IT_IS: Final = ("partition", "offset", "timestamp", "key", "value")
PARTS: Final[Mapping[str, Mapping[str, str]]] = {
    OTHERS: {
        **{name: RECORD[name] for name in routing.OF_OTHERS},
        DAMAGE: OF_SEGMENTS[DAMAGE],
    },
    PACKS: PACK,
    ODD: {**{name: RECORD[name] for name in _AS_IT_IS}, **UNDECODABLE},
    REPORTS: FILE,
}
"""What leaves a task -> its columns, name -> type as DDL. Of the commits that cannot be decoded, their bytes and the
reasons; a report for each file, and one for what the task has counted."""
LEFT: Final = {
    TABLE: "string",
    **{name: kind for part in PARTS.values() for name, kind in part.items()},
}
WANTED: Final = "is_wanted"
"""Column of the rows: whether to decode a commit; without it, all are."""


class LogRead(NamedTuple):
    """What came of a reading."""

    counts: RecordCounts
    small: DataFrame
    """All records but offset commits, and damaged stretches, see `routing.other_records`."""
    given: int
    """Commits of the groups that were asked for."""
    rows: DataFiles | None
    """Of them rows of silver.offset_commits for those that are decodable and in no transaction, where a folder was
    given."""
    undecodable: DataFrame | None
    """Of them rows of silver.quarantine (without the cluster) for those that are not decodable; None without any."""
    packs: DataFrame
    """Of them packs for the reducer, see `commit_packs`, where these were asked for."""
    topics: list[TopicName]
    """The names that they give to ids of topics."""

    def in_memory(self, held: ExitStack) -> "LogRead":
        """The same with `small` in memory until the stack is left."""
        small = self.small.persist(StorageLevel.MEMORY_AND_DISK)
        held.callback(small.unpersist)
        return self._replace(small=small)


def read_once(
    log: DataFrame | Splits[Any],
    stage: Stage,
    folder: DataFolder | None,
    constants: Mapping[str, object],
    regex: str | None = None,
    *,
    with_packs: bool = True,
) -> LogRead:
    """Read a log, with the columns of RECORD and perhaps DAMAGE; rows of commits go to the folder, with `constants`.

    A regular expression chooses the groups whose commits are decoded; splits do not know it, and decode all.
    """
    given = log
    if isinstance(log, DataFrame):
        columns = [name for name in PARTS[OTHERS] if name in log.columns]
        given = log.select(*columns)
        if regex is not None:
            given = given.withColumn(WANTED, routing.in_groups(regex, routing.group_id()))
    read = partial(read_log, folder=folder, constants=constants, with_packs=with_packs)
    staged = stage.put_parts(through(given, read, ddl_of_columns(LEFT)), PARTS)
    rows = staged[REPORTS].stored_rows()
    reports = [orjson.loads(row["summary"]) for row in rows if row["path"] is None]
    files = [row for row in rows if row["path"] is not None]
    packs = staged[PACKS].frame.where(routing.in_groups(regex, F.col("group_id")))
    odd = staged[ODD]
    unreadable = odd.frame.withColumnRenamed("undecodable_version", "value_version")
    return LogRead(
        counts_in(row for report in reports for row in report["counts"]),
        staged[OTHERS].frame.withColumn("group_id", routing.group_id()),
        sum(report["given"] for report in reports),
        None if folder is None else DataFiles(stage.spark, folder, files),
        unreadable if odd.count() else None,
        packs,
        names_in_reports(row for report in reports for row in report["topics"]),
    )


def read_log(
    batches: Iterable[pa.RecordBatch],
    folder: DataFolder | None,
    constants: Mapping[str, object],
    *,
    with_packs: bool,
) -> Iterator[pa.RecordBatch]:
    """What one task makes of its rows, with the columns of LEFT."""
    file = None if folder is None else DataFile(folder, constants)
    tally, topics, packing, given = RecordTally(), TopicsOfCommits(), Packing(), 0
    for batch in batches:
        is_commit = are_commits(batch)
        tally.add(batch, is_commit)
        commits = batch
        # In bronze nearly all batches are commits alone, see `commits_first`: no need to copy them.
        if is_commit.true_count < batch.num_rows:
            yield from _left(OTHERS, batch.filter(pc.invert(is_commit)))
            commits = batch.filter(is_commit)
        if WANTED in batch.schema.names:
            commits = commits.filter(commits[WANTED])
        if not commits.num_rows:
            continue
        given += commits.num_rows
        topics.add(commits)
        if file is not None:
            decoded = decode_commits(commits["key"], commits["value"])
            commits = commits.append_column(IS_DECODABLE, decoded.field("reason").is_null())
            file.write(rows_outside_transactions(commits, decoded))
            yield from _left(ODD, undecodable(commits, decoded))
        if with_packs:
            for pack in packing.add(commits):
                yield from _left(PACKS, pack)
    for pack in packing.rest():
        yield from _left(PACKS, pack)
    if file is not None:
        for row in file.described():
            yield from _left(REPORTS, row)
    report = {"counts": tally.report(), "given": given, "topics": topics.report()}
    summary = pa.table({"summary": [orjson.dumps(report).decode()]}).to_batches()
    yield from _left(REPORTS, *summary)


def _left(part: str, rows: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    if rows.num_rows:
        chosen = rows.select([name for name in PARTS[part] if name in rows.schema.names])
        named = chosen.append_column(TABLE, pa.repeat(pa.scalar(part), rows.num_rows))
        yield padded(named, _SCHEMA)


_SCHEMA: Final = schema_of_columns(LEFT)


def rows_outside_transactions(commits: pa.RecordBatch, decoded: pa.StructArray) -> pa.RecordBatch:
    """Rows of silver.offset_commits, without the cluster, for those that are decodable and in no transaction."""
    flag = commits["is_transactional"]
    columns = {
        **{name: commits[name] for name in ("partition", "offset", "timestamp", "producer_id")},
        **{name: decoded.field(name) for name in COMMIT},
        "tombstone": commits["value"].is_null(),
        "transaction_state": pc.if_else(flag.is_null(), "unknown", "none"),
    }
    rows = pa.RecordBatch.from_arrays([*columns.values()], [*columns])
    return rows.filter(pc.and_not(commits[IS_DECODABLE], pc.fill_null(flag, False)))


def undecodable(commits: pa.RecordBatch, decoded: pa.StructArray) -> pa.RecordBatch:
    """The others, and why they are not decodable."""
    is_odd = pc.invert(commits[IS_DECODABLE])
    columns = [
        *(commits[name] for name in _AS_IT_IS),
        *(decoded.field(name) for name in UNDECODABLE),
    ]
    return pa.RecordBatch.from_arrays(columns, [*PARTS[ODD]]).filter(is_odd)
