"""Where a piece of evidence comes from: records and lines of a broker's log have times of different clocks."""

import re
from collections.abc import Mapping
from typing import Any, Final

from rebalance_audit.report import words

LEGEND: Final = "2@100 is partition 2, offset 100 of __consumer_offsets; `decode` prints it."
LEGEND_OF_LOGS: Final = (
    "Beside what a broker logged stand the time of its line and the record that it is about."
)

_LOGGED: Final = re.compile(r"broker \S+ logged \(")
"""How `audit.broker_log.witness.said` begins a fact."""


def is_logged(item: Mapping[str, Any]) -> bool:
    """Whether a line of a broker's log tells it, not a record."""
    return _LOGGED.match(item["fact"]) is not None


def where_it_stands(item: Mapping[str, Any]) -> str:
    """`3@281, 2026-11-21 09:11:07.247 UTC`; of a line `2026-11-21 09:11:07.241 UTC in the log, about 3@281`."""
    record, at = f"{item['partition']}@{item['offset']}", words.utc(item["at"])
    return f"{at} in that log, about record {record}" if is_logged(item) else f"{record}, {at}"
