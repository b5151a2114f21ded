"""What the loader makes of damaged bytes, after a clean stop and after a crash; brokers of 3.9 to 4.4 did the same."""

import struct
from collections.abc import Callable
from pathlib import Path

import pytest

from rebalance_audit.sim.brokers.batch_writer import LoggedRecord, encode_batch
from rebalance_audit.verify.coordinators import DEFAULT
from rebalance_audit.verify.partition_load import verify_folder
from rebalance_audit.wire.segments.folder import open_log_folder
from tests.verify.logs import raw

BATCHES = [
    encode_batch([LoggedRecord(at, 1000, *row)], 0)
    for at, row in enumerate(raw("1 foo:0 42; 1 foo:1 43; 1 foo:2 44"))
]
AT = len(BATCHES[0])
"""Where the second of three batches of one record begins."""


def changed(offset: int, data: bytes) -> Callable[[bytes], bytes]:
    """Other bytes at a place of the second batch."""
    return lambda log: log[: AT + offset] + data + log[AT + offset + len(data) :]


def verified(folder: Path, log: bytes, *, index: bytes = b"") -> tuple[str, int, str, int]:
    """What comes of it after a clean stop, with the records that are read; the same after a crash."""
    place = folder / "__consumer_offsets-0" / f"{0:020}.log"
    place.parent.mkdir(exist_ok=True)
    place.write_bytes(log)
    place.with_suffix(".index").write_bytes(index)
    opened = open_log_folder(folder)
    (clean,) = verify_folder(opened, DEFAULT).partitions
    (crash,) = verify_folder(opened, DEFAULT, after_crash=True).partitions
    said = clean.outcome if clean.failure is None else f"{clean.outcome}: {clean.rule}"
    return said, clean.shape.record_count, crash.outcome, crash.shape.record_count


@pytest.mark.parametrize(
    ("damage", "expected"),
    [
        (lambda log: log, ("loads", 3, "loads", 3)),
        # No checksum is checked: the loader reads on, recovery cuts the log.
        (changed(17, b"\0\0\0\0"), ("loads", 3, "loads", 1)),
        # The checksum does not cover the magic, so recovery leaves it; the loader throws.
        (changed(16, b"\x09"), ("fails: unreadable_batch", 2, "fails", 2)),
        # A batch of fewer bytes than there can be: a clean broker does not find the log's end.
        (changed(8, b"\0\0\0\1"), ("fails: log_not_opened", 2, "loads", 1)),
        # A batch that claims more than the file has is taken for its end.
        (changed(8, b"\0\1\0\0"), ("loads", 1, "loads", 1)),
        (lambda log: log[:-1], ("loads", 2, "loads", 2)),
        (lambda log: log + bytes(40), ("fails: log_not_opened", 3, "loads", 3)),
        (lambda log: log + bytes(10), ("loads", 3, "loads", 3)),
        # Records that end after their batch does.
        (changed(57, b"\0\0\0\2"), ("fails: unreadable_batch", 3, "loads", 1)),
        # The same batches again: offsets go back.
        (lambda log: log + log, ("fails: offset_went_back", 6, "fails", 6)),
    ],
)
def test_damage(
    tmp_path: Path, damage: Callable[[bytes], bytes], expected: tuple[str, int, str, int]
) -> None:
    """Neither says the loader's outcome is sound where bytes are hidden: see `Loading.log_ends`."""
    assert verified(tmp_path, damage(b"".join(BATCHES))) == expected


def test_the_end_is_sought_from_the_last_entry_of_the_index(tmp_path: Path) -> None:
    """With an index, damage before its last entry does not keep the broker from opening the log."""
    log = changed(8, b"\0\0\0\1")(b"".join(BATCHES))
    index = struct.pack(">ii", 2, 2 * AT) + bytes(16)
    assert verified(tmp_path, log, index=index)[0] == "fails: unreadable_batch"


def test_what_is_hidden_behind_damage_is_counted(tmp_path: Path) -> None:
    """The partition loads, and lacks two records without a word of the broker."""
    verified(tmp_path, changed(8, b"\0\1\0\0")(b"".join(BATCHES)))
    (loading,) = verify_folder(open_log_folder(tmp_path), DEFAULT).partitions
    assert [end.hidden_bytes for end in loading.log_ends] == [len(BATCHES[1]) + len(BATCHES[2])]
    assert loading.loses


def test_damage_without_end_is_left_open(tmp_path: Path) -> None:
    """The loader would go from header to header; a bound says that it is not followed."""
    empty = struct.pack(">qiibIhiqqqhii", -5, 49, 0, 2, 0, 0, 0, 0, 0, -1, -1, -1, 0)
    assert verified(tmp_path, BATCHES[0] + empty * 70_000)[0] == "unknown"
