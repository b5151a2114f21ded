"""docs/loading.md: the rules of loading with their sources in Kafka, from `schemas/loading`."""

import sys
from pathlib import Path
from typing import Final

from rebalance_audit.resources import checkout_root
from rebalance_audit.verify.coordinators import (
    COORDINATORS,
    Rule,
    RuleCase,
    all_rules,
    records_known_to,
)
from workshop import generated_files

PAGE: Final = "docs/loading.md"
_HEAD: Final = """\
# What a coordinator refuses to load

The rules by which [`verify`](verify.md) judges a log, with the place in Kafka's code that each follows. They are data
in `schemas/loading`; a range of releases takes in all patches of both ends, unless a patch is named. *tested*: brokers
of the release loaded some 400 logs, most with one fault, and did with each what the rules say (`tests/golden/loads`);
*source*: only the code was read.

<!-- written by `python -m workshop.pages.loading --write` -->

## Coordinators

| release | coordinator | record types | rules are from |
|---|---|---|---|
"""
_STAGES: Final = {
    "log": "Bytes and batches",
    "decoding": "Decoding a record",
    "replay": "A record in its place",
}
_EFFECTS: Final = {"fails": "fails", "skips": "skips the record", "tolerates": "applies the record"}


def page() -> str:
    """The text of docs/loading.md."""
    lines = [_HEAD, *map(_coordinator, COORDINATORS)]
    for stage, title in _STAGES.items():
        lines.append(f"\n## {title}\n")
        lines += [_rule(rule) for rule in all_rules() if rule.stage == stage]
    return "".join(lines)


def _coordinator(coordinator: tuple[str, str]) -> str:
    release, kind = coordinator
    known = records_known_to(next(each for each in COORDINATORS if each == coordinator))
    how = "tested" if known.evidence == "broker" else "source"
    return f"| {release} | {kind} | {_spans(known.record_types)} | {how} |\n"


def _rule(rule: Rule) -> str:
    loses = f" Lost: {rule.loses[0].lower()}{rule.loses[1:]}" if rule.loses else ""
    table = "| coordinator | releases | record types | effect | Kafka |\n|---|---|---|---|---|\n"
    return f"\n### {rule.rule_id}\n\n{rule.sentence}{loses}\n\n{table}{''.join(map(_case, rule.cases))}"


def _case(case: RuleCase) -> str:
    types = "all" if case.record_types is None else _spans(case.record_types)
    source = case.source.replace("|", "\\|")
    return f"| {case.kind} | {case.releases} | {types} | {_EFFECTS[case.effect]} | {source} |\n"


def _spans(numbers: frozenset[int]) -> str:
    """`0-8, 10`."""
    spans: list[list[int]] = []
    for number in sorted(numbers):
        if spans and spans[-1][-1] == number - 1:
            spans[-1].append(number)
        else:
            spans.append([number])
    return ", ".join(str(s[0]) if len(s) == 1 else f"{s[0]}-{s[-1]}" for s in spans)


def due() -> dict[Path, str]:
    """The page in its place."""
    return {checkout_root() / PAGE: page()}


if __name__ == "__main__":
    sys.exit(generated_files.main(due))
