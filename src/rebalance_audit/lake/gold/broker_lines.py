"""Lines of brokers' logs as rows of meta.broker_log and back, and the epochs that the records show."""

from collections.abc import Iterable, Iterator
from hashlib import sha256
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.audit.broker_log.broker_log import BrokerLog
from rebalance_audit.audit.broker_log.fact import BrokerFact, FactKind
from rebalance_audit.audit.testimony.clocks import DATED, moments_of
from rebalance_audit.lake.records.routing import has_type
from rebalance_audit.lake.storage.local_rows import frame_of
from rebalance_audit.moments import micros_of
from rebalance_audit.tables.arrow_types import arrow_type, column_of
from rebalance_audit.tables.schemas import TableName, table_schemas
from rebalance_audit.wire.generated.messages import RecordType
from rebalance_audit.wire.records import Record, decode_record

MOMENT: Final = {"group_id": "string", "kind": "string", "epoch": "bigint", "at_ms": "bigint"}
"""When the records say that an epoch was, and the kind of line that reports the same."""
CLOCK: Final = ("broker", "zone")
"""What identifies a clock: a broker's log that was read in two time zones has two."""

_EPOCHS: Final = (RecordType.GROUP_METADATA, RecordType.CONSUMER_GROUP_METADATA)
_AS_THEY_ARE: Final = (
    *("group_id", "log_partition", "broker", "place", "epoch", "member_id", "instance_id"),
    *("old_member_id", "size", "metadata_hash", "text", "may_be_text"),
)
_OF_LINES: Final = ("line_id", "logged_at", "kind", "members", *_AS_THEY_ARE)


def rows_of_log(spark: SparkSession, log: BrokerLog) -> DataFrame:
    """Every line once, without the columns that a run adds: the cluster, the aligned time and the run."""
    rows: dict[str, dict[str, Any]] = {}
    for fact in sorted(log.facts(), key=lambda each: each.order):
        if micros_of(fact.at_ms) is None:
            continue  # a damaged line: no record has that time
        line_id = sha256(repr(fact.content).encode()).hexdigest()
        rows.setdefault(
            line_id,
            {name: getattr(fact, name) for name in _AS_THEY_ARE}
            | {
                "line_id": line_id,
                "logged_at": fact.at_ms,
                "kind": fact.kind.value,
                "members": list(fact.members),
            },
        )
    of_table = table_schemas()[TableName.BROKER_LOG].column_types
    types = {name: of_table[name] for name in _OF_LINES}
    table = pa.table(
        {
            name: column_of(kind, [row[name] for row in rows.values()])
            for name, kind in types.items()
        }
    )
    return frame_of(spark, types, table).withColumn("zone", F.lit(log.zone))


def log_of_rows(rows: DataFrame) -> BrokerLog:
    """The lines that are used, in the time of the records. They are collected on the driver."""
    at_ms = F.unix_millis("at").alias("at_ms")
    found = rows.where("at is not null").select("kind", at_ms, "members", *_AS_THEY_ARE)
    return BrokerLog.of(_fact(row.asDict()) for row in found.toLocalIterator())


def is_dated() -> Column:
    """Whether a line names an epoch whose time the records have too."""
    kinds = [kind.value for kind in DATED]
    return F.col("kind").isin(kinds) & F.col("epoch").isNotNull() & F.col("group_id").isNotNull()


def moments_in(records: DataFrame) -> DataFrame:
    """Rows of MOMENT from group records with key and value."""
    found = records.where(has_type(*_EPOCHS) & F.col("value").isNotNull())
    columns = found.select("group_id", F.unix_millis("timestamp").alias("at_ms"), "key", "value")
    return columns.mapInArrow(_moments, ", ".join(map(" ".join, MOMENT.items())))


def moments_in_silver(records: DataFrame) -> DataFrame:
    """The same as `moments_in`, from rows of silver.group_records."""
    classic, modern = (int(kind) for kind in _EPOCHS)
    millis = F.unix_millis("timestamp")
    generation = _field("generation")
    ended_ms = _field("currentStateTimestamp")
    has_members = F.get_json_object("value_json", "$.members[0].memberId").isNotNull()
    ended = F.when(has_members, FactKind.GENERATION_STABILIZED.value).otherwise(
        FactKind.GROUP_EMPTIED.value
    )
    kept = records.where(F.col("record_type").isin(classic, modern) & ~F.col("tombstone"))
    moments = F.when(
        F.col("record_type") == modern,
        F.array(_moment(F.lit(FactKind.EPOCH_BUMPED.value), _field("epoch"), millis)),
    ).otherwise(
        F.array(
            _moment(F.lit(FactKind.ASSIGNMENT_RECEIVED.value), generation, millis),
            F.when(ended_ms >= 0, _moment(ended, generation, ended_ms)),
        )
    )
    found = kept.select("group_id", F.explode(moments).alias("moment")).where("moment is not null")
    return found.select("group_id", "moment.*")


def _field(name: str) -> Column:
    return F.get_json_object("value_json", f"$.{name}").cast("bigint")


def _moment(kind: Column, epoch: Column, at_ms: Column) -> Column:
    return F.struct(kind.alias("kind"), epoch.alias("epoch"), at_ms.alias("at_ms"))


def _moments(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    schema = pa.schema([(name, arrow_type(kind)) for name, kind in MOMENT.items()])
    for batch in batches:
        rows = []
        for given in batch.to_pylist():
            found = decode_record(given["key"], given["value"])
            if isinstance(found, Record):
                rows += [
                    {"group_id": given["group_id"], "kind": kind, "epoch": epoch, "at_ms": at_ms}
                    for kind, epoch, at_ms in moments_of(found, given["at_ms"])
                ]
        yield from pa.Table.from_pylist(rows, schema=schema).to_batches()


def _fact(row: dict[str, Any]) -> BrokerFact:
    members = tuple(row.pop("members"))
    return BrokerFact(FactKind(row.pop("kind")), members=members, **row)
