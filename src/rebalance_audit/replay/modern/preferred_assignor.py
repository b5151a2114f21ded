"""The server-side assignor of a consumer group: the one that most of its members prefer.

The rules are those of `ConsumerGroup.preferredServerAssignor` and `computePreferredServerAssignor` in Kafka.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import NamedTuple

from rebalance_audit.replay.groups import ModernMember
from rebalance_audit.replay.java_order import map_copy_capacity, slot_order, timeline_order

_ASSIGNOR = attrgetter("server_assignor")


class PreferenceChange(NamedTuple):
    """How the member whose heartbeat is handled changes its preferred assignor; None = it has none."""

    recorded: str | None
    wanted: str | None


def preferred_assignor(members: Iterable[ModernMember]) -> str | None:
    """The server-side assignor that most members prefer; None if none has a preference.

    `members` come in the order in which they joined, which breaks ties as `most_preferred` says.
    """
    return most_preferred(map(_ASSIGNOR, members))


def most_preferred(
    recorded: Iterable[str | None], change: PreferenceChange | None = None
) -> str | None:
    """The assignor that most members name; None if none names any.

    `recorded` are the preferences in the members' records, in the order the members joined. A tie goes to the
    one that comes first in Kafka's map of counts: the recorded counts in TimelineHashMap order, or a HashMap copy of
    them with the change counted in.
    """
    counts = Counter(
        {name: number for name, number in Counter(recorded).items() if name is not None}
    )
    ordered = timeline_order(list(counts), len(counts))
    if change is not None:
        ordered = _counted(change, counts, ordered)
    return max(ordered, key=counts.__getitem__, default=None)


def _counted(change: PreferenceChange, counts: Counter[str], ordered: Sequence[str]) -> list[str]:
    """Count the change, and order the names as the HashMap does: a new name comes first in its slot.

    HashMap.compute only grows a table that was too full before, which no copy is.
    """
    capacity = map_copy_capacity(len(ordered))
    names = list(ordered)
    if change.recorded is not None:
        counts[change.recorded] -= 1
        if not counts[change.recorded]:
            names.remove(change.recorded)
    if change.wanted is not None:
        if not counts[change.wanted]:
            names.insert(0, change.wanted)
        counts[change.wanted] += 1
    return slot_order(names, capacity)
