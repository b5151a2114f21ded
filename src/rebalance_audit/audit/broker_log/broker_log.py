"""Everything that was read from the brokers' logs, by group."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar

from rebalance_audit.audit.broker_log.fact import BrokerFact

_Key = TypeVar("_Key", str, int)
_NAMED: Final = 3
"""So many groups are named in a sentence."""


@dataclass(slots=True)
class BrokerLog:
    """Facts of all groups. Small beside the log of records, so it goes to every worker as it is."""

    by_group: dict[str, tuple[BrokerFact, ...]] = field(default_factory=dict)
    """Group id -> its lines in order of time."""
    by_partition: dict[int, tuple[BrokerFact, ...]] = field(default_factory=dict)
    """Partition of the offsets topic -> lines on its coordinator."""
    zone: str = "UTC"
    """The time zone that lines without one were read in."""

    @classmethod
    def of(cls, facts: Iterable[BrokerFact], zone: str = "UTC") -> "BrokerLog":
        """Sort the lines out, each once; those that concern neither a group nor a partition are left."""
        by_group: defaultdict[str, list[BrokerFact]] = defaultdict(list)
        by_partition: defaultdict[int, list[BrokerFact]] = defaultdict(list)
        # The same line may stand in two copies of a log.
        for fact in {each.content: each for each in facts}.values():
            if fact.group_id is not None:
                by_group[fact.group_id].append(fact)
            elif fact.log_partition is not None:
                by_partition[fact.log_partition].append(fact)
        return cls(_in_time(by_group), _in_time(by_partition), zone)

    def facts_of(self, group_id: str, log_partition: int) -> Sequence[BrokerFact]:
        """What concerns a group: its own lines, and those on its coordinator where it has any."""
        own = self.by_group.get(group_id, ())
        return (*own, *self.by_partition.get(log_partition, ())) if own else ()

    def all(self) -> Iterable[BrokerFact]:
        """Every line of a group."""
        for facts in self.by_group.values():
            yield from facts

    def facts(self) -> Iterable[BrokerFact]:
        """Every line, those on coordinators too."""
        yield from self.all()
        for facts in self.by_partition.values():
            yield from facts

    def unmatched(self, known: Collection[str]) -> Mapping[str, int]:
        """Groups with lines here that are not among the `known` ones, and how many lines."""
        return {
            group_id: len(facts)
            for group_id, facts in self.by_group.items()
            if group_id not in known
        }

    def unmatched_notes(self, known: Collection[str]) -> list[str]:
        """A sentence about the lines of groups that are not among the `known` ones; none where there are no such."""
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
