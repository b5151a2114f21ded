"""The page's section on what would have been: answers of `what-if --json`, as its templates take them.

Texts are only ever shown as text.
"""

from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any, Final

import orjson

from rebalance_audit.errors import BadRequest
from rebalance_audit.limits import ANSWER_BYTES, ANSWER_PREDICTIONS, ANSWER_SENTENCES
from rebalance_audit.report.html.rebalances import link, shown
from rebalance_audit.report.what_if import (
    AnswerObject,
    answer_sections,
    answer_table,
    required_number,
    required_text,
)
from rebalance_audit.sentences import words

COLUMNS: Final = ("Rebalances", "Moved", "Without owner", "Longest stop", "Records delayed")


def what_if_sections(files: Iterable[Path], listed: Collection[str]) -> list[dict[str, Any]]:
    """A section for each file. Raises OSError, and BadRequest that names the file for what is no answer."""
    return [_section(file, listed) for file in files]


def _section(file: Path, listed: Collection[str]) -> dict[str, Any]:
    with file.open("rb") as opened:
        text = opened.read(ANSWER_BYTES.most + 1)
    if len(text) > ANSWER_BYTES.most:
        raise BadRequest(f"{file} is larger than an answer of what-if can be.")
    try:
        return what_if_section(orjson.loads(text), listed)
    except orjson.JSONDecodeError as error:
        raise BadRequest(f"{file} is not JSON: {error}.") from None
    except KeyError as error:
        raise BadRequest(
            f"{file} is not what `what-if --json` prints: {error} is missing."
        ) from None
    except (TypeError, ValueError, AttributeError) as error:
        raise BadRequest(f"{file} is not what `what-if --json` prints: {error}.") from None


def what_if_section(answer: AnswerObject, listed: Collection[str]) -> dict[str, Any]:
    """One group; `listed` are the groups that the page can link to. Raises what `report.what_if` raises."""
    group_id, refused = required_text(answer["group_id"]), answer["refused"]
    has_figures = answer["control"] is not None
    return {
        "group": shown(group_id),
        "link": link(group_id) if group_id in listed else "",
        "refused": "" if refused is None else shown(required_text(refused)),
        "about": shown(_about(answer)) if has_figures else "",
        "rows": [
            {"label": shown(label), "cells": cells}
            for label, cells in (answer_table(answer) if has_figures else ())
        ],
        "lists": [
            (shown(title), [*map(shown, sentences[: ANSWER_SENTENCES.most])])
            for title, sentences in answer_sections(answer, ANSWER_PREDICTIONS.most)
        ],
    }


def _about(answer: AnswerObject) -> str:
    settings = answer["settings"]
    membership = "static" if settings["static"] else "dynamic"
    session = words.duration(required_number(settings["session_timeout_ms"]))
    return (
        f"{_moment(answer['from'])} to {_moment(answer['to'])}, {settings['protocol']}, {settings['assignor']},"
        f" {membership}, session {session};"
        f" {words.counted(required_number(settings['members']), 'instance')},"
        f" {words.counted(required_number(answer['seeds']), 'run')} each"
    )


def _moment(value: object) -> str:
    """To the second, as the page writes others."""
    return required_text(value)[:19].replace("T", " ")
