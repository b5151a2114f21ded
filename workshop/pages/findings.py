"""docs/findings.md: every kind of finding with its definition, thresholds and advice, from the kinds themselves."""

import sys
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Final

from rebalance_audit.audit.findings.finding import AtLogEnd, FindingKind
from rebalance_audit.audit.findings.kinds import KINDS
from rebalance_audit.audit.thresholds import FindingRules
from rebalance_audit.resources import checkout_root
from rebalance_audit.sentences.render import advice_for, reason_text
from rebalance_audit.sentences.words import duration
from workshop import generated_files

PAGE: Final = "docs/findings.md"

NOT_FOUND: Final = {
    "a wait for UNRELEASED_INSTANCE_ID without a broker's log": (
        "a refused join writes no record (question 9 of [questions.md](questions.md))"
    ),
    "a classic group that hangs in its join phase": "nothing is written before the generation is complete",
    "a hole in the log of a classic group": (
        "generations that no member completed leave no record either, so missing numbers prove nothing"
    ),
    "a deploy without quiet before and after it, unless its members leave one at a time": (
        "random churn looks the same"
    ),
    "a deploy that also changes the number of members": "crashes and starts at random look the same",
    "commits that stop in a whole group whose library commits only what it consumed, or whose application commits": (
        "a topic with nothing to consume looks the same"
    ),
    "a member that stopped committing for a while and went on, without a record of the group in between": (
        "commits are summed up between two records of the group"
    ),
    "clients that an old broker refuses, without a move of the coordinator": "a refused request writes no record",
}
"""What users may expect and the audit does not find, with the reason."""

_HEAD: Final = """\
# Findings

What deserves attention in a group's history. `inspect` prints findings, the most severe first; `inspect --json` has
them in the list `findings`; `explain` shows those that concern the epoch in question. Each has the records that
show it and one sentence of advice. Columns: [gold.findings](tables.md#goldfindings).

Findings follow from the same records as everything else, so they say *probably* where the records leave room.
Thresholds are set in `[findings]` of `conf/base.toml`; the figures below are its defaults. A healthy group has no
findings.

A finding is about the group's records. The end of the log changes it only if time has to pass: while it lasts, the text
says "at least", `to_at` is null, and the row stays the same, whatever is written for other groups, until
a record of the group, one of its offset commits, or the threshold changes it. The kinds that behave so say so.

Findings of one kind and group that follow each other within `repeat_pause_ms` (a day) are one finding with a count,
from the first beginning to the last end; the sentence is that of the most severe, or of the latest while it
lasts. Kinds
about one client, instance id, topic or deployment count each of them by itself.

How often these findings are right, against scripted simulations: [accuracy.md](accuracy.md).

`hanging_transaction` and `topic_growth` are found by `inspect` and by runs that decode offset commits, `sources_differ`
by ingests into a lake alone.

Severity: *critical*, records are probably not consumed, or consumed twice; *warning*, it costs time or hides a fault;
*info*, worth knowing.

<!-- written by `python -m workshop.pages.findings --write` -->
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
        parts.append(f"What to do: {reason_text(advice_for(kind.kind))}\n")
    parts.append("## What is not found, and why\n")
    parts.append("\n".join(f"- {what}: {reason}." for what, reason in NOT_FOUND.items()) + "\n")
    return "\n".join(parts)


def definition_of(kind: type[FindingKind], rules: FindingRules) -> str:
    """The kind's definition, with the thresholds filled in."""
    values = {
        field.name: duration(getattr(rules, field.name))
        if field.name.endswith("_ms")
        else getattr(rules, field.name)
        for field in fields(rules)
    }
    return kind.definition.format(**values)


def _names(thresholds: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in thresholds) or "none"


def due() -> dict[Path, str]:
    """The page in its place."""
    return {checkout_root() / PAGE: page()}


if __name__ == "__main__":
    sys.exit(generated_files.main(due))
