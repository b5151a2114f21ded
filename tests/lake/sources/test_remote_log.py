"""A log by its URL: the same files, rows and sentences as from a mounted folder.

fsspec's memory file system stands for an object store; `make test-platforms` reads one that speaks S3.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import pyarrow as pa
import pytest

from rebalance_audit.errors import BadRequest
from rebalance_audit.lake.records.record_columns import OF_SEGMENTS
from rebalance_audit.lake.sources.remote_log import HEAD_BYTES, RemoteLog
from rebalance_audit.lake.sources.segments_source import Reading, pack, read_split
from rebalance_audit.lake.sources.source_spec import parse_source
from rebalance_audit.wire.metadata_log import read_topic_names
from rebalance_audit.wire.segments.folder import LogFolder, SourceNotReadable, open_log_folder
from tests.wire.golden import CAPTURE_NAMES, capture
from tests.wire.segments import hand_made

URL = "memory://bucket/log"


@pytest.fixture
def store() -> Iterator[Any]:
    """An empty object store."""
    files = fsspec.filesystem("memory")
    yield files
    files.rm("/bucket", recursive=True)


def upload(store: Any, folder: Path) -> None:
    """Copy a folder to URL."""
    for file in folder.rglob("*"):
        if file.is_file():
            store.pipe_file(f"/bucket/log/{file.relative_to(folder)}", file.read_bytes())


def places(folder: LogFolder) -> dict[int, list[tuple[str, int, int, int | None]]]:
    """Partition -> name, base offset, size and end offset of each segment."""
    return {
        number: [
            (each.path.name, each.base_offset, each.size_bytes, each.end_offset) for each in found
        ]
        for number, found in folder.segments.items()
    }


def rows(opened: LogFolder, remote: RemoteLog | None) -> pa.Table:
    """All rows of a log."""
    segments = [each for found in opened.segments.values() for each in found]
    pieces = pack(segments, 1 << 30, are_mounted=remote is None)
    read = [
        one
        for piece in pieces
        for one in read_split(piece, tuple(OF_SEGMENTS), Reading(remote=remote))
    ]
    return pa.Table.from_batches(read)


@pytest.mark.parametrize("name", CAPTURE_NAMES)
def test_a_real_log(name: str, store: Any) -> None:
    """Segments, where each of them ends, rows, and the topics of the metadata log."""
    path = capture(name).segments
    upload(store, path)
    remote, mounted = RemoteLog(URL, {}), open_log_folder(path)
    opened = remote.open()
    assert places(opened) == places(mounted)
    assert rows(opened, remote) == rows(mounted, None)
    names, expected = remote.topic_names(), read_topic_names(mounted)
    assert {topic_id: names[topic_id] for topic_id in names} == {
        topic_id: expected[topic_id] for topic_id in expected
    }
    one = f"__consumer_offsets-{next(iter(mounted.segments))}"
    for below in (one, f"{one}/{mounted.segments[next(iter(mounted.segments))][0].path.name}"):
        part = RemoteLog(f"{URL}/{below}", {})
        assert places(part.open()) == places(open_log_folder(path / below))
        assert len(part.topic_names()) == len(expected)


def test_damage_names_the_url(store: Any, tmp_path: Path) -> None:
    """A first batch larger than what is read of it in advance, then a broken one; offsets around it are known."""
    wide = [(at, 1_000 + at, b"\0\1" + b"g" * 5_000, b"v" * 5_000) for at in range(20)]
    broken = bytearray(hand_made.batch(hand_made.commits(25)[20:]))
    broken[-3] ^= 0x10
    parts = [hand_made.batch(wide), bytes(broken)]
    assert len(parts[0]) > HEAD_BYTES
    hand_made.segment(tmp_path / "__consumer_offsets-3", parts)
    upload(store, tmp_path)
    remote = RemoteLog(URL, {})
    (row,) = [row for row in rows(remote.open(), remote).to_pylist() if row["damage"]]
    file = "__consumer_offsets-3/00000000000000000000.log"
    assert (row["partition"], row["offset"], row["damage"]["before_offset"]) == (3, 20, 20)
    assert row["damage"]["source_file"] == file
    assert f"at byte {len(parts[0])} of {URL}/{file}" in row["damage"]["detail"]


def test_a_segment_that_is_replaced(store: Any) -> None:
    """Between the listing and the read of it, also by one of the same size; or it is gone."""
    upload(store, capture("offsets").segments)
    remote = RemoteLog(URL, {})
    opened = remote.open()
    file = next(path for path in store.find("/bucket/log/__consumer_offsets-2"))
    store.pipe_file(file, store.cat_file(file))
    with pytest.raises(SourceNotReadable, match=f"^memory:/{file} was replaced"):
        rows(opened, remote)
    store.rm(file)
    with pytest.raises(SourceNotReadable, match=f"^memory:/{file} cannot be read: "):
        rows(opened, remote)


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("memory://nowhere/log", "^memory://nowhere/log does not exist.$"),
        (URL, f"^{URL} holds no segments of .*found topics orders.$"),
        (f"{URL}/orders-0", f"^{URL}/orders-0 is a partition folder of topic orders"),
        ("s3://bucket/log", "^Python cannot access s3://bucket/log: Install s3fs"),
        ("spam://bucket/log", "^Python cannot access spam://bucket/log: Protocol not known: spam"),
    ],
)
def test_urls_that_cannot_be_read(url: str, sentence: str, store: Any) -> None:
    """The sentences name the URL, never the folder that stands for it while it is looked at."""
    store.pipe_file("/bucket/log/orders-0/00000000000000000000.log", b"")
    with pytest.raises((SourceNotReadable, BadRequest), match=sentence):
        parse_source(f"segments:{url}").check()


def test_names_that_lead_elsewhere_are_not_followed(store: Any) -> None:
    """An object store takes any name; `..` is none of a file."""
    upload(store, capture("offsets").segments)
    before, topics = places(RemoteLog(URL, {}).open()), len(RemoteLog(URL, {}).topic_names())
    for folder in ("__consumer_offsets-2", "__cluster_metadata-0"):
        store.pipe_file(f"/bucket/log/{folder}/..", b"x")
    assert places(RemoteLog(URL, {}).open()) == before
    assert len(RemoteLog(URL, {}).topic_names()) == topics


def test_a_url_of_this_machine_is_a_path() -> None:
    """As Spark takes it: nothing is copied."""
    path = capture("offsets").segments
    assert parse_source(f"segments:file://{path}").location == str(path)
    assert parse_source("segments:s3a://bucket/log").location == "s3a://bucket/log"
