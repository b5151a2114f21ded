"""Brokers' logs in a run: their clocks are set by a sample of the records, then they go to every worker."""

from datetime import UTC, datetime
from typing import Final

from pyspark import Broadcast
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

from rebalance_audit.audit.broker_log.broker_log import BrokerLog
from rebalance_audit.audit.broker_log.clocks import SHIFT_MS_MAX, Aligned, Moments, aligned
from rebalance_audit.coordinator.changes import Position
from rebalance_audit.wire.messages import RecordType
from rebalance_audit.wire.records import Record, decode_record

SAMPLE: Final = 20_000
"""So many records of epochs are looked at, whatever the log holds: a clock shows in far fewer."""

_GROUPS_LISTED_MAX: Final = 1_000
_EPOCH_KEYS: Final = (RecordType.GROUP_METADATA, RecordType.CONSUMER_GROUP_METADATA)

SentLog = Broadcast[BrokerLog]
"""A log on its way to the workers, once for each of them and not for each task."""


def by_clock_of(records: DataFrame, log: BrokerLog) -> Aligned:
    """The log by the clock of the records, which have the reducer's columns."""
    groups = sorted(log.by_group)
    found = records.where(_is_epoch() & F.col("value").isNotNull() & _near(log))
    if len(groups) <= _GROUPS_LISTED_MAX:
        found = found.where(F.col("group_id").isin(groups))
    moments = Moments(log.by_group.keys())
    millis = F.unix_millis("timestamp").alias("at_ms")
    for row in found.select("partition", "offset", millis, "key", "value").limit(SAMPLE).collect():
        record = decode_record(bytes(row["key"]), bytes(row["value"]))
        if isinstance(record, Record):
            moments.note(record, Position(row["partition"], row["offset"], row["at_ms"]))
    return aligned(log, moments)


def unmatched_notes(log: BrokerLog, states: DataFrame) -> list[str]:
    """A sentence about lines of groups that no row of `states` (of gold.group_states) is about; else none."""
    groups = sorted(log.by_group)
    if not groups:
        return []
    named = states.where(F.col("group_id").isin(groups)).select("group_id").distinct()
    return log.unmatched_notes({row[0] for row in named.collect()})


def _is_epoch() -> Column:
    kind = F.substring("key", 1, 2)
    return kind.isin([F.lit(bytearray(number.to_bytes(2))) for number in _EPOCH_KEYS])


def _near(log: BrokerLog) -> Column:
    """Records of the time that the log covers, by whatever clock."""
    times = [fact.at_ms for fact in log.all()]
    if not times:
        return F.lit(False)
    first, last = min(times) - SHIFT_MS_MAX, max(times) + SHIFT_MS_MAX
    return F.col("timestamp").between(_moment(first), _moment(last))


def _moment(at_ms: int) -> Column:
    return F.lit(datetime.fromtimestamp(at_ms / 1000, UTC))
