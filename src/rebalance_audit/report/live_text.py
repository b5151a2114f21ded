"""What `watch` says of a rebalance and of the group that it goes on in: the words of `inspect` and `explain`."""

from collections.abc import Mapping
from typing import Any

from rebalance_audit.report import words
from rebalance_audit.report.names import MemberNames
from rebalance_audit.report.summary import Tables
from rebalance_audit.report.verdict import Verdicts, rebalance_heading


def rebalance_sentence(rebalance: Mapping[str, Any], tables: Tables, times_told: int = 0) -> str:
    """One line on one rebalance; `times_told`: how often other things were said of it before."""
    group_id = rebalance["group_id"]
    text = f"{rebalance_heading(dict(rebalance))}. {Verdicts(tables).short(dict(rebalance))}"
    again = ", by what is known now" if times_told else ""
    named = MemberNames(tables["members"]).in_sentence(group_id, text)
    return f"{words.visible(group_id)}{again}: {named}"
