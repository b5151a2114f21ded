"""The sentences of rows of gold.rebalance_causes and gold.findings, with members and names as slots."""

import json
from functools import lru_cache

from rebalance_audit.figures.rows import TableRow
from rebalance_audit.sentences.reason import CodedReason
from rebalance_audit.sentences.render import facts_in, sentence_of
from rebalance_audit.sentences.sentence import Sentence, Stored


def detail_of(row: TableRow) -> Sentence:
    """What happened; the text as stored where the row has no facts, as in tables of earlier releases."""
    return sentence_from(facts_of(row).get("detail", ()), row["detail"] or "")


def advice_of(row: TableRow) -> Sentence:
    """What to do about a finding."""
    return sentence_from(facts_of(row).get("advice", ()), row["advice"] or "")


def facts_of(row: TableRow) -> dict[str, list[CodedReason]]:
    """The reasons for the texts of a row by their column; empty where the row has none that can be read."""
    text = row.get("facts")
    return _parsed(text) if text else {}


def sentence_from(reasons: list[CodedReason] | tuple[()], stored: str) -> Sentence:
    """The sentence; the stored text for a code that only a later release knows."""
    if reasons:
        try:
            return sentence_of(*reasons)
        except (KeyError, TypeError, ValueError):
            pass
    return Sentence((Stored(stored),))


@lru_cache(1024)
def _parsed(text: str) -> dict[str, list[CodedReason]]:
    try:
        return facts_in(text)
    except (json.JSONDecodeError, TypeError, AttributeError):
        return {}
