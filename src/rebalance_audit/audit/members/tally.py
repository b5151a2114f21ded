"""Counts that follow the members of a group one by one: to count all of them anew for each change is quadratic.

Members are counted by deployment, too, as far as records show it: they have no more than names. Processes of one
deployment have client ids (static members: instance ids) that are alike up to their own number or hash:
`orders-app-7d9f8b6c5d-x2x4z`, `consumer-orders-3`.
"""

import re
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Generic, TypeVar

from rebalance_audit.audit.members.stint import Identity, MemberWatch
from rebalance_audit.audit.rows import Row
from rebalance_audit.replay.groups import ModernMember
from rebalance_audit.replay.modern.preferred_assignor import preferred_assignor

_PARTS = re.compile(r"([-_.:/@ ]+)")
_DIGIT = re.compile(r"\d")
_HASH = re.compile(r"[0-9a-f]{8,}")


def deployment_of(identity: Identity) -> str:
    """The name of the member's deployment; members without names of their own are one deployment."""
    return common_name(identity.instance_id or identity.client_id)


def deployment_of_row(row: Row) -> str:
    """The name of the deployment in a row of gold.members."""
    return common_name(row["instance_id"] or row["client_id"])


def common_name(name: str) -> str:
    """What a process's name shares with those of its deployment: all before the first part with a digit.

    The first part may have digits, as in `app2-consumer-1`, unless it is a hash or a number itself.
    """
    first, *rest = _PARTS.split(name)
    if first.isdigit() or _HASH.fullmatch(first):
        return ""
    common = first
    for separator, part in zip(rest[::2], rest[1::2], strict=True):
        if _DIGIT.search(part):
            break
        common += separator + part
    return common


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
