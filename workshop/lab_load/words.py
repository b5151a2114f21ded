"""What a broker says about the loading of each partition: its own log lines, and nothing concluded from them."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

Row = dict[str, Any]

_ENTRY: Final = re.compile(r"^\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3}\] ([A-Z]+) ", re.MULTILINE)
_LOGGER: Final = re.compile(r" \(([\w.$]+)\)$", re.MULTILINE)
_PARTITION: Final = (
    re.compile(r"topic=__consumer_offsets partition=(\d+)\]"),
    re.compile(r"__consumer_offsets-(\d+)"),
)
_CONTEXT: Final = re.compile(r"^(\[[^\]]*\] )*(\[Group ?Id[ =][^\]]*\] )?")
_FAILED: Final = ("Failed to load metadata", "Error loading offsets", "Failed loading")
_FINISHED: Final = "Finished loading"
_UNKNOWN: Final = re.compile(r"^Unknown (?:record type|message key with version) (-?\d+) ")
_REPLAYED: Final = re.compile(r"^Replaying record .* at offset (\d+) with", re.DOTALL)
_OFFSETS: Final = (
    re.compile(r"at offset (\d+) with producer id"),
    re.compile(r"Record\(offset=(\d+),"),
)
_FIGURES: Final = (
    re.compile(
        r"in (\d+)\s?ms where (\d+)\s?ms was spent in the scheduler"
        r"(?:\. Loaded (\d+) records which total to (\d+) bytes)?"
    ),
    re.compile(r"in (\d+) milliseconds(?: for epoch -?\d+)?\D+(\d+) milliseconds"),
)  # fmt: skip
_THROWN: Final = re.compile(
    r"^(?:Caused by: )?([\w.$]+(?:Exception|Error|Throwable)\b)(?:: (.*))?$"
)
_DUE_TO: Final = " due to: "
"""Releases without a trace join the messages of all exceptions by it."""
_OF_RECORDS: Final = ("Replaying record", "Deserializing record")
_NOTED: Final = {"WARN", "ERROR", "FATAL"}
_NUMBERS: Final = re.compile(r"\b(?:[\w-]{22}|\d+)\b")
"""Topic ids and numbers: notes that differ in nothing else are counted together."""
_NOTES_MAX: Final = 3
_TEXT_MAX: Final = 200


class Entry(NamedTuple):
    """One line of the log, with the lines of a stack trace behind it."""

    level: str
    message: str
    trace: tuple[str, ...]


def entries(text: str) -> Iterator[Entry]:
    """The entries of a log in their order."""
    starts = list(_ENTRY.finditer(text))
    ends = [each.start() for each in starts[1:]] + [len(text)]
    for start, end in zip(starts, ends, strict=True):
        said = text[start.end() : end].rstrip("\n")
        logger = _LOGGER.search(said)
        message = said[: logger.start()] if logger else said
        trace = said[logger.end() :].strip("\n").splitlines() if logger else []
        yield Entry(start.group(1), message, tuple(trace))


def read_words(log: Path) -> dict[int, Row]:
    """Partition -> what the broker said of its loading."""
    by_partition: dict[int, list[Entry]] = defaultdict(list)
    for entry in entries(log.read_text(encoding="utf-8", errors="replace")):
        found = next((each for each in (p.search(entry.message) for p in _PARTITION) if each), None)
        if found is not None:
            by_partition[int(found.group(1))].append(entry)
    return {number: _summed_up(said) for number, said in by_partition.items()}


def fatal_words(text: str) -> str | None:
    """Why a broker stopped: the innermost exception of its fatal fault."""
    faults = [each for each in entries(text) if "Encountered fatal fault" in each.message]
    return _thrown(faults[-1]) if faults else None


def _summed_up(said: list[Entry]) -> Row:
    row: Row = {"loaded": None, "failed_at_offset": None, "exception": None}
    skipped: Counter[str] = Counter()
    notes: dict[str, int] = {}
    replayed: list[int] = []
    for entry in said:
        message = _CONTEXT.sub("", entry.message)
        if message.startswith(_FINISHED):
            row |= {"loaded": True, **_figures(message)}
        elif message.startswith(_FAILED):
            row |= {"loaded": False, "exception": _thrown(entry)}
        elif unknown := _UNKNOWN.match(message):
            skipped[unknown.group(1)] += 1
        elif traced := _REPLAYED.match(message) if entry.level == "TRACE" else None:
            replayed.append(int(traced.group(1)))
        elif not message.startswith(_OF_RECORDS) and (
            entry.level in _NOTED or message.startswith("Cannot")
        ):
            note = _NUMBERS.sub("#", _without_places(f"{entry.level} {message}"))
            notes[note] = notes.get(note, 0) + 1
        if entry.level == "ERROR" and row["failed_at_offset"] is None:
            row["failed_at_offset"] = _named_offset(entry)
    if row["loaded"]:
        row["failed_at_offset"] = None
    row["last_replayed_offset"] = replayed[-1] if replayed else None
    row["skipped"] = dict(skipped)
    row["notes"] = [
        f"{note} (x{count})" if count > 1 else note
        for note, count in list(notes.items())[:_NOTES_MAX]
    ]
    return row


def _figures(message: str) -> Row:
    for pattern in _FIGURES:
        found = pattern.search(message)
        if found is not None:
            took, queued, *more = (None if each is None else int(each) for each in found.groups())
            records, size = more or (None, None)
            return {"load_ms": took, "queue_ms": queued, "records": records, "bytes": size}
    return {}


def _thrown(entry: Entry) -> str | None:
    """The innermost exception of a trace."""
    _, _, due_to = entry.message.partition(" due to ")
    lines = entry.trace or (due_to.removesuffix("."),)
    found = [each for line in lines if (each := _THROWN.match(line))]
    if not found:
        return None
    name, message = found[-1].group(1), (found[-1].group(2) or "").rpartition(_DUE_TO)[2]
    text = f"{name}: {message}" if message else name
    return _without_places(text)


def _named_offset(entry: Entry) -> int | None:
    """The offset of the record that the broker says it could not read or replay."""
    if not entry.message.startswith(_OF_RECORDS) and not any(
        word in entry.message for word in _FAILED
    ):
        return None
    found = next((each for each in (p.search(entry.message) for p in _OFFSETS) if each), None)
    return int(found.group(1)) if found else None


def _without_places(text: str) -> str:
    """One line, without what differs between two starts of a broker."""
    text = re.sub(r"dir=\S+?/data", "dir=data", " ".join(text.split()))
    text = re.sub(r"(?:/[\w.~-]+)+/data/", "data/", text)
    return text if len(text) <= _TEXT_MAX else text[:_TEXT_MAX] + "…"
