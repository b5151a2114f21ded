"""Counts that follow the members of a group one by one: to count all of them anew for each change is quadratic."""

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Generic, TypeVar

from rebalance_audit.audit.members.deployments import deployment_of
from rebalance_audit.audit.members.member_watch import MemberWatch
from rebalance_audit.audit.members.stint import Identity
from rebalance_audit.replay.groups import ModernMember
from rebalance_audit.replay.modern.preferred_assignor import preferred_assignor

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
    def most_frequent(self) -> Sequence[str]:
        """The texts that most owners have."""
        most = max(self._counts.values(), default=0)
        return [text for text, count in self._counts.items() if count == most]

    @property
    def texts(self) -> AbstractSet[str]:
        """All that any owner has."""
        return self._counts.keys()


class MemberTallies:
    """What the identities of a group's members have in common; counted when it is first asked for."""

    def __init__(self, watches: Callable[[], Mapping[str, MemberWatch]]) -> None:
        """`watches`: of all members, by member id."""
        self._watches = watches
        self._members: set[str] = set()
        self._topics: Tally[str] | None = None
        self._deployments = Tally[str]()
        self._assignors = Tally[str]()

    def set(self, member_id: str, identity: Identity) -> None:
        """What the member says about itself from now on."""
        if self._topics is not None:
            self._members.add(member_id)
            self._topics.set(member_id, identity.subscribed_topics)
            self._deployments.set(member_id, (deployment_of(identity),))
            assignor = identity.server_assignor
            self._assignors.set(member_id, () if assignor is None else (assignor,))

    def remove(self, member_id: str) -> None:
        """The member is gone."""
        if self._topics is not None:
            self._members.discard(member_id)
            for tally in (self._topics, self._deployments, self._assignors):
                tally.remove(member_id)

    def forget(self) -> None:
        """The members are others."""
        self._topics, self._deployments, self._assignors = None, Tally(), Tally()
        self._members.clear()

    def topics(self) -> AbstractSet[str]:
        """Topics that members subscribe to by name."""
        return self._counted().texts

    def in_deployment(self, name: str) -> int:
        """How many members are of a deployment."""
        self._counted()
        return self._deployments.count(name)

    def preferred_assignor(self, members: Mapping[str, ModernMember]) -> str | None:
        """The server-side assignor that most of the members prefer; `members` are the group's."""
        self._counted()
        names = self._assignors.most_frequent
        if len(names) <= 1 and len(self._members) == len(members):
            return next(iter(names), None)
        return preferred_assignor(members.values())  # the order of the members breaks ties

    def _counted(self) -> Tally[str]:
        if self._topics is None:
            self._topics = Tally()
            for member_id, watch in self._watches().items():
                self.set(member_id, watch.stint.identity)
        return self._topics
