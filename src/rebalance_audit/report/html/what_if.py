"""The page's section on what would have been: answers of `what-if --json`, as its templates take them.

Texts are only ever shown as text.
"""

from collections.abc import Collection
from typing import Any, Final

from rebalance_audit.limits import ANSWER_PREDICTIONS, ANSWER_SENTENCES
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
