"""gold.group_hours out of hand-made rows of the tables that it is made of."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from chispa import assert_df_equality
from pyspark.sql import DataFrame, SparkSession

from rebalance_audit.lake.gold import commit_hours, group_hours
from rebalance_audit.lake.gold.commit_seconds import seconds_of
from rebalance_audit.lake.gold.hour_codes import KEY
from rebalance_audit.lake.gold.hour_facts import ADDED, OF_COMMITS
from rebalance_audit.lake.gold.wanted_hours import Wanted
from rebalance_audit.tables.schemas import TableName
from tests.spark.in_process import rows_of
from tests.spark.lakes import frame_of

MIDNIGHT = datetime(2026, 3, 1, tzinfo=UTC)
LOG_END_MS = int((MIDNIGHT + timedelta(hours=3, minutes=30)).timestamp() * 1000)
TABLES = (
    "gold.epochs",
    "gold.rebalances",
    "gold.ownership",
    "gold.group_states",
    "silver.offset_commits",
)


def at(minutes: float) -> datetime:
    """So many minutes after midnight."""
    return MIDNIGHT + timedelta(minutes=minutes)


def hour(number: int) -> datetime:
    """The start of an hour of that day."""
    return at(60 * number)


def commits(group_id: str, *minutes: float) -> list[dict[str, Any]]:
    """Commits at these moments."""
    return [
        {"group_id": group_id, "timestamp": at(minute), "tombstone": False} for minute in minutes
    ]


JOINED, LEFT = "member_joined", "member_left"
STEADY = [index / 6 for index in range(60)]
"""Every ten seconds for ten minutes."""
SECOND = timedelta(seconds=1)
CLASSIC = {"protocol": "classic"}


def bounds(stem: str, least: int, most: int | None, estimate: int) -> dict[str, Any]:
    """The columns of a duration that has bounds."""
    return {f"{stem}_min_ms": least, f"{stem}_max_ms": most, f"{stem}_estimate_ms": estimate}


def exactly(stem: str, milliseconds: int) -> dict[str, Any]:
    """The columns of a duration that is known."""
    return {f"{stem}_ms": milliseconds, **bounds(stem, milliseconds, milliseconds, milliseconds)}


ROWS: Mapping[str, list[dict[str, Any]]] = {
    "gold.epochs": [
        {"group_id": "g", "started_at": at(10), "members_joined": 2, "convergence_ms": 900, "primary_cause": JOINED},
        {"group_id": "g", "started_at": at(20), "partitions_moved": 4, "convergence_ms": 500, "primary_cause": LEFT},
        {"group_id": "g", "started_at": at(30), "members_left": 1, "primary_cause": LEFT, "completeness": "gap"},
        {"group_id": "g", "started_at": None, "converged_at": at(70), "primary_cause": None},
        {"group_id": "k", "started_at": at(125), **CLASSIC, **bounds("unowned_partition", 20, 900_000, 4000)},
        {"group_id": "k", "started_at": at(126), **CLASSIC, **bounds("unowned_partition", 5, 100_000, 3000)},
        {"group_id": "u", "started_at": at(125), **CLASSIC, **bounds("unowned_partition", 0, None, 3000)},
        # Its coordinator moved: owners changed by the clocks of two brokers.
        {"group_id": "m", "started_at": at(65), "unowned_partition_max_ms": None},
    ],
    "gold.rebalances": [
        {"group_id": "g", "started_at": at(50), "ended_at": at(65)},
        {"group_id": "g", "started_at": at(190), "ended_at": None},
        {"group_id": "g", "started_at": None, "ended_at": at(200)},
        # Ten seconds to ten minutes until 02:06: the hour before may have had up to four minutes of it.
        {"group_id": "k", "started_at": at(126) - 10 * SECOND, "ended_at": at(126), **CLASSIC,
         **bounds("duration", 10_000, 600_000, 30_000)},
        {"group_id": "u", "started_at": at(125), "ended_at": at(125), **CLASSIC, **bounds("duration", 0, None, 3000)},
        {"group_id": "m", "started_at": at(65), "ended_at": at(125), "unowned_partition_max_ms": None},
    ],
    "gold.ownership": [
        {"group_id": "g", "from_at": at(61), "unowned_before_ms": 120_000, "topic_id": "t"},
        {"group_id": "k", "from_at": at(126), "unowned_before_ms": 20},
        {"group_id": "m", "from_at": at(67), "unowned_before_ms": 60_000, "topic_id": "t"},
        {"group_id": "m", "from_at": at(67), "unowned_before_ms": None, "topic_id": "t"},
        {"group_id": "g", "from_at": at(62), "unowned_before_ms": None},
    ],
    "gold.group_states": [
        {"group_id": "g", "from_at": at(5), "to_at": at(64), "from_offset": 1, "members": 3, "protocol": "classic"},
        {"group_id": "g", "from_at": at(64), "to_at": None, "from_offset": 9, "members": 2, "protocol": "consumer"},
    ],
    "silver.offset_commits": [
        *commits("c", *STEADY, *(130 + minute for minute in STEADY)),
        *commits("c", 130),
        {"group_id": "c", "timestamp": at(150), "tombstone": True},
    ],
}  # fmt: skip
G = {"group_id": "g"}
EXPECTED = [
    {
        "group_id": "c", "hour": hour(0), "protocol": "classic", "commits": 60, "commit_gap_ms_max": 10_000,
        "last_commit_at": at(0) + timedelta(milliseconds=590_000),
    },
    {
        # 120 minutes and ten seconds of silence after a commit every ten seconds; the doubled second counts once.
        "group_id": "c", "hour": hour(2), "protocol": "classic", "commits": 61, "commit_gaps": 1,
        "commit_gap_ms_max": 120 * 60_000 + 10_000, "last_commit_at": at(130) + timedelta(milliseconds=590_000),
    },
    G | {
        "hour": hour(0), "protocol": "classic", "epochs": 3, "rebalances": 1,
        **exactly("not_stable", 600_000), **exactly("unowned_partition", 60_000),
        "partitions_moved": 4, "members_joined": 2, "members_left": 1, "members_max": 3,
        "convergence_ms_max": 900, "primary_cause": LEFT, "completeness": "gap",
    },
    G | {
        "hour": hour(1), "protocol": "consumer", "epochs": 1, "members_max": 3,
        **exactly("not_stable", 300_000), **exactly("unowned_partition", 60_000),
    },
    # It began ten minutes into the hour, and goes on when the log ends half an hour into it.
    G | {
        "hour": hour(3), "protocol": "consumer", "rebalances": 1, "members_max": 2,
        **exactly("not_stable", 1_200_000),
    },
    {"group_id": "k", "hour": hour(1), "protocol": "classic", "not_stable_max_ms": 240_000},
    {
        "group_id": "k", "hour": hour(2), "protocol": "classic", "epochs": 2, "rebalances": 1,
        "not_stable_ms": 10_000, **bounds("not_stable", 10_000, 360_000, 30_000),
        "unowned_partition_ms": None, **bounds("unowned_partition", 25, 1_000_000, 7000),
    },
    {
        "group_id": "m", "hour": hour(1), "protocol": "classic", "epochs": 1, "rebalances": 1,
        **exactly("not_stable", 55 * 60_000),
        "unowned_partition_ms": None, **bounds("unowned_partition", 60_000, None, 60_000),
    },
    {
        "group_id": "m", "hour": hour(2), "protocol": "classic", **exactly("not_stable", 5 * 60_000),
        "unowned_partition_ms": None, **bounds("unowned_partition", 0, None, 0),
    },
    {
        "group_id": "u", "hour": hour(2), "protocol": "classic", "epochs": 1, "rebalances": 1,
        "not_stable_ms": 0, **bounds("not_stable", 0, None, 3000),
        "unowned_partition_ms": None, **bounds("unowned_partition", 0, None, 3000),
    },
]  # fmt: skip
ZEROS = (
    *ADDED,
    *("not_stable_ms", "unowned_partition_ms", "commits", "commit_gaps"),
)


@pytest.fixture(scope="module")
def tables(spark: SparkSession) -> dict[str, DataFrame]:
    """The rows as the tables have them; columns that are not given are null."""
    common = {"completeness": "complete", "incarnation": 0, "unowned_partition_max_ms": 0}
    return {name: frame_of(spark, name, [common | row for row in ROWS[name]]) for name in TABLES}


@pytest.fixture(scope="module")
def expected(spark: SparkSession) -> DataFrame:
    """EXPECTED as a table has it, with what is the same in most rows."""
    common = dict.fromkeys(ZEROS, 0) | {"completeness": "complete"}
    return frame_of(spark, TableName.GROUP_HOURS, [common | row for row in EXPECTED])


def assert_same_hours(found: DataFrame, wanted: DataFrame) -> None:
    """The same rows in the columns of the table, in whatever order."""
    assert_df_equality(
        found.drop("cluster"),
        wanted,
        ignore_row_order=True,
        ignore_column_order=True,
        ignore_nullable=True,
        ignore_metadata=True,
    )


def test_hours_tell_what_a_group_went_through(
    tables: dict[str, DataFrame], expected: DataFrame
) -> None:
    """Starts count in their hour, durations are shared out, open rebalances last until the log's end, silences end."""
    assert_same_hours(group_hours.group_hours(tables.get, LOG_END_MS), expected)


@pytest.mark.parametrize("apart", [2, None], ids=["close", "far apart"])
def test_some_hours_come_out_as_among_all(
    spark: SparkSession, tables: dict[str, DataFrame], expected: DataFrame, apart: int | None
) -> None:
    """Made again alone, an hour has what it has in a run over everything: its first silence began in a known hour."""
    known = group_hours.group_hours(tables.get, LOG_END_MS).localCheckpoint()
    names = "group_id string, hour timestamp"
    first = spark.createDataFrame(
        [("c", at(0)), ("g", at(60)), ("g", at(120)), ("k", at(60))], names
    )
    wanted = Wanted.of(commit_hours.with_following(first, known).localCheckpoint())
    of_commits = commit_hours.commit_hours(wanted, tables["silver.offset_commits"], known)
    wanted = Wanted(wanted.hours, wanted.low, wanted.high, apart)
    rows = group_hours.group_hours(tables.get, LOG_END_MS, wanted, of_commits)
    again = spark.createDataFrame(
        [("c", at(0)), ("c", at(120)), ("g", at(60)), ("k", at(60))], names
    )
    assert_same_hours(rows, expected.join(again, ["group_id", "hour"], "left_semi"))


def test_without_silver_nothing_is_said_of_commits(tables: dict[str, DataFrame]) -> None:
    """Where the commits were not decoded their columns are null, not zero."""
    gold = {name: frame for name, frame in tables.items() if name.startswith("gold.")}
    rows = rows_of(group_hours.group_hours(gold.get, LOG_END_MS))
    assert len(rows) == 8
    for row in rows:
        assert {row[name] for name in OF_COMMITS} == {None}


PAUSED = [*STEADY, 12.5, 12.6]
"""With a long stretch of two minutes and forty seconds."""
CONTINUED: Mapping[str, tuple[list[float], list[float], set[int]]] = {
    "an hour that had begun": (STEADY[:40], STEADY[40:], set()),
    "the next hours": (STEADY, [61, 61.5, 180], set()),
    "a second that had begun": ([1.5, 2 + 0.1 / 60], [2 + 0.1 / 60, 2 + 0.9 / 60, 2.5], set()),
    "after a week of silence": ([1, 2], [2 + 8 * 1440, 3 + 8 * 1440], set()),
    "after a long stretch": (PAUSED, [13, 13.5], {0}),
    "a long stretch now": (STEADY, [20, 20.1], {0}),
    "dated back": ([1, 2, 3], [2.5, 61], {0, 1}),
    "dated back within the second": ([1.5, 2 + 0.5 / 60], [2 + 0.1 / 60], {0}),
    "nothing known": ([], [1, 2, 3, 8], set()),
    "nothing new": ([1, 2], [], set()),
}  # fmt: skip
"""What is -> minutes of known and of new commits, and the hours whose commits are read again."""


@pytest.mark.parametrize("case", CONTINUED)
def test_hours_go_on_from_their_rows(
    spark: SparkSession, tables: dict[str, DataFrame], case: str
) -> None:
    """New commits give the hours that all commits together give; only where the median can matter they are read."""
    before, after, expected_again = CONTINUED[case]

    def frame(*minutes: float) -> DataFrame:
        rows = [(row["group_id"], row["timestamp"], False) for row in commits("c", *minutes)]
        return spark.createDataFrame(
            rows, "group_id string, timestamp timestamp, tombstone boolean"
        )

    known = commit_hours.commit_hours(Wanted(), frame(*before))
    from_ms = int(at(min(after, default=0)).timestamp() * 1000)
    found = commit_hours.continued_hours(seconds_of(frame(*after)), known, from_ms).collect()
    names = (*KEY, *OF_COMMITS)
    whole = {
        row["hour"]: row
        for row in commit_hours.commit_hours(Wanted(), frame(*before, *after)).collect()
    }
    again = {
        int((row["hour"].replace(tzinfo=UTC) - MIDNIGHT) / timedelta(hours=1))
        for row in found
        if row["again"]
    }
    assert again == expected_again
    touched = {at(60 * (minute // 60)).replace(tzinfo=None) for minute in after}
    assert {row["hour"] for row in found} == touched
    for row in found:
        if not row["again"]:
            assert {name: row[name] for name in names} == {
                name: whole[row["hour"]][name] for name in names
            }
