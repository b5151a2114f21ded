"""Writing a table with each writer: what stays, what is added, and when there is no commit."""

import os
import shutil
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.dataset as ds
import pytest
from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from rebalance_audit.errors import BadRequest, LakeBusy, LakeNotWritable
from rebalance_audit.lake.runs.progress import RunLog
from rebalance_audit.lake.session.spark_session import temporary_settings
from rebalance_audit.lake.storage.lock import OWNER
from rebalance_audit.lake.storage.sinks import Sink
from rebalance_audit.lake.storage.spark_writer import KeyRange
from rebalance_audit.lake.storage.stage import GONE, GivenRows
from rebalance_audit.lake.storage.table_log import commit_metadata
from rebalance_audit.lake.storage.table_place import KINDS, LakeOptions, WriterKind
from rebalance_audit.lake.storage.table_writer import Outrun, TableChange, Written
from rebalance_audit.lake.storage.tables import Lake
from rebalance_audit.readers.tables import open_table
from rebalance_audit.tables.schemas import table_schemas
from tests.spark.faults import truncate_log
from tests.spark.lakes import frame_of, table

TOPICS = "gold.topics"
RUNS = "meta.runs"
INGESTED = "meta.ingested"
FINDINGS = "gold.findings"
FIRST_RUN, SECOND_RUN = "20260101T000000Z-00000001", "20260101T010000Z-00000002"


@pytest.fixture(params=KINDS)
def lake(spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Lake]:
    """A lake with one empty table, and the log of runs; made for one writer."""
    made = Lake(spark, str(tmp_path / "lake"), LakeOptions(writer=request.param))
    made.create([TOPICS, RUNS])
    with made.staging(FIRST_RUN):
        yield made


def topics(spark: SparkSession, **names: str) -> DataFrame:
    """Rows of gold.topics by id."""
    return topics_of(spark, names)


def topics_of(spark: SparkSession, names: dict[str, str]) -> DataFrame:
    """The same of ids that are no names in Python."""
    rows = [(topic_id, name, "metadata_log") for topic_id, name in names.items()]
    frame = spark.createDataFrame(rows, "topic_id string, topic string, source string")
    absent = {
        column.name: F.lit(None).cast(column.type)
        for column in table_schemas()[TOPICS].columns
        if column.name not in {"cluster", *frame.columns}
    }
    return frame.withColumns(absent)


def findings(spark: SparkSession, **groups: str) -> DataFrame:
    """Rows of gold.findings, the group by the finding's id."""
    same = {"kind": "storm", "severity": "info", "detail": "", "advice": "", "evidence": []}
    rows = [{**same, "finding_id": each, "group_id": group} for each, group in groups.items()]
    return frame_of(spark, FINDINGS, rows)


def keys(spark: SparkSession, *ids: str) -> DataFrame:
    """Keys of rows that are gone."""
    return spark.createDataFrame([(each,) for each in ids], "topic_id string")


def topic(topic_id: str, name: str) -> dict[str, Any]:
    """One row of it, as the driver knows it."""
    return {"topic_id": topic_id, "topic": name, "source": "metadata_log"}


def ingested(partition: int, records: int) -> dict[str, Any]:
    """A row of meta.ingested."""
    return {
        "partition": partition,
        "records": records,
        "missing_offsets": 0,
        "compacted_offsets": 0,
        "bronze_version": 1,
        "source": "segments:log",
        "run_id": FIRST_RUN,
        "updated_at": datetime(2026, 1, 1, tzinfo=UTC),
        "files": [],
    }


def named(lake: Lake, cluster: str) -> dict[str, str]:
    """Name by id."""
    return {row["topic_id"]: row["topic"] for row in table(Path(lake.path), TOPICS, cluster)}


def before(
    monkeypatch: pytest.MonkeyPatch, lake: Lake, method: str, first: Callable[[], object]
) -> None:
    """Let something happen between a sink's look at a table and its next change."""
    change = getattr(lake.writer, method)

    def after_the_other(*arguments: Any) -> Any:
        monkeypatch.undo()
        first()
        return change(*arguments)

    monkeypatch.setattr(lake.writer, method, after_the_other)


def test_a_table_is_what_its_schema_says(lake: Lake) -> None:
    """Columns with their comments, what must not be null, properties, and no clustering."""
    schema = table_schemas()[TOPICS]
    made = DeltaTable(lake.table_path(TOPICS))
    fields = made.schema().fields
    assert [field.name for field in fields] == [*schema.column_names]
    assert [field.metadata["comment"] for field in fields] == [
        column.meaning for column in schema.columns
    ]
    assert [field.nullable for field in fields] == [column.nullable for column in schema.columns]
    assert made.metadata().description == schema.description
    assert made.metadata().configuration["delta.enableChangeDataFeed"] == "true"
    assert made.metadata().configuration["rebalanceAudit.writer"] == lake.writer.kind
    assert made.protocol().min_reader_version == 1
    assert "clustering" not in (made.protocol().writer_features or ())
    assert lake.is_unwritten(TOPICS)


def test_a_lake_keeps_its_writer(spark: SparkSession, lake: Lake) -> None:
    """The other one is refused in a sentence; without a choice it is what the lake was made with."""
    kind = lake.writer.kind
    (other,) = set(KINDS) - {kind}
    assert Lake(spark, lake.path).writer.kind == kind
    with pytest.raises(
        BadRequest, match=f"made with the writer {kind}, but lake.writer is {other}"
    ):
        _ = Lake(spark, lake.path, LakeOptions(writer=other)).writer


def test_rows_merged_take_the_place_of_those_with_their_key(
    spark: SparkSession, lake: Lake
) -> None:
    """New keys are added, known ones get the new values, other rows and other clusters stay; one commit for each."""
    blue, green = Sink(lake, "blue", "run"), Sink(lake, "green", "other")
    blue.merge(TOPICS, topics(spark, a="one", b="two"))
    green.merge(TOPICS, topics(spark, a="mine"))
    assert blue.merge(TOPICS, topics(spark, b="second", c="three")) == Written(1, 1)
    assert named(lake, "blue") == {"a": "one", "b": "second", "c": "three"}
    assert named(lake, "green") == {"a": "mine"}
    assert lake.version(TOPICS) == 3


def test_rows_to_go_are_found_by_their_key_alone(spark: SparkSession, lake: Lake) -> None:
    """Also beside rows of a group, where the key does not say which group a row is of."""
    lake.create([FINDINGS])
    sink = Sink(lake, "blue", FIRST_RUN)
    sink.append(FINDINGS, findings(spark, one="a", two="b"))
    gone = findings(spark, one="a").select("finding_id")
    assert sink.merge(FINDINGS, findings(spark, two="b", three="b"), gone) == Written(1, 0, 1)
    found = lake.read(FINDINGS).select("finding_id", "group_id").collect()
    assert sorted(map(tuple, found)) == [("three", "b"), ("two", "b")]


def test_rewritten_rows_take_the_place_of_all_of_the_cluster(
    spark: SparkSession, lake: Lake
) -> None:
    """Rows that the driver has, or Spark; those of other clusters stay."""
    blue, green = Sink(lake, "it's blue", "run"), Sink(lake, "green", "other")
    lake.create([INGESTED])
    blue.rewrite(INGESTED, frame_of(spark, INGESTED, [ingested(0, 5), ingested(1, 6)]))
    green.rewrite(INGESTED, [ingested(0, 7)])
    blue.rewrite(INGESTED, [ingested(2, 8)])
    rows = lake.read(INGESTED).select("cluster", "partition", "records").collect()
    assert sorted(map(tuple, rows)) == [("green", 0, 7), ("it's blue", 2, 8)]


def test_replaced_rows_are_those_of_the_scope(spark: SparkSession, lake: Lake) -> None:
    """Within it rows come, change and go; what lies outside, or is the same, stays."""
    sink = Sink(lake, "blue", FIRST_RUN)
    sink.append(TOPICS, topics(spark, a="one", b="two", c="three", x="far"))
    near = F.col("topic_id") < "d"
    written = sink.replace(TOPICS, topics(spark, a="one", b="II", d="four"), near)
    assert written == Written(1, 1, 1)
    assert named(lake, "blue") == {"a": "one", "b": "II", "d": "four", "x": "far"}


def test_no_difference_is_no_commit(spark: SparkSession, lake: Lake) -> None:
    """Neither rows that are as they were, nor keys that are not there, nor no rows at all."""
    sink = Sink(lake, "blue", FIRST_RUN)
    assert sink.append(TOPICS, topics(spark)) == Written()
    assert lake.version(TOPICS) == 0
    sink.append(TOPICS, topics(spark, a="one"))
    assert sink.merge(TOPICS, topics(spark, a="one"), keys(spark, "b")) == Written()
    assert sink.replace(TOPICS, topics(spark, a="one"), F.lit(True)) == Written()
    assert sink.insert_new(TOPICS, topics(spark, a="another")) == Written()
    assert lake.version(TOPICS) == 1
    assert named(lake, "blue") == {"a": "one"}


def test_a_change_feed_has_what_changed(spark: SparkSession, lake: Lake) -> None:
    """Rows added, changed, removed; not those beside them in a file, nor those that are as they were."""
    Sink(lake, "green", FIRST_RUN).append(TOPICS, topics(spark, a="mine"))
    sink = Sink(lake, "blue", SECOND_RUN)
    sink.append(TOPICS, topics(spark, a="one", b="two", c="three"))
    sink.append(TOPICS, topics(spark, d="four"))
    rows = topics(spark, a="one", b="II", e="V")
    assert sink.merge(TOPICS, rows, keys(spark, "c", "x")) == Written(1, 1, 1)
    version = lake.version(TOPICS)
    assert version is not None
    changes = lake.changed(TOPICS, version - 1, version)
    found = changes.select("_change_type", "cluster", "topic_id", "topic").collect()
    assert sorted(map(tuple, found)) == [
        ("delete", "blue", "c", "three"),
        ("insert", "blue", "e", "V"),
        ("update_postimage", "blue", "b", "II"),
        ("update_preimage", "blue", "b", "two"),
    ]
    assert named(lake, "blue") == {"a": "one", "b": "II", "d": "four", "e": "V"}
    assert named(lake, "green") == {"a": "mine"}
    assert [commit.user_metadata for commit in lake.log(TOPICS).commits(1, version)] == [
        FIRST_RUN,
        *[SECOND_RUN] * 3,
    ]


def test_a_change_builds_on_the_version_for_which_it_was_made(
    spark: SparkSession, lake: Lake
) -> None:
    """The same again, or another one that knows as little, is refused; nothing is there twice."""
    schema = table_schemas()[TOPICS]
    rows = Sink(lake, "blue", FIRST_RUN).of_driver(TOPICS, [topic("a", "one")])
    first, second = TableChange(FIRST_RUN, "blue", 0), TableChange(SECOND_RUN, "blue", 0)
    assert lake.writer.append(schema, rows, first) == Written(1)
    for commit in (first, second):
        with pytest.raises(Outrun):
            lake.writer.append(schema, rows, commit)
    assert lake.read(TOPICS).count() == 1


def test_a_way_that_the_schema_does_not_declare_is_refused(lake: Lake) -> None:
    """By both writers, before they look at the table: nothing is committed."""
    schema, commit = table_schemas()[RUNS], TableChange(FIRST_RUN, "blue", 0)
    with pytest.raises(ValueError, match="written by append, replace, not by merge"):
        lake.writer.merge(schema, Sink(lake, "blue", FIRST_RUN).of_driver(RUNS, []), commit)
    assert lake.is_unwritten(RUNS)


def test_what_another_adds_meanwhile_is_not_doubled(
    spark: SparkSession, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where there are no locks, two runs write the same rows: one changes the table while the other appends to it."""
    blue, other = Sink(lake, "blue", FIRST_RUN), Sink(lake, "blue", SECOND_RUN)
    blue.append(TOPICS, topics(spark, a="one"))
    theirs = topics(spark, a="first", b="theirs")
    before(monkeypatch, lake, "append", lambda: other.merge(TOPICS, theirs))
    assert blue.append(TOPICS, topics(spark, b="mine", c="three")).rows == 1
    assert named(lake, "blue") == {"a": "first", "b": "theirs", "c": "three"}


@pytest.mark.parametrize("cluster", ["green", "blue"])
def test_whoever_was_slower_tries_again_or_gives_way(
    spark: SparkSession, lake: Lake, monkeypatch: pytest.MonkeyPatch, cluster: str
) -> None:
    """Runs of two clusters share a table; what a run of the same cluster has read is old, so it must not go on."""
    entry = {"started_at": datetime.now(UTC), "command": "run", "source": "a log", "full": False}
    RunLog(lake, cluster, SECOND_RUN, entry).start()
    blue, other = Sink(lake, "blue", FIRST_RUN), Sink(lake, cluster, SECOND_RUN)
    blue.append(TOPICS, topics(spark, a="one"))

    def change() -> None:
        with commit_metadata(spark, SECOND_RUN):
            other.merge(TOPICS, topics(spark, a="theirs"))

    before(monkeypatch, lake, "merge", change)
    if cluster == "blue":
        with pytest.raises(LakeBusy, match="so this one stopped"):
            blue.merge(TOPICS, topics(spark, a="mine"))
    else:
        blue.merge(TOPICS, topics(spark, a="mine"))
    assert named(lake, cluster) == {"a": "theirs"}
    assert named(lake, "blue") == {"a": "theirs" if cluster == "blue" else "mine"}


def test_every_reader_finds_every_name(spark: SparkSession, lake: Lake) -> None:
    """Files have statistics of names, and Delta keeps only their beginning: no reader may pass over a file for it."""
    ids = ["it's", "a\\'b", "b\0c", "x" * 10_000, "\U0001f600" * 40, "\U0010ffff" * 50]
    ids += ["z" * 31 + "\U0001f600" * 10, "é" * 100, "plain", ""]
    sink = Sink(lake, "blue", FIRST_RUN)
    for topic_id in ids:
        sink.append(TOPICS, topics_of(spark, {topic_id: "one"}))
    files = open_table(lake.path, TOPICS)
    if lake.writer.kind == "delta-rs":
        # Spark leaves out the maximum of what nothing sorts after, and this dataset passes over such a file.
        files = DeltaTable(lake.table_path(TOPICS)).to_pyarrow_dataset()
    in_sql = duckdb.arrow(files)
    for topic_id in ids:
        assert lake.read(TOPICS).where(F.col("topic_id") == topic_id).count() == 1
        assert files.count_rows(filter=ds.field("topic_id") == topic_id) == 1
        is_it = duckdb.ColumnExpression("topic_id") == duckdb.ConstantExpression(topic_id)
        assert len(in_sql.filter(is_it)) == 1
    assert sink.merge(TOPICS, topics_of(spark, dict.fromkeys(ids, "two"))) == Written(0, len(ids))
    assert set(named(lake, "blue").values()) == {"two"}


def test_whatever_a_group_is_called_its_rows_are_found(spark: SparkSession) -> None:
    """Quotes, escapes and what looks like a variable of Spark's mean nothing in a group id."""
    ids = ["plain-1", "it's", "a\\'b", "${spark.master}", "группа", "", "-- x"]
    frame = spark.createDataFrame([(each,) for each in [*ids, "other"]], "group_id string")

    def found(keys: KeyRange) -> list[str]:
        return [row["group_id"] for row in frame.where(keys.condition()).collect()]

    assert found(KeyRange(groups=ids)) == ids
    assert [found(KeyRange(group_ends=(each, each))) for each in ids] == [[each] for each in ids]


def test_files_are_made_fewer_and_unused_ones_removed(spark: SparkSession, lake: Lake) -> None:
    """With the same rows; nothing of it looks like a change."""
    sink = Sink(lake, "blue", FIRST_RUN)
    for number in range(5):
        sink.append(TOPICS, topics_of(spark, {f"t{number}": "one"}))
    known, rows = lake.mark(TOPICS), named(lake, "blue")
    schema = table_schemas()[TOPICS]
    settings = {
        "spark.databricks.delta.retentionDurationCheck.enabled": "false",
        "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
    }
    with commit_metadata(spark, "maintenance"), temporary_settings(spark, settings):
        added, removed = lake.writer.compact(schema)
        assert lake.writer.vacuum(schema, 0, dry_run=True) >= 5
        lake.writer.vacuum(schema, 0, dry_run=False)
    assert (added, removed) == (1, 5)
    assert named(lake, "blue") == rows
    assert len([*Path(lake.table_path(TOPICS)).glob("*.parquet")]) == 1
    assert known is not None
    assert lake.change_since(TOPICS, known) is None


def test_old_rows_go(spark: SparkSession, lake: Lake) -> None:
    """Those that ended before a moment; what has not ended stays."""
    lake.create([FINDINGS])
    ends = {"old": datetime(2026, 1, 1, tzinfo=UTC), "new": datetime(2026, 1, 3, tzinfo=UTC)}
    same = {"kind": "storm", "severity": "info", "detail": "", "advice": "", "evidence": []}
    rows = [
        {**same, "finding_id": each, "group_id": "g", "to_at": ends.get(each)}
        for each in ("old", "new", "open")
    ]
    Sink(lake, "blue", FIRST_RUN).append(FINDINGS, frame_of(spark, FINDINGS, rows))
    with commit_metadata(spark, "maintenance"):
        lake.writer.delete_before(table_schemas()[FINDINGS], datetime(2026, 1, 2, tzinfo=UTC))
    assert {row["finding_id"] for row in table(Path(lake.path), FINDINGS, "blue")} == {
        "new",
        "open",
    }


def test_a_version_that_other_commits_reached_again(spark: SparkSession, lake: Lake) -> None:
    """A table that lost its newest commit and got another one is not the table that it was."""
    Sink(lake, "blue", FIRST_RUN).append(TOPICS, topics(spark, a="one"))
    known = lake.mark(TOPICS)
    assert known is not None
    assert lake.change_since(TOPICS, known) is None
    truncate_log(spark, Path(lake.table_path(TOPICS)))
    Sink(lake, "blue", SECOND_RUN).append(TOPICS, topics(spark, b="two"))
    assert lake.version(TOPICS) == known.version
    assert lake.change_since(TOPICS, known) == (
        f"has lost commits and has others instead: version 1 is not that of {FIRST_RUN}"
    )


def test_a_catalog_is_written_by_spark_alone(spark: SparkSession) -> None:
    """delta-rs reaches tables by their paths."""
    with pytest.raises(BadRequest, match="only Spark writes to catalogs"):
        _ = Lake(spark, "catalog:spark_catalog.x", LakeOptions(writer="delta-rs")).writer
    kind: WriterKind = "spark"
    assert Lake(spark, "catalog:spark_catalog.x").writer.kind == kind


CHANGES: dict[str, Callable[[Sink, GivenRows], Written]] = {
    "append": lambda sink, rows: sink.append(TOPICS, rows),
    "merge": lambda sink, rows: sink.merge(TOPICS, rows),
}
LOSSES: dict[str, Callable[[Path], object]] = {
    "the folder": shutil.rmtree,
    "a file": lambda folder: next(folder.glob("*.parquet")).unlink(),
    "half a file": lambda folder: os.truncate(next(folder.glob("*.parquet")), 40),
}


@pytest.mark.parametrize("lost", LOSSES)
@pytest.mark.parametrize("change", CHANGES)
def test_staged_rows_that_are_gone_are_an_error(
    change: str, lost: str, spark: SparkSession, lake: Lake
) -> None:
    """A sentence, and no commit: rows that something has removed are not rows that there were not."""
    rows = (
        topics(spark, a="orders", b="payments").repartition(2).withColumn("cluster", F.lit("blue"))
    )
    columns = dict(table_schemas()[TOPICS].column_types)
    if change == "merge":
        rows, columns = rows.withColumn(GONE, F.lit(False)), {**columns, GONE: "boolean"}
    staged = lake.stage.put(rows.select(*columns), columns)
    assert staged.count() == 2
    LOSSES[lost](Path(staged.path))
    with pytest.raises(LakeNotWritable, match=r"had written to .* are gone: .* run again"):
        CHANGES[change](Sink(lake, "blue", FIRST_RUN), staged)
    assert lake.is_unwritten(TOPICS)


def test_what_is_staged_goes_once_it_is_applied(spark: SparkSession, lake: Lake) -> None:
    """Also what only a comparison needed; the stage of another run that is at work stays, a killed one's goes."""
    sink = Sink(lake, "blue", FIRST_RUN)
    sink.merge(TOPICS, topics(spark, a="orders"))
    sink.replace(TOPICS, topics(spark, b="payments"), F.lit(True))
    assert named(lake, "blue") == {"b": "payments"}
    (mine,) = Path(lake.stages.folder).glob("[0-9]*")
    assert [each.name for each in mine.iterdir()] == [OWNER]
    killed = mine.with_name("20200101T000000Z-00000000")
    (killed / "0000").mkdir(parents=True)
    (killed / OWNER).touch()
    others = mine.with_name("20200101 of somebody")
    others.mkdir()
    with Lake(spark, lake.path).staging(SECOND_RUN):
        others.rmdir()
        assert sorted(each.name for each in mine.parent.glob("[0-9]*")) == [FIRST_RUN, SECOND_RUN]
    assert [*mine.parent.glob("[0-9]*")] == [mine]
