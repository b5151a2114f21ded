"""Brokers' logs in a run: lines given to one run count in all later ones, so the tables do not depend on the order.

The lines are kept in meta.broker_log, with the time of their broker's clock and the time by that of the records. How
the clocks differ follows from all lines and all records, so it is computed again when there are new ones of either. If
the result has changed, or a line is about a time that an earlier run has audited, the groups concerned are replayed
from their first record.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from hashlib import sha256
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from rebalance_audit.audit.broker_log.broker_log import BrokerLog
from rebalance_audit.audit.broker_log.fact import BrokerFact, FactKind
from rebalance_audit.audit.testimony.clocks import DATED, SAMPLE, clocks, moments_of
from rebalance_audit.audit.testimony.witness import TOLERANCE_MS
from rebalance_audit.lake.records.routing import has_type
from rebalance_audit.lake.storage.local_rows import frame_of, rows_made
from rebalance_audit.lake.storage.sinks import Sink
from rebalance_audit.moments import micros_of
from rebalance_audit.tables.arrow_types import column_of
from rebalance_audit.tables.schemas import TableName, table_schemas
from rebalance_audit.wire.generated.messages import RecordType
from rebalance_audit.wire.records import Record, decode_record

LATE_MS: Final = 5 * TOLERANCE_MS
"""A line may concern records written up to this long before it, milliseconds."""

Shifts = Mapping[tuple[str, str], int | None]
"""Broker and time zone -> milliseconds by which the lines are late; None if they cannot be used."""


class StoredBrokerLogs:
    """The brokers' logs of one cluster in a lake, as one run uses them."""

    def __init__(self, sink: Sink, run_number: int, run_id: str) -> None:
        self._sink = sink
        self._run_number = run_number
        self._run_id = run_id
        self._exists = bool(sink.lake.version(TableName.BROKER_LOG))
        self.notes: list[str] = []
        """A sentence for each broker whose clock or log was not right."""

    def take(
        self, log: BrokerLog | None, new_records: DataFrame, old_moments: DataFrame | None = None
    ) -> None:
        """Keep the lines that are new, and align the clocks.

        `new_records` are the group records that no run has audited yet, or all of them; `old_moments` has what the
        others show, in the columns MOMENT.
        """
        added = 0 if log is None else self._keep(log)
        if not self._exists:
            return
        moments = moments_in(new_records)
        lines = self._lines()
        if not added and old_moments is not None and not _meeting(lines, moments).count():
            return
        if old_moments is not None:
            moments = moments.union(old_moments)
        self._set_clocks(lines, moments)

    def facts(self, groups: DataFrame | None = None) -> BrokerLog | None:
        """The lines about some groups, or about all; None if there are no lines."""
        if not self._exists:
            return None
        lines = self._lines()
        if groups is not None:
            named = groups.select("group_id").distinct()
            of_groups = lines.join(F.broadcast(named), "group_id", "left_semi")
            lines = of_groups.unionByName(lines.where("group_id is null"))
        return log_of_rows(lines)

    def groups_with_new_facts(
        self, snapshots: DataFrame, since_run: int, log_end_ms: int | None
    ) -> DataFrame | None:
        """(partition, group_id, is_late) of the groups about which runs after `since_run` have learned something.

        `is_late`: about a time up to `log_end_ms` (epoch milliseconds), which is audited already. `snapshots` are rows
        of meta.snapshots.
        """
        if not self._exists:
            return None
        lines = self._lines()
        is_new = F.col("run_number") > since_run
        if lines.where(is_new).isEmpty():
            return None
        is_past = F.col("at") <= F.timestamp_millis(F.lit((log_end_ms or 0) + LATE_MS))
        is_late = F.coalesce(is_new & (F.col("realigned") | is_past), F.lit(False))
        known = snapshots.select(F.col("log_partition").alias("partition"), "group_id")
        own = (
            lines.where("group_id is not null")
            .groupBy("group_id")
            .agg(
                F.max(is_new).alias("has_new_facts"),
                # Lines about its coordinator, which may be old, concern it as soon as it has a line of its own.
                (F.max(is_late) | F.min(is_new)).alias("own_is_late"),
            )
        )
        coordinators = (
            lines.where(F.col("group_id").isNull() & is_new)
            .groupBy(F.col("log_partition").alias("partition"))
            .agg(F.max(is_late).alias("coordinator_is_late"))
        )
        return (
            known.join(own, "group_id")
            .join(coordinators, "partition", "left")
            .where(F.col("has_new_facts") | F.col("coordinator_is_late").isNotNull())
            .select(
                "partition",
                "group_id",
                (
                    (F.col("has_new_facts") & F.col("own_is_late"))
                    | F.coalesce("coordinator_is_late", F.lit(False))
                ).alias("is_late"),
            )
        )

    def _lines(self) -> DataFrame:
        return self._sink.for_cluster(TableName.BROKER_LOG)

    def _keep(self, log: BrokerLog) -> int:
        """Add the lines that the table does not have; returns how many."""
        lake = self._sink.lake
        lake.create([TableName.BROKER_LOG])
        rows = rows_of_log(lake.spark, log)
        if self._exists:
            rows = rows.join(self._lines().select("line_id"), "line_id", "left_anti")
        rows = self._by(rows.withColumn("at", F.col("logged_at")), F.lit(False))
        count = self._sink.append(TableName.BROKER_LOG, rows).inserted
        self._exists = self._exists or bool(count)
        return count

    def _set_clocks(self, lines: DataFrame, moments: DataFrame) -> None:
        """Write the time by the records' clock where the rows have another."""
        meeting = _meeting(lines, moments)
        late = (F.unix_millis("logged_at") - F.col("at_ms")).alias("late_ms")
        candidates = (
            meeting.select(*CLOCK, "line_id", late)
            .groupBy(*CLOCK, "line_id")
            .agg(F.sort_array(F.collect_set("late_ms")).alias("shifts"))
        )
        # Line ids are digests: their order is random, yet the same in every run.
        order = F.row_number().over(Window.partitionBy(*CLOCK).orderBy("line_id"))
        found: defaultdict[tuple[str, str], list[list[int]]] = defaultdict(list)
        for row in candidates.withColumn("place", order).where(f"place <= {SAMPLE}").collect():
            found[row["broker"], row["zone"]].append(row["shifts"])
        shifts: dict[tuple[str, str], int | None] = {}
        for clock, each in sorted(found.items()):
            result = clocks({clock[0]: each})
            shifts[clock] = result.shift_of[clock[0]]
            self.notes += result.notes
        self._shift(lines, shifts)

    def _shift(self, lines: DataFrame, shifts: Shifts) -> None:
        at = F.col("logged_at")
        for (broker, zone), shift_ms in shifts.items():
            if shift_ms != 0:
                is_its = (F.col("broker") == broker) & (F.col("zone") == zone)
                # Null if there is no shift: the lines are left out.
                by_records = F.timestamp_millis(F.unix_millis("logged_at") - F.lit(shift_ms))
                at = F.when(is_its, by_records).otherwise(at)
        moved = ~F.col("at").eqNullSafe(at)
        if lines.where(moved).isEmpty():
            return
        # Lines of this run have not been used before.
        is_known = F.col("realigned") | (F.col("run_number") != self._run_number)
        set_anew = self._by(lines.where(moved).withColumn("at", at), is_known)
        rows = lines.where(~moved).unionByName(set_anew)
        self._sink.rewrite(TableName.BROKER_LOG, rows)

    def _by(self, rows: DataFrame, realigned: Column) -> DataFrame:
        return rows.withColumns(
            {
                "realigned": realigned,
                "run_number": F.lit(self._run_number).cast("bigint"),
                "run_id": F.lit(self._run_id),
            }
        )


def unmatched_notes(log: BrokerLog, states: DataFrame) -> list[str]:
    """A sentence about the groups that lines name and no row of `states` (gold.group_states) has, if there are any."""
    groups = sorted(log.by_group)
    if not groups:
        return []
    named = states.where(F.col("group_id").isin(groups)).select("group_id").distinct()
    return log.unmatched_notes({row[0] for row in named.collect()})


def _meeting(lines: DataFrame, moments: DataFrame) -> DataFrame:
    return lines.where(is_dated()).join(moments, ["group_id", "kind", "epoch"])


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
    return rows_made(columns, MOMENT, _moments)


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


def _moments(given: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    found = decode_record(given["key"], given["value"])
    if isinstance(found, Record):
        for kind, epoch, at_ms in moments_of(found, given["at_ms"]):
            yield {"group_id": given["group_id"], "kind": kind, "epoch": epoch, "at_ms": at_ms}


def _fact(row: dict[str, Any]) -> BrokerFact:
    members = tuple(row.pop("members"))
    return BrokerFact(FactKind(row.pop("kind")), members=members, **row)
