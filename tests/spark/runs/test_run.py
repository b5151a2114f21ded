"""Runs end to end: from a log of several releases, with transactions and damage, to the tables of a lake."""

import shutil
from pathlib import Path

import orjson
import pytest
from pyspark.sql import SparkSession

from rebalance_audit.errors import BadRequest, LakeNotWritable
from rebalance_audit.lake.runs import rebuild, writer
from rebalance_audit.lake.runs.context import RunReport
from rebalance_audit.lake.runs.request import GOLD_ONLY
from rebalance_audit.lake.runs.run import run_audit
from rebalance_audit.lake.storage.tables import Lake
from rebalance_audit.local.audit import audit_segments
from rebalance_audit.sim.brokers.partition_log import METADATA_FOLDER
from rebalance_audit.tables.schemas import GOLD_TABLES, TableName
from rebalance_audit.wire.json_shape import key_data, value_data
from rebalance_audit.wire.records import Record, decode_record
from rebalance_audit.wire.segments.batches import TransactionMarker, parse_marker
from rebalance_audit.wire.segments.folder import open_log_folder
from tests.cli.call import segments
from tests.spark.in_process import Rows, in_order
from tests.spark.lakes import (
    FINDINGS,
    OF_COMMITS,
    OF_THE_AUDIT,
    SILVER_TABLES,
    Whole,
    empty_lake,
    request_of,
    table,
    without_commits,
)
from tests.spark.mixed_log import BAD_RECORDS, DAMAGED_PARTITION
from tests.support.batches import Batch, read_batches


@pytest.mark.each_writer
def test_gold_equals_the_audit_in_one_process(whole: Whole) -> None:
    """Every gold table has the rows of `inspect`, to the last column: all protocols, gaps from damage included."""
    expected = audit_segments(whole.log, finding_rules=FINDINGS).tables
    for name in OF_THE_AUDIT:
        rows = expected[name.partition(".")[2]]
        assert table(whole.lake, name) == in_order(name, rows), name
    assert OF_COMMITS & {row["kind"] for row in table(whole.lake, "gold.findings")}
    assert len(expected["epochs"]) > 90
    assert {row["protocol"] for row in expected["epochs"]} == {
        "classic",
        "consumer",
        "share",
        "streams",
    }
    assert any(row["completeness"] == "gap" for row in expected["epochs"])
    assert {row["source"] for row in expected["topics"]} == {
        "cluster_metadata",
        "offset_commit",
        "partition_metadata",
    }


def test_bronze_is_the_log(whole: Whole) -> None:
    """Every record of every healthy batch, markers included, with its bytes."""
    bronze = table(whole.lake, "bronze.records")
    log = read_log(whole.log)
    assert [(row["partition"], row["offset"], row["key"], row["value"]) for row in bronze] == [
        (row["partition"], row["offset"], row["key"], row["value"]) for row in log
    ]
    assert {row["source"] for row in bronze} == {f"segments:{whole.log}"}


def test_group_records_are_readable(whole: Whole) -> None:
    """Every record but commits, as Kafka's own dump shows it, each with its write."""
    rows = table(whole.lake, "silver.group_records")
    expected = {}
    for row in read_log(whole.log):
        found = decode_record(row["key"], row["value"])
        if isinstance(found, Record) and found.record_type > 1 and not row["is_control"]:
            expected[row["partition"], row["offset"]] = found
    assert [(row["partition"], row["offset"]) for row in rows] == sorted(expected)
    for row in rows:
        record = expected[row["partition"], row["offset"]]
        assert row["record_name"] == record.record_type.name
        assert from_json(row["key_json"]) == key_data(record)
        assert row["tombstone"] == (record.value is None)
        assert from_json(row["value_json"]) == (value_data(record) if record.value else None)
    assert {row["layout"] for row in rows} == {"", "3.7"}
    writes = [row["write_id"].split(":") for row in rows]
    assert all(
        int(partition) == row["partition"] for (partition, _), row in zip(writes, rows, strict=True)
    )
    assert all(int(begin) <= row["offset"] for (_, begin), row in zip(writes, rows, strict=True))
    assert len(set(map(tuple, writes))) < len(rows) / 2


def test_offset_commits_know_their_transaction(whole: Whole) -> None:
    """Commits and tombstones, each with what became of its transaction by the markers of its producer."""
    rows = table(whole.lake, "silver.offset_commits")
    log = read_log(whole.log)
    states = []
    for at, row in enumerate(log):
        found = decode_record(row["key"], row["value"])
        if isinstance(found, Record) and found.record_type <= 1 and not row["is_control"]:
            states.append((row["partition"], row["offset"], transaction_state(log, at)))
    assert [(row["partition"], row["offset"], row["transaction_state"]) for row in rows] == states
    assert {state for *_, state in states} == {"none", "committed", "aborted"}
    assert {row["value_version"] for row in rows} == {3, 4, None}


def transaction_state(log: Rows, at: int) -> str:
    """By reading on from the commit."""
    commit = log[at]
    if not commit["is_transactional"]:
        return "none"
    for row in log[at:]:
        if row["is_control"] and all(
            row[name] == commit[name] for name in ("partition", "producer_id")
        ):
            marker = parse_marker(row["key"], row["value"])
            assert isinstance(marker, TransactionMarker)
            return "committed" if marker.committed else "aborted"
    return "open"


def test_nothing_undecodable_is_lost(whole: Whole) -> None:
    """Planted records and the broken batch are in quarantine with their bytes and the decoder's reason."""
    rows = table(whole.lake, "silver.quarantine")
    single = [row for row in rows if row["source_file"] is None]
    assert [(row["key"], row["value"], row["reason"]) for row in single] == list(BAD_RECORDS)
    assert {row["partition"] for row in single} == {DAMAGED_PARTITION}
    (broken,) = (row for row in rows if row["source_file"] is not None)
    assert broken["reason"] == "crc_mismatch"
    assert broken["raw"] is not None
    assert broken["offset"] is not None


def test_counts_add_up(whole: Whole) -> None:
    """Read = decoded + quarantined + control, in the report and in the run log; progress says how far."""
    counts = whole.report.counts
    bronze = table(whole.lake, "bronze.records")
    assert counts.read == len(bronze)
    assert counts.quarantined == len(BAD_RECORDS)
    assert counts.controls == sum(row["is_control"] for row in bronze) == 11
    assert counts.decoded == counts.read - len(BAD_RECORDS) - 11
    assert (counts.passed_over, counts.damaged_stretches) == (0, 1)
    (row,) = table(whole.lake, "meta.runs")
    assert (row["outcome"], row["records_read"]) == ("done", counts.read)
    assert (
        row["records_decoded"] + row["records_quarantined"] + row["control_records"] == counts.read
    )
    assert row["groups"] == whole.report.groups == 20
    assert dict(row["rows_written"]) == whole.report.rows
    assert dict(row["table_versions"]) == whole.report.versions
    assert row["newest_record_at"] == max(record["timestamp"] for record in bronze)
    assert row["retries"] == 0
    progress = table(whole.lake, "meta.progress")
    ends: dict[int, int] = {}
    for record in bronze:
        ends[record["partition"]] = record["offset"] + 1
    assert {row["partition"]: row["replayed_to"] for row in progress} == ends


def test_a_second_run_changes_nothing(spark: SparkSession, whole: Whole, tmp_path: Path) -> None:
    """The same log again: no table but the run log gets a commit, and every row is as it was."""
    before = {name: table(whole.lake, name) for name in (*GOLD_TABLES, *SILVER_TABLES)}
    lake = Path(shutil.copytree(whole.lake, tmp_path / "lake"))
    request = request_of(f"segments:{whole.log}", lake)
    report = run_audit(spark, request)
    assert (report.counts.read, report.groups) == (0, 0)
    assert report.versions == whole.report.versions
    assert {name for name, rows in report.rows.items() if rows} == {"meta.progress"}
    for name, rows in before.items():
        assert table(lake, name) == rows, name
    assert [row["outcome"] for row in table(lake, "meta.runs")] == ["done", "done"]


NAMING_A_TOPIC = ("detail", "facts", "reason", "topics")


def assert_gold_alone(
    report: RunReport,
    whole: Whole,
    lake: Path,
    but: tuple[str, ...] = (),
    *,
    with_shapes: bool = True,
) -> None:
    """No bronze, no silver, and the gold of a run that has them, `but` for some groups.

    Without the shapes of topics, no cause names the topic that changed.
    """
    assert report.counts.read == whole.report.counts.read
    # Two of the planted records are commits, which were not read.
    commits = len(table(whole.lake, "silver.offset_commits"))
    assert report.counts.passed_over == commits + 2
    assert report.counts.quarantined == len(BAD_RECORDS) - 2
    assert not (lake / "bronze").exists()
    for name in OF_THE_AUDIT:
        if name in {TableName.GROUP_HOURS, TableName.TOPICS}:
            continue  # commits were not counted, and only those topics are there that were needed
        found, expected = (
            [
                row if with_shapes else row | dict.fromkeys(NAMING_A_TOPIC)
                for row in rows
                if row["group_id"] not in but
            ]
            for rows in (table(lake, name), without_commits(table(whole.lake, name)))
        )
        assert found == expected, name


def test_gold_alone_from_a_delta_copy(spark: SparkSession, whole: Whole, tmp_path: Path) -> None:
    """Straight from the source, without bronze and silver: the same gold."""
    lake = empty_lake(tmp_path / "lake", whole.lake, "gold", "meta")
    source = f"delta:{whole.lake}/bronze/records"
    report = run_audit(spark, request_of(source, lake, layers=GOLD_ONLY))
    assert report.counts.damaged_stretches == 0
    # A copy of records does not know of the batch that could not be read.
    assert_gold_alone(report, whole, lake, but=("fleet",), with_shapes=False)


@pytest.mark.parametrize("few_records", [0, 1_000_000])
def test_gold_alone_learns_names_from_commits(
    spark: SparkSession,
    whole: Whole,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    few_records: int,
) -> None:
    """Of topics that the metadata log does not know, here another cluster's: of a log that counts as long or short."""
    log = shutil.copytree(whole.log, tmp_path / "log")
    shutil.rmtree(log / METADATA_FOLDER, ignore_errors=True)
    shutil.copytree(segments("classic-cooperative") / METADATA_FOLDER, log / METADATA_FOLDER)
    monkeypatch.setattr(rebuild, "FEW_RECORDS", few_records)
    lake = empty_lake(tmp_path / "lake", whole.lake, "gold", "meta")
    run_audit(spark, request_of(f"segments:{log}", lake, layers=GOLD_ONLY))
    found, expected = (
        {(row["topic_id"], row["topic"]) for row in table(each, "gold.ownership")}
        for each in (lake, whole.lake)
    )
    assert found == expected


def test_some_groups_and_a_window(spark: SparkSession, whole: Whole, tmp_path: Path) -> None:
    """A regular expression and a window limit what is written, and what is written equals a full run's rows."""
    rows = {name: table(whole.lake, name) for name in GOLD_TABLES}
    starts = sorted(row["started_at"] for row in rows["gold.epochs"] if row["group_id"] == "mover")
    from_ms, to_ms = starts[3], starts[-3]
    lake = empty_lake(tmp_path / "lake", whole.lake)
    request = request_of(
        f"segments:{whole.log}", lake, groups_regex="^mov|^anch", from_ms=from_ms, to_ms=to_ms
    )
    report = run_audit(spark, request)
    assert report.groups == 2
    assert report.counts.passed_over > report.counts.decoded > 0
    found = table(lake, "gold.epochs")
    assert found == [
        row
        for row in rows["gold.epochs"]
        if row["group_id"] in {"mover", "anchored"} and from_ms <= row["started_at"] < to_ms
    ]
    assert {row["group_id"] for row in table(lake, "silver.offset_commits")} == {
        "mover",
        "anchored",
    }
    assert not table(lake, "meta.progress")
    hours = table(lake, "gold.group_hours")
    assert hours
    assert [row for row in hours if row not in rows["gold.group_hours"]] == []
    run_audit(spark, request_of(f"segments:{whole.log}", lake, groups_regex="^mover$"))
    both = [row for row in rows["gold.members"] if row["group_id"] == "mover"]
    there = table(lake, "gold.members")
    assert [row for row in there if row["group_id"] == "mover"] == both
    assert any(row["group_id"] == "anchored" for row in there)


def test_windows_that_cover_the_log_have_all_its_hours(
    spark: SparkSession, whole: Whole, tmp_path: Path
) -> None:
    """An hour is whole in every window that it reaches into, also if what fills it began earlier."""
    hours = table(whole.lake, "gold.group_hours")
    starts = sorted(row["started_at"] for row in table(whole.lake, "gold.rebalances"))
    middle = starts[len(starts) // 2]
    lake = empty_lake(tmp_path / "lake", whole.lake)
    for from_ms, to_ms in ((middle, None), (None, middle)):
        run_audit(spark, request_of(f"segments:{whole.log}", lake, from_ms=from_ms, to_ms=to_ms))
        found = table(lake, "gold.group_hours")
        assert [row for row in found if row not in hours] == []
    assert found == hours


def test_histories_of_a_group_in_two_partitions_are_not_mixed(
    spark: SparkSession, whole: Whole, tmp_path: Path
) -> None:
    """Partitions were added to the topic: what is new in the other one is left out, and said, and nothing else."""
    log = shutil.copytree(whole.log, tmp_path / "log")
    lake = shutil.copytree(whole.lake, tmp_path / "lake")
    shutil.copytree(log / "__consumer_offsets-10", log / "__consumer_offsets-50")
    sentence = "has records in partitions 10 and 50 of __consumer_offsets"
    split = {
        row["group_id"] for row in table(whole.lake, "gold.epochs") if row["log_partition"] == 10
    }
    assert split
    for full in (False, True):
        report = run_audit(spark, request_of(f"segments:{log}", lake, full=full))
        assert {
            group for group in split for note in report.notes if f"Group {group} {sentence}" in note
        } == split
        for name in ("gold.epochs", "gold.rebalances", "gold.members"):
            kept = [
                row for row in table(whole.lake, name) if not (full and row["group_id"] in split)
            ]
            assert table(lake, name) == kept, name


def test_tables_are_for_other_readers_too(spark: SparkSession, whole: Whole) -> None:
    """Reader version 1, comments from the schemas, change data feed on gold, no clustering."""
    lake = Lake(spark, str(whole.lake))
    for name in (*GOLD_TABLES, *SILVER_TABLES, "bronze.records", "meta.runs"):
        detail = spark.sql(f"DESCRIBE DETAIL {lake.sql_name(name)}").first()
        assert detail is not None
        assert detail["minReaderVersion"] == 1, name
        feed = detail["properties"].get("delta.enableChangeDataFeed")
        assert feed == ("true" if name.startswith(("bronze.", "gold.")) else None), name
        assert detail["description"], name
        fields = lake.read(name).schema.fields
        assert all(field.metadata.get("comment") for field in fields), name
        assert not detail["clusteringColumns"], name
    newest = lake.log("gold.epochs").commits(0, lake.version("gold.epochs") or 0)[-1]
    assert newest.user_metadata == whole.report.run_id


def test_what_a_user_got_wrong(spark: SparkSession, whole: Whole, tmp_path: Path) -> None:
    """A bad regular expression and a foreign table under the lake's path: one sentence, and nothing is written."""
    lake = tmp_path / "lake"
    with pytest.raises(BadRequest, match=r"'\(' is no regular expression"):
        run_audit(spark, request_of(f"segments:{whole.log}", lake, groups_regex="("))
    assert not lake.exists()
    foreign = lake / "meta" / "runs"
    spark.range(1).selectExpr("cast(id as string) as records_read").write.format("delta").save(
        str(foreign)
    )
    with pytest.raises(LakeNotWritable, match="An earlier release made the tables of"):
        run_audit(spark, request_of(f"segments:{whole.log}", lake))
    assert [path.name for path in lake.iterdir()] == ["meta"]


def test_gold_alone_from_segments_by_a_run_that_fails_and_the_next(
    spark: SparkSession, whole: Whole, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run log keeps the sentence, and the next run mends what the failed one left: the same gold."""
    lake = tmp_path / "lake"

    def lose_power(*_: object) -> None:
        raise OSError("the lights went out")

    request = request_of(f"segments:{whole.log}", lake, layers=GOLD_ONLY)
    with monkeypatch.context() as patch:
        patch.setattr(writer, "rows_in_table", lose_power)
        with pytest.raises(OSError, match="lights"):
            run_audit(spark, request)
    (failed,) = table(lake, "meta.runs")
    assert (failed["outcome"], failed["error"]) == ("failed", "the lights went out")
    report = run_audit(spark, request)
    assert report.counts.damaged_stretches == 1
    assert_gold_alone(report, whole, lake)


def read_log(log: Path) -> Rows:
    """Every record of the healthy batches, markers included, in order."""
    rows: Rows = []
    for partition, files in open_log_folder(log).partitions.items():
        for found in (found for file in files for found in read_batches(file)):
            if isinstance(found, Batch):
                records = found.records()
                assert isinstance(records, list)
                of_batch = {
                    "partition": partition,
                    "is_control": found.header.is_control,
                    "is_transactional": found.header.is_transactional,
                    "producer_id": found.header.producer_id,
                }
                rows += [
                    of_batch | {"offset": at, "key": key, "value": value}
                    for at, _, key, value in records
                ]
    return rows


def from_json(text: str | None) -> object:
    """Parsed, None for none."""
    return None if text is None else orjson.loads(text)
