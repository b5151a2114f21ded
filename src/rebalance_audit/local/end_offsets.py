"""End offsets from outside of `__consumer_offsets`: files of samples, and copies of topic partitions.

A file has one JSON object a line, with the columns of bronze.end_offsets: `topic`, `topic_partition`, `sampled_at` (ISO
8601 or epoch milliseconds), `end_offset`, and, where known, `start_offset` and `max_timestamp`. Of a copy of a topic
partition the headers of batches are read: by a batch's latest timestamp the partition had reached its end.
"""

import gzip
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import orjson

from rebalance_audit.audit.lag.end_offsets import EndOffset, EndOffsets
from rebalance_audit.errors import BadRequest
from rebalance_audit.moment_text import moment_ms
from rebalance_audit.wire.segments.batch_ends import BatchEnd, batch_ends
from rebalance_audit.wire.segments.folder import (
    METADATA_TOPIC,
    OFFSETS_TOPIC,
    PARTITION_FOLDER,
    SEGMENT_NAME,
    SourceNotReadable,
    not_readable,
)
from rebalance_audit.wire.segments.regular_file import open_regular

_Samples = dict[tuple[str, int], list[EndOffset]]

LINE_BYTES_MAX: Final = 64 << 10
"""A longer line is no sample: a topic's name has at most 249 characters."""
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
    with os.fdopen(open_regular(path), "rb") as file:
        packed = file.peek(2)[:2] == b"\x1f\x8b"
        lines = gzip.GzipFile(fileobj=file) if packed else file
        for number, line in enumerate(iter(lambda: lines.readline(LINE_BYTES_MAX), b""), 1):
            if line.strip():
                yield _sample(path, number, line)


def _sample(path: Path, number: int, line: bytes) -> tuple[str, int, EndOffset]:
    try:
        row = orjson.loads(line)
        topic, partition = row["topic"], row["topic_partition"]
        at_ms = moment_ms(row["sampled_at"])
        start, end = row.get("start_offset"), row["end_offset"]
        latest_ms = moment_ms(row.get("max_timestamp"))
    except (orjson.JSONDecodeError, KeyError, TypeError, AttributeError, BadRequest) as error:
        raise _no_sample(path, number, str(error)) from error
    if not isinstance(topic, str) or at_ms is None:
        raise _no_sample(path, number, "topic or sampled_at is missing")
    numbers: Mapping[str, Any] = {
        "topic_partition": partition,
        "end_offset": end,
        "start_offset": 0 if start is None else start,
    }
    for name, value in numbers.items():
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 63:
            raise _no_sample(path, number, f"{name} is {value!r}")
    return topic, partition, EndOffset(at_ms, start, end, latest_ms)


def _no_sample(path: Path, number: int, why: str) -> SourceNotReadable:
    return SourceNotReadable(f"{path}, line {number}: not a sample of an end offset: {why}.")


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
        if latest is None:
            latest = EndOffset(batch.max_timestamp_ms, None, batch.end_offset)
            continue
        at_ms = max(latest.sampled_at_ms, batch.max_timestamp_ms)
        if at_ms // _EVERY_MS != latest.sampled_at_ms // _EVERY_MS:
            yield latest
        latest = EndOffset(at_ms, None, max(latest.end_offset, batch.end_offset))
    if latest is not None:
        yield latest._replace(start_offset=start, max_timestamp_ms=latest.sampled_at_ms)


def _batches(segments: Iterable[Path]) -> Iterator[BatchEnd]:
    for segment in segments:
        yield from batch_ends(segment)
