"""A whole log with pseudonyms, from one folder into another."""

import shutil
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from secrets import token_hex
from typing import Final, NamedTuple

from rebalance_audit.anonymise.broker_lines import LineRenamer
from rebalance_audit.anonymise.pseudonyms import NameKind, Pseudonyms
from rebalance_audit.anonymise.records import LeftOut, MetadataRenamer, RecordRenamer
from rebalance_audit.anonymise.segment_files import SegmentRewriter
from rebalance_audit.anonymise.topic_hashes import TopicHashes
from rebalance_audit.audit.broker_log.read import LogReader
from rebalance_audit.errors import BadRequest, UnknownTimeZone
from rebalance_audit.local.packed_log import open_log
from rebalance_audit.steps import OnProgress, no_progress
from rebalance_audit.time_zones import zone_of
from rebalance_audit.wire.metadata_log import read_topic_names
from rebalance_audit.wire.segments.folder import METADATA_TOPIC, OFFSETS_TOPIC, LogFolder
from rebalance_audit.wire.topic_names import TopicNames

KEY_BYTES_MIN: Final = 16
KEY_BYTES_MAX: Final = 1 << 16
_KEY_VALUES_MIN: Final = 8
"""Different bytes; 16 random ones have fewer once in a million million keys."""
USUAL_PARTITIONS: Final = 50
"""`offsets.topic.num.partitions`, the default."""
MAPPED_MAX: Final = 1 << 21
BROKER_LOGS: Final = "broker-logs"


class Choices(NamedTuple):
    """What may be chosen about a copy."""

    offsets_partitions: int | None = None
    """How many partitions `__consumer_offsets` has; None for what the metadata log says, else 50."""
    shifts_times: bool = False
    with_mapping: bool = False
    """Whether to return which pseudonym stands for which name."""


NO_CHOICES: Final = Choices()


class Anonymised(NamedTuple):
    """What became of a log."""

    replaced: Mapping[str, int]
    """NameKind -> different names that were replaced."""
    left_out: Mapping[str, int]
    """What -> how many records, lines or bytes of it."""
    records: int
    segments: int
    lines: int
    """Of brokers' logs."""
    offsets_partitions: int
    partitions_known: bool
    """Whether their number was given or is in the metadata log; else it is the default, or the least that there are."""
    times_shifted: bool
    mapping: Mapping[NameKind, Mapping[str, str]]
    """NameKind -> name -> pseudonym; empty unless it was asked for."""


def read_key(file: Path) -> bytes:
    """The secret key in a file. Raises BadRequest for one that is missing, too short, too long or too plain."""
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
    if len(set(key)) < _KEY_VALUES_MIN:
        raise BadRequest(
            f"The key {file} repeats a few bytes and can be guessed: make one with `head -c 32 /dev/urandom`."
        )
    return key


def anonymise_log(
    path: str | Path,
    out: Path,
    key: bytes,
    broker_logs: Sequence[Path] = (),
    *,
    broker_log_time_zone: str = "UTC",
    choices: Choices = NO_CHOICES,
    on_progress: OnProgress = no_progress,
) -> Anonymised:
    """Write a log with pseudonyms into a new folder.

    `broker_logs`: files of brokers' logs, or folders of them, written to `BROKER_LOGS` in it; `broker_log_time_zone` is
    that of lines that name none.

    Raises BadRequest if `out` exists, SourceNotReadable, UnknownTimeZone, and OSError that names the file.
    """
    if out.exists() or out.is_symlink():
        raise BadRequest(f"{out} exists: name a new folder.")
    try:
        zone = zone_of(broker_log_time_zone)
    except ValueError as error:
        raise UnknownTimeZone(f"{error}.") from error
    folder = open_log(path)
    before = read_topic_names(folder)
    known = choices.offsets_partitions or _known_partitions(before)
    partitions = known or max(USUAL_PARTITIONS, 1 + max(folder.segments))
    names = Pseudonyms(key, partitions, shifts_times=choices.shifts_times)
    mapping: dict[NameKind, dict[str, str]] = {}
    if choices.with_mapping:
        names.on_new = lambda kind, name, made: _note(mapping, kind, name, made)
    new = out.with_name(f".{out.name}.{token_hex(8)}")
    new.mkdir(parents=True)
    left_out: Counter[LeftOut] = Counter()
    lines = 0
    try:
        _metadata(folder, new, names, left_out)
        renamer = RecordRenamer(names, TopicHashes(names, before, _topics_after(new)), left_out)
        _offsets(folder, new, renamer, on_progress)
        if broker_logs:
            on_progress("anonymising the brokers' logs")
            renames_lines = LineRenamer(names, renamer.hashes.known, left_out)
            reader = LogReader(zone, broker_log_time_zone, renamer.last_ms)
            lines = renames_lines.rewrite(reader, broker_logs, new / BROKER_LOGS)
        new.rename(out)
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        raise
    return Anonymised(
        names.counts(),
        {what.value: left_out[what] for what in LeftOut if left_out[what]},
        renamer.kept,
        sum(map(len, folder.segments.values())),
        lines,
        partitions,
        known is not None,
        choices.shifts_times,
        mapping,
    )


def _note(mapping: dict[NameKind, dict[str, str]], kind: NameKind, name: str, made: str) -> None:
    of_kind = mapping.setdefault(kind, {})
    if len(of_kind) < MAPPED_MAX:
        of_kind[name] = made


def _known_partitions(topics: TopicNames) -> int | None:
    shapes = [shape for shape in topics.shapes_of(OFFSETS_TOPIC) if shape.partitions]
    return shapes[-1].partitions if shapes else None


def _metadata(folder: LogFolder, out: Path, names: Pseudonyms, left_out: Counter[LeftOut]) -> None:
    if not folder.metadata_segments:
        return
    rewriter = SegmentRewriter(names, MetadataRenamer(names, left_out).renamed, left_out)
    target = out / f"{METADATA_TOPIC}-0"
    target.mkdir()
    for file in folder.metadata_segments:
        rewriter.rewrite(file, target / file.name)


def _offsets(folder: LogFolder, out: Path, renamer: RecordRenamer, on_progress: OnProgress) -> None:
    rewriter = SegmentRewriter(renamer.names, renamer.renamed, renamer.left_out)
    done = 0
    for number, segments in folder.segments.items():
        target = out / f"{OFFSETS_TOPIC}-{number}"
        target.mkdir()
        for segment in segments:
            rewriter.rewrite(segment.path, target / segment.path.name)
            done += segment.size_bytes
            on_progress(f"anonymised: {100 * done // max(folder.size_bytes, 1)} %")


def _topics_after(out: Path) -> TopicNames:
    files = tuple(sorted((out / f"{METADATA_TOPIC}-0").glob("*")))
    return read_topic_names(LogFolder(out, {}, files, ()))
