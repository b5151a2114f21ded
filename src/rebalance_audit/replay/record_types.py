"""Which type of group the records of each type belong to."""

from typing import Final

from rebalance_audit.replay.changes import GroupType

OFFSET_COMMIT_NUMBERS: Final = frozenset({0, 1})
"""Record types of offset commits, which change no group."""
_CLASSIC: Final = frozenset({2})
_CONSUMER: Final = frozenset({*range(3, 9), 16})
_SHARE: Final = frozenset(range(9, 16))
_STREAMS: Final = frozenset(range(17, 25))


def group_type_of(record_type: int | None) -> GroupType | None:
    """The type of group whose records have this number; None for offset commits and numbers that are not known."""
    for numbers, group_type in (
        (_CLASSIC, GroupType.CLASSIC),
        (_CONSUMER, GroupType.CONSUMER),
        (_SHARE, GroupType.SHARE),
        (_STREAMS, GroupType.STREAMS),
    ):
        if record_type in numbers:
            return group_type
    return None
