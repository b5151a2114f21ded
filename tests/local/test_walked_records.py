"""The state of the groups is made of the same records whichever way the log is read."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebalance_audit.local.segment_records import SegmentRecords
from rebalance_audit.local.walked_records import WalkedRecords
from rebalance_audit.scan import segment_scan
from rebalance_audit.wire import key_bytes
from rebalance_audit.wire.segments.folder import LogFolder, PositionedRecord, open_log_folder
from tests.support.examples import examples
from tests.wire.golden import CAPTURE_NAMES, capture
from tests.wire.segments.hand_made import Rec, batch, segment


def assert_same(folder: LogFolder, at_ms: int | None, *group_ids: str) -> int:
    """The same records, counts and latest moment; returns how many records there are."""
    groups, found = key_bytes.of_groups(group_ids), 0
    for log_partition in folder.segments:
        plain = SegmentRecords(folder, log_partition, at_ms, groups)
        walked = WalkedRecords(folder, log_partition, at_ms, groups)
        records = list(plain)
        assert list(walked) == records
        assert (walked.last_ms, walked.damaged) == (plain.last_ms, plain.damaged)
        found += len(records)
    return found


@pytest.mark.parametrize("name", CAPTURE_NAMES)
def test_real_logs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the end and in the middle, of all groups and of one."""
    folder = open_log_folder(capture(name).segments)
    monkeypatch.setattr(segment_scan, "WINDOW_BYTES", 8_000)
    moments = [
        entry.record_timestamp_ms for entry in folder.read() if isinstance(entry, PositionedRecord)
    ]
    assert assert_same(folder, None)
    assert_same(folder, moments[len(moments) // 2])
    assert_same(folder, moments[0] - 1)
    assert_same(folder, None, "orders-app", "churn", "klassik")


def test_the_last_commit_counts_also_after_a_transaction(tmp_path: Path) -> None:
    """Of commits outside of transactions, whatever stands between them."""
    key = b"\0\1\0\1a\0\1t\0\0\0\0"
    parts = [
        batch([(0, 10, key, b"\0\3")]),
        batch([(1, 11, key, b"\0\3")], producer=(7, 0), transactional=True),
        batch([(2, 12, b"\0\0\0\1", bytes(6))], producer=(7, 0), attributes=0x30),
        batch([(3, 13, key, b"\0\3"), (4, 14, key, b"\0\3")]),
    ]
    path = tmp_path / "__consumer_offsets-0"
    path.mkdir()
    segment(path, parts)
    records = SegmentRecords(open_log_folder(path), 0, None, ())
    assert [position.log_offset for position, *_ in records] == [1, 2, 4]


RECORD = st.tuples(
    st.sampled_from(
        (None, b"", b"\0\1\0\1a\0\1t\0\0\0\0", b"\0\1\0\1b\0\1t\0\0\0\0", b"\0\3\0\1a")
    ),
    st.integers(0, 9),
    st.sampled_from((None, b"", b"\0\3")),
)


@settings(max_examples=examples(60))
@given(
    st.lists(
        st.tuples(st.lists(RECORD, min_size=1, max_size=6), st.sampled_from((0, 0, 0x10, 0x08))),
        min_size=1,
        max_size=6,
    ),
    st.one_of(st.none(), st.integers(0, 9)),
    st.booleans(),
)
def test_any_records(
    tmp_path_factory: pytest.TempPathFactory,
    made: list[tuple[list[tuple[bytes | None, int, bytes | None]], int]],
    at_ms: int | None,
    damaged: bool,
) -> None:
    """Commits that override each other, in and outside of transactions, with clocks that go back."""
    parts, offset = [], 0
    for drawn, bits in made:
        records: list[Rec] = [
            (offset + at, moment, key, value) for at, (key, moment, value) in enumerate(drawn)
        ]
        parts.append(batch(records, attributes=bits))
        offset += len(drawn)
    if damaged:
        parts[0] = parts[0][:-1] + bytes((parts[0][-1] ^ 1,))
    path = Path(tmp_path_factory.mktemp("state")) / "__consumer_offsets-0"
    path.mkdir()
    segment(path, parts)
    folder = open_log_folder(path)
    assert_same(folder, at_ms)
    assert_same(folder, at_ms, "a")
