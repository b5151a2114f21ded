"""A live cluster into bronze: what a real broker holds, once, however it is read."""

import shutil
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from rebalance_audit.errors import BadRequest, LakeNotReadable
from rebalance_audit.lake.bronze.kafka_stream import Duration
from rebalance_audit.lake.bronze.ledger import Ledger
from rebalance_audit.lake.runs.request import GOLD_ONLY, RunRequest
from rebalance_audit.lake.runs.run import run_audit
from rebalance_audit.lake.sources.kafka_source import OFFSET_FETCHING, KafkaSource
from rebalance_audit.lake.sources.source_spec import parse_source
from rebalance_audit.lake.storage.tables import Lake
from rebalance_audit.live_cluster.kafka_cluster import KafkaSettings
from rebalance_audit.wire.segments.folder import SourceNotReadable
from rebalance_audit.wire.topic_names import TopicNameSource
from tests.broker.live_ingest import (
    CLUSTER,
    PATIENCE_S,
    batches,
    bronze,
    has_batches,
    in_log,
    in_order,
    kafka,
    ledger,
    segments,
    take,
)
from tests.spark.in_process import gold_of, rows_of
from tests.spark.in_process import in_order as in_order_of_key
from tests.support.broker import Broker, running_broker
from tests.support.live_groups import (
    HASTE,
    TOPIC,
    at_work,
    commit_in_transactions,
    compact_at_once,
    make_topic,
    work,
)

pytestmark = pytest.mark.broker


def test_batch_stream_and_segments_give_the_same_rows(
    spark: SparkSession, broker: Broker, tmp_path: Path
) -> None:
    """Streams in small batches while groups are at work, what came after them, a batch: all equal the broker's files.

    A stream ends when it is asked to, or when its time is over, in the middle of a log that grows: it goes no further
    than the batch that it is at, and what it says that it has appended is what it has.
    """
    lake = tmp_path / "lake"
    often = KafkaSettings(max_offsets_per_trigger=40, trigger_seconds=0.2)
    seen: list[int] = []

    def enough() -> bool:
        seen.append(batches(lake))
        return is_time()

    is_time = has_batches(lake, 4)
    asked = Duration(follow=True, stopped=enough)
    in_time = Duration(follow=True, stop_after_s=1)
    with at_work(broker):
        followed = take(spark, kafka(broker), lake, often, duration=asked)
        assert followed.records == len(bronze(spark, lake)) > 80
        assert batches(lake) <= seen[-1] + 2
        more = take(spark, kafka(broker), lake, often, duration=in_time)
    rest = take(spark, kafka(broker), lake)
    expected = in_log(spark, broker)
    assert followed.records + more.records + rest.records == len(expected)
    assert bronze(spark, lake) == expected
    assert in_order(parse_source(kafka(broker)).records(spark, CLUSTER)) == expected
    again = take(spark, segments(broker), lake)
    assert (again.records, again.known, again.differing) == (0, len(expected), 0)
    protocols = {bytes(row[4])[:2] for row in expected}
    assert {b"\0\1", b"\0\2", b"\0\3", b"\0\x08"} <= protocols


def test_a_second_ingest_reads_what_is_new(
    spark: SparkSession, broker: Broker, tmp_path: Path
) -> None:
    """An ingest goes on where the one before has ended; where nothing is new no version of bronze is made."""
    lake = tmp_path / "lake"
    before = take(spark, kafka(broker), lake).records
    version = Lake(spark, str(lake)).version("bronze.records")
    assert take(spark, kafka(broker), lake).records == 0
    assert Lake(spark, str(lake)).version("bronze.records") == version
    work(broker, "second")
    new = take(spark, kafka(broker), lake)
    assert new.records > 0
    assert (new.known, new.late) == (0, {})
    rows = bronze(spark, lake)
    assert len(rows) == before + new.records
    assert rows == in_log(spark, broker)
    latest = tmp_path / "latest"
    assert take(spark, kafka(broker), latest, KafkaSettings(start="latest")).records == 0
    work(broker, "third")
    assert take(spark, kafka(broker), latest, KafkaSettings(start="latest")).records > 0
    assert bronze(spark, latest) == [row for row in in_log(spark, broker) if row not in {*rows}]


def of_lake(lake: Path, *names: str) -> list[Path]:
    """Folders of tables."""
    return [lake.joinpath(*name.split(".")) for name in names]


def roll_back(lake: Path, before: Path) -> None:
    """Bronze is an older copy of itself."""
    (table,) = of_lake(lake, "bronze.records")
    shutil.rmtree(table)
    shutil.copytree(before / "bronze" / "records", table)


def go_back(lake: Path, before: Path) -> None:
    """The whole lake is an older copy of itself."""
    shutil.rmtree(lake)
    shutil.copytree(before, lake)


def delete_some(lake: Path, _: Path) -> None:
    """Somebody has deleted rows in the middle."""
    (table,) = of_lake(lake, "bronze.records")
    rows = DeltaTable(str(table))
    rows.alter.set_table_properties({"delta.appendOnly": "false"})
    rows.delete("offset % 2 = 1")


def drop(lake: Path, _: Path) -> None:
    """The table is gone."""
    (table,) = of_lake(lake, "bronze.records")
    shutil.rmtree(table)


@pytest.mark.parametrize("lose", [roll_back, go_back, delete_some, drop])
def test_what_bronze_has_lost_is_read_again(
    lose: Callable[[Path, Path], None], spark: SparkSession, broker: Broker, tmp_path: Path
) -> None:
    """A run over bronze alone refuses it, and names the command that does it."""
    lake, before = tmp_path / "lake", tmp_path / "before"
    take(spark, kafka(broker), lake)
    shutil.copytree(lake, before)
    work(broker, "lost")
    take(spark, kafka(broker), lake)
    lose(lake, before)
    if lose is not go_back:
        command = rf"Bronze has lost records of cluster {CLUSTER}: .* --source kafka:\S+ --lake"
        with pytest.raises(LakeNotReadable, match=command):
            run_audit(spark, RunRequest(None, str(lake), CLUSTER))
    found = take(spark, kafka(broker), lake)
    assert found.records > 0
    assert found.lost_stretches == 0
    assert bronze(spark, lake) == in_log(spark, broker)


def test_a_start_by_time_or_by_offset(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    """The first ingest begins there, in each partition; a later one from an earlier time brings what is missing."""
    rows = in_log(spark, broker)
    partition = rows[len(rows) // 2][0]
    mine = [row for row in rows if row[0] == partition]
    _, offset, moment, *_ = mine[len(mine) // 2]
    late = [row for row in rows if row[0] != partition] + [row for row in mine if row[1] >= offset]
    by_offset = KafkaSettings(start=f'{{"{partition}": {offset}}}')
    take(spark, kafka(broker), tmp_path / "offset", by_offset)
    assert bronze(spark, tmp_path / "offset") == sorted(late)
    lake = tmp_path / "time"
    moment_ms = round(moment.timestamp() * 1000)
    take(spark, kafka(broker), lake, KafkaSettings(start_ms=moment_ms))
    found = bronze(spark, lake)
    assert found == [row for row in rows if row[2] >= moment]
    assert len(found) < len(rows)
    back = take(spark, kafka(broker), lake, KafkaSettings(start_ms=0))
    assert (back.records, back.known) == (len(rows) - len(found), len(found))
    assert bronze(spark, lake) == rows


def test_transactions(spark: SparkSession, tmp_path: Path) -> None:
    """Commits of every transaction are in bronze, their outcome unknown; markers are not, and come with the segments.

    An open transaction is reported, and whose log it is.
    """
    lake = tmp_path / "lake"
    with running_broker(tmp_path / "broker", settings=HASTE) as broker:
        make_topic(broker)
        producer = commit_in_transactions(broker)
        found = take(spark, kafka(broker), lake)
        assert bronze(spark, lake) == in_log(spark, broker)
        rows = Lake(spark, str(lake)).read("bronze.records")
        assert rows.where("is_transactional is not null or is_control is not null").isEmpty()
        ((partition, offset),) = found.open_transactions.items()
        known = ledger(spark, lake)[partition]
        assert known["open_transaction_offset"] == offset
        assert known["missing_offsets"] == 2
        assert known["kafka_cluster_id"] == "cmViYWxhbmNlLWF1ZGl0LQ"
        assert known["topic_id"] == "Y29uc3VtZXItb2Zmc2V0cw"
        with_markers = take(spark, segments(broker), lake)
        assert (with_markers.records, set(with_markers.late)) == (2, {partition})
        markers = Lake(spark, str(lake)).read("bronze.records").where("is_control")
        assert markers.count() == 2
        assert ledger(spark, lake)[partition]["missing_offsets"] == 0
        producer.commit_transaction()


def test_a_log_that_is_compacted_in_between(spark: SparkSession, tmp_path: Path) -> None:
    """What was read stays in bronze, its last record too; what was compacted before it was read is a hole."""
    lake, late = tmp_path / "lake", tmp_path / "late"
    settings = {**HASTE, "log.cleaner.enable": "true", "log.cleaner.backoff.ms": "100"}
    with running_broker(tmp_path / "broker", settings=settings) as broker:
        make_topic(broker)
        work(broker, "early")
        take(spark, kafka(broker), lake)
        read = bronze(spark, lake)
        assert read == in_log(spark, broker)
        compact_at_once(broker)
        deadline = time.monotonic() + PATIENCE_S
        # The broker is asked: the cleaner takes files away while somebody else reads them.
        while set(read) <= set(in_order(parse_source(kafka(broker)).records(spark, CLUSTER))):
            assert time.monotonic() < deadline, "nothing is compacted"
            work(broker, "early")
        take(spark, kafka(broker), lake)
        take(spark, kafka(broker), late)
        kept = bronze(spark, lake)
        assert set(read) < set(kept)
        assert len({row[:2] for row in kept}) == len(kept)
        assert set(bronze(spark, late)) < set(kept)
        missing = [row["missing_offsets"] for row in ledger(spark, late).values()]
        assert sum(missing) > 0


def test_an_internal_topic_that_spark_does_not_see(
    spark: SparkSession, broker: Broker, tmp_path: Path
) -> None:
    """Without its setting the connector reads nothing of a full log: an error with partition and offsets.

    For a new ingest and for one that goes on.
    """
    work(broker, "unseen")
    lake = tmp_path / "lake"
    unseen = r"read nothing of partition \d+ of __consumer_offsets .* has offsets \d+ to \d+"
    spark.conf.set(OFFSET_FETCHING, "false")
    try:
        with pytest.raises(SourceNotReadable, match=unseen):
            take(spark, kafka(broker), lake)
        assert bronze(spark, lake) == []
        spark.conf.set(OFFSET_FETCHING, "true")
        take(spark, kafka(broker), lake)
        work(broker, "unseen")
        spark.conf.set(OFFSET_FETCHING, "false")
        with pytest.raises(SourceNotReadable, match=unseen):
            take(spark, kafka(broker), lake)
    finally:
        spark.conf.set(OFFSET_FETCHING, "true")
    take(spark, kafka(broker), lake)
    assert bronze(spark, lake) == in_log(spark, broker)


@pytest.mark.parametrize(
    ("change", "kind", "sentence"),
    [
        ({"cluster_id": "another"}, BadRequest, "is cluster cmViYWxhbmNlLWF1ZGl0LQ, but blue in this lake is"),
        ({"topic_id": "another"}, SourceNotReadable, "was deleted and recreated since the last ingest"),
        ({"next_offset": 1_000_000}, SourceNotReadable, "ends at offset .* up to offset 999999: the log was truncated"),
        ({"last_digest": "another"}, SourceNotReadable, "has a different record at offset"),
    ],
)  # fmt: skip
def test_another_log_is_not_mixed_in(
    change: dict[str, object],
    kind: type[Exception],
    sentence: str,
    spark: SparkSession,
    broker: Broker,
    known_lake: Path,
) -> None:
    """Another cluster, a topic made again, a log cut off, one cut off and grown since: refused, nothing written."""
    lake = Lake(spark, str(known_lake))
    known = Ledger(lake, CLUSTER)
    before = Ledger(lake, CLUSTER)
    partition = next(iter(known.next_offsets()))
    for name, value in change.items():
        if name.endswith("_id"):
            setattr(known, name, value)
        else:
            known.note(partition, **{name: value})
    version = lake.version("bronze.records")
    known.save("test", "test", datetime.now(UTC))
    with pytest.raises(kind, match=sentence):
        take(spark, kafka(broker), known_lake)
    assert lake.version("bronze.records") == version
    before.save("test", "test", datetime.now(UTC))


@pytest.fixture(scope="module")
def known_lake(
    spark: SparkSession, broker: Broker, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """A lake that has the broker's log."""
    lake = tmp_path_factory.mktemp("known") / "lake"
    take(spark, kafka(broker), lake)
    return lake


def test_an_audit_of_a_live_cluster(spark: SparkSession, broker: Broker, tmp_path: Path) -> None:
    """Straight from the cluster: the epochs and causes that the broker's files have, but for what no consumer sees."""
    lake = tmp_path / "lake"
    request = RunRequest(parse_source(kafka(broker)), str(lake), CLUSTER, layers=GOLD_ONLY)
    run_audit(spark, request)
    expected = gold_of(broker.folder / "data")
    for name in ("epochs", "rebalance_causes"):
        rows = Lake(spark, str(lake)).read(f"gold.{name}")
        found = in_order_of_key(f"gold.{name}", rows_of(rows))
        assert len(found) > 5
        for row in [*found, *expected[name]]:
            row.pop("coordinator_epoch", None)
        assert found == expected[name]


def test_names_come_from_the_cluster(broker: Broker) -> None:
    """Every topic that is there, with its id, internal ones included."""
    names = parse_source(kafka(broker)).topic_names()
    found = {name.name: name.source for name in names.values()}
    assert found[TOPIC] is TopicNameSource.CLUSTER
    assert "__consumer_offsets" in found
    (topic_id,) = names.ids_of(TOPIC)
    assert len(topic_id) == 16


@pytest.mark.usefixtures("known_lake")
def test_reading_leaves_no_group_behind(broker: Broker) -> None:
    """The audit does not write into the log that it audits: no consumer group of ours is on the cluster."""
    admin = broker.admin()
    groups = admin.list_consumer_groups().result().valid
    assert groups
    assert not [group.group_id for group in groups if group.group_id.startswith("rebalance-audit")]


def test_read_committed_is_refused() -> None:
    """It would stop at the first open transaction and leave out aborted commits."""
    settings = KafkaSettings(options={"isolation.level": "read_committed"})
    with pytest.raises(BadRequest, match=r"isolation\.level must be read_uncommitted"):
        KafkaSource("kafka:host:9092", "host:9092", settings)
