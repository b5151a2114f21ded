"""End offsets from outside of `__consumer_offsets`: files of samples, and copies of topic partitions.

A file has JSON objects with the columns of bronze.end_offsets, one a line or in whatever carries them: `topic`,
`topic_partition`, `sampled_at` (ISO 8601 or a Unix time), `end_offset`, and, where known, `start_offset` and
`max_timestamp`. Of a copy of a topic
partition the headers of batches are read: by a batch's latest timestamp the partition had reached its end.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from rebalance_audit.audit.lag.end_offsets import EndOffset, EndOffsets
from rebalance_audit.carriers.archives import contents_of, readable
from rebalance_audit.carriers.json_documents import Around, JsonDocuments, take_objects
from rebalance_audit.limits import END_OFFSETS_DOCUMENT_BYTES
from rebalance_audit.wire.segments.batch_ends import BatchEnd, batch_ends
from rebalance_audit.wire.segments.folder import (
    METADATA_TOPIC,
    OFFSETS_TOPIC,
    PARTITION_FOLDER,
    SEGMENT_NAME,
    SourceNotReadable,
    not_readable,
)
from rebalance_audit.written_times import time_of

_Samples = dict[tuple[str, int], list[EndOffset]]

_OF_SAMPLES: Final = ("topic_partition", "sampled_at", "end_offset")
_EVERY_MS: Final = 1_000
"""Of the batches of a second, the last one is kept."""
_NOT_OURS: Final = frozenset({OFFSETS_TOPIC, METADATA_TOPIC})


def read_end_offsets(paths: Iterable[Path]) -> EndOffsets:
    """The samples of files and folders.

    Raises SourceNotReadable for a path that holds no samples, and for a line that is none: it names file and line.
    """
    samples: _Samples = defaultdict(list)
    for path in paths:
        try:
            found = _of_folder(path) if path.is_dir() else _of_file(path)
            count = 0
            for topic, number, sample in found:
                samples[topic, number].append(sample)
                count += 1
        except OSError as error:
            raise not_readable(path, error) from error
        if not count:
            raise SourceNotReadable(
                f"{path} holds no end offsets: give a file of samples, or a folder with copies of topic "
                "partitions, such as orders-0/00000000000000000000.log."
            )
    return EndOffsets(samples)


def _of_file(path: Path) -> Iterator[tuple[str, int, EndOffset]]:
    for content in contents_of(path):
        with readable(path):
            documents = JsonDocuments(content.file, END_OFFSETS_DOCUMENT_BYTES.most)
            for number, document in documents:
                found: list[tuple[str, int, EndOffset]] = []
                if take_objects(document, partial(_take, found, content.name, number)).unknown:
                    raise _no_sample(content.name, number, f"it has no {', '.join(_OF_SAMPLES)}")
                yield from found
            if documents.is_cut:
                most = END_OFFSETS_DOCUMENT_BYTES.most >> 20
                raise SourceNotReadable(f"{content.name} has a document of more than {most} MiB.")
            if documents.unread:
                raise _no_sample(content.name, documents.first_unread, "no JSON object that ends")


def _take(
    found: list[tuple[str, int, EndOffset]],
    file: str,
    line: int,
    row: Mapping[str, Any],
    _around: Around,
) -> bool:
    if row.keys().isdisjoint(_OF_SAMPLES):
        return False
    found.append(_sample(file, line, row))
    return True


def _sample(file: str, line: int, row: Mapping[str, Any]) -> tuple[str, int, EndOffset]:
    topic, partition = row.get("topic"), row.get("topic_partition")
    start, end = row.get("start_offset"), row.get("end_offset")
    at_ms, latest = time_of(row.get("sampled_at")), row.get("max_timestamp")
    if not isinstance(topic, str):
        raise _no_sample(file, line, f"topic is {topic!r}")
    if at_ms is None:
        given = row.get("sampled_at")
        raise _no_sample(file, line, f"sampled_at is {given!r}, not a time of 2000 to 2099")
    numbers: Mapping[str, Any] = {
        "topic_partition": partition,
        "end_offset": end,
        "start_offset": 0 if start is None else start,
    }
    for name, value in numbers.items():
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 63:
            raise _no_sample(file, line, f"{name} is {value!r}")
    if start is not None and start > numbers["end_offset"]:
        raise _no_sample(file, line, f"start_offset is {start}, beyond end_offset {end}")
    # A producer may stamp a record with any number.
    return (
        topic,
        numbers["topic_partition"],
        EndOffset(at_ms, start, numbers["end_offset"], time_of(latest)),
    )


def _no_sample(file: str, line: int, why: str) -> SourceNotReadable:
    return SourceNotReadable(f"{file}, line {line}: not a sample of an end offset: {why}.")


def _of_folder(path: Path) -> Iterator[tuple[str, int, EndOffset]]:
    """Of a folder of partition folders, or of one partition folder."""
    for folder in (path, *sorted(path.iterdir())):
        named = PARTITION_FOLDER.fullmatch(folder.name)
        if named is None or named["topic"] in _NOT_OURS or not folder.is_dir():
            continue
        for sample in _of_partition(folder):
            yield named["topic"], int(named["partition"]), sample


def _of_partition(folder: Path) -> Iterator[EndOffset]:
    """By the latest timestamp so far: records that producers stamp later than it come later."""
    segments = sorted(each for each in folder.iterdir() if SEGMENT_NAME.fullmatch(each.name))
    latest: EndOffset | None = None
    start = None
    for batch in _batches(segments):
        start = batch.base_offset if start is None else start
        at_ms, end, markers = batch.max_timestamp_ms, batch.end_offset, 0
        if latest is not None:
            at_ms = max(latest.sampled_at_ms, at_ms)
            if at_ms // _EVERY_MS != latest.sampled_at_ms // _EVERY_MS:
                yield latest
            end = max(latest.end_offset, end)
        if batch.is_control:
            before = (
                batch.base_offset if latest is None else latest.end_offset - (latest.markers or 0)
            )
            markers = end - before
        latest = EndOffset(at_ms, None, end, markers=markers)
    if latest is not None:
        yield latest._replace(start_offset=start, max_timestamp_ms=latest.sampled_at_ms)


def _batches(segments: Iterable[Path]) -> Iterator[BatchEnd]:
    for segment in segments:
        yield from batch_ends(segment)
