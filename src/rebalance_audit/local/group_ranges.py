"""The groups of a log in ranges of their ids, as heavy as each other, for several processes."""

from collections.abc import Mapping
from typing import Final, NamedTuple


class GroupRange(NamedTuple):
    """The groups whose ids are in [begin, end)."""

    begin: str
    end: str | None
    """None: all from `begin` on."""

    def has(self, group_id: str) -> bool:
        """Whether the group is one of these."""
        return self.begin <= group_id and (self.end is None or group_id < self.end)


EVERY_GROUP: Final = GroupRange("", None)


def group_ranges(weights: Mapping[str, int], count: int) -> list[GroupRange]:
    """At most `count` ranges that every id is in exactly one of, in order; `weights` are those of the known groups."""
    total, before = sum(weights.values()), 0
    begins = [EVERY_GROUP.begin]
    for group_id in sorted(weights):
        if before * count >= len(begins) * total and group_id > begins[-1]:
            begins.append(group_id)
        before += weights[group_id]
    return [GroupRange(begin, end) for begin, end in zip(begins, [*begins[1:], None], strict=True)]
