import gzip
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from rebalance_audit.wire.segments.bad_bytes import BadBytes, TailNote
from rebalance_audit.wire.segments.columns import ColumnChunk, read_columns
from rebalance_audit.wire.segments.folder import LogFolder, SourceNotReadable, open_log_folder
from tests.support.log_entries import PositionedMarker, PositionedRecord, log_entries
from tests.wire.golden import capture
from tests.wire.segments.hand_made import batch, batches_of, commits, segment

UNPRIVILEGED = 65534


def offsets(folder: LogFolder, partition: int | None = None) -> list[tuple[int, int]]:
    """(partition, offset) of every record."""
    return [
        (entry.log_partition, entry.log_offset)
        for entry in log_entries(folder, partition)
        if isinstance(entry, PositionedRecord)
    ]


def partition_folder(root: Path, partition: int = 3) -> Path:
    """A partition folder of the offsets topic, not created yet."""
    return root / f"__consumer_offsets-{partition}"


@pytest.mark.parametrize(
    ("inside", "partitions"),
    [
        ("", [0, 1, 2]),
        ("__consumer_offsets-1", [1]),
        ("__consumer_offsets-1/00000000000000000000.log", [1]),
    ],
)
def test_what_a_path_may_be(inside: str, partitions: list[int]) -> None:
    """A folder of partitions, one partition, or one segment file; topic names are read in each case."""
    folder = open_log_folder(capture("migration").segments / inside)
    assert list(folder.partitions) == partitions
    assert [path.parent.name for path in folder.metadata_segments] == ["__cluster_metadata-0"]
    assert {partition for partition, _ in offsets(folder)} == set(partitions)
    assert folder.notes == ()


def test_relative_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """The current folder may be given as a dot."""
    monkeypatch.chdir(capture("migration").segments / "__consumer_offsets-1")
    assert list(open_log_folder(".").partitions) == [1]
    assert list(open_log_folder(Path()).partitions) == [1]
    assert list(open_log_folder("..").partitions) == [0, 1, 2]


def test_partitions_in_numeric_order(tmp_path: Path) -> None:
    """Partition 10 comes after partition 9; sizes add up."""
    for partition in (10, 9, 1):
        segment(partition_folder(tmp_path, partition), [batch(commits(2))])
    folder = open_log_folder(tmp_path)
    assert offsets(folder) == [(1, 0), (1, 1), (9, 0), (9, 1), (10, 0), (10, 1)]
    assert offsets(folder, 9) == [(9, 0), (9, 1)]
    assert folder.size_bytes == 3 * len(batch(commits(2)))


def make_other_topic(root: Path) -> Path:
    """A partition folder of another topic."""
    return segment(root / "orders-0", [batch(commits(1))]).parent


def make_broker_folder(root: Path) -> Path:
    """A broker's folder with other topics only."""
    for topic in ("orders-0", "orders-1", "payments-0", "a-2", "b-0", "c-1", "d-9"):
        segment(root / topic, [batch(commits(1))])
    return root


def make_strange_name(root: Path) -> Path:
    """A partition folder with a log that is no segment."""
    segment(partition_folder(root), [batch(commits(1))]).with_name("server.log").touch()
    return root


def make_dangling_link(root: Path) -> Path:
    """A segment that is a broken link."""
    partition_folder(root).mkdir()
    (partition_folder(root) / f"{7:020d}.log").symlink_to(root / "gone")
    return root


def make_folder_as_segment(root: Path) -> Path:
    """A folder in place of a segment."""
    (partition_folder(root) / f"{7:020d}.log").mkdir(parents=True)
    return root


def make_file_elsewhere(root: Path) -> Path:
    """A segment file of another topic."""
    return segment(root / "orders-0", [batch(commits(1))])


def make_loose_file(root: Path) -> Path:
    """A segment file in no partition folder."""
    return segment(root, [batch(commits(1))])


def make_nested(root: Path) -> Path:
    """A folder one level too high."""
    segment(partition_folder(root / "data"), [batch(commits(1))])
    return root


def make_metadata_only(root: Path) -> Path:
    """The metadata log alone."""
    return segment(root / "__cluster_metadata-0", [batch(commits(1))]).parent


def make_device(root: Path) -> Path:
    """Neither file nor folder."""
    os.mkfifo(root / "pipe")
    return root / "pipe"


def make_text(root: Path) -> Path:
    """Text files under the names of segments, one of them shorter than a header."""
    for base_offset, text in ((0, "[2026-11-21 09:00:00,000] INFO é\n" * 200), (9, "hello\n")):
        segment(partition_folder(root), [text.encode()], base_offset)
    return root


def make_text_file(root: Path) -> Path:
    """One of them by its name."""
    return make_text(root) / "__consumer_offsets-3" / f"{9:020d}.log"


def make_compressed(root: Path) -> Path:
    """A compressed segment under its own name."""
    return segment(partition_folder(root), [gzip.compress(batch(commits(50)))])


def make_gz_file(root: Path) -> Path:
    """A compressed segment as gzip names it."""
    path = make_compressed(root)
    return path.rename(path.with_name(f"{path.name}.gz"))


def make_gz_folder(root: Path) -> Path:
    """The partition folder of such a segment."""
    return make_gz_file(root).parent


def make_gz_log(root: Path) -> Path:
    """The folder above."""
    make_gz_file(root)
    return root


LOOKED_FOR = "looked for __consumer_offsets-<partition>/<20-digit base offset>.log"


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda root: root / "missing", "{path} does not exist."),
        (lambda root: root, "{path} holds no segments of __consumer_offsets; " + LOOKED_FOR + "."),
        (make_device, "{path} is neither a folder nor a segment file."),
        (make_other_topic, "{path} is a partition folder of topic orders, not of __consumer_offsets."),
        (
            make_metadata_only,
            "{path} is a partition folder of topic __cluster_metadata, not of __consumer_offsets.",
        ),
        (make_broker_folder, LOOKED_FOR + ", found topics a, b, c, d, orders and more."),
        (make_nested, LOOKED_FOR + ", did you mean {path}/data."),
        (
            make_strange_name,
            "__consumer_offsets-3/server.log is not named as a segment, which is the 20-digit offset of its",
        ),
        (
            make_dangling_link,
            "__consumer_offsets-3/00000000000000000007.log cannot be read: No such file or directory.",
        ),
        (
            make_folder_as_segment,
            "__consumer_offsets-3/00000000000000000007.log cannot be read: it is a directory, not a regular file.",
        ),
        (
            make_file_elsewhere,
            "{path} belongs to topic orders; a segment file is read where its folder is named __consumer_offsets-",
        ),
        (make_text, "/__consumer_offsets-3/00000000000000000000.log is a text file, not a segment."),
        (make_text_file, "{path} is a text file, not a segment."),
        (make_compressed, "{path} is compressed: unpack it first."),
        (make_gz_file, "{path} is compressed: unpack it first."),
        (make_gz_folder, "{path}/00000000000000000000.log.gz is compressed: unpack it first."),
        (make_gz_log, "/__consumer_offsets-3/00000000000000000000.log.gz is compressed: unpack it first."),
        (make_loose_file, "{path} is in no partition folder; a segment file is read where its folder"),
    ],
)  # fmt: skip
def test_what_cannot_be_read(tmp_path: Path, make: Callable[[Path], Path], sentence: str) -> None:
    """Each thing that is wrong with a source is one sentence that names the path and what was expected."""
    path = make(tmp_path)
    with pytest.raises(SourceNotReadable) as error:
        open_log_folder(path)
    message = str(error.value)
    assert sentence.format(path=path) in message
    assert message.startswith(str(tmp_path))
    assert message.count("\n") == 0


def test_no_permission() -> None:
    """An unreadable file is named, and so is an unreadable folder."""
    # Not pytest's folder: that is closed to other users, and only the locked path may be unreadable.
    with TemporaryDirectory() as root:
        Path(root).chmod(0o755)
        path = segment(partition_folder(Path(root)), [batch(commits(1))])
        for locked in (path, path.parent):
            locked.chmod(0)
            with as_ordinary_user(), pytest.raises(SourceNotReadable) as error:
                open_log_folder(root)
            locked.chmod(0o755)
            assert str(error.value) == f"{locked} cannot be read: Permission denied."


@contextmanager
def as_ordinary_user() -> Iterator[None]:
    """An unprivileged user where the tests run as the superuser, who may read everything."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(UNPRIVILEGED)
    try:
        yield
    finally:
        os.seteuid(user)


def test_file_that_vanishes(tmp_path: Path) -> None:
    """A segment that the broker deletes between opening and reading is one sentence too."""
    path = segment(partition_folder(tmp_path), [batch(commits(1))])
    folder = open_log_folder(tmp_path)
    path.unlink()
    with pytest.raises(SourceNotReadable, match=f"{path} cannot be read: No such file"):
        list(log_entries(folder))


def test_unknown_partition(tmp_path: Path) -> None:
    """A missing partition is an error that names the folder."""
    segment(partition_folder(tmp_path), [batch(commits(1))])
    with pytest.raises(SourceNotReadable, match="has no partition 4 of __consumer_offsets"):
        list(log_entries(open_log_folder(tmp_path), 4))


def test_left_overs_are_noted(tmp_path: Path) -> None:
    """Files and folders that the broker is about to replace or delete are not read, and a note says so."""
    path = segment(partition_folder(tmp_path), [batch(commits(5))])
    ignored = [
        path.with_name(path.name + suffix) for suffix in (".cleaned", ".swap", ".deleted")
    ] + [
        tmp_path / f"__consumer_offsets-3.{'0' * 32}-delete" / path.name,
        tmp_path / f"__consumer_offsets-4.{'0' * 32}-future" / path.name,
    ]
    for file in ignored:
        file.parent.mkdir(exist_ok=True)
        shutil.copy(path, file)
    for suffix in (".index", ".timeindex", ".snapshot"):
        path.with_suffix(suffix).touch()
    (path.parent / "leader-epoch-checkpoint").touch()
    folder = open_log_folder(tmp_path)
    assert offsets(folder) == [(3, offset) for offset in range(5)]
    noted = {note.path for note in folder.notes}
    assert noted == {str(file if file.parent == path.parent else file.parent) for file in ignored}
    assert all(note.path in note.detail for note in folder.notes)


def test_one_other_file_among_segments_is_named(tmp_path: Path) -> None:
    """A text file and an overwritten beginning are damage, a compressed segment is noted; the others are read."""
    good = [batch(commits(5, 100))]
    segment(partition_folder(tmp_path), [b"text\n" * 40], 0)
    segment(partition_folder(tmp_path), [b"text\n" * 40, *good], 50)
    compressed = segment(partition_folder(tmp_path), [gzip.compress(good[0])], 200)
    compressed = compressed.rename(compressed.with_name(f"{compressed.name}.gz"))
    folder = open_log_folder(tmp_path)
    assert offsets(folder) == [(3, offset) for offset in range(100, 105)]
    damage = [entry for entry in log_entries(folder) if isinstance(entry, BadBytes)]
    assert [(Path(each.path).stem, each.size_bytes) for each in damage] == [
        (f"{0:020}", 200),
        (f"{50:020}", 200),
    ]
    noted = [note.detail for note in folder.notes]
    assert noted == [f"{compressed} is compressed: unpack it first. It is not read."]
    alone = open_log_folder(partition_folder(tmp_path) / f"{50:020}.log")
    assert len(offsets(alone)) == 5


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({0: range(10), 10: range(10, 20)}, range(20)),
        # the cleaner merged two segments into the first; the second was copied before it was deleted
        ({0: range(20), 10: range(10, 20)}, range(20)),
        ({0: range(15), 10: range(10, 20)}, range(20)),
        # compaction took the first records of the second segment, the copy of the first still has them
        ({0: range(15), 10: range(13, 20)}, range(20)),
        ({0: range(20), 10: range(0)}, range(20)),
        ({0: range(20), 10: range(10, 20), 20: range(0)}, range(20)),
        ({0: range(20), 10: range(0), 15: range(15, 20)}, range(20)),
        ({0: range(5), 10: range(12, 14)}, [*range(5), 12, 13]),
        # the first file's copy is compacted, the second's is not and has more
        ({0: [*range(10), 12], 10: range(10, 16)}, range(16)),
        # a file whose records begin below its name
        ({0: range(10), 5: range(3, 12)}, range(12)),
    ],
)
def test_segments_that_overlap(
    tmp_path: Path, files: dict[int, Sequence[int]], expected: Sequence[int]
) -> None:
    """An offset that two files hold is returned once, and none is lost."""
    for base_offset, held in files.items():
        made = [record for offset in held for record in commits(1, offset)]
        segment(partition_folder(tmp_path), batches_of(made, [4] * 5), base_offset)
    assert [offset for _, offset in offsets(open_log_folder(tmp_path))] == list(expected)


def test_ends_of_segments(tmp_path: Path) -> None:
    """A segment ends where the next one with records begins, so that another worker can read each."""
    held = {0: range(20), 10: range(0), 15: range(17, 30), 30: range(30, 31), 40: range(0)}
    for base_offset, offsets_held in held.items():
        made = commits(len(offsets_held), offsets_held.start)
        segment(partition_folder(tmp_path), batches_of(made, [4] * 5), base_offset)
    segments = open_log_folder(tmp_path).segments[3]
    assert [(part.base_offset, part.end_offset) for part in segments] == [
        (0, 17),
        (10, 17),
        (15, 30),
        (30, None),
        (40, None),
    ]
    apart = [
        offset
        for part in segments
        for chunk in read_columns(part.path, end_offset=part.end_offset)
        if isinstance(chunk, ColumnChunk)
        for offset in chunk.log_offsets
    ]
    assert apart == list(range(31))


def test_name_above_the_first_batch(tmp_path: Path) -> None:
    """A file whose records begin below its name is read, with a note; beginning above it is normal after compaction."""
    path = segment(partition_folder(tmp_path), [batch(commits(5, 3))], base_offset=4)
    segment(partition_folder(tmp_path), [batch(commits(5, 30))], base_offset=20)
    folder = open_log_folder(tmp_path)
    assert [note.detail for note in folder.notes] == [
        f"{path} begins with offset 3, below the one in its name."
    ]
    assert [offset for _, offset in offsets(folder)] == [*range(3, 8), *range(30, 35)]


def test_entries(tmp_path: Path) -> None:
    """Records, markers, damage and tails come in the order of the log, each with its partition."""
    path = segment(
        partition_folder(tmp_path, 11),
        [
            batch([(5, 50, b"k", b"v")], leader_epoch=2),
            batch([(6, 60, b"k", None)], producer=(9, 4), transactional=True, leader_epoch=2),
            batch([(7, 70, b"\0\0\0\0", b"\0\0\0\0\0\3")], producer=(9, 5), attributes=0x30),
            batch([(8, 80, b"\0\0\0\2", b"\0\0")], attributes=0x20),
            b"\xaa" * 100,
            batch([(9, 90, None, b"v")]),
            b"\0" * 50,
        ],
        base_offset=5,
    )
    entries = list(log_entries(open_log_folder(tmp_path)))
    damage, tail = entries[3], entries[5]
    assert isinstance(damage, BadBytes)
    assert isinstance(tail, TailNote)
    assert (damage.log_partition, damage.path, tail.log_partition) == (11, str(path), 11)
    assert [entry for entry in entries if not isinstance(entry, BadBytes | TailNote)] == [
        PositionedRecord(11, 5, 50, 2, -1, -1, is_transactional=False, key=b"k", value=b"v"),
        PositionedRecord(11, 6, 60, 2, 9, 4, is_transactional=True, key=b"k", value=None),
        PositionedMarker(11, 7, 70, 0, 9, 5, committed=False, coordinator_epoch=3),
        PositionedRecord(11, 9, 90, 0, -1, -1, is_transactional=False, key=None, value=b"v"),
    ]
