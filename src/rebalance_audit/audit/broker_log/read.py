"""Reads broker log files: in any layout, packed or not, rotated or not, of one broker or several."""

import re
from collections.abc import Iterable, Iterator
from datetime import tzinfo
from pathlib import Path
from typing import Final, NamedTuple

from rebalance_audit.audit.broker_log.carriers import CarrierReader
from rebalance_audit.audit.broker_log.fact import BrokerFact, FactKind
from rebalance_audit.audit.broker_log.file_report import FileReport
from rebalance_audit.audit.broker_log.line_origins import (
    Continuations,
    is_of_other_logger,
    is_other_file,
)
from rebalance_audit.audit.broker_log.message import ParsedMessage, read_message
from rebalance_audit.audit.broker_log.passages import (
    MARK,
    Passage,
    PassageReader,
    stripped_text,
)
from rebalance_audit.carriers.archives import (
    BrokerLogNotReadable,
    Content,
    contents_of,
    readable,
)
from rebalance_audit.written_times import LineTime, TimeReader

_ROTATED: Final = re.compile(r"(?<=\.log)[.\-_].*")
"""Suffixes from rotation and compression: they change neither the lines nor their numbers."""
_CONTINUED_LINES_MAX: Final = 20
"""Maximum lines of a message (a group id may contain a line break); a stack trace is not part of the message."""
_CONTINUED_CHARS_MAX: Final = 4_096


def files_of(paths: Iterable[Path]) -> list[Path]:
    """The given files, and all files in the given folders, each once. Raises BrokerLogNotReadable."""
    found: dict[Path, None] = {}
    for path in paths:
        if path.is_dir():
            inside = sorted(
                each for each in path.rglob("*") if each.is_file() and not each.name.startswith(".")
            )
            if not inside:
                raise BrokerLogNotReadable(f"{path}: no file is in this folder.")
            found.update(dict.fromkeys(inside))
        elif path.exists():
            found[path] = None
        else:
            raise BrokerLogNotReadable(f"{path}: no such file.")
    return list(found)


class CoordinatorLine(NamedTuple):
    """One line of a coordinator, and what it says."""

    file: str
    """Name of its file before rotation."""
    number: int
    """Of the line in the file, from 1."""
    at_ms: int | None
    """Epoch ms; None if it has no usable time."""
    broker: str
    """Who logged the line: the broker's id, or the file if the line has no id."""
    log_partition: int | None
    parsed: ParsedMessage | None
    """None if no wording matches."""
    may_be_text: bool
    """As in `BrokerFact`."""

    def facts(self) -> Iterator[BrokerFact]:
        """The facts of the line: none if it has no time, several if it names several groups."""
        parsed = self.parsed
        if parsed is None or parsed.kind is None or self.at_ms is None:
            return
        fields = {
            "group_id": None,
            "log_partition": self.log_partition,
            "broker": self.broker,
            "place": f"{self.file}:{self.number}",
            "may_be_text": self.may_be_text,
            **parsed.fields,
        }
        fact = BrokerFact(parsed.kind, self.at_ms, **fields)  # type: ignore[arg-type]
        if fact.kind is FactKind.GROUP_DELETED:
            for group_id in fact.members:
                yield fact._replace(group_id=group_id, members=())
        else:
            yield fact


class LogReader:
    """Reads files; what became of each is in `reports` once its facts were read."""

    def __init__(self, zone: tzinfo, zone_name: str = "UTC", near_ms: int | None = None) -> None:
        """`zone`, called `zone_name`, applies to times without one.

        `near_ms`: about when the logs were written (epoch ms), for dates without a year, which are not used otherwise.
        """
        self._zone = zone
        self._zone_name = zone_name
        self._near_ms = near_ms
        self.reports: list[FileReport] = []

    def facts(self, paths: Iterable[Path]) -> Iterator[BrokerFact]:
        """Every fact about a group or a coordinator, file by file. Raises BrokerLogNotReadable."""
        for line in self.lines(paths):
            for fact in line.facts():
                self.reports[-1].note_fact(fact)
                yield fact

    def lines(self, paths: Iterable[Path]) -> Iterator["CoordinatorLine"]:
        """Every line of a coordinator, file by file. Raises BrokerLogNotReadable."""
        for path in files_of(paths):
            for content in contents_of(path):
                with readable(path):
                    yield from self._lines_in(content)

    def _lines_in(self, content: Content) -> Iterator["CoordinatorLine"]:
        report = FileReport(content.name, self._zone_name)
        self.reports.append(report)
        report.is_other = is_other_file(content.name)
        if report.is_other:
            return
        reader = PassageReader(content.file)
        times = TimeReader(self._zone, self._near_ms)
        carriers = CarrierReader(times)
        file = _ROTATED.sub("", content.name.rsplit("!", 1)[-1].rsplit("/", 1)[-1])
        broker: str | None = None
        continuations = Continuations()
        for passage in reader.passages():
            carried = carriers.read(passage, reader.bytes_read)
            mark = MARK.match(carried.body)
            reader.resume_at = passage.end_of_field if carried.in_field else passage.end
            if mark is None and not carried.body.startswith("given member.id "):
                continue
            if not carried.is_message or is_of_other_logger(carried.body.split("\n", 1)[0]):
                report.quoted += 1
                continue
            if mark is not None:
                broker = mark["broker"]
            number = None if mark is None else mark["log_partition"]
            message = carried.body if mark is None else carried.body[mark.end() :]
            report.coordinator_lines += 1
            report.cut += passage.is_cut
            parsed = _parsed(message, None if carried.in_field else passage)
            unsure = continuations.may_be(passage, parsed, in_field=carried.in_field)
            continuations.note(passage, parsed, unsure=unsure)
            _note(report, parsed, carried.moment, message)
            yield CoordinatorLine(
                file,
                passage.number,
                carried.moment.at_ms,
                broker or file,
                None if number is None else int(number),
                parsed,
                unsure,
            )
        report.lines = reader.lines
        report.is_text = reader.is_text


def _note(report: FileReport, parsed: ParsedMessage | None, moment: LineTime, message: str) -> None:
    if parsed is None:
        report.note_unknown(message)
        return
    report.understood += 1
    if moment.at_ms is not None:
        report.note_time(moment.at_ms)
    elif parsed.kind is not None:
        report.note_undated(moment.missing, message)
    if moment.at_ms is not None and parsed.kind is not None:
        report.assumed.update(moment.assumed)


def _parsed(message: str, passage: Passage | None) -> ParsedMessage | None:
    """What a message says: its first line, unless it makes no sense without the next ones."""
    first, _, rest = message.partition("\n")
    parsed = read_message(first)
    if parsed is not None:
        return parsed
    lines = [first]
    further = rest.split("\n") if rest else []
    if passage is not None:
        further += passage.after[:_CONTINUED_CHARS_MAX].split("\n")[1:]
    for line in further[:_CONTINUED_LINES_MAX]:
        if MARK.search(line) is not None:
            return None
        lines.append(stripped_text(line))
        parsed = read_message("\n".join(lines))
        if parsed is not None:
            return parsed
    return None
