"""What a comparison counts, and how the counts of many comparisons become one."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

EXAMPLES_MAX: Final = 40
"""Examples kept of everything that was wrong."""


class Measure(NamedTuple):
    """One time, the audit's against the truth's."""

    source: str
    protocol: str
    name: str


@dataclass(slots=True)
class Errors:
    """How far a measure was off, over many values."""

    equal: int = 0
    off: Counter[int] = field(default_factory=Counter)
    """Difference in milliseconds -> how often; 0 is counted in `equal`."""
    missing: int = 0
    """The truth has a value and the audit has none."""
    invented: int = 0
    """The audit has a value and the truth has none."""

    def add(self, ours_ms: int | None, truth_ms: int | None) -> bool:
        """Count one value; True when it is as the truth has it."""
        if ours_ms == truth_ms:
            self.equal += ours_ms is not None
            return True
        if ours_ms is None:
            self.missing += 1
        elif truth_ms is None:
            self.invented += 1
        else:
            self.off[ours_ms - truth_ms] += 1
        return False

    def merge(self, other: "Errors") -> None:
        """Take over the counts of another comparison."""
        self.equal += other.equal
        self.off.update(other.off)
        self.missing += other.missing
        self.invented += other.invented

    @property
    def compared(self) -> int:
        """Values that both sides have."""
        return self.equal + self.off.total()

    def worst_ms(self) -> int:
        """The largest difference."""
        return max((abs(error_ms) for error_ms in self.off), default=0)

    def within(self, limit_ms: int) -> int:
        """Values that are off by `limit_ms` at most."""
        near = (times for error_ms, times in self.off.items() if abs(error_ms) <= limit_ms)
        return self.equal + sum(near)


@dataclass(slots=True)
class Tally:
    """Counts by (source, protocol, what, …), errors of times, and examples of what was wrong."""

    counts: Counter[tuple[str, ...]] = field(default_factory=Counter)
    errors: defaultdict[Measure, Errors] = field(default_factory=lambda: defaultdict(Errors))
    examples: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))

    def count(self, *what: str, times: int = 1) -> None:
        """Count something `times` more."""
        self.counts[what] += times

    def compare(
        self, measure: Measure, ours_ms: int | None, truth_ms: int | None, about: str
    ) -> None:
        """Count one time; a difference leaves an example."""
        if not self.errors[measure].add(ours_ms, truth_ms):
            self.example(
                f"{measure.name} {measure.source} {measure.protocol}",
                f"{about}: {ours_ms} for {truth_ms}",
            )

    def example(self, kind: str, text: str) -> None:
        """Keep it unless there are enough of its kind."""
        if len(self.examples[kind]) < EXAMPLES_MAX:
            self.examples[kind].append(text)

    def merge(self, other: "Tally") -> None:
        """Take over everything that another tally has."""
        self.counts.update(other.counts)
        for measure, errors in other.errors.items():
            self.errors[measure].merge(errors)
        for kind, texts in other.examples.items():
            for text in texts:
                self.example(kind, text)

    def get(self, *what: str) -> int:
        """How often it was counted."""
        return self.counts[what]

    def next_names(self, *prefix: str) -> list[str]:
        """Sorted names that follow a prefix of what was counted."""
        length = len(prefix)
        return sorted(
            {what[length] for what in self.counts if what[:length] == prefix and len(what) > length}
        )


def merged(tallies: Iterable[Tally]) -> Tally:
    """All of them in one."""
    total = Tally()
    for tally in tallies:
        total.merge(tally)
    return total


def share(part: int, whole: int) -> str:
    """A share for people, `-` of nothing; 100 % only when it is all."""
    if not whole:
        return "-"
    if part == whole:
        return "100 %"
    return f"{min(99.99, 100 * part / whole):.2f} %"


def measures(tally: Tally, source: str) -> Iterator[tuple[Measure, Errors]]:
    """The measures of one source, in a fixed order."""
    for measure in sorted(each for each in tally.errors if each.source == source):
        yield measure, tally.errors[measure]
