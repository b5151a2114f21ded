"""Which groups a run replays, and from where."""

from datetime import UTC, datetime

from pyspark.sql import SparkSession

from rebalance_audit.audit.snapshots.snapshot import STATE_FORMAT
from rebalance_audit.lake.runs.affected_groups import AffectedGroups, NewRecords
from rebalance_audit.lake.runs.progress import PartitionProgress, Progress
from rebalance_audit.lake.storage.stage import Stage

LOG_END_MS = 1_000_000
RULES = "now"
SNAPSHOTS = (
    "group_id string, log_partition int, next_offset bigint, next_commit_offset bigint,"
    " state_format int, rules string, due_at timestamp,"
    " topics array<string>, state string, run_id string"
)
RECORDS = (
    "partition int, group_id string, offset bigint, timestamp timestamp, leader_epoch int,"
    " producer_id bigint, is_transactional boolean, key binary, value binary"
)


def snapshot(
    group_id: str,
    *,
    partition: int = 1,
    next_offset: int = 10,
    next_commit_offset: int | None = None,
    state_format: int = STATE_FORMAT,
    rules: str = RULES,
    due_ms: int | None = None,
    topics: tuple[str, ...] = (),
    run_id: str = "before",
) -> tuple[object, ...]:
    """A row of meta.snapshots."""
    due = None if due_ms is None else datetime.fromtimestamp(due_ms / 1000, UTC)
    offsets = (next_offset, next_commit_offset)
    return (group_id, partition, *offsets, state_format, rules, due, list(topics), "{}", run_id)


CASES = {
    "untouched": (snapshot("untouched"), None, None),
    "new": (None, 50, "resumed"),
    "goes-on": (snapshot("goes-on"), 10, "resumed"),
    "late": (snapshot("late"), 9, "rebuilt"),
    "committed": (snapshot("committed", next_commit_offset=30), 40, "resumed"),
    "last-run": (snapshot("last-run", run_id="last"), 50, "resumed"),
    "due": (snapshot("due", due_ms=LOG_END_MS), None, "resumed"),
    "due-later": (snapshot("due-later", due_ms=LOG_END_MS + 1), None, None),
    "commits": (snapshot("commits"), None, "resumed"),
    "commits-alone": (None, None, "resumed"),
    "commits-late": (snapshot("commits-late", next_commit_offset=30), None, "rebuilt"),
    "old-format": (snapshot("old-format", state_format=STATE_FORMAT - 1), None, "rebuilt"),
    "old-rules": (snapshot("old-rules", rules="before"), None, "rebuilt"),
    "asked": (snapshot("asked", topics=("a", "renamed")), None, "rebuilt"),
    "asked-other": (snapshot("asked-other", topics=("a", "b")), None, None),
    "named": (snapshot("named"), None, "resumed"),
    "named-late": (snapshot("named-late"), 10, "rebuilt"),
    "lost-behind": (snapshot("lost-behind", partition=2, next_offset=5), None, "resumed"),
    "lost-before": (snapshot("lost-before", partition=2, next_offset=6), None, "rebuilt"),
}
"""Group -> its snapshot, the offset of its new record, how it is replayed."""
ELSEWHERE = [
    snapshot("two-partitions", partition=3),
    snapshot("two-quiet"),
    snapshot("two-quiet", partition=3),
]
"""Of groups that have commits in another partition of the log as well."""
NAMED = [(1, "named", False), (1, "named-late", True)]
"""The groups that brokers' logs name, and whether in the past."""

COMMITTED = [
    (1, "commits", 12),
    (1, "commits", 11),
    (1, "commits-alone", 4),
    (1, "commits-late", 29),
    (1, "two-partitions", 7),
]
"""New offset commits."""


def test_groups_are_touched_for_a_reason(spark: SparkSession, stage: Stage) -> None:
    """A case for each reason, and for each that is almost one."""
    records = [
        (1, group_id, offset, None, None, None, None, b"", b"")
        for group_id, (_, offset, _) in CASES.items()
        if offset is not None
    ]
    known = [case[0] for case in CASES.values() if case[0]]
    snapshots = spark.createDataFrame([*known, *ELSEWHERE], SNAPSHOTS)
    news = NewRecords(
        spark.createDataFrame(records, RECORDS),
        {2: 5},
        {"renamed"},
        LOG_END_MS,
        RULES,
        Progress(0, {number: PartitionProgress(45, None, 45) for number in (1, 2)}, run_id="last"),
        broker_updates=spark.createDataFrame(
            NAMED, "partition int, group_id string, is_late boolean"
        ),
        commits=spark.createDataFrame(COMMITTED, "partition int, group_id string, offset bigint"),
    )
    affected = AffectedGroups(stage, snapshots, news)
    found = {row["group_id"]: row["mode"] for row in affected.groups.collect()}
    expected = {group_id: mode for group_id, (_, _, mode) in CASES.items() if mode}
    assert found == expected | {"two-partitions": "rebuilt"}
    assert (affected.resumed, affected.rebuilt) == (9, 9)
    after = {row["group_id"]: row["after"] for row in affected.groups.collect()}
    # Audits know the commits before their group's last record, or the last commit that they were given; those of the
    # last run, all before its end.
    assert {
        group: after[group]
        for group in ("new", "goes-on", "committed", "commits-alone", "last-run", "late")
    } == {
        "new": 0,
        "goes-on": 10,
        "committed": 30,
        "commits-alone": 0,
        "last-run": 45,
        "late": 0,
    }
