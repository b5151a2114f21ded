"""Reads what an audit is given beside a log: logs of brokers, rollouts, and end offsets of other topics.

The clocks of brokers' logs are set by the records of the segments. Rollouts are JSON as tools export it, shippers carry
it and stores keep it, or the CSV of `histories`.

End offsets come from files of samples, and from copies of topic partitions. A file of samples has JSON objects with the
columns of bronze.end_offsets, one a line or in whatever carries them: `topic`, `topic_partition`, `sampled_at` (ISO
8601 or a Unix time), `end_offset`, and, where known, `start_offset` and `max_timestamp`. Of a copy of a topic partition
the headers of batches are read: by a batch's latest timestamp the partition had reached its end.
"""

import csv
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from io import BytesIO, StringIO
from itertools import chain
from pathlib import Path
from typing import Any, Final

from rebalance_audit.audit.broker_log.broker_log import BrokerLog
from rebalance_audit.audit.broker_log.read import LogReader
from rebalance_audit.audit.deploys.histories import COLUMNS, NEEDED, fault_of
from rebalance_audit.audit.deploys.read import DeployCollector, DeploysRead
from rebalance_audit.audit.lag.end_offsets import EndOffset, EndOffsets
from rebalance_audit.audit.testimony.clocks import Aligned, Moments, aligned
from rebalance_audit.carriers.archives import Content, contents_of, readable
from rebalance_audit.carriers.json_documents import Around, Document, JsonDocuments, take_objects
from rebalance_audit.carriers.text import text_blocks
from rebalance_audit.errors import UnknownTimeZone
from rebalance_audit.limits import (
    DEPLOY_FILE_BRACKETS,
    DEPLOY_FILE_BYTES,
    DEPLOY_FILE_MARKS,
    END_OFFSETS_DOCUMENT_BYTES,
)
from rebalance_audit.local.byte_ranges import Range, in_order, ranges_of, workers_for
from rebalance_audit.replay.changes import Position
from rebalance_audit.time_zones import zone_of
from rebalance_audit.wire.generated.messages import RecordType
from rebalance_audit.wire.records import Record, decode_record
from rebalance_audit.wire.segments.bad_bytes import BadBytes, TailNote
from rebalance_audit.wire.segments.batches import batch_ends
from rebalance_audit.wire.segments.folder import (
    METADATA_TOPIC,
    OFFSETS_TOPIC,
    PARTITION_FOLDER,
    SEGMENT_NAME,
    LogFolder,
    SourceNotReadable,
    not_readable,
)
from rebalance_audit.written_times import time_of


def read_broker_logs(
    paths: Collection[Path],
    time_zone: str,
    group_ids: Iterable[str] = (),
    near_ms: int | None = None,
) -> BrokerLog | None:
    """What the files say, by their own clocks, of all groups or of `group_ids`; None without files.

    `time_zone`, as `Europe/Berlin` or `+02:00`, is that of lines that name none. `near_ms`: about when the logs were
    written (epoch ms); lines whose date has no year are not used without it. Raises SourceNotReadable for a file that
    cannot be read, and UnknownTimeZone.
    """
    if not paths:
        return None
    try:
        zone = zone_of(time_zone)
    except ValueError as error:
        raise UnknownTimeZone(f"{error}.") from error
    reader = LogReader(zone, time_zone, near_ms)
    facts = reader.facts(paths)
    wanted = frozenset(group_ids)
    if wanted:
        facts = (fact for fact in facts if fact.group_id is None or fact.group_id in wanted)
    log = BrokerLog.of(facts, time_zone)
    return replace(log, files=tuple(reader.reports))


_EPOCH_TYPES: Final = frozenset({RecordType.GROUP_METADATA, RecordType.CONSUMER_GROUP_METADATA})


def aligned_with(folder: LogFolder, log: BrokerLog) -> Aligned:
    """The log by the clock of the folder's records. Raises OSError that names the file."""
    moments = Moments(log.by_group.keys())
    parts = ranges_of(folder, folder.segments)
    for found in in_order(_epochs_in, parts, workers_for(folder.size_bytes)):
        for record, position in found:
            moments.note(record, position)
    return aligned(log, moments)


def _epochs_in(part: Range) -> list[tuple[Record, Position]]:
    found: list[tuple[Record, Position]] = []
    for each in part.read():
        if isinstance(each, BadBytes | TailNote):
            continue
        epochs = each.chosen(each.have_types(_EPOCH_TYPES).nonzero()[0])
        for log_offset, timestamp_ms, key, value in zip(*epochs[:4], strict=True):
            record = decode_record(key, value)
            if isinstance(record, Record):
                found.append(
                    (record, Position(part.segment.log_partition, log_offset, timestamp_ms))
                )
    return found


_FIELD_MAX: Final = 64 << 10


def read_deploys(paths: Iterable[Path]) -> DeploysRead:
    """The rollouts of all files. Raises SourceNotReadable that names the file, and its line in a CSV."""
    collector = DeployCollector()
    for path in paths:
        for content in contents_of(path):
            with readable(path):
                _read(collector, content)
    return collector.found()


def _read(collector: DeployCollector, content: Content) -> None:
    data = b"".join(text_blocks(_limited(content)))
    if not data.strip():
        raise SourceNotReadable(f"{content.name} is empty.")
    stem = Path(content.name.rpartition("!")[2]).name.removesuffix(".gz")
    stem = stem.rpartition(".")[0] or stem
    first_line = data[:_FIELD_MAX].split(b"\n", 1)[0].decode("utf-8", "replace")
    header = {name.strip() for name in first_line.split(",")}
    if data.count(b",") + data.count(b":") > DEPLOY_FILE_MARKS.most:
        raise SourceNotReadable(
            f"{content.name} has more than {DEPLOY_FILE_MARKS.most:,} commas and colons:"
            " give files of shorter times."
        )
    is_json = b"{" in data or data.lstrip().startswith(b"[")
    if not is_json or header >= set(NEEDED):
        rows = (Document(line, row) for line, row in _rows(content.name, data))
        collector.read(content.name, stem, rows)
        return
    # In a JSON text in another one a bracket may be written as a number.
    if sum(map(data.count, (b"{", b"[", b"\\u00"))) > DEPLOY_FILE_BRACKETS.most:
        raise SourceNotReadable(
            f"{content.name} has more than {DEPLOY_FILE_BRACKETS.most:,} objects and arrays:"
            " give files of shorter times."
        )
    documents = JsonDocuments(BytesIO(data), DEPLOY_FILE_BYTES.most)
    found = collector.read(content.name, stem, documents)
    found.unread, found.first_unread = documents.unread, documents.first_unread
    if found.unread and not found.items and not found.dropped:
        raise SourceNotReadable(
            f"{content.name} is no JSON: line {found.first_unread} begins no object that ends."
        )


def _limited(content: Content) -> BytesIO:
    data = content.file.read(DEPLOY_FILE_BYTES.most + 1)
    if len(data) > DEPLOY_FILE_BYTES.most:
        raise SourceNotReadable(
            f"{content.name} has more than {DEPLOY_FILE_BYTES.most >> 20} MiB: give files of shorter times."
        )
    return BytesIO(data)


def _rows(path: str, content: bytes) -> Iterator[tuple[int, Mapping[str, Any]]]:
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise SourceNotReadable(f"{path} is neither JSON nor a CSV in UTF-8.") from error
    csv.field_size_limit(_FIELD_MAX)
    rows = csv.DictReader(StringIO(text, newline=""), restkey="", restval=None, strict=True)
    try:
        names = [name.strip() for name in rows.fieldnames or ()]
        unknown = sorted(set(names) - set(COLUMNS))
        lacks = not set(NEEDED).issubset(names)
        if unknown or lacks:
            needs = f"needs the columns {' and '.join(NEEDED)}"
            what = needs if lacks else f"of deploys has no column {unknown[0][:40]!r}"
            raise SourceNotReadable(
                f"{path} is no file of deploys: it is no JSON, and a CSV {what}. "
                f"Columns: {', '.join(COLUMNS)}."
            )
        rows.fieldnames = names
        for row in rows:
            if row.keys() - set(COLUMNS):
                raise SourceNotReadable(f"{path}, line {rows.line_num}: more values than columns.")
            if not any(map(str.strip, filter(None, row.values()))):
                continue
            wrong = fault_of(row)
            if wrong is not None:
                raise SourceNotReadable(f"{path}, line {rows.line_num}: {wrong}.")
            yield rows.line_num, row
    except csv.Error as error:
        raise SourceNotReadable(f"{path}, line {rows.line_num}: {error}.") from error


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
    for batch in chain.from_iterable(map(batch_ends, segments)):
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
