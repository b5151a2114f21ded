"""One case, and the logs that most cases change."""

from collections.abc import Iterable
from typing import Final, NamedTuple

from workshop.lab_load.logs import (
    Log,
    encoded_log,
    golden,
    group_at,
    last_batch,
    names_in,
    written,
)

PARTITION_COUNT: Final = 400
"""Partitions of `__consumer_offsets` in the lab."""


class Case(NamedTuple):
    """A log of one partition."""

    case_id: str
    about: str
    """The fault in one line."""
    log: Log
    damages_file: bool = False
    """Whether a broker that recovers the log after a crash may truncate it: placed in that way, too."""


class CaseSet:
    """Cases that are placed under one broker: the nth is the log of partition n."""

    def __init__(self, cases: Iterable[Case], partition_count: int = PARTITION_COUNT) -> None:
        self.cases = tuple(cases)
        self.partition_count = partition_count
        assert len({case.case_id for case in self.cases}) == len(self.cases) <= partition_count

    def segment_of(self, log_partition: int) -> bytes:
        """The bytes of the segment that is placed as the log of that partition."""
        return encoded_log(self.cases[log_partition].log, log_partition, self.partition_count)

    def end_of(self, log_partition: int) -> tuple[int, int]:
        """Offset and byte position of the last batch of that segment."""
        return last_batch(self.cases[log_partition].log, log_partition, self.partition_count)

    def groups_of(self, log_partition: int) -> list[str]:
        """The groups of that log, under the names that live in the partition."""
        names = names_in(self.cases[log_partition].log)
        return [group_at(name, log_partition, self.partition_count) for name in names]


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
