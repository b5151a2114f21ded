"""The coordinators whose loading is known, which records each of them reads, and by which rules it loads them.

The rules are data, `schemas/loading/rules-*.json`, each with its source in Kafka's code by release.
"""

import json
from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Final, Literal, NamedTuple, TypeAlias

from rebalance_audit.errors import BadRequest
from rebalance_audit.resources import list_files, read_text

CoordinatorKind: TypeAlias = Literal["classic", "new"]
_FILE: Final = "schemas/loading/coordinators.json"
_NEWEST_PATCH: Final = 998
_ANY_PATCH: Final = 999
_LAST: Final = "999.0"


class Coordinator(NamedTuple):
    """A group coordinator of Kafka."""

    release: str
    """"3.3" to "4.4" for the newest patch of a line, or a patch where that differs: "4.0.1"."""
    kind: CoordinatorKind
    """classic: the one in Scala, up to 3.9. new: the one of KIP-848, early access in 3.7, the only one since 4.0."""

    def __str__(self) -> str:
        return f"{self.release} (classic coordinator)" if self.kind == "classic" else self.release


class KnownRecords(NamedTuple):
    """What records a coordinator reads."""

    record_types: frozenset[int]
    value_versions: Mapping[int, range]
    """Of record types with more than version 0."""
    checks_version: bool
    """Whether a value of another version is refused; else it is read as the nearest that is known."""
    layouts: Mapping[int, str]
    """Record type -> name of the value's layout, where it is not the current one."""
    unknown_tags: Mapping[int, frozenset[tuple[str, int]]]
    """Record type -> tagged fields (struct, tag) of the value that later releases added."""
    evidence: Literal["broker", "source"]
    """broker: brokers of the release loaded damaged logs and did what the rules say. source: only its code was read."""


@cache
def _known() -> Mapping[Coordinator, KnownRecords]:
    given = json.loads(read_text(_FILE))
    return {
        Coordinator(entry["release"], entry["kind"]): _known_records(entry, given["tags"])
        for entry in given["coordinators"]
    }


def _known_records(entry: Mapping[str, Any], tags: Iterable[Mapping[str, Any]]) -> KnownRecords:
    unknown: dict[int, frozenset[tuple[str, int]]] = {}
    for tag in tags:
        if not is_within(entry["release"], f"{tag['since']}-{_LAST}"):
            found = unknown.get(tag["type"], frozenset())
            unknown[tag["type"]] = found | {(tag["struct"], tag["tag"])}
    return KnownRecords(
        frozenset(numbers_in(entry["types"])),
        {int(kind): _versions(text) for kind, text in entry.get("versions", {}).items()},
        entry.get("checks_version", True),
        {int(kind): name for kind, name in entry.get("layouts", {}).items()},
        unknown,
        entry["evidence"],
    )


def _versions(text: str) -> range:
    low, _, high = text.partition("-")
    return range(int(low), int(high or low) + 1)


def numbers_in(text: str) -> list[int]:
    """The numbers of a list such as `0-8, 10`."""
    numbers: list[int] = []
    for part in text.split(","):
        low, _, high = part.strip().partition("-")
        numbers += range(int(low), int(high or low) + 1)
    return numbers


def records_known_to(coordinator: Coordinator) -> KnownRecords:
    """What a coordinator reads. Raises BadRequest for one that is not known."""
    try:
        return _known()[coordinator]
    except KeyError:
        raise _unknown(" ".join(coordinator)) from None


def coordinator_named(text: str) -> Coordinator:
    """The coordinator of a release: `4.3`, `3.9`, `3.9 classic`, `3.9 new`. Raises BadRequest.

    Where the release has both, the one that its brokers use by default: the classic one up to 3.9.
    """
    release, _, kind = text.strip().partition(" ")
    found = [each for each in COORDINATORS if each.release == release and kind in ("", each.kind)]
    if not found:
        raise _unknown(text)
    return found[0]


def _unknown(text: str) -> BadRequest:
    known = ", ".join(dict.fromkeys(each.release for each in COORDINATORS))
    return BadRequest(
        f"{text!r} is no release whose coordinator is known: give one of {known}, with `classic` or `new` behind it"
        " where a release has both. Without a patch, a release is its newest patch."
    )


def is_within(release: str, releases: str) -> bool:
    """Whether a release is in a range such as `3.7-4.4` or `4.0.2-4.0`: a bound without a patch takes in all."""
    first, _, last = releases.partition("-")
    return _place(first, 0) <= _place(release, _NEWEST_PATCH) <= _place(last or first, _ANY_PATCH)


def _place(release: str, patch: int) -> tuple[int, int, int]:
    major, minor, *rest = (int(part) for part in release.split("."))
    return major, minor, rest[0] if rest else patch


COORDINATORS: Final[tuple[Coordinator, ...]] = tuple(_known())
DEFAULT: Final = COORDINATORS[-1]


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
