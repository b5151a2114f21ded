"""What `watch` says of a rebalance and of the group that it goes on in: the words of `inspect` and `explain`."""

from collections.abc import Mapping
from typing import Any

from rebalance_audit.figures.rows import Tables
from rebalance_audit.report.names import MemberNames
from rebalance_audit.report.verdict import Verdicts, rebalance_heading
from rebalance_audit.report.worst import worst_of
from rebalance_audit.sentences import words
from rebalance_audit.sentences.render import filled


def opening_sentence(tables: Tables, since_ms: int, log_end_ms: int | None) -> str:
    """The verdict on all groups with which `watch` begins; `tables`: what ended since `since_ms`, and what goes on."""
    worst = worst_of(tables, log_end_ms)
    said = MemberNames(tables["members"]).in_sentence(worst.group_id, worst.sentence)
    ends = f" Log ends at {words.utc(log_end_ms)}." if log_end_ms is not None else ""
    return f"{said} Covers rebalances since {words.utc(since_ms)}.{ends}"


def rebalance_sentence(
    rebalance: Mapping[str, Any],
    tables: Tables,
    times_reported: int = 0,
) -> str:
    """One line on one rebalance; `times_reported`: how often other things were said of it before."""
    sentence = filled(
        "{group_id:name}{again}: {heading}. {verdict}",
        rebalance,
        again=", by what is known now" if times_reported else "",
        heading=rebalance_heading(dict(rebalance)),
        verdict=Verdicts(tables).short(dict(rebalance)),
    )
    return MemberNames(tables["members"]).in_sentence(rebalance["group_id"], sentence)
