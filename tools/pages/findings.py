"""docs/findings.md: every kind of finding with its definition, thresholds and advice, from the kinds themselves."""

import sys
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Final

from rebalance_audit.audit.findings.finding_kind import AtLogEnd
from rebalance_audit.audit.findings.kinds import KINDS, definition_of
from rebalance_audit.audit.findings.rules import FindingRules
from rebalance_audit.resources import checkout_root
from tools import generated_files

PAGE: Final = "docs/findings.md"

NOT_FOUND: Final = {
    "a wait for UNRELEASED_INSTANCE_ID without a broker's log": "a refused join writes no record; question 9",
    "a classic group that hangs in its join phase": "nothing is written before the generation is complete",
    "clients that an old broker refuses, without a move of the coordinator": "what is refused writes no record",
}
"""What users may expect and the audit does not find, with the reason."""

_HEAD: Final = """\
# Findings

What deserves attention in a group's history. `inspect` prints findings, the gravest first; `inspect --json` has
them in the list `findings`, `explain` where they touch the epoch that was asked for. Each has the records that
show it and one sentence of advice. Columns: [tables.md](tables.md), `gold.findings`.

Findings follow from the same records as everything else, so they say *probably* where the records leave room.
Thresholds are those of `[findings]` in `conf/base.toml`; the figures below are its defaults. A group that goes
about its business has none.

A finding is about the group's records. The log's end changes it only where time has to pass: then the text says
"at least" while it lasts, `to_at` is null, and the row stays the same, whatever is written for other groups, until
a record of the group or the passing of the threshold makes it another one. The kinds that this holds for say so.

`hanging_transaction`, `topic_growth` and `sources_differ` are found in a lake only, by the runs that decode offset
commits and by ingests; `inspect` does not have them.

Severity: *critical*, records are probably not consumed or consumed twice; *warning*, it costs time or hides a fault;
*info*, worth knowing.

<!-- written by `python -m tools.pages.findings --write` -->
"""


def page() -> str:
    """The text of docs/findings.md."""
    rules = FindingRules()
    parts = [_HEAD]
    for kind in KINDS:
        used = [field.name for field in fields(rules) if f"{{{field.name}}}" in kind.definition]
        parts.append(f"## {kind.kind}\n")
        parts.append(f"{definition_of(kind, rules)}\n")
        parts.append(f"Severity: {kind.severities()}. Thresholds: {_names(used)}.\n")
        if kind.at_log_end is not AtLogEnd.SETTLED:
            parts.append(f"At the end of the log: {kind.at_log_end}.\n")
        parts.append(f"What to do: {kind.advice}\n")
    parts.append("## What is not found, and why\n")
    parts.append("\n".join(f"- {what}: {reason}." for what, reason in NOT_FOUND.items()) + "\n")
    return "\n".join(parts)


def _names(thresholds: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in thresholds) or "none"


def due() -> dict[Path, str]:
    """The page in its place."""
    return {checkout_root() / PAGE: page()}


if __name__ == "__main__":
    sys.exit(generated_files.main(due))
