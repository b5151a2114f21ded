"""The sentences and the evidence of rows of gold.rebalance_causes and gold.findings, with members and names as slots.

Evidence is records, and lines of brokers' logs, which have times of another clock.
"""

import json
from functools import lru_cache
from itertools import zip_longest
from typing import Final, NamedTuple

from rebalance_audit.figures.rows import TableRow
from rebalance_audit.sentences import words
from rebalance_audit.sentences.of_evidence import LOGGED
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


LEGEND: Final = "2@100 is partition 2, offset 100 of __consumer_offsets; `decode` prints it."
LEGEND_OF_LOGS: Final = (
    "A broker's log line has its own time; the offset is that of the record it is about."
)


class ShownEvidence(NamedTuple):
    """One record, or one line of a broker's log."""

    partition: int
    offset: int
    at: int | None
    """Epoch milliseconds: of the record, or of the line."""
    fact: Sentence
    is_logged: bool
    """Whether a broker's log shows it, not a record."""

    @property
    def record(self) -> str:
        """`2@100`: the record, or the one that the line is about."""
        return f"{self.partition}@{self.offset}"

    @property
    def source(self) -> str:
        """`3@281, 2026-11-21 09:11:07.247 UTC`; for a line `… UTC in that log, about record 3@281`."""
        at = words.utc(self.at)
        if self.is_logged:
            return f"{at} in that log, about record {self.record}"
        return f"{self.record}, {at}"


def evidence_of(row: TableRow) -> list[ShownEvidence]:
    """The evidence of a cause or a finding, in its order."""
    items, reasons = row["evidence"] or (), facts_of(row).get("evidence", [])
    return [
        ShownEvidence(
            item["partition"],
            item["offset"],
            item["at"],
            sentence_from([reason] if reason else (), item["fact"]),
            reason.code == LOGGED if reason else _reads_as_logged(item["fact"]),
        )
        for item, reason in zip_longest(items, reasons[: len(items)])
    ]


def rests_on_log(cause: TableRow) -> bool:
    """Whether a broker's log is among the evidence of a cause."""
    return any(item.is_logged for item in evidence_of(cause))


def _reads_as_logged(fact: str) -> bool:
    """Whether a text of an earlier release quotes a broker's log; it put another word before an id that looks so."""
    return fact.startswith("broker ") and " logged (" in fact
