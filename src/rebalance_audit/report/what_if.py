"""What an answer of `what-if` shows: its table and its sentences, from the object of `what-if --json`.

An answer may come from a file, so nothing about it is certain: KeyError, TypeError, ValueError and AttributeError are
raised for what is not an answer.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from rebalance_audit.limits import ANSWER_PREDICTIONS
from rebalance_audit.sentences import words

AnswerObject = Mapping[str, Any]
"""An object of `what-if --json`."""

_COUNT: Final[Callable[[int], str]] = "{:,}".format
_MEASURES: Final[Mapping[str, Callable[[int], str]]] = {
    "rebalances": _COUNT,
    "partitions_moved": _COUNT,
    "unowned_ms": words.duration,
    "longest_stop_ms": words.duration,
    "records_delayed": _COUNT,
}
"""Field of an outcome -> how its numbers are written."""


class AnswerCell(NamedTuple):
    """One measure of a row."""

    value: str
    bounds: str
    """Lowest and highest of all runs; empty where nothing varies."""
    sort: int


_UNKNOWN: Final = AnswerCell(words.NOTHING, "", -1)


def answer_table(answer: AnswerObject) -> Iterator[tuple[str, list[AnswerCell]]]:
    """What the log shows, the control and each change: a label, and its measures."""
    yield "as logged", _logged(answer["as_logged"])
    yield "control: simulated as it was", _simulated(answer["control"])
    for prediction in predictions(answer):
        yield required_text(prediction["label"]), _simulated(prediction)


def answer_sections(answer: AnswerObject, explained: int) -> Iterator[tuple[str, list[str]]]:
    """Titles and their sentences; `explained`: so many changes at most, the first ones."""
    facts = answer["facts"]
    sections = [("Facts", [] if facts is None else facts["sentences"])]
    for prediction in predictions(answer)[:explained]:
        costs = (f"Cost: {required_text(each)}" for each in prediction["costs"])
        label = required_text(prediction["label"])
        sections.append((f"{label[:1].upper()}{label[1:]}", [*prediction["because"], *costs]))
    sections.append(("Taken for granted", answer["assumptions"]))
    for title, sentences in sections:
        if sentences:
            yield title, [*map(required_text, sentences)]


def predictions(answer: AnswerObject) -> list[Mapping[str, Any]]:
    """Those that are shown."""
    return [*answer["predicted"][: ANSWER_PREDICTIONS.most]]


def _logged(logged: Mapping[str, Any]) -> list[AnswerCell]:
    unowned, delayed = logged["unowned_ms"], logged["records_delayed"]
    lasted = _UNKNOWN
    if unowned:
        lasted = _varying({**unowned, "median": unowned["high"]}, words.duration)
        lasted = lasted._replace(value=lasted.bounds or lasted.value, bounds="")
    return [
        _cell(logged["rebalances"], _COUNT),
        _cell(logged["partitions_moved"], _COUNT),
        lasted,
        _UNKNOWN,
        _cell(delayed["estimate"], _COUNT) if delayed else _UNKNOWN,
    ]


def _simulated(outcome: Mapping[str, Any]) -> list[AnswerCell]:
    return [
        _UNKNOWN if outcome[name] is None else _varying(outcome[name], written)
        for name, written in _MEASURES.items()
    ]


def _varying(found: Mapping[str, Any], written: Callable[[int], str]) -> AnswerCell:
    bounds = [written(required_number(found[name])) for name in ("low", "high")]
    return _cell(found["median"], written)._replace(
        bounds="" if found["low"] == found["high"] else " – ".join(bounds)
    )


def _cell(number: object, written: Callable[[int], str]) -> AnswerCell:
    known = required_number(number)
    return AnswerCell(written(known), "", known)


def required_text(value: object) -> str:
    """The value. Raises TypeError if it is no text."""
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.100} is not a text")
    return value


def required_number(value: object) -> int:
    """The value. Raises TypeError if it is no number that the page can show."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 63:
        raise TypeError(f"{value!r:.100} is not a number")
    return value
