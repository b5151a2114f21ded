"""Reads broker log files: plain or gzip, any number of them, rotated or not, from one broker or several."""

import gzip
import re
import zlib
from collections.abc import Iterable, Iterator
from datetime import tzinfo
from pathlib import Path
from typing import IO, Final

from rebalance_audit.audit.broker_log.fact import BrokerFact, FactKind
from rebalance_audit.audit.broker_log.layout import MARKS, EventReader, LogLine, without_logger
from rebalance_audit.audit.broker_log.message import read_message
from rebalance_audit.wire.segments.folder import SourceNotReadable

GZIP_MAGIC: Final = b"\x1f\x8b"
FILE_PATTERN: Final = "*server*.log*"
"""Names of the files in a folder that are taken for broker logs."""
_ROTATED: Final = re.compile(r"(?<=\.log)[.\-_].*")
"""Suffixes from rotation and compression: they change neither the lines nor their numbers."""
_CONTINUED_LINES_MAX: Final = 20
"""Maximum lines of a message (a group id may contain a line break); a stack trace is not part of the message."""


class BrokerLogNotReadable(SourceNotReadable):
    """A broker log file cannot be read; the message is a sentence that names the file."""


def files_of(paths: Iterable[Path]) -> list[Path]:
    """The given files, and the broker logs in the given folders, each once. Raises BrokerLogNotReadable."""
    found: dict[Path, None] = {}
    for path in paths:
        if path.is_dir():
            inside = sorted(each for each in path.rglob(FILE_PATTERN) if each.is_file())
            if not inside:
                message = f"{path}: no file is named like server.log in this folder."
                raise BrokerLogNotReadable(message)
            found.update(dict.fromkeys(inside))
        elif path.is_file():
            found[path] = None
        else:
            message = f"{path}: no such file."
            raise BrokerLogNotReadable(message)
    return list(found)


def read_facts(paths: Iterable[Path], zone: tzinfo) -> Iterator[BrokerFact]:
    """Every fact about a group, file by file. `zone` applies to times without one. Raises BrokerLogNotReadable."""
    for path in files_of(paths):
        yield from _facts_of(path, zone)


def _facts_of(path: Path, zone: tzinfo) -> Iterator[BrokerFact]:
    layout = EventReader(zone)
    for number, event in _events(path, layout):
        line = layout.read(event)
        if line is None:
            continue
        yield from facts_of_line(line, f"{_ROTATED.sub('', path.name)}:{number}")


def facts_of_line(line: LogLine, place: str) -> Iterator[BrokerFact]:
    """The facts of one event: none if no wording matches, several if it names several groups."""
    message = read_message(line.message)
    if message is None and "\n" in line.message:
        # A stack trace, or anything else that the layout cannot tell from the message.
        message = read_message(without_logger(line.message.split("\n", 1)[0]))
    if message is None:
        return
    fields = {"group_id": None, "log_partition": line.log_partition, **message.fields}
    fact = BrokerFact(message.kind, line.at_ms, broker=line.broker, place=place, **fields)  # type: ignore[arg-type]
    if fact.kind is FactKind.GROUP_DELETED:
        for group_id in fact.members:
            yield fact._replace(group_id=group_id, members=())
    else:
        yield fact


def _events(path: Path, layout: EventReader) -> Iterator[tuple[int, str]]:
    """(line number, text) of every event with a coordinator's mark, including its continuation lines."""
    begun, lines = 0, list[str]()
    try:
        with _opened(path) as file:
            for number, raw in enumerate(file, 1):
                marked = any(mark in raw for mark in MARKS)
                if not (marked or lines):
                    continue
                if layout.begins(raw):
                    if lines:
                        yield begun, "".join(lines)
                    begun, lines = number, [raw] if marked else []
                elif lines and len(lines) < _CONTINUED_LINES_MAX:
                    lines.append(raw)
    except (OSError, EOFError, zlib.error) as error:
        message = f"{path}: cannot be read: {error}."
        raise BrokerLogNotReadable(message) from error
    if lines:
        yield begun, "".join(lines)


def _opened(path: Path) -> IO[str]:
    with path.open("rb") as file:
        packed = file.read(2) == GZIP_MAGIC
    # Bytes that are not UTF-8 occur only in client ids and reasons; the rest of the line still counts.
    if packed:
        return gzip.open(path, "rt", encoding="utf-8", errors="replace", newline="\n")
    return path.open(encoding="utf-8", errors="replace", newline="\n")
