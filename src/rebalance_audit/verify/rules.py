"""The rules of loading, as data: `schemas/loading/rules-*.json`, each with its source in Kafka's code by release."""

import json
from collections.abc import Mapping
from functools import cache
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from rebalance_audit.resources import list_files, read_text
from rebalance_audit.verify.coordinators import Coordinator, CoordinatorKind, is_within, numbers_in

LoadEffect: TypeAlias = Literal["fails", "skips", "tolerates"]
LoadStage: TypeAlias = Literal["log", "decoding", "replay"]
_FOLDER: Final = "schemas/loading"


class RuleCase(NamedTuple):
    """What the coordinators of some releases do."""

    kind: CoordinatorKind
    releases: str
    """A range, see `coordinators.is_within`."""
    record_types: frozenset[int] | None
    """None = of all types."""
    effect: LoadEffect
    source: str
    """Class and method in Kafka, and what it throws or logs."""


class Rule(NamedTuple):
    """One condition that a record or a batch can meet."""

    rule_id: str
    """The id of the anomaly (`replay.changes.AnomalyKind`) or of the reason (`UndecodableReason`), if it has one."""
    stage: LoadStage
    sentence: str
    """What is wrong."""
    loses: str
    """What is lost where a coordinator goes on; empty where none does."""
    cases: tuple[RuleCase, ...]


class AppliedRule(NamedTuple):
    """A rule as it holds for one coordinator and one record type."""

    rule: Rule
    case: RuleCase


@cache
def all_rules() -> tuple[Rule, ...]:
    """Every rule, in the order of the files."""
    return tuple(
        _rule(entry)
        for path in list_files(_FOLDER, ".json")
        if path.rpartition("/")[2].startswith("rules-")
        for entry in json.loads(read_text(path))
    )


def _rule(entry: Mapping[str, Any]) -> Rule:
    cases = tuple(
        RuleCase(
            case["kind"],
            case["releases"],
            _types(case["types"]),
            case["effect"],
            case["source"],
        )
        for case in entry["cases"]
    )
    return Rule(entry["id"], entry["stage"], entry["sentence"], entry["loses"], cases)


def _types(given: str | list[int]) -> frozenset[int] | None:
    if given == "*":
        return None
    return frozenset(numbers_in(given) if isinstance(given, str) else given)


class RuleBook:
    """The rules of one coordinator."""

    def __init__(self, coordinator: Coordinator) -> None:
        self._cases: dict[str, list[AppliedRule]] = {}
        for rule in all_rules():
            for case in rule.cases:
                if case.kind == coordinator.kind and is_within(coordinator.release, case.releases):
                    self._cases.setdefault(rule.rule_id, []).append(AppliedRule(rule, case))

    def find(self, rule_id: str, record_type: int | None) -> AppliedRule | None:
        """The rule as it holds for a record of this type; None where the coordinator does not mind."""
        for applied in self._cases.get(rule_id, ()):
            if applied.case.record_types is None or record_type in applied.case.record_types:
                return applied
        return None

    def held(self) -> tuple[AppliedRule, ...]:
        """All that hold, in the order of the files."""
        return tuple(applied for cases in self._cases.values() for applied in cases)


@cache
def rules_for(coordinator: Coordinator) -> RuleBook:
    """The rules that hold for a coordinator."""
    return RuleBook(coordinator)
