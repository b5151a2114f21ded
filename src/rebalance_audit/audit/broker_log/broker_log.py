"""All facts read from the brokers' logs, by group."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar

from rebalance_audit.audit.broker_log.fact import BrokerFact

_Key = TypeVar("_Key", str, int)
_NAMED: Final = 3
"""Number of groups that a sentence names."""


@dataclass(slots=True)
class BrokerLog:
    """Facts of all groups. It is small compared with the log of records, so every worker gets all of it."""

    by_group: dict[str, tuple[BrokerFact, ...]] = field(default_factory=dict)
    """Group id -> its lines, in order of time."""
    by_partition: dict[int, tuple[BrokerFact, ...]] = field(default_factory=dict)
    """Partition of the offsets topic -> lines about its coordinator."""
    zone: str = "UTC"
    """Time zone that was assumed for lines without one."""

    @classmethod
    def of(cls, facts: Iterable[BrokerFact], zone: str = "UTC") -> "BrokerLog":
        """Sort the lines by group and partition, each line once; drop those that concern neither."""
        by_group: defaultdict[str, list[BrokerFact]] = defaultdict(list)
        by_partition: defaultdict[int, list[BrokerFact]] = defaultdict(list)
        # The same line may be in two copies of a log.
        for fact in {each.content: each for each in facts}.values():
            if fact.group_id is not None:
                by_group[fact.group_id].append(fact)
            elif fact.log_partition is not None:
                by_partition[fact.log_partition].append(fact)
        return cls(_in_time(by_group), _in_time(by_partition), zone)

    def facts_of(self, group_id: str, log_partition: int) -> Sequence[BrokerFact]:
        """The lines of a group; if it has any, also those about its coordinator."""
        own = self.by_group.get(group_id, ())
        return (*own, *self.by_partition.get(log_partition, ())) if own else ()

    def all(self) -> Iterable[BrokerFact]:
        """The lines of all groups."""
        for facts in self.by_group.values():
            yield from facts

    def facts(self) -> Iterable[BrokerFact]:
        """All lines, also those about coordinators."""
        yield from self.all()
        for facts in self.by_partition.values():
            yield from facts

    def unmatched(self, known: Collection[str]) -> Mapping[str, int]:
        """Group id -> number of lines, for groups that are not among the `known` ones."""
        return {
            group_id: len(facts)
            for group_id, facts in self.by_group.items()
            if group_id not in known
        }

    def unmatched_notes(self, known: Collection[str]) -> list[str]:
        """A sentence about the lines of groups that are not among the `known` ones; empty if there are none."""
        unmatched = self.unmatched(known)
        if not unmatched:
            return []
        named = ", ".join(sorted(unmatched)[:_NAMED])
        rest = f" and {len(unmatched) - _NAMED} more" if len(unmatched) > _NAMED else ""
        lines = sum(unmatched.values())
        sentence = (
            f"The brokers' logs have {lines} line(s) about groups that the records do not have: "
            f"{named}{rest}."
        )
        return [sentence]


def _in_time(
    found: Mapping[_Key, list[BrokerFact]],
) -> dict[_Key, tuple[BrokerFact, ...]]:
    return {key: tuple(sorted(facts, key=lambda fact: fact.order)) for key, facts in found.items()}
