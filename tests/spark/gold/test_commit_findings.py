"""Findings that offset commits show, out of hand-made rows of the tables that they are made of."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from rebalance_audit.audit.thresholds import FindingRules
from rebalance_audit.lake.gold.log_findings import Days, commit_findings
from tests.spark.in_process import rows_of
from tests.spark.lakes import frame_of

MIDNIGHT = datetime(2026, 3, 1, tzinfo=UTC)
HOUR_MS = 3_600_000
BEGIN_MS = int(MIDNIGHT.timestamp() * 1000)
RULES = FindingRules(hanging_ms=15 * 60_000, growth_records=4)


def at(minutes: float) -> datetime:
    """So many minutes after midnight."""
    return MIDNIGHT + timedelta(minutes=minutes)


def commits(group_id: str, first_offset: int, *minutes: float, **more: Any) -> list[dict[str, Any]]:
    """Commits at these moments, at offsets that follow each other."""
    given = {"group_id": group_id, "partition": 3, "topic": "t", "tombstone": False}
    given |= {"transaction_state": "none", **more}
    return [
        given | {"offset": first_offset + number, "timestamp": at(minute)}
        for number, minute in enumerate(minutes)
    ]


OPEN = {"transaction_state": "open", "producer_id": 7}
ROWS: dict[str, list[dict[str, Any]]] = {
    "silver.offset_commits": [
        *commits("stuck", 10, 5, 6, topic="b", **OPEN),
        *commits("stuck", 12, 50, topic="a", **OPEN),
        *commits("stuck", 20, 30, 31, **OPEN | {"producer_id": 8}),
        *commits("young", 30, 46, 47, **OPEN),
        *commits("done", 40, 1, 2, **OPEN | {"transaction_state": "aborted"}),
        *commits("busy", 100, 10, 20, 30, 40, 70, 80, 130, 140, 150, 155),
        *commits("busy", 200, 24 * 60 + 1, 24 * 60 + 2, 24 * 60 + 3, 24 * 60 + 4),
    ],
    "gold.group_hours": [
        {"group_id": "busy", "hour": at(0), "commits": 4},
        {"group_id": "busy", "hour": at(60), "commits": 2},
        {"group_id": "busy", "hour": at(120), "commits": 4},
        {"group_id": "busy", "hour": at(24 * 60), "commits": 4},
        {"group_id": "undecoded", "hour": at(0), "commits": None},
    ],
    "silver.group_records": [
        {"group_id": "storm", "partition": 5, "offset": minute, "timestamp": at(minute), "record_name": name}
        for minute in range(5)
        for name in ("GroupMetadata",) * (minute != 2)
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def tables(spark: SparkSession) -> dict[str, DataFrame]:
    """The rows as the tables have them; columns that are not given are null."""
    return {name: frame_of(spark, name, rows) for name, rows in ROWS.items()}


def as_it_is(frame: DataFrame) -> DataFrame:
    """No stage: few rows."""
    return frame


def found(tables: dict[str, DataFrame], days: Days | None = None, end: float = 60) -> list[Any]:
    """Kind, group, first and last moment in minutes, offsets of the evidence, and detail."""
    end_ms = BEGIN_MS + int(end * 60_000)
    found = commit_findings(tables.__getitem__, as_it_is, RULES, end_ms, days)
    assert found is not None
    rows = rows_of(found)
    assert len({row["finding_id"] for row in rows}) == len(rows)
    return sorted(
        (
            row["kind"],
            row["group_id"],
            (row["from_at"] - BEGIN_MS) // 60_000,
            None if row["to_at"] is None else (row["to_at"] - BEGIN_MS) // 60_000,
            [item["offset"] for item in row["evidence"]],
            row["detail"],
        )
        for row in rows
    )


HANGING = "A transaction of producer {} with {} offset commits has been open for at least 15 min."
GREW = "It wrote {} records ({}) in {} of the day, at most {} in one hour."


def test_what_offset_commits_show(tables: dict[str, DataFrame]) -> None:
    """A transaction for each producer, once it is old enough; growth for each day and type, from first to last hour."""
    assert found(tables) == [
        ("hanging_transaction", "stuck", 5, None, [10, 12], HANGING.format(7, 3)),
        ("hanging_transaction", "stuck", 30, None, [20, 21], HANGING.format(8, 2)),
        ("topic_growth", "busy", 10, 155, [100, 109], GREW.format(8, "offset commits", "2 hours", 4)),
        ("topic_growth", "busy", 1441, 1444, [200, 203], GREW.format(4, "offset commits", "1 hour", 4)),
        ("topic_growth", "storm", 0, 4, [0, 4], GREW.format(4, "GroupMetadata", "1 hour", 4)),
    ]  # fmt: skip


def test_of_some_days_growth_is_that_of_the_days(tables: dict[str, DataFrame]) -> None:
    """What is made again is what a run over everything has of these days; transactions hang on any day."""
    second = Days(BEGIN_MS + 24 * HOUR_MS, BEGIN_MS + 48 * HOUR_MS)
    of_day = [row for row in found(tables) if row[0] == "hanging_transaction" or row[2] >= 1440]
    assert found(tables, second) == of_day
    assert [row[1] for row in found(tables, second, end=19)] == ["busy"]
