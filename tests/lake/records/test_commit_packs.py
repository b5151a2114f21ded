"""Packs of offset commits, and what of them lies before a record of their group."""

import numpy as np
import pyarrow as pa

from rebalance_audit.audit.commits.summary import Summaries
from rebalance_audit.lake.records.commit_packs import (
    DECIDED,
    HeldCommits,
    pack_columns,
    pack_commits,
)

A, B = (b"\0\1\0\1g\0\1" + topic + bytes(4) for topic in (b"a", b"b"))


def pack(*offsets: int) -> bytes:
    """The value of a pack of commits at these log offsets, each a second after the one before and ten further on."""
    times, committed = [1000 * offset for offset in offsets], [offset // 10 for offset in offsets]
    return np.array([offsets, times, committed], "<i8").tobytes()


def counts(found: Summaries) -> dict[bytes, int]:
    """Key -> how many commits are taken."""
    return {key: numbers[4] for key, numbers in found.items()}


def test_a_pack_that_lies_across_the_rest_of_another() -> None:
    """A record takes all commits before it, also those of a pack that began after one that goes on after it."""
    commits = HeldCommits()
    commits.hold(A, pack(10, 500), None, is_transactional=False)
    commits.expect(0, [200, 201])
    assert counts(commits.take(200)) == {A: 1}
    assert counts(commits.take(201)) == {}
    commits.hold(B, pack(250, 260, 700), None, is_transactional=False)
    commits.expect(11, [300])
    assert counts(commits.take(300)) == {B: 2}
    assert counts(commits.take_rest(261)) == {A: 1, B: 1}
    assert counts(commits.take_rest(701)) == {}


def test_summaries_of_packs_are_those_of_their_commits_in_order_of_the_log() -> None:
    """Overlapping packs are as good as one; pauses are those within a stretch; the last commit decides."""
    commits = HeldCommits()
    commits.hold(A, pack(10, 14, 30), 1, is_transactional=False)
    commits.hold(A, pack(11, 20), 2, is_transactional=True)
    commits.expect(11, [25, 40])
    assert commits.take(25) == {A: (11_000, 20_000, 11, 20, 3, 6_000, 6_000, 2, True, 1, 2, 1)}
    assert commits.take(40) == {A: (30_000, 30_000, 30, 30, 1, 0, None, 1, False, 3, 3, 0)}


def test_packs_hold_each_commit_of_a_key_in_order() -> None:
    """Keys without a group are left out; another leader epoch begins another pack."""
    rows = [
        (5, 50, 1, A),
        (3, 30, 1, A),
        (4, 40, 1, B),
        (6, 60, 2, A),
        (7, 70, 1, b"\0\1\0\x09g"),
    ]
    offsets, times, epochs, keys = map(list, zip(*rows, strict=True))
    batch = pa.RecordBatch.from_arrays(
        [
            pa.array([0] * len(rows), pa.int32()),
            pa.array(offsets, pa.int64()),
            pa.array([at * 1000 for at in times], pa.timestamp("us", "UTC")),
            pa.array(epochs, pa.int32()),
            pa.array([None] * len(rows), pa.bool_()),
            pa.array(keys, pa.binary()),
            pa.array([bytes(2) + at.to_bytes(8) for at in times], pa.binary()),
        ],
        names=[
            "partition",
            "offset",
            "timestamp",
            "leader_epoch",
            "is_transactional",
            "key",
            "value",
        ],
    )
    made = pack_commits([batch.slice(0, 2), batch.slice(2)])
    found = [
        (row["key"], row["leader_epoch"], row["offset"], row["group_id"], row["value"])
        for row in made.to_pylist()
    ]
    assert sorted(found) == [
        (A, 1, 3, "g", np.array([[3, 5], [30, 50], [30, 50]], "<i8").tobytes()),
        (A, 2, 6, "g", np.array([[6], [60], [60]], "<i8").tobytes()),
        (B, 1, 4, "g", np.array([[4], [40], [40]], "<i8").tobytes()),
    ]


def test_packs_of_decided_commits_come_last_and_have_the_markers() -> None:
    """A fourth column; a commit that cannot be decoded is in no such pack."""
    value = bytes(2) + (40).to_bytes(8) + bytes(10)
    columns = {
        "partition": pa.array([0, 0, 0], pa.int32()),
        "offset": pa.array([5, 3, 4], pa.int64()),
        "timestamp": pa.array([60_000, 50_000, 50_000], pa.timestamp("us", "UTC")),
        "leader_epoch": pa.array([1, 1, 1], pa.int32()),
        "is_transactional": pa.array([True, True, True]),
        "key": pa.array([A, A, B], pa.binary()),
        "value": pa.array([value, value, value[:4]], pa.binary()),
        "marker_offset": pa.array([9, 7, 7], pa.int64()),
    }
    (row,) = pack_commits([pa.RecordBatch.from_pydict(columns)]).to_pylist()
    assert (row["key"], row["kind"], row["offset"]) == (A, DECIDED, (1 << 63) - 1)
    assert pack_columns(row["value"], 4).tolist() == [[3, 5], [50, 60], [40, 40], [7, 9]]
