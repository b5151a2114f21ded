"""The types of slots in templates: how each writes a fact.

`{took:duration}` writes the fact `took` as a duration, `{members:count member}` a number with its noun. A fact that is
null, or an empty list, leaves nothing unless its type says otherwise.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final, TypeAlias

from rebalance_audit.bounds import Bounds
from rebalance_audit.moments import utc_datetime
from rebalance_audit.sentences import words
from rebalance_audit.sentences.of_departures import ENDS
from rebalance_audit.sentences.sentence import MemberId, MomentUtc, Name, Stored

NAMED: Final = 3
"""Items of a list that a sentence names; it counts the rest."""
CLIPPED: Final = 120
"""Characters of a text that a client wrote freely; it may be 32 kB long."""
NUMBERS_NAMED: Final = 8
CONNECTOR: Final = -1
"""Among the numbers of a connector's tasks, the connector itself."""

Parts: TypeAlias = Iterable[str]
FactWriter: TypeAlias = Callable[[Any], Parts]


def _label(code: str) -> str:
    return code.replace("_", " ")


def _clipped(text: str) -> str:
    return text if len(text) <= CLIPPED else f"{text[: CLIPPED - 1]}…"


def _listed(make: Callable[[Any], str], limit: int | None = NAMED) -> FactWriter:
    """`a, b, c and 2 more`."""

    def write(items: Sequence[Any]) -> Iterator[str]:
        for place, item in enumerate(items[:limit]):
            if place:
                yield ", "
            yield make(item)
        if limit is not None and len(items) > limit:
            yield f" and {len(items) - limit} more"

    return write


def _times(times: int) -> str:
    return "once" if times == 1 else f"{times:,} times"


def _clock(at_ms: int) -> str:
    moment = utc_datetime(at_ms)
    return words.UNKNOWN_TIME if moment is None else f"{moment:%H:%M:%S}.{at_ms % 1000:03d}"


def _ends(ranked: Sequence[tuple[str, int]]) -> str:
    """`it left (60 %), its session expired (38 %) or an administrator removed it (2 %)`."""
    *others, last = [f"{ENDS[cause]} ({percent} %)" for cause, percent in ranked]
    return f"{', '.join(others)} or {last}" if others else last


def _tally(counts: Sequence[tuple[str, int]]) -> str:
    """`member joined 12×, member left 3×`."""
    return ", ".join(f"{_label(cause)} {times:,}×" for cause, times in counts)


def _silence(members: int) -> str:
    if members == 1:
        return "the only member probably sent no heartbeat"
    return f"probably none of the {members:,} members sent a heartbeat"


def _ranges(gaps: Sequence[Sequence[int]]) -> str:
    """The first numbers of ranges, and how many more there are: their count comes from clients and may be 2³¹."""
    found = (number for first, last in gaps for number in range(first, last + 1))
    named = list(islice(found, NUMBERS_NAMED))
    rest = sum(last - first + 1 for first, last in gaps) - len(named)
    listed = ", ".join(map(str, named))
    return f"{listed} and {rest} more" if rest else listed


def _bounds(limits: Sequence[int | None]) -> str:
    least, most = limits
    return words.bounds_in_sentence(Bounds(least or 0, most, 0))


def _tasks(connectors: Sequence[tuple[str, Sequence[int]]]) -> str:
    """`tasks 0 to 2 of sink, the connector of source`."""
    named = [_connector(name, numbers) for name, numbers in connectors[:NAMED]]
    more = len(connectors) - NAMED
    return ", ".join(named) + (f" and {words.counted(more, 'more connector')}" if more > 0 else "")


def _connector(name: str, numbers: Sequence[int]) -> str:
    tasks = [number for number in numbers if number != CONNECTOR]
    parts = ["the connector"] if CONNECTOR in numbers else []
    if tasks:
        is_run = tasks == [*range(tasks[0], tasks[-1] + 1)] and len(tasks) > 2
        listed = f"{tasks[0]} to {tasks[-1]}" if is_run else _numbers(tasks)
        parts.append(f"task{'s' if len(tasks) > 1 else ''} {listed}")
    return f"{' and '.join(parts)} of {_clipped(name)}"


def _numbers(numbers: Sequence[int]) -> str:
    return "".join(_listed(str, 2 * NAMED)(numbers))


def _durations(many_ms: Sequence[int]) -> str:
    return " or ".join(map(words.duration, many_ms))


def _client_id(client_id: str) -> str:
    return Name(client_id) if client_id else "(no id)"


def _host(host: str) -> str:
    name = host.removeprefix("/")
    return Name(name) if name else "(no host)"


def _text(make: Callable[[Any], str]) -> FactWriter:
    return lambda fact: (make(fact),)


def _around(before: str, make: Callable[[Any], str], after: str = "") -> FactWriter:
    """A writer of a part between two texts; of nothing where there is no fact."""

    def write(fact: Any) -> Parts:
        return (before, make(fact), after) if fact not in (None, "") else ()

    return write


def count_writer(nouns: str) -> FactWriter:
    """`member` or, where adding an s is wrong, `entry|entries`."""
    one, _, many = nouns.partition("|")
    return lambda number: (words.counted(number, one, many),)


WRITERS: Final[Mapping[str, FactWriter]] = {
    "": _text(lambda fact: fact if isinstance(fact, str) else str(fact)),
    "member": _text(lambda fact: MemberId(fact) if fact else "of unknown id"),
    "members": _listed(MemberId),
    "name": _text(lambda fact: Name(fact) if fact else "none"),
    "names": _listed(Name),
    "all": _listed(_label, None),
    "quoted": _text(lambda fact: Name(repr(fact))),
    "quotes": _listed(lambda fact: Name(repr(fact))),
    "clipped": _text(lambda fact: Name(_clipped(fact))),
    "client": _text(_client_id),
    "host": _text(_host),
    "text": _text(Stored),
    "colon": _around(": ", Stored),
    "brackets": _around(" (", Stored, ")"),
    "label": _text(_label),
    "plain": _text(str),
    "number": _text(lambda fact: f"{fact:,}"),
    "mean": _text(lambda fact: f"{fact:.1f}"),
    "times": _text(_times),
    "repeated": _text(lambda times: f" {times:,} times" if times > 1 else ""),
    "were": _text(lambda number: "was" if number == 1 else "were"),
    "silence": _text(_silence),
    "duration": _text(words.duration),
    "durations": _text(_durations),
    "bounds": _text(_bounds),
    "clock": _text(_clock),
    "moment": _text(MomentUtc),
    "ends": _text(_ends),
    "tally": _text(_tally),
    "ranges": _text(_ranges),
    "tasks": _text(_tasks),
    "blank": _around(" ", MemberId),
    "instance": _around(" (instance ", Name, ")"),
    "epoch": _around(" epoch ", str),
}
"""Type of a slot -> its writer; `clause` and its relatives, which write reasons, are in `render.py`."""
