"""A whole log with pseudonyms, from one folder into another."""

import shutil
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from secrets import token_hex
from typing import Final, NamedTuple

from rebalance_audit.anonymise.metadata_log import MetadataRenamer
from rebalance_audit.anonymise.pseudonyms import NameKind, Pseudonyms
from rebalance_audit.anonymise.records import LeftOut, RecordRenamer
from rebalance_audit.anonymise.segment_files import SegmentRewriter
from rebalance_audit.anonymise.topic_hashes import TopicHashes
from rebalance_audit.errors import BadRequest
from rebalance_audit.local.packed_log import open_log
from rebalance_audit.steps import OnProgress, no_progress
from rebalance_audit.wire.metadata_log import read_topic_names
from rebalance_audit.wire.segments.folder import METADATA_TOPIC, OFFSETS_TOPIC, LogFolder
from rebalance_audit.wire.topic_names import TopicNames

KEY_BYTES_MIN: Final = 16
KEY_BYTES_MAX: Final = 1 << 16
USUAL_PARTITIONS: Final = 50
"""`offsets.topic.num.partitions`, the default."""
MAPPED_MAX: Final = 1 << 21


class Anonymised(NamedTuple):
    """What became of a log."""

    replaced: Mapping[str, int]
    """NameKind -> different names that were replaced."""
    left_out: Mapping[str, int]
    """What -> how many records, lines or bytes of it."""
    records: int
    segments: int
    offsets_partitions: int
    times_shifted: bool
    mapping: Mapping[NameKind, Mapping[str, str]]
    """NameKind -> name -> pseudonym; empty unless it was asked for."""


def read_key(file: Path) -> bytes:
    """The secret key in a file. Raises BadRequest for one that is missing, too short or too long."""
    try:
        with file.open("rb") as content:
            key = content.read(KEY_BYTES_MAX + 1)
    except FileNotFoundError as error:
        raise BadRequest(
            f"The key {file} does not exist: make one with `head -c 32 /dev/urandom > {file}`, and keep it."
        ) from error
    if not KEY_BYTES_MIN <= len(key) <= KEY_BYTES_MAX:
        raise BadRequest(
            f"The key {file} has {'more than ' * (len(key) > KEY_BYTES_MAX)}{min(len(key), KEY_BYTES_MAX)} bytes;"
            f" a key has {KEY_BYTES_MIN} to {KEY_BYTES_MAX}: make one with `head -c 32 /dev/urandom`."
        )
    return key


def anonymise_log(
    path: str | Path,
    out: Path,
    key: bytes,
    *,
    offsets_partitions: int | None = None,
    shifts_times: bool = False,
    with_mapping: bool = False,
    on_progress: OnProgress = no_progress,
) -> Anonymised:
    """Write a log with pseudonyms into a new folder.

    `offsets_partitions`: how many partitions `__consumer_offsets` has; by default what the metadata log says, else 50.
    Raises BadRequest if `out` exists, SourceNotReadable, and OSError that names the file.
    """
    if out.exists():
        raise BadRequest(f"{out} exists: name a new folder.")
    folder = open_log(path)
    before = read_topic_names(folder)
    partitions = offsets_partitions or _partitions(folder, before)
    names = Pseudonyms(key, partitions, shifts_times=shifts_times)
    mapping: dict[NameKind, dict[str, str]] = {}
    if with_mapping:
        names.on_new = lambda kind, name, made: _note(mapping, kind, name, made)
    new = out.with_name(f".{out.name}.{token_hex(8)}")
    new.mkdir(parents=True)
    try:
        left_out: Counter[LeftOut] = Counter()
        _metadata(folder, new, names, left_out)
        written = _offsets(folder, new, names, before, left_out, on_progress)
        new.rename(out)
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        raise
    return Anonymised(
        names.counts(),
        {what.value: left_out[what] for what in LeftOut if left_out[what]},
        written,
        sum(map(len, folder.segments.values())),
        partitions,
        shifts_times,
        mapping,
    )


def _note(mapping: dict[NameKind, dict[str, str]], kind: NameKind, name: str, made: str) -> None:
    of_kind = mapping.setdefault(kind, {})
    if len(of_kind) < MAPPED_MAX:
        of_kind[name] = made


def _partitions(folder: LogFolder, topics: TopicNames) -> int:
    shapes = [shape for shape in topics.shapes_of(OFFSETS_TOPIC) if shape.partitions]
    if shapes:
        return shapes[-1].partitions
    return max(USUAL_PARTITIONS, 1 + max(folder.segments))


def _metadata(folder: LogFolder, out: Path, names: Pseudonyms, left_out: Counter[LeftOut]) -> None:
    if not folder.metadata_segments:
        return
    rewriter = SegmentRewriter(names, MetadataRenamer(names, left_out).renamed, left_out)
    target = out / f"{METADATA_TOPIC}-0"
    target.mkdir()
    for file in folder.metadata_segments:
        rewriter.rewrite(file, target / file.name)


def _offsets(
    folder: LogFolder,
    out: Path,
    names: Pseudonyms,
    before: TopicNames,
    left_out: Counter[LeftOut],
    on_progress: OnProgress,
) -> int:
    after = _topics_after(out)
    done = 0
    written = 0
    for number, segments in folder.segments.items():
        renamer = RecordRenamer(names, TopicHashes(names, before, after))
        rewriter = SegmentRewriter(names, renamer.renamed, left_out)
        target = out / f"{OFFSETS_TOPIC}-{number}"
        target.mkdir()
        for segment in segments:
            rewriter.rewrite(segment.path, target / segment.path.name)
            done += segment.size_bytes
            on_progress(f"anonymised: {100 * done // max(folder.size_bytes, 1)} %")
        left_out.update(renamer.left_out)
        written += renamer.kept
    return written


def _topics_after(out: Path) -> TopicNames:
    files = tuple(sorted((out / f"{METADATA_TOPIC}-0").glob("*")))
    return read_topic_names(LogFolder(out, {}, files, ()))
