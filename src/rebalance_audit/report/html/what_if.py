"""The page's section on what would have been: answers of `what-if --json`, as its templates take them.

An answer comes from a file, so nothing about it is certain: what lacks a field or has another type is refused, and
texts are only ever shown as text.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, Final

from rebalance_audit.limits import ANSWER_PREDICTIONS, ANSWER_SENTENCES
from rebalance_audit.report.html.rebalances import link, shown
from rebalance_audit.sentences import words

Answer = Mapping[str, Any]
"""An object of `what-if --json`."""

COLUMNS: Final = ("Rebalances", "Moved", "Without owner", "Longest stop", "Records delayed")
_COUNT: Final[Callable[[int], str]] = "{:,}".format
_MEASURES: Final[Mapping[str, Callable[[int], str]]] = {
    "rebalances": _COUNT,
    "partitions_moved": _COUNT,
    "unowned_ms": words.duration,
    "longest_stop_ms": words.duration,
    "records_delayed": _COUNT,
}
"""Field of an outcome -> how its numbers are written, in the order of COLUMNS."""
_NOTHING: Final = {"value": "–", "bounds": "", "sort": -1}


def what_if_section(answer: Answer, listed: Collection[str]) -> dict[str, Any]:
    """One group; `listed` are the groups that the page can link to.

    Raises KeyError, TypeError, ValueError and AttributeError for what is not an answer.
    """
    group_id = _text(answer["group_id"])
    facts = answer["facts"]
    section: dict[str, Any] = {
        "group": shown(group_id),
        "link": link(group_id) if group_id in listed else "",
        "refused": "" if answer["refused"] is None else shown(_text(answer["refused"])),
        "about": "",
        "rows": [],
        "lists": [("Facts", _sentences([] if facts is None else facts["sentences"]))],
    }
    if answer["control"] is not None:
        section["about"] = shown(_about(answer))
        section["rows"] = [*_rows(answer)]
    for prediction in answer["predicted"][: ANSWER_PREDICTIONS.most]:
        sentences = [*prediction["because"], *(f"Cost: {each}" for each in prediction["costs"])]
        label = shown(_text(prediction["label"]))
        section["lists"].append((label[:1].upper() + label[1:], _sentences(sentences)))
    section["lists"].append(("Taken for granted", _sentences(answer["assumptions"])))
    section["lists"] = [(title, sentences) for title, sentences in section["lists"] if sentences]
    return section


def _about(answer: Answer) -> str:
    settings = answer["settings"]
    membership = "static" if settings["static"] else "dynamic"
    return (
        f"{_moment(answer['from'])} to {_moment(answer['to'])}, {settings['protocol']}, {settings['assignor']},"
        f" {membership}, session {words.duration(_number(settings['session_timeout_ms']))};"
        f" {words.counted(_number(settings['members']), 'instance')},"
        f" {words.counted(_number(answer['seeds']), 'run')} each"
    )


def _rows(answer: Answer) -> Iterable[dict[str, Any]]:
    yield {"label": "as logged", "cells": _logged(answer["as_logged"])}
    yield {"label": "control: simulated as it was", "cells": _simulated(answer["control"])}
    for prediction in answer["predicted"][: ANSWER_PREDICTIONS.most]:
        yield {"label": shown(_text(prediction["label"])), "cells": _simulated(prediction)}


def _logged(logged: Mapping[str, Any]) -> list[dict[str, Any]]:
    unowned, delayed = logged["unowned_ms"], logged["records_delayed"]
    rebalances, moved = _number(logged["rebalances"]), _number(logged["partitions_moved"])
    return [
        _cell(rebalances, _COUNT),
        _cell(moved, _COUNT),
        _between(_number(unowned["low"]), _number(unowned["high"])) if unowned else _NOTHING,
        _NOTHING,
        _cell(_number(delayed["estimate"]), _COUNT) if delayed else _NOTHING,
    ]


def _simulated(outcome: Mapping[str, Any]) -> list[dict[str, Any]]:
    cells = []
    for name, written in _MEASURES.items():
        found = outcome[name]
        if found is None:
            cells.append(_NOTHING)
            continue
        low, high = _number(found["low"]), _number(found["high"])
        bounds = "" if low == high else f"{written(low)} – {written(high)}"
        cells.append(_cell(_number(found["median"]), written, bounds))
    return cells


def _cell(number: int, written: Callable[[int], str], bounds: str = "") -> dict[str, Any]:
    return {"value": written(number), "bounds": bounds, "sort": number}


def _between(low_ms: int, high_ms: int) -> dict[str, Any]:
    if low_ms == high_ms:
        return _cell(low_ms, words.duration)
    bounds = f"{words.duration(low_ms)} – {words.duration(high_ms)}"
    return {"value": bounds, "bounds": "", "sort": high_ms}


def _sentences(sentences: Iterable[object]) -> list[str]:
    return [shown(_text(each)) for each in [*sentences][: ANSWER_SENTENCES.most]]


def _moment(value: object) -> str:
    """To the second, as the page writes others."""
    return _text(value)[:19].replace("T", " ")


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r:.100} is not a text")
    return value


def _number(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 1 << 63:
        raise TypeError(f"{value!r:.100} is not a number")
    return value
