"""The records that the state of the groups is made of."""

from pathlib import Path

import pytest

from rebalance_audit.local.segment_records import SegmentRecords
from rebalance_audit.wire import key_bytes
from rebalance_audit.wire.segments.folder import open_log_folder
from tests.wire.segments.hand_made import batch, segment


def commit_key(group: str) -> bytes:
    """Of partition 0 of topic t."""
    return b"\0\1\0\1" + group.encode() + b"\0\1t\0\0\0\0"


GROUP = b"\0\3\0\1a"


@pytest.mark.parametrize(
    ("at_ms", "groups", "expected", "last_ms"),
    [
        (None, (), [2, 3, 4, 5], 13),
        (None, ("a",), [2, 4, 5], 13),
        (12, (), [1, 2, 3], 12),
        (9, (), [], None),
    ],
)
def test_up_to_a_moment(
    tmp_path: Path,
    at_ms: int | None,
    groups: tuple[str, ...],
    expected: list[int],
    last_ms: int | None,
) -> None:
    """The last commit of each key, and all other records; what follows the first that is too late does not count."""
    path = tmp_path / "__consumer_offsets-0"
    path.mkdir()
    records = [
        (0, 10, commit_key("a"), b"\0\3"),
        (1, 11, commit_key("a"), b"\0\3"),
        (2, 12, GROUP, b"\0\0"),
        (3, 12, commit_key("b"), b"\0\3"),
        (4, 13, commit_key("a"), b"\0\3"),
        (5, 9, GROUP, None),
    ]
    segment(path, [batch(records[:3]), batch(records[3:])])
    found = SegmentRecords(open_log_folder(path), 0, at_ms, key_bytes.of_groups(groups))
    assert [position.log_offset for position, *_ in found] == expected
    assert (found.last_ms, found.has_later) == (last_ms, at_ms is not None)


def test_the_last_commit_counts_also_after_a_transaction(tmp_path: Path) -> None:
    """The last commit outside of transactions is found although a transaction lies between two of them."""
    key = commit_key("a")
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
