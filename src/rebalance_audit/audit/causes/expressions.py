"""Regular expressions: what their resolution shows, and what is missed when one is given up."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from rebalance_audit.audit.causes.cause import Evidence
from rebalance_audit.audit.causes.departures import evidence_at
from rebalance_audit.replay.changes import RegexResolved
from rebalance_audit.replay.modern.group import ModernGroup


@dataclass(slots=True)
class GivenUp:
    """Topics of expressions that nobody has any more, as of the last epoch.

    A member that changes its expression for one that is still to be resolved bumps nothing, though the group may
    subscribe to fewer topics from then on. The hash of the topics shows it only when it is computed again.
    """

    topics: set[str] = field(default_factory=set)

    def note(self, resolutions: Iterable[RegexResolved]) -> None:
        """Take down the expressions that are no longer resolved."""
        for change in resolutions:
            if change.new is None and change.old:
                self.topics |= change.old

    def missed_in(self, group: ModernGroup) -> frozenset[str]:
        """Those that nobody subscribes to by name or by another expression either."""
        if not self.topics:
            return frozenset()
        names = (member.subscribed_topic_names for member in group.members.values())
        return frozenset(self.topics.difference(*names, *group.regexes.values()))


def resolved_otherwise(changes: Iterable[RegexResolved]) -> list[RegexResolved]:
    """Those to other topics than before; a first one is compared with no topics."""
    return [
        change
        for change in changes
        if change.new is not None and change.new != (change.old or frozenset())
    ]


def resolutions(changes: Sequence[RegexResolved]) -> tuple[Evidence, ...]:
    """The records of resolutions as evidence."""
    return tuple(
        evidence_at(
            change.position, f"{change.regular_expression} matches {len(change.new or ())} topics"
        )
        for change in changes
    )
