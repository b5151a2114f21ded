"""Which committed offsets are certain before damage, and what the rest of the log says beside them."""

from pathlib import Path

import pytest

from rebalance_audit.local.segment_records import SegmentRecords
from rebalance_audit.recover.account import END_OF_LOG, PartitionAccount, partition_account
from rebalance_audit.wire.segments.folder import open_log_folder
from tests.support.transactions import batches_of, steps_of, write_segment
from tests.wire.segments.hand_made import batch, segment

HEAD_RECORDS = 5
"""Records of members that precede the commits of `tests.support.transactions`."""


def account(folder: Path, cut_offset: int | None) -> PartitionAccount:
    """Of partition 0 in the folder."""
    cut = END_OF_LOG if cut_offset is None else cut_offset
    return partition_account(SegmentRecords(open_log_folder(folder), 0, None, (), cut), 0)


def shown(found: PartitionAccount) -> str:
    """`certain | doubts` of the only group, which commits for one partition."""
    (group,) = found.groups
    certain = [str(each.committed_offset) for each in group.certain.values()]
    doubts = [
        f"{each.doubt.value} {'-' if each.found is None else each.found.committed_offset}"
        + (f" by {each.producer_id}" if each.producer_id is not None else "")
        for each in group.uncertain
    ]
    return f"{' '.join(certain)} | {', '.join(doubts)}".strip()


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        # `|` is where the damage is: commits before it are certain, the last one counts.
        ("40 41", "41 |"),
        ("40 41 | ", "41 |"),
        ("40 41 | 42 43", "41 | after_damage 43"),
        ("| 42", "| after_damage 42"),
        ("40 t", "|"),
        ("40 t | 42", "| after_damage 42"),
        ("40 | t", "40 | removed_after_damage -"),
        ("40 | t 41", "40 | after_damage 41"),
        ("41 | 41", "41 |"),
        # Transactions: the marker decides, and an older commit does not replace a later one.
        ("40 7:50 C7", "50 |"),
        ("40 7:50 A7", "40 |"),
        ("40 7:50", "40 | open_transaction 50 by 7"),
        ("7:50 60 C7", "60 |"),
        ("7:50 8:60 A7 C8", "60 |"),
        ("7:50 8:60", "| open_transaction 50 by 7, open_transaction 60 by 8"),
        ("40 7:50 | C7", "40 | committed_after_damage 50"),
        ("40 7:50 | A7", "40 | dropped_after_damage 50"),
        ("40 7:50 | t", "40 | removed_after_damage -, dropped_after_damage 50"),
        ("40 7:50 | 60 C7", "40 | after_damage 60"),
        ("40 7:50 | C7 7:51", "40 | committed_after_damage 50, open_transaction 51 by 7"),
        ("40 | 7:50", "40 | open_transaction 50 by 7"),
        ("40 | 7:50 C7", "40 | after_damage 50"),
        ("40 | 7:50 A7", "40 |"),
        ("40 7:50 | ", "40 | open_transaction 50 by 7"),
    ],
)
def test_certain_and_uncertain(tmp_path: Path, log: str, expected: str) -> None:
    """By log order, tombstones and transactions, as a coordinator has them."""
    before, is_cut, after = log.partition("|")
    write_segment(tmp_path, [*batches_of([*steps_of(before), *steps_of(after)], 1000)])
    cut_offset = HEAD_RECORDS + len(steps_of(before)) if is_cut else None
    assert shown(account(tmp_path, cut_offset)) == expected


def test_a_stretch_that_cannot_be_read_ends_what_is_certain(tmp_path: Path) -> None:
    """What follows it may have been committed before by a record in it, wherever the coordinator stops."""
    first, *commits = batches_of(steps_of("40 41 42"), 1000)
    damaged = bytearray(commits[1])
    damaged[-1] ^= 1
    write_segment(tmp_path, [first, commits[0], bytes(damaged), commits[2]])
    found = account(tmp_path, None)
    assert (found.cut_offset, shown(found)) == (6, "40 | after_damage 42")
    assert found.undecodable == 1


def test_what_precedes_damage_in_the_log_is_certain_whatever_offsets_say(tmp_path: Path) -> None:
    """Offsets that go back end what is certain; commits behind them do not replace those before, at any offset."""
    key, other = b"\0\1\0\1g\0\1t\0\0\0\0", b"\0\1\0\1g\0\1t\0\0\0\1"
    folder = tmp_path / "__consumer_offsets-0"
    folder.mkdir()
    batches = [
        batch([(0, 11, key, commit(40))]),
        batch([(9, 12, other, commit(50))]),
        batch([(3, 13, other, commit(7))]),
        batch([(1, 14, key, commit(8))]),
    ]
    segment(folder, batches)
    (group,) = account(tmp_path, None).groups
    assert [each.committed_offset for each in group.certain.values()] == [40, 50]


def test_a_segment_that_ends_early_ends_what_is_certain_if_another_follows(tmp_path: Path) -> None:
    """The tail may have held later commits than those before it."""
    key, other = b"\0\1\0\1g\0\1t\0\0\0\0", b"\0\1\0\1g\0\1t\0\0\0\1"
    folder = tmp_path / "__consumer_offsets-0"
    folder.mkdir()
    torn = batch([(1, 12, key, commit(41))])[:-9]
    segment(folder, [batch([(0, 11, key, commit(40))]), torn])
    later = batch([(2, 13, other, commit(50))])
    (folder / f"{2:020}.log").write_bytes(later)
    assert shown(account(tmp_path, None)) == "40 | after_damage 50"


def commit(committed_offset: int) -> bytes:
    """The value of a commit."""
    times = (9).to_bytes(8) + (-1).to_bytes(8, signed=True)
    return b"\0\1" + committed_offset.to_bytes(8) + b"\0\0" + times


def test_the_cut_lies_inside_a_batch(tmp_path: Path) -> None:
    """Records of the batch before the one at fault are certain; the time of the last one is known."""
    key, other = b"\0\1\0\1g\0\1t\0\0\0\0", b"\0\1\0\1g\0\1t\0\0\0\1"
    value = b"\0\1" + (40).to_bytes(8) + b"\0\0" + (9).to_bytes(8) + (-1).to_bytes(8, signed=True)
    folder = tmp_path / "__consumer_offsets-0"
    folder.mkdir()
    segment(
        folder, [batch([(0, 11, key, value), (1, 12, b"\0\7", b"\0\0"), (2, 13, other, value)])]
    )
    found = account(tmp_path, 1)
    (group,) = found.groups
    assert [*group.certain] == [("t", 0)]
    assert [each.topic_partition for each in group.uncertain] == [("t", 1)]
    assert (found.certain_until_ms, found.last_ms, found.undecodable) == (11, 13, 1)


@pytest.mark.parametrize(
    ("expires_ms", "expected"), [(13, "| expired 40"), (14, "40 |"), (-1, "40 |")]
)
def test_an_offset_that_has_expired_is_not_certain(
    tmp_path: Path, expires_ms: int, expected: str
) -> None:
    """Of a commit with its own time of expiry: the coordinator removes it as soon as it has loaded it."""
    key = b"\0\1\0\1g\0\1t\0\0\0\0"
    value = (
        b"\0\1" + (40).to_bytes(8) + b"\0\0" + (9).to_bytes(8) + expires_ms.to_bytes(8, signed=True)
    )
    folder = tmp_path / "__consumer_offsets-0"
    folder.mkdir()
    segment(folder, [batch([(0, 10, key, value), (1, 13, b"\0\7", None)])])
    assert shown(account(tmp_path, None)) == expected


def test_a_group_without_offsets_is_listed(tmp_path: Path) -> None:
    """There is nothing to restore, and the plan says so."""
    first, *_ = batches_of([], 1000)
    write_segment(tmp_path, [first])
    (group,) = account(tmp_path, None).groups
    assert (group.group_id, group.certain, group.uncertain) == ("g", {}, ())
    assert group.group is not None
