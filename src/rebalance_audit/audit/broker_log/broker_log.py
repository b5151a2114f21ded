"""All facts read from the brokers' logs, by group."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeVar

from rebalance_audit.audit.broker_log.fact import BrokerFact, FactKind
from rebalance_audit.audit.broker_log.file_report import FileReport
from rebalance_audit.audit.broker_log.reasons import trigger_of

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
    of_members: tuple[BrokerFact, ...] = ()
    """Lines about a member that name no group, where no other line shows whose member it is, in order of time."""
    files: Sequence[FileReport] = ()
    """What became of each file that was read."""

    @classmethod
    def of(cls, facts: Iterable[BrokerFact], zone: str = "UTC") -> "BrokerLog":
        """Sort the lines by group and partition, each line once; drop those that concern neither."""
        by_group: defaultdict[str, list[BrokerFact]] = defaultdict(list)
        by_partition: defaultdict[int, list[BrokerFact]] = defaultdict(list)
        of_members: list[BrokerFact] = []
        # The same line may be in two copies of a log; it is no surer than the less sure one.
        by_content: dict[tuple[object, ...], BrokerFact] = {}
        for each in facts:
            known = by_content.setdefault(each.content, each)
            by_content[each.content] = each._replace(
                may_be_text=each.may_be_text or known.may_be_text
            )
        different = by_content.values()
        group_of = _groups_of_members(different)
        for fact in different:
            group_id = fact.group_id
            if group_id is None and fact.kind is FactKind.MEMBER_REFUSED:
                # Its line names no group. The holder of the instance id is in it; who was refused may give any id.
                group_id = group_of.get(fact.old_member_id or "")
                if group_id is None:
                    of_members.append(fact)
                    continue
                fact = fact._replace(group_id=group_id)  # noqa: PLW2901 - the same line, of a group
            if group_id is not None:
                by_group[group_id].append(fact)
            elif fact.log_partition is not None:
                by_partition[fact.log_partition].append(fact)
        ordered = tuple(sorted(of_members, key=lambda fact: fact.order))
        return cls(_in_time(by_group), _in_time(by_partition), zone, ordered)

    def facts_of(self, group_id: str, log_partition: int) -> Sequence[BrokerFact]:
        """The lines of a group; if it has any, also those about its coordinator and those that may be about it."""
        own = self.by_group.get(group_id, ())
        if not own:
            return ()
        unplaced = (fact for fact in self.of_members if fact.log_partition in {None, log_partition})
        return (*own, *self.by_partition.get(log_partition, ()), *unplaced)

    def all(self) -> Iterable[BrokerFact]:
        """The lines of all groups."""
        for facts in self.by_group.values():
            yield from facts

    def facts(self) -> Iterable[BrokerFact]:
        """All lines, also those about coordinators."""
        yield from self.all()
        for facts in self.by_partition.values():
            yield from facts
        yield from self.of_members

    def unmatched_notes(self, known: Collection[str]) -> list[str]:
        """A sentence about the lines of groups that are not among the `known` ones; empty if there are none."""
        unmatched = sorted(self.by_group.keys() - known)
        if not unmatched:
            return []
        rest = f" and {len(unmatched) - _NAMED} more" if len(unmatched) > _NAMED else ""
        lines = sum(len(self.by_group[group_id]) for group_id in unmatched)
        groups = f"groups that the records do not have: {', '.join(unmatched[:_NAMED])}{rest}."
        return [f"The brokers' logs have {lines} line(s) about {groups}"]


def _groups_of_members(facts: Iterable[BrokerFact]) -> dict[str, str]:
    """Member id -> group, where lines show it: a member id is of one group alone."""
    found: dict[str, str] = {}
    for fact in facts:
        if fact.group_id is None:
            continue
        named = [fact.member_id, fact.old_member_id, *fact.members]
        if fact.kind is FactKind.REBALANCE_PREPARED:
            trigger = trigger_of(fact.text or "")
            named += trigger.members if trigger is not None else ()
        for member_id in filter(None, named):
            found.setdefault(member_id, fact.group_id)
    return found


def _in_time(
    found: Mapping[_Key, list[BrokerFact]],
) -> dict[_Key, tuple[BrokerFact, ...]]:
    return {key: tuple(sorted(facts, key=lambda fact: fact.order)) for key, facts in found.items()}
