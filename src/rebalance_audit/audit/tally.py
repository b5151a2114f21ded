"""Counts that follow the members of a group one by one: to count all of them anew for each change is quadratic."""

from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from typing import Generic, TypeVar

from rebalance_audit.audit.deployments import deployment_of
from rebalance_audit.audit.members import Identity

Owner = TypeVar("Owner", bound=Hashable)


class Tally(Generic[Owner]):
    """How many owners each text has; an owner has any number of texts."""

    def __init__(self) -> None:
        self._of: dict[Owner, Collection[str]] = {}
        self._counts: Counter[str] = Counter()

    def set(self, owner: Owner, texts: Iterable[str]) -> None:
        """The owner has these texts from now on, and no others."""
        self.remove(owner)
        own = frozenset(texts)
        if own:
            self._of[owner] = own
            self._counts.update(own)

    def remove(self, owner: Owner) -> None:
        """The owner is gone."""
        for text in self._of.pop(owner, ()):
            self._counts[text] -= 1
            if not self._counts[text]:
                del self._counts[text]

    def count(self, text: str) -> int:
        """How many owners have it."""
        return self._counts[text]

    @property
    def texts(self) -> AbstractSet[str]:
        """All that any owner has."""
        return self._counts.keys()


class MemberTallies:
    """What the identities of a group's members have in common."""

    def __init__(self, identities: Mapping[str, Identity]) -> None:
        self.topics: Tally[str] = Tally()
        """Topics that members subscribe to by name."""
        self.deployments: Tally[str] = Tally()
        for member_id, identity in identities.items():
            self.set(member_id, identity)

    def set(self, member_id: str, identity: Identity) -> None:
        """What the member says about itself from now on."""
        self.topics.set(member_id, identity.subscribed_topics)
        self.deployments.set(member_id, (deployment_of(identity),))

    def remove(self, member_id: str) -> None:
        """The member is gone."""
        self.topics.remove(member_id)
        self.deployments.remove(member_id)
