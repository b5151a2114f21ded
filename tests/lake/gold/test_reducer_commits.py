"""The reducer and offset commits: where the log is cut into runs and batches changes nothing."""

from collections.abc import Iterable
from typing import Any

import orjson
import pyarrow as pa
import pytest

from rebalance_audit.audit.rows import GROUP_HOURS
from rebalance_audit.lake.gold.group_memory import ReducerOptions
from rebalance_audit.lake.gold.outputs import SNAPSHOTS
from rebalance_audit.lake.gold.reducer import RESUMES, reduced
from rebalance_audit.lake.records.commit_packs import INPUT, pack_commits
from rebalance_audit.local.byte_ranges import ranges_of
from rebalance_audit.tables.arrow_types import column_of
from rebalance_audit.wire.key_bytes import OFFSET_COMMIT_PREFIXES, group_bytes
from rebalance_audit.wire.segments.bad_bytes import BadBytes, TailNote
from rebalance_audit.wire.segments.folder import open_log_folder
from tests.support.stream_rows import unpacked_stream
from tests.wire.golden import capture

KINDS = (
    *("int", "string", "bigint", "timestamp", "int", "bigint", "boolean", "binary", "binary"),
    "string",
)
"""Types of INPUT."""
Given = tuple[Any, ...]
"""A row with the columns INPUT."""


def batch_of(rows: Iterable[Given]) -> pa.RecordBatch:
    """The rows as Arrow."""
    columns = zip(*rows, strict=True)
    arrays = [column_of(kind, cells) for kind, cells in zip(KINDS, columns, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, names=[*INPUT])


def log_of(name: str) -> tuple[list[Given], list[Given]]:
    """Group records and offset commits of a capture."""
    folder = open_log_folder(capture(name).segments)
    rows: list[Given] = []
    for part in ranges_of(folder, folder.segments):
        for found in part.read():
            if not isinstance(found, BadBytes | TailNote):
                records = ((run, *row) for run, of in found.all().by_run() for row in of)
                for run, offset, at_ms, key, value in records:
                    group = group_bytes(key)
                    if group is not None:
                        where = (part.segment.log_partition, group.decode(), offset, at_ms)
                        facts = (run.leader_epoch, None, run.is_transactional, key, value, None)
                        rows.append((*where, *facts))
    commits = [row for row in rows if row[7].startswith(OFFSET_COMMIT_PREFIXES)]
    return [row for row in rows if row not in commits], commits


def packs_of(commits: list[Given], size: int) -> list[Given]:
    """Packs of batches of so many commits."""
    there = [row for row in commits if row[8] is not None]
    batches = [batch_of(there[at : at + size]) for at in range(0, len(there), size)]
    return [row for batch in batches for row in rows_of(pack_commits([batch]))]


def rows_of(batch: pa.RecordBatch) -> list[Given]:
    """The rows of a batch, times in milliseconds."""
    at = INPUT.index("timestamp")
    columns = [batch.column(name) for name in INPUT]
    columns[at] = columns[at].cast(pa.int64())
    return [
        (*row[:at], row[at] // 1000, *row[at + 1 :])
        for row in zip(*(column.to_pylist() for column in columns), strict=True)
    ]


def states(rows: list[Given]) -> dict[str, Any]:
    """Group -> what the reducer keeps of it after these rows."""
    given = batch_of(sorted(rows, key=lambda row: row[:3]))
    kept: dict[str, Any] = {}
    for table, _, found in unpacked_stream(reduced([given], ReducerOptions(log_end_ms=0))):
        if table == SNAPSHOTS:
            kept |= {row["group_id"]: row for row in found.to_pylist()}
    return kept


def hours(rows: list[Given]) -> dict[tuple[str, Any], dict[str, Any]]:
    """Group and hour -> the row of gold.group_hours that the reducer makes of these rows."""
    given = batch_of(sorted(rows, key=lambda row: (row[1], row[0], row[2])))
    found: dict[tuple[str, Any], dict[str, Any]] = {}
    for table, _, batch in unpacked_stream(reduced([given], ReducerOptions(log_end_ms=0))):
        for row in batch.to_pylist() if table == GROUP_HOURS else ():
            key = row["group_id"], row["hour"]
            assert key not in found
            found[key] = row
    return found


def loaded(kept: dict[str, Any]) -> dict[str, Any]:
    """All of the state."""
    found: dict[str, Any] = orjson.loads(kept["state"])
    return found


def audit_of(kept: dict[str, Any]) -> dict[str, Any]:
    """The state of the audit; partitions may have come in another order, on which nothing depends."""
    audit: dict[str, Any] = loaded(kept)["audit"]
    del audit["checksum"]
    runs = audit.get("commits", {}).get("of_partition", [])
    commits = [
        (topic, number, run["is"])
        for run in runs
        for topic, of in run["of"].items()
        for number in of
    ]
    return audit | {"commits": sorted(commits, key=lambda each: each[:2])}


@pytest.mark.parametrize("elsewhere", [0, 99], ids=["before", "after"])
def test_an_hour_has_the_commits_of_all_partitions(elsewhere: int) -> None:
    """After partitions were added to the log, a group without records of its own may commit in another one."""
    records, commits = log_of("broker-4.4")
    moved = [(elsewhere, *row[1:]) for row in commits]
    alone, both = (hours(records + packs_of(each, 7)) for each in (commits, commits + moved))
    counted = ("commits", "commit_gaps")
    assert both == {
        key: row | {name: 2 * row[name] for name in counted} for key, row in alone.items()
    }
    assert sum(row["commits"] for row in alone.values()) > 100


@pytest.mark.parametrize("name", ["classic-cooperative", "broker-4.4", "offsets"])
@pytest.mark.parametrize("after", ["next_offset", "next_commit_offset"])
def test_a_run_in_two_parts_keeps_the_state_of_one_over_both(name: str, after: str) -> None:
    """The second part is given the commits that the state does not know, or more: those do not count twice."""
    records, commits = log_of(name)
    whole = states(records + packs_of(commits, 1000))
    assert any('"commits"' in kept["state"] for kept in whole.values())
    middle = sorted(row[2] for row in records)[len(records) // 2] + 3
    first = states(
        [row for row in records if row[2] < middle]
        + packs_of([row for row in commits if row[2] < middle], 7)
    )
    resumed: list[Given] = []
    for row in records + commits:
        log_partition, group, offset = row[:3]
        known = first.get(group)
        if row in records and offset >= middle:
            resumed.append(row)
        if known is not None and not any(
            each[:3] == (log_partition, group, RESUMES) for each in resumed
        ):
            state = known["state"].encode()
            resumed.append((log_partition, group, RESUMES, 0, None, None, None, None, state, None))
    known_to = {group: max(kept["next_offset"], kept[after] or 0) for group, kept in first.items()}
    again = [row for row in commits if row[2] >= known_to.get(row[1], 0)]
    second = states(resumed + packs_of(again, 11))
    for group, kept in whole.items():
        if group not in second:
            continue
        if second[group]["state"] is None:
            # Its first record needs all of its commits.
            assert loaded(first[group])["audit"] is None
            continue
        assert loaded(second[group])["commit_hours"] == loaded(kept)["commit_hours"]
        if loaded(kept)["audit"] is not None:
            assert audit_of(second[group]) == audit_of(kept)
