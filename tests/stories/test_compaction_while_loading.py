"""Conversions of a group in a log that is cleaned while it is read: prefixes of it, or a stretch in its middle.

The scenarios are those of Kafka's GroupCoordinatorShardCompactionReplayTest (apache/kafka#23220; KAFKA-19862,
KAFKA-20254, KAFKA-21117): offsets are committed, and a group goes from one protocol to another. Who reads such a log
meets records whose successors come later, and successors whose records are gone.
"""

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import pytest

from rebalance_audit.audit.log_audit import audit_log
from rebalance_audit.replay.groups import GroupSlot
from rebalance_audit.replay.playback import apply
from rebalance_audit.replay.step import Policy
from tests.dsl import GROUP_ID, Log, log, picture

CLASSIC = (
    (1_000, "2 1 range A=0-5"),
    (1_500, "1 foo:0 7; 1 foo:5 3"),
    (2_000, "2 2 range A=0-2 B=3-5"),
    (2_500, "1 foo:0 9"),
)
CONVERTED = "2t; 5 A session=6000; 5 B session=6000; 3 2 h7; 7 A 0-2; 7 B 3-5; 6 2; 8 A 2/2 0-2; 8 B 2/2 3-5"
C_JOINS = "5 C instance=i; 3 3 h7; 7 A 0-1; 7 B 3-4; 7 C 2+5; 6 3; 8 C 3/0 UNRELEASED -"
CONSUMER = (
    *CLASSIC,
    (4_000, f"{CONVERTED}; {C_JOINS}"),
    (4_500, "8 A 2/2 UNREVOKED 0-1|2"),
    (5_000, "8 A 3/2 0-1"),
    (5_500, "8 B 2/2 UNREVOKED 3-4|5"),
    (6_000, "8 B 3/2 3-4"),
    (6_500, "8 C 3/3 2+5"),
    (7_000, "5 D; 3 4 h7; 7 A 0; 7 D 1; 6 4; 8 D 4/0 UNRELEASED -"),
    (7_500, "8 A 3/3 UNREVOKED 0|1"),
    (8_000, "8 A 4/3 0"),
    (8_500, "8 D 4/4 1; 8 B 4/3 3-4; 8 C 4/3 2+5"),
)
GIVEN_UP = "8t A; 8t B; 8t C; 8t D; 7t A; 7t B; 7t C; 7t D; 6t; 5t A; 5t B; 5t C; 5t D; 3t"
EPOCH_RECORDS = {2, 3, 17}
SCENARIOS = {
    "classic to consumer": CONSUMER,
    "classic to streams, offline": (
        *CLASSIC,
        (3_000, "2 3"),
        (4_000, "2t; 19 A; 23 1; 17 2 valid=1; 21 A 0_1:0-2; 20 2; 22 A 2/0 STABLE 0_1:0-2"),
        (5_000, "19 B; 17 3 valid=1; 21 A 0_1:0; 21 B 0_1:1-2; 20 3; 22 B 3/0 UNRELEASED -"),
        (5_500, "22 A 3/2 0_1:0"),
        (6_000, "22 B 3/3 0_1:1-2"),
    ),
    "consumer to classic, as a member leaves": (
        *CONSUMER,
        (9_000, f"{GIVEN_UP}; 2 4 range A=0 B=3-4"),
        (9_500, "2 5 range A=0-2 B=3-5"),
        (9_900, "1 foo:0 11"),
    ),
    "consumer to classic, as a static member is replaced": (
        *CONSUMER,
        (9_000, f"{GIVEN_UP}; 2 4 range A=0 B=3-4 E@i=2+5"),
        (9_500, "2 5 range A=0-1 B=3-4 E@i=2+5"),
        (9_900, "1 foo:0 11"),
    ),
    "streams to classic, offline": (
        *CLASSIC,
        (3_000, "2 3"),
        (4_000, "2t; 19 A; 23 1; 17 2 valid=1; 21 A 0_1:0-2; 20 2; 22 A 2/0 STABLE 0_1:0-2"),
        (5_000, "22t A; 21t A; 19t A; 17 3 valid=1; 20 3"),
        (6_000, "20t; 23t; 17t; 2 1 range B=0-5"),
        (6_500, "1 foo:0 11"),
    ),
}


def cleaned(whole: Log, first: int, end: int, *, tombstones: bool) -> Log:
    """The log without the records from `first` to before `end` that a later one replaces.

    `tombstones`: those are gone too, as their time is over.
    """
    last = {(record.record_type, record.key): at for at, (record, _) in enumerate(whole)}
    return [
        (record, position)
        for at, (record, position) in enumerate(whole)
        if not first <= at < end
        or (
            last[record.record_type, record.key] == at and not (tombstones and record.value is None)
        )
    ]


def cleanings(whole: Log) -> Iterator[tuple[str, Log]]:
    """Every stretch of whole writes: any middle with its tombstones, and any prefix also without them."""
    times = [position.record_timestamp_ms for _, position in whole]
    for first, end in combinations(
        [*(times.index(at_ms) for at_ms in sorted(set(times))), len(whole)], 2
    ):
        yield f"{first}-{end}", cleaned(whole, first, end, tombstones=False)
        if first == 0:
            yield f"{first}-{end} without tombstones", cleaned(whole, first, end, tombstones=True)


def end_of(entries: Log, policy: Policy = Policy.LENIENT) -> tuple[str, dict[object, int]]:
    """The group and its offsets at the end."""
    slot = GroupSlot(GROUP_ID)
    for record, position in entries:
        apply(slot, record, position, policy)
    return picture(slot), {key: each.committed_offset for key, each in slot.offsets.items()}


def audited(entries: Log) -> tuple[set[int], set[tuple[int, str]]]:
    """Epochs, and the causes of them that are proven."""
    tables = audit_log(entries)
    proven = [row for row in tables["rebalance_causes"] if row["certainty"] == "proven"]
    epochs = {row["epoch"] for row in tables["epochs"]}
    return epochs, {(row["epoch"], row["cause"]) for row in proven}


def recorded_epochs(entries: Log) -> set[int]:
    """The numbers in the records of generations and group epochs."""
    values: list[Any] = [
        record.value for record, _ in entries if record.record_type in EPOCH_RECORDS
    ]
    return {getattr(each, "generation", None) or each.epoch for each in values if each is not None}


@pytest.mark.parametrize("name", SCENARIOS)
def test_a_log_that_is_cleaned_while_it_is_read_ends_like_the_whole(name: str) -> None:
    """The same group and offsets; every epoch that has a record; no cause is proven that the whole does not prove."""
    whole = log(*SCENARIOS[name])
    ends, (_, all_proven) = end_of(whole, Policy.STRICT), audited(whole)
    for what, rest in cleanings(whole):
        epochs, proven = audited(rest)
        assert end_of(rest) == ends, what
        assert recorded_epochs(rest) <= epochs, what
        assert proven <= all_proven, what
