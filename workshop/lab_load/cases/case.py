"""One case, and the logs that most cases change."""

from typing import Final, NamedTuple

from workshop.lab_load.logs import Log, golden, written


class Case(NamedTuple):
    """A log of one partition."""

    case_id: str
    about: str
    """The fault in one line."""
    log: Log
    damages_file: bool = False
    """Whether a broker that recovers the log after a crash may truncate it: placed in that way, too."""


CONSUMER: Final = written(
    "5 A; 3 1; 7 A 0-2; 6 1; 8 A 1/0 0-2",
    "1 foo:0 10; 1 foo:1 11",
    "5 B; 3 2; 7 A 0-1; 7 B 2; 6 2",
    "8 A 2/1 0-1",
    "8 B 2/0 2",
    "1 foo:0 42 m=text le=3",
)
"""Two members of a consumer group at epoch 2."""

CLASSIC: Final = written(
    "2 1 range A=0-2 session=300000",
    "1 foo:0 10; 1 foo:1 11",
    "2 2 range A=0-1 B@i1=2 session=300000",
    "1 foo:0 42 m=text le=3",
)
"""Two members of a classic group in generation 2, one of them static."""

SHARE: Final = written(
    "10 A; 11 1",
    "13 A 0-2; 12 1",
    "14 A 1/0 0-2",
    "15 foo",
    "10 B; 11 2",
    "13 B 0-2; 12 2",
    "14 B 2/0 0-2",
)
"""Two members of a share group."""

STREAMS: Final = written(
    "19 A; 17 1; 23 1", "21 A sub:0-2; 20 1", "22 A 1/0 sub:0-2", "1 foo:0 42",
    "19 B; 17 2", "21 A sub:0-1; 21 B sub:2; 20 2", "22 A 2/1 sub:0-1", "22 B 2/0 sub:2",
)  # fmt: skip
"""Two members of a streams group."""

REGEX: Final = written("5 A regex=^f; 16 ^f foo; 3 1; 7 A 0-2; 6 1; 8 A 1/0 0-2")
"""A consumer group whose member subscribes with a regular expression."""

OFFSETS: Final = written("1 foo:0 10; 1 foo:1 11", "1 foo:0 12", "1t foo:1")
"""Offsets of a group without members."""

MODERN: Final = golden("captures/broker-4.0", 1, "modern")
BILLING: Final = golden("captures/broker-4.0", 1, "billing")
"""A consumer and a classic group as a broker of 4.0.1 wrote them."""
