"""What became of one broker log file: how much of it was read, and what in it was not understood."""

from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final, NamedTuple

from rebalance_audit.audit.broker_log.fact import BrokerFact
from rebalance_audit.written_times import Assumption, NoTime

_SAMPLE_CHARS: Final = 120
_GROUPS_MAX: Final = 100_000
"""Groups of one file that are counted one by one."""


class BrokerLogFile(NamedTuple):
    """What became of one file, in figures and in a sentence."""

    file: str
    """Its path; of a file in an archive `logs.tar!server.log.1`."""
    lines: int
    coordinator_lines: int
    understood: int
    not_understood: int
    first_not_understood: str | None
    without_time: int
    """Lines that were understood and not used, for want of a time."""
    first_ms: int | None
    last_ms: int | None
    """`first_ms` and this: first and last line of a coordinator (epoch ms), by the file's own clock."""
    of_known_groups: int | None
    """Lines about groups that the records have; None if no records were read."""
    is_useless: bool
    """Whether nothing in the file can settle anything."""
    sentence: str


@dataclass(slots=True)
class FileReport:
    """Counts of one file, or of one file in an archive."""

    name: str
    zone: str = "UTC"
    """Time zone in which times without one were read."""
    lines: int = 0
    is_text: bool = True
    is_other: bool = False
    """Whether it is the log of another logger, by its name: not read."""
    quoted: int = 0
    """Marks of a coordinator in other loggers' messages."""
    coordinator_lines: int = 0
    understood: int = 0
    """Lines of a coordinator whose wording is known, also where it makes no fact."""
    undated: Counter[NoTime] = field(default_factory=Counter)
    """Lines that were understood and not used, for want of a time."""
    cut: int = 0
    """Lines that were read in part, since they are longer than any that a coordinator writes."""
    first_unknown: str | None = None
    first_undated: str | None = None
    first_ms: int | None = None
    last_ms: int | None = None
    """`first_ms` and this: time of the first and last line of a coordinator (epoch ms), by the file's own clock."""
    assumed: set[Assumption] = field(default_factory=set)
    groups: Counter[str] = field(default_factory=Counter)
    """Group -> number of its lines."""

    @property
    def unknown(self) -> int:
        """Lines of a coordinator whose wording is not known."""
        return self.coordinator_lines - self.understood

    @property
    def is_useless(self) -> bool:
        """Whether nothing in the file can settle anything."""
        return self.first_ms is None

    def note_unknown(self, message: str) -> None:
        """Keep the first message that was not understood."""
        if self.first_unknown is None:
            self.first_unknown = _sample(message)

    def note_undated(self, why: NoTime, message: str) -> None:
        """Count a line without a usable time."""
        self.undated[why] += 1
        if self.first_undated is None:
            self.first_undated = _sample(message)

    def note_time(self, at_ms: int) -> None:
        """Extend the time that the file covers."""
        if self.first_ms is None or at_ms < self.first_ms:
            self.first_ms = at_ms
        if self.last_ms is None or at_ms > self.last_ms:
            self.last_ms = at_ms

    def note_fact(self, fact: BrokerFact) -> None:
        """Count the group of a fact."""
        group_id = fact.group_id
        if group_id is not None and (group_id in self.groups or len(self.groups) < _GROUPS_MAX):
            self.groups[group_id] += 1

    def of_known(self, known: Collection[str]) -> int:
        """How many lines are about groups among the `known` ones."""
        return sum(lines for group_id, lines in self.groups.items() if group_id in known)

    def sentence(self, known: Collection[str] | None = None) -> str:
        """One sentence for people; `known`: the groups of the log of records, if it was read."""
        if self.is_other:
            return f"{self.name}: not used: an authorizer's, request or controller log is no coordinator's."
        if not self.lines:
            return f"{self.name}: empty."
        counted = f"{self.name}: {_counted(self.lines, 'line')}"
        if not self.coordinator_lines:
            kind = "" if self.is_text else "; it is no text file"
            if self.quoted:
                kind = f"; {_counted(self.quoted, 'line')} of other loggers that quote one"
            return f"{counted}, none of a group coordinator{kind}."
        parts = [
            f"{counted}, {self.coordinator_lines:,} of the coordinator, {self.understood:,} understood"
        ]
        if self.unknown:
            parts.append(f"{self.unknown:,} not (first: {self.first_unknown})")
        text = ", ".join(parts)
        for why, lines in self.undated.items():
            text += f"; {lines:,} {why.value} and were not used (first: {self.first_undated})"
        if self.first_ms is not None and self.last_ms is not None:
            text += f"; {_span(self.first_ms, self.last_ms)} UTC"
        if known is not None:
            text += f"; {self.of_known(known):,} belong to groups of this log"
        if self.quoted:
            text += f"; {_counted(self.quoted, 'line')} of other loggers that quote a coordinator's, not used"
        if self.cut:
            text += f"; {_counted(self.cut, 'line')} cut at 64 KiB"
        assumed = [
            f"{each.value} {self.zone}" if each is Assumption.ZONE else each.value
            for each in sorted(self.assumed)
        ]
        return f"{text}{'; ' if assumed else ''}{'; '.join(assumed)}."

    def outcome(self, known: Collection[str] | None = None) -> "BrokerLogFile":
        """The report as it is printed; `known`: the groups of the log of records, if it was read."""
        return BrokerLogFile(
            file=self.name,
            lines=self.lines,
            coordinator_lines=self.coordinator_lines,
            understood=self.understood,
            not_understood=self.unknown,
            first_not_understood=self.first_unknown,
            without_time=sum(self.undated.values()),
            first_ms=self.first_ms,
            last_ms=self.last_ms,
            of_known_groups=None if known is None else self.of_known(known),
            is_useless=self.is_useless,
            sentence=self.sentence(known),
        )


def _sample(message: str) -> str:
    line = message.split("\n", 1)[0].strip()
    return line if len(line) <= _SAMPLE_CHARS else f"{line[: _SAMPLE_CHARS - 1]}…"


def _span(first_ms: int, last_ms: int) -> str:
    first, last = (datetime.fromtimestamp(at_ms / 1000, UTC) for at_ms in (first_ms, last_ms))
    until = f"{last:%H:%M}" if last.date() == first.date() else f"{last:%Y-%m-%d %H:%M}"
    return f"{first:%Y-%m-%d %H:%M} to {until}"


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
