"""Regular expressions: what their resolution shows, and which topics are lost when a member gives one up."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from rebalance_audit.audit.causes.departures import evidence_at
from rebalance_audit.audit.verdicts.cause import Evidence
from rebalance_audit.replay.changes import RegexResolved
from rebalance_audit.replay.groups.modern_group import ModernGroup


@dataclass(slots=True)
class GivenUp:
    """Topics of expressions that no member has any more, as of the last epoch.

    A member that changes its expression to one that is not resolved yet bumps nothing, although the group may subscribe
    to fewer topics from then on. The metadata hash shows it only when the coordinator computes it again.
    """

    topics: set[str] = field(default_factory=set)

    def note(self, resolutions: Iterable[RegexResolved]) -> None:
        """Note the topics of expressions that are no longer resolved."""
        for change in resolutions:
            if change.new is None and change.old:
                self.topics |= change.old

    def missed_in(self, group: ModernGroup) -> frozenset[str]:
        """Those topics to which no member subscribes by name or by another expression."""
        if not self.topics:
            return frozenset()
        names = (member.subscribed_topic_names for member in group.members.values())
        return frozenset(self.topics.difference(*names, *group.regexes.values()))


def resolved_otherwise(changes: Iterable[RegexResolved]) -> list[RegexResolved]:
    """Resolutions with other topics than before; the first resolution of an expression is compared with no topics."""
    return [
        change
        for change in changes
        if change.new is not None and change.new != (change.old or frozenset())
    ]


def resolutions(changes: Sequence[RegexResolved]) -> tuple[Evidence, ...]:
    """The records of resolutions as evidence."""
    return tuple(
        evidence_at(
            change.position,
            "expression_matched",
            expression=change.regular_expression,
            topics=len(change.new or ()),
        )
        for change in changes
    )
