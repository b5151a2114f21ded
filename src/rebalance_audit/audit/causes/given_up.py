"""Topics that left a group's subscription without an epoch."""

from collections.abc import Iterable
from dataclasses import dataclass, field

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
