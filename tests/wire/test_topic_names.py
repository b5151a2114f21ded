from pathlib import Path

import pytest

from rebalance_audit.wire.generated.messages import (
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupPartitionMetadataTopicMetadata,
    ConsumerGroupPartitionMetadataValue,
    OffsetCommitKey,
    OffsetCommitValue,
    ShareGroupStatePartitionMetadataKey,
    ShareGroupStatePartitionMetadataTopicInfo,
    ShareGroupStatePartitionMetadataTopicPartitionsInfo,
    ShareGroupStatePartitionMetadataValue,
)
from rebalance_audit.wire.metadata_log import read_topic_names
from rebalance_audit.wire.segments.folder import SourceNotReadable, open_log_folder
from rebalance_audit.wire.topic_names import (
    TopicName,
    TopicNames,
    TopicNameSource,
    topic_id_text,
)
from tests.wire.golden import capture
from tests.wire.segments.hand_made import batch, commits, segment

METADATA, CLUSTER, PARTITIONS, COMMIT = TopicNameSource
A, B, C = (bytes(range(first, first + 16)) for first in (0, 16, 32))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        (
            "offsets",
            {"__consumer_offsets", "__transaction_state", "dropped -", "orders", "payments"},
        ),
        ("consumer-protocol", {"__consumer_offsets", "orders", "payments", "payouts", "payroll -"}),
        ("broker-3.3", {"__consumer_offsets", "orders", "payments"}),
        ("broker-4.4", {"__consumer_offsets", "orders", "payments"}),
    ],
)
def test_names_of_a_real_cluster(name: str, expected: set[str]) -> None:
    """The metadata log names every topic, also those that were deleted since."""
    names = read_topic_names(open_log_folder(capture(name).segments))
    assert {f"{t.name} -" if t.is_deleted else t.name for t in names.values()} == expected
    assert {t.source for t in names.values()} == {METADATA}
    assert names.notes == []
    assert all(names.name_of(topic_id) == t.name for topic_id, t in names.items())


def test_a_log_without_metadata(tmp_path: Path) -> None:
    """Without the metadata log there are no names, and that is no error."""
    segment(tmp_path / "__consumer_offsets-0", [batch(commits(1))])
    names = read_topic_names(open_log_folder(tmp_path))
    assert len(names) == 0
    assert names.text_of(A) == "AAECAwQFBgcICQoLDA0ODw"


def topic_record(name: bytes, topic_id: bytes, version: int = 0) -> bytes:
    """A TopicRecord as the controller writes it."""
    return bytes((1, 2, version, len(name) + 1)) + name + topic_id + b"\0"


def remove_record(topic_id: bytes) -> bytes:
    """A RemoveTopicRecord as the controller writes it."""
    return b"\x01\x09\x00" + topic_id + b"\0"


def metadata_log(root: Path, *files: tuple[str, list[bytes | None]]) -> TopicNames:
    """Names of a metadata log with these files of one batch each; record n has time 1000 + n."""
    segment(root / "__consumer_offsets-0", [batch(commits(1))])
    folder = root / "__cluster_metadata-0"
    folder.mkdir()
    for name, values in files:
        records = [(at, 1000 + at, None, value) for at, value in enumerate(values)]
        control = batch([(0, 0, b"\0\0\0\2", b"\0\0")], attributes=0x20)
        (folder / name).write_bytes(control + batch(records) + b"\0" * 30)
    return read_topic_names(open_log_folder(root))


SEGMENT, SNAPSHOT = f"{7:020d}.log", f"{5:020d}-{3:010d}.checkpoint"


def test_metadata_records(tmp_path: Path) -> None:
    """A name that comes back has a new id; both are kept, the first marked as deleted; other records do not matter."""
    names = metadata_log(
        tmp_path,
        (
            SEGMENT,
            [
                topic_record(b"orders", A),
                b"\x01\x03\x00other",
                None,
                remove_record(A),
                topic_record(b"orders", B),
                topic_record("größe".encode(), C, version=1),
                remove_record(bytes(16)),
            ],
        ),
    )
    assert dict(names) == {
        A: TopicName(A, "orders", METADATA, 1000, deleted_at_ms=1003),
        B: TopicName(B, "orders", METADATA, 1004),
        C: TopicName(C, "größe", METADATA, 1005),
    }
    assert names.ids_of("orders") == (A, B)
    assert names.ids_of("unknown") == ()


def test_snapshots(tmp_path: Path) -> None:
    """A snapshot of the metadata log is read too, before the segments after it."""
    names = metadata_log(
        tmp_path, (SEGMENT, [remove_record(A)]), (SNAPSHOT, [topic_record(b"orders", A)])
    )
    assert names[A] == TopicName(A, "orders", METADATA, 1000, deleted_at_ms=1000)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (b"", "end inside"),
        (b"\x02\x02\x00", "frame version is 2"),
        (b"\x01", "end inside"),
        (topic_record(b"orders", A)[:-2], "end inside a field"),
        (b"\x01\x02\x00\xff\xff\xff\xff\xff\xff", "variable-length integer"),
        (topic_record(b"\xff\xfe", A), "not UTF-8"),
    ],
)
def test_metadata_records_that_cannot_be_read(tmp_path: Path, value: bytes, words: str) -> None:
    """A broken metadata record is noted with its position, and the others are read."""
    names = metadata_log(tmp_path, (SEGMENT, [value, topic_record(b"orders", B)]))
    assert list(names) == [B]
    (note,) = names.notes
    assert words in note
    assert f"offset 0 of {tmp_path / '__cluster_metadata-0' / SEGMENT}" in note


def test_metadata_log_that_cannot_be_read(tmp_path: Path) -> None:
    """Damage in the metadata log is noted; a file that cannot be opened is an error."""
    segment(tmp_path / "__consumer_offsets-0", [batch(commits(1))])
    path = segment(tmp_path / "__cluster_metadata-0", [b"\xaa" * 90])
    folder = open_log_folder(tmp_path)
    (note,) = read_topic_names(folder).notes
    assert f"at byte 0 of {path} are no batch" in note
    path.unlink()
    with pytest.raises(SourceNotReadable, match="cannot be read"):
        read_topic_names(folder)


def test_names_from_coordinator_records() -> None:
    """Offset commits with an id and the topic metadata of groups provide names; other records provide none."""
    names = TopicNames()
    names.add_record(OffsetCommitKey("g", "orders", 0), OffsetCommitValue(1, "", 2, topic_id=A), 5)
    names.add_record(OffsetCommitKey("g", "old", 0), OffsetCommitValue(1, "", 2), 6)
    names.add_record(OffsetCommitKey("g", "gone", 0), None, 7)
    names.add_record(
        ConsumerGroupPartitionMetadataKey("g"),
        ConsumerGroupPartitionMetadataValue(
            (ConsumerGroupPartitionMetadataTopicMetadata(B, "payments", 3, ()),)
        ),
        8,
    )
    names.add_record(
        ShareGroupStatePartitionMetadataKey("s"),
        ShareGroupStatePartitionMetadataValue(
            (ShareGroupStatePartitionMetadataTopicPartitionsInfo(B, "payments", (0,)),),
            (ShareGroupStatePartitionMetadataTopicInfo(C, "clicks"),),
        ),
        9,
    )
    assert dict(names) == {
        A: TopicName(A, "orders", COMMIT, 5),
        B: TopicName(B, "payments", PARTITIONS, 8),
        C: TopicName(C, "clicks", PARTITIONS, 9),
    }


@pytest.mark.parametrize(
    ("first", "second", "stands", "conflict"),
    [
        (("a", COMMIT), ("a", COMMIT), ("a", COMMIT), False),
        (("a", COMMIT), ("a", METADATA), ("a", METADATA), False),
        (("a", METADATA), ("a", COMMIT), ("a", METADATA), False),
        (("a", COMMIT), ("b", COMMIT), ("a", COMMIT), True),
        (("a", COMMIT), ("b", PARTITIONS), ("b", PARTITIONS), True),
        (("a", METADATA), ("b", PARTITIONS), ("a", METADATA), True),
        (("a", CLUSTER), ("a", METADATA), ("a", METADATA), False),
        (("a", PARTITIONS), ("b", CLUSTER), ("b", CLUSTER), True),
    ],
)
def test_two_words_for_one_id(
    first: tuple[str, TopicNameSource],
    second: tuple[str, TopicNameSource],
    stands: tuple[str, TopicNameSource],
    conflict: bool,
) -> None:
    """The stronger source's name wins, of equally strong ones the first; a contradiction is kept."""
    names = TopicNames()
    for at_ms, (name, source) in enumerate((first, second)):
        names.add(A, name, source, at_ms)
    assert (names[A].name, names[A].source) == stands
    assert bool(names.conflicts) == conflict
    assert names.ids_of(stands[0]) == (A,)
    assert sum(len(names.ids_of(name)) for name in ("a", "b")) == 1


def test_merge() -> None:
    """What several workers found is merged by the same rules, including deletions."""
    left, right = TopicNames(), TopicNames()
    left.add(A, "orders", COMMIT, 1)
    right.add(A, "orders", METADATA, 2)
    right.add(B, "payments", METADATA, 3)
    right.mark_deleted(A, 9)
    left.merge(right.values())
    assert dict(left) == {
        A: TopicName(A, "orders", METADATA, 2, deleted_at_ms=9),
        B: TopicName(B, "payments", METADATA, 3),
    }


def test_zero_id_and_empty_name_teach_nothing() -> None:
    """The all-zero id stands for no id in records."""
    names = TopicNames()
    names.add(bytes(16), "orders", COMMIT)
    names.add(A, "", COMMIT)
    assert dict(names) == {}


@pytest.mark.parametrize(
    ("topic_id", "text"),
    [
        (A, "AAECAwQFBgcICQoLDA0ODw"),
        (B, "EBESExQVFhcYGRobHB0eHw"),
        (b"\xfb\xff" * 8, "-__7__v_-__7__v_-__7_w"),
    ],
)
def test_topic_id_text(topic_id: bytes, text: str) -> None:
    """An id is shown as Kafka shows it."""
    assert topic_id_text(topic_id) == text


def test_topic_id_of_another_length() -> None:
    """Other than 16 bytes are no topic id."""
    with pytest.raises(ValueError, match="15 bytes"):
        topic_id_text(bytes(15))
