"""All cases: one log of one partition each, with one fault or none."""

from typing import Final

from workshop.lab_load.cases.batches import BATCH_CASES
from workshop.lab_load.cases.case import Case
from workshop.lab_load.cases.controls import CONTROLS
from workshop.lab_load.cases.keys import KEY_CASES
from workshop.lab_load.cases.sequences import SEQUENCE_CASES
from workshop.lab_load.cases.values import VALUE_CASES
from workshop.lab_load.logs import encoded_log, group_at, last_batch, names_in

PARTITION_COUNT: Final = 400
"""Partitions of `__consumer_offsets` in the lab: the nth case is the log of partition n."""

CASES: Final[tuple[Case, ...]] = (
    *CONTROLS,
    *SEQUENCE_CASES,
    *VALUE_CASES,
    *KEY_CASES,
    *BATCH_CASES,
)
assert len({case.case_id for case in CASES}) == len(CASES) <= PARTITION_COUNT


def segment_of(log_partition: int) -> bytes:
    """The bytes of the segment that is placed as the log of that partition."""
    return encoded_log(CASES[log_partition].log, log_partition, PARTITION_COUNT)


def end_of(log_partition: int) -> tuple[int, int]:
    """Offset and byte position of the last batch of that segment."""
    return last_batch(CASES[log_partition].log, log_partition, PARTITION_COUNT)


def groups_of(log_partition: int) -> list[str]:
    """The groups of that log, under the names that live in the partition."""
    names = names_in(CASES[log_partition].log)
    return [group_at(name, log_partition, PARTITION_COUNT) for name in names]
