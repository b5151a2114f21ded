"""Writing a table: what stays, what is added, and when there is no commit."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from rebalance_audit.errors import LakeBusy
from rebalance_audit.lake.runs.run_log import RunEntry, RunLog
from rebalance_audit.lake.session import private_spark
from rebalance_audit.lake.storage import delta_log, sinks, small_tables
from rebalance_audit.lake.storage.key_range import KeyRange
from rebalance_audit.lake.storage.row_changes import patch_rows
from rebalance_audit.lake.storage.run_ids import commit_metadata, new_run_id
from rebalance_audit.lake.storage.sinks import Sink
from rebalance_audit.lake.storage.tables import Lake
from rebalance_audit.tables.schemas import table_schemas
from tests.spark.faults import truncate_log
from tests.spark.lakes import table

TOPICS = "gold.topics"
STATES = "gold.group_states"
RUNS = "meta.runs"
FIRST_RUN, SECOND_RUN = "20260101T000000Z-00000001", "20260101T010000Z-00000002"


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> Lake:
    """A lake with one empty table, and the log of runs."""
    made = Lake(spark, str(tmp_path))
    made.create([TOPICS, RUNS])
    return made


def topics(spark: SparkSession, **names: str) -> DataFrame:
    """Rows of gold.topics by id."""
    rows = [(topic_id, name, "metadata_log") for topic_id, name in names.items()]
    frame = spark.createDataFrame(rows, "topic_id string, topic string, source string")
    absent = {
        column.name: F.lit(None).cast(column.type)
        for column in table_schemas()[TOPICS].columns
        if column.name not in {"cluster", *frame.columns}
    }
    return frame.withColumns(absent)


def topic(topic_id: str, name: str) -> dict[str, Any]:
    """One row of it, as the driver knows it."""
    return {"topic_id": topic_id, "topic": name, "source": "metadata_log"}


def named(lake: Lake, cluster: str) -> dict[str, str]:
    """Name by id."""
    return {row["topic_id"]: row["topic"] for row in table(Path(lake.path), TOPICS, cluster)}


def test_rows_put_take_the_place_of_those_with_their_key(spark: SparkSession, lake: Lake) -> None:
    """New keys are added, known ones get the new values, other rows and other clusters stay; one commit for each."""
    blue, green = Sink(lake, "blue", "run"), Sink(lake, "green", "other")
    blue.put(TOPICS, topics(spark, a="one", b="two"), 2, KeyRange())
    green.put(TOPICS, topics(spark, a="mine"), 1, KeyRange())
    written = blue.put(TOPICS, topics(spark, b="second", c="three"), 2, KeyRange())
    assert written.rows == 2
    assert named(lake, "blue") == {"a": "one", "b": "second", "c": "three"}
    assert named(lake, "green") == {"a": "mine"}
    assert lake.version(TOPICS) == 3


def operations(lake: Lake) -> list[str]:
    """What was done to the table, by Delta's names."""
    history = lake.delta_table(TOPICS).history().orderBy("version").select("operation")
    return [row["operation"] for row in history.collect()]


def test_rewritten_rows_take_the_place_of_all_of_the_cluster(
    spark: SparkSession, lake: Lake
) -> None:
    """A cluster that wrote last has its rows exchanged without a look at others; after others, they are looked for."""
    blue, green = Sink(lake, "blue", "run"), Sink(lake, "green", "other")
    with commit_metadata(spark, new_run_id(datetime.now(UTC))):
        blue.rewrite_from(TOPICS, topics(spark, a="one", b="two"), 2)
        blue.rewrite_from(TOPICS, topics(spark, b="second"), 1)
        green.rewrite(TOPICS, [topic("a", "mine")])
        blue.rewrite(TOPICS, [topic("c", "three")])
        blue.rewrite(TOPICS, [topic("d", "four")])
    assert operations(lake) == ["CREATE TABLE", "WRITE", "UPDATE", "WRITE", "WRITE", "UPDATE"]
    # Of a commit of another program nobody knows what it left of the cluster's rows.
    blue.append(TOPICS, topics(spark, e="not ours"))
    assert named(lake, "blue") == {"d": "four", "e": "not ours"}
    blue.rewrite(TOPICS, [topic("f", "six")])
    assert named(lake, "blue") == {"f": "six"}
    assert named(lake, "green") == {"a": "mine"}


def test_rows_are_counted_where_commits_do_not_tell(spark: SparkSession, lake: Lake) -> None:
    """Delta without metrics, which a site can switch off: what was appended is counted in the table."""
    sink = Sink(lake, "blue", "run")
    sink.append(TOPICS, topics(spark, a="one"))
    spark.conf.set("spark.databricks.delta.history.metricsEnabled", "false")
    try:
        assert sink.append(TOPICS, topics(spark, b="two", c="three")).rows == 2
    finally:
        spark.conf.unset("spark.databricks.delta.history.metricsEnabled")


def test_no_rows_are_no_commit(spark: SparkSession, lake: Lake) -> None:
    """Groups that are replayed whole may have no row of a table to which nothing was ever written."""
    sink = Sink(lake, "blue", "run")
    none = topics(spark)
    none = none.select("topic_id", F.struct(*none.columns).alias("row"))
    groups = spark.createDataFrame([("g",)], "group_id string")
    assert sink.patch(TOPICS, none, topics(spark), groups).rows == 0
    assert lake.version(TOPICS) == 0


def test_what_another_adds_meanwhile_is_not_doubled(
    spark: SparkSession, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where there are no locks, two runs write the same rows: one changes the table while the other appends to it."""
    blue, other = Sink(lake, "blue", FIRST_RUN), Sink(lake, "blue", SECOND_RUN)
    blue.append(TOPICS, topics(spark, a="one"))

    def after_the_other(*arguments: Any) -> None:
        monkeypatch.undo()
        other.put(TOPICS, topics(spark, a="first", b="theirs"), 2, KeyRange())
        private_spark.add_files(*arguments)

    monkeypatch.setattr(delta_log, "add_files", after_the_other)
    assert blue.append(TOPICS, topics(spark, b="mine", c="three")).rows == 1
    assert named(lake, "blue") == {"a": "first", "b": "theirs", "c": "three"}


def test_another_release_of_delta_appends_in_its_own_way(
    spark: SparkSession, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Private parts of Delta may have other parameters there; one version of a table still gets one append."""
    monkeypatch.setattr(private_spark, "WRITE", private_spark.UPDATE)
    blue, other = Sink(lake, "blue", FIRST_RUN), Sink(lake, "blue", SECOND_RUN)
    for sink in (blue, other):
        sink.begin([TOPICS])
    assert blue.append(TOPICS, topics(spark, a="one")).rows == 1
    assert other.append(TOPICS, topics(spark, a="theirs", b="two")).rows == 1
    assert other.append(TOPICS, topics(spark)).rows == 0
    assert named(lake, "blue") == {"a": "one", "b": "two"}
    assert lake.version(TOPICS) == 2


@pytest.mark.parametrize("cluster", ["green", "blue"])
def test_whoever_was_slower_tries_again_or_gives_way(
    spark: SparkSession, lake: Lake, monkeypatch: pytest.MonkeyPatch, cluster: str
) -> None:
    """Runs of two clusters share a table; what a run of the same cluster has read is old, so it must not go on."""
    RunLog(lake, RunEntry(SECOND_RUN, datetime.now(UTC), cluster, "run", "a log", None)).start()
    blue, other = Sink(lake, "blue", FIRST_RUN), Sink(lake, cluster, SECOND_RUN)
    blue.append(TOPICS, topics(spark, a="one"))

    def after_the_other(*arguments: Any) -> None:
        monkeypatch.undo()
        with commit_metadata(spark, SECOND_RUN):
            other.put(TOPICS, topics(spark, a="theirs"), 1, KeyRange())
        private_spark.exchange_files(*arguments)

    monkeypatch.setattr(small_tables, "exchange_files", after_the_other)
    if cluster == "blue":
        with pytest.raises(LakeBusy, match="this one gave way"):
            blue.put(TOPICS, topics(spark, a="mine"), 1, KeyRange())
    else:
        blue.put(TOPICS, topics(spark, a="mine"), 1, KeyRange())
    assert named(lake, cluster) == {"a": "theirs"}
    assert named(lake, "blue") == {"a": "theirs" if cluster == "blue" else "mine"}


def test_rows_that_others_laid_anew_are_found_again(
    spark: SparkSession, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look at the rows and the write they came into another file."""
    blue = Sink(lake, "blue", FIRST_RUN)
    blue.append(TOPICS, topics(spark, a="one"))
    blue.append(TOPICS, topics(spark, b="two"))

    def after_the_other(*arguments: Any) -> Any:
        monkeypatch.undo()
        lake.delta_table(TOPICS).optimize().executeCompaction()
        return private_spark.begin_transaction(*arguments)

    monkeypatch.setattr(small_tables, "begin_transaction", after_the_other)
    assert blue.upsert(TOPICS, topics(spark, b="second", c="three")).rows == 2
    assert len(table(Path(lake.path), TOPICS, "blue")) == 3
    assert named(lake, "blue") == {"a": "one", "b": "second", "c": "three"}
    assert operations(lake)[-2:] == ["OPTIMIZE", "UPDATE"]


def test_whatever_a_group_is_called_its_rows_are_found(spark: SparkSession) -> None:
    """Quotes, escapes and what looks like a variable of Spark's mean nothing in a group id."""
    ids = ["plain-1", "it's", "a\\'b", "${spark.master}", "группа", "", "-- x"]
    frame = spark.createDataFrame([(each,) for each in [*ids, "other"]], "group_id string")

    def found(keys: KeyRange) -> list[str]:
        return [row["group_id"] for row in frame.where(keys.condition()).collect()]

    assert found(KeyRange(groups=ids)) == ids
    assert [found(KeyRange(group_ends=(each, each))) for each in ids] == [[each] for each in ids]


@pytest.mark.parametrize("way", ["by a task", "small", "by MERGE"])
def test_a_change_feed_tells_what_has_changed(
    spark: SparkSession, lake: Lake, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    """Rows added, changed, removed; not those beside them in a file, nor those that are as they were."""
    if way == "by MERGE":
        monkeypatch.setattr(small_tables, "SMALL_BYTES", 0)
    Sink(lake, "green", FIRST_RUN).append(TOPICS, topics(spark, a="mine"))
    sink = Sink(lake, "blue", SECOND_RUN)
    sink.append(TOPICS, topics(spark, a="one", b="two", c="three"))
    sink.append(TOPICS, topics(spark, d="four"))
    gone = spark.createDataFrame([("c",), ("x",)], "topic_id string")
    rows = patch_rows(TOPICS, topics(spark, a="one", b="II", e="V"), gone)
    written = sink.patch_few(TOPICS, rows) if way == "by a task" else sink.patch(TOPICS, rows)
    assert written is not None
    assert (written.inserted, written.updated, written.deleted) == (1, 1, 1)
    version = lake.version(TOPICS)
    feed = spark.read.option("readChangeFeed", "true").option("startingVersion", version)
    changes = feed.format("delta").load(lake.table_path(TOPICS))
    found = changes.select("_change_type", "cluster", "topic_id", "topic").collect()
    assert sorted(map(tuple, found)) == [
        ("delete", "blue", "c", "three"),
        ("insert", "blue", "e", "V"),
        ("update_postimage", "blue", "b", "II"),
        ("update_preimage", "blue", "b", "two"),
    ]
    assert named(lake, "blue") == {"a": "one", "b": "II", "d": "four", "e": "V"}
    assert named(lake, "green") == {"a": "mine"}
    assert operations(lake)[-1] == ("MERGE" if way == "by MERGE" else "UPDATE")


def test_a_task_leaves_a_table_that_others_change_as_it_is(
    spark: SparkSession, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What it wrote was made of an older version: it is taken away, and whoever asked goes another way."""
    blue, green = Sink(lake, "blue", FIRST_RUN), Sink(lake, "green", SECOND_RUN)
    blue.append(TOPICS, topics(spark, a="one"))
    folder = Path(lake.table_path(TOPICS))

    def after_the_other(*arguments: Any) -> bool:
        monkeypatch.undo()
        green.append(TOPICS, topics(spark, a="mine"))
        return delta_log.commit_patch(*arguments)

    monkeypatch.setattr(delta_log, "commit_patch", after_the_other)
    assert blue.patch_few(TOPICS, patch_rows(TOPICS, topics(spark, a="I", b="two"))) is None
    made_by = {pq.ParquetFile(path).metadata.created_by for path in folder.rglob("*.parquet")}
    assert not any("arrow" in each for each in made_by)  # of Spark's files alone
    assert named(lake, "blue") == {"a": "one"}
    # Of many rows a task does nothing.
    monkeypatch.setattr(sinks, "FEW_CHANGES", 1)
    assert blue.patch_few(TOPICS, patch_rows(TOPICS, topics(spark, a="I", b="two"))) is None
    assert lake.version(TOPICS) == 2


def states(spark: SparkSession, **ends: int | None) -> DataFrame:
    """Rows of gold.group_states: one of each group, with the offset that ends it."""
    frame = spark.createDataFrame([*ends.items()], "group_id string, to_offset bigint")
    known = {
        "incarnation": F.lit(1),
        "from_offset": F.lit(0).cast("bigint"),
        "protocol": F.lit("classic"),
        "group_state": F.lit("Stable"),
        "log_partition": F.lit(0),
        "completeness": F.lit("complete"),
    }
    absent = {"from_at": "timestamp", "to_at": "timestamp", "duration_ms": "bigint"}
    absent |= {"epoch": "bigint", "assignment_epoch": "bigint", "members": "int"}
    absent |= {"is_current": "boolean", "epoch_at_end": "bigint", "members_at_end": "int"}
    return frame.withColumns(
        known | {name: F.lit(None).cast(kind) for name, kind in absent.items()}
    )


def ended(lake: Lake) -> dict[str, tuple[int | None, str]]:
    """Group -> offset that ends its state, and the file that the row lies in."""
    rows = lake.read(STATES).select("group_id", "to_offset", F.input_file_name()).collect()
    return {group: (to_offset, file) for group, to_offset, file in rows}


def test_what_has_ended_is_not_written_anew(spark: SparkSession, lake: Lake) -> None:
    """Rows that go on change in files of their own; one that has ended and changes all the same is found too."""
    lake.create([STATES])
    sink = Sink(lake, "blue", "run")
    sink.append(STATES, states(spark, a=5, b=7, c=None, d=None))
    before = ended(lake)
    assert before["a"][1] == before["b"][1] != before["c"][1] == before["d"][1]
    assert sink.upsert(STATES, states(spark, c=9, e=None)).rows == 2
    after = ended(lake)
    assert {group: after[group] for group in "ab"} == {group: before[group] for group in "ab"}
    assert {group: after[group][0] for group in "cde"} == {"c": 9, "d": None, "e": None}
    assert sink.upsert(STATES, states(spark, a=6, d=9)).rows == 2
    assert {group: end for group, (end, _) in ended(lake).items()} == {
        "a": 6,
        "b": 7,
        "c": 9,
        "d": 9,
        "e": None,
    }


def test_a_clone_has_rows_from_its_first_commit_on(
    spark: SparkSession, lake: Lake, tmp_path: Path
) -> None:
    """A lake copied with Delta's own means: its tables are at version 0, as new ones are."""
    Sink(lake, "blue", "run").append(TOPICS, topics(spark, a="one"))
    copy = Lake(spark, str(tmp_path / "copy"))
    spark.sql(f"CREATE TABLE {copy.sql_name(TOPICS)} SHALLOW CLONE {lake.sql_name(TOPICS)}")
    assert copy.version(TOPICS) == 0
    assert [row["topic"] for row in copy.read(TOPICS).collect()] == ["one"]
    written = Sink(copy, "blue", "next").upsert(TOPICS, topics(spark, a="one", b="two"))
    assert (written.inserted, written.updated) == (1, 0)


def test_a_version_that_other_commits_reached_again(spark: SparkSession, lake: Lake) -> None:
    """A table that lost its newest commit and got another one is not the table that it was."""
    Sink(lake, "blue", FIRST_RUN).put(TOPICS, topics(spark, a="one"), 1, KeyRange())
    known = lake.mark(TOPICS)
    assert known is not None
    assert lake.change_since(TOPICS, known) is None
    truncate_log(spark, Path(lake.table_path(TOPICS)))
    Sink(lake, "blue", SECOND_RUN).put(TOPICS, topics(spark, b="two"), 1, KeyRange())
    assert lake.version(TOPICS) == known.version
    assert lake.change_since(TOPICS, known) == (
        f"has lost commits, and got others: its version 1 is no longer that of {FIRST_RUN}"
    )
