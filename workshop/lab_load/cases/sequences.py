"""Records that are whole, but missing, out of order, of another kind of group, or against the rules of epochs."""

from typing import Final

from workshop.lab_load.cases.case import (
    BILLING,
    CLASSIC,
    CONSUMER,
    MODERN,
    OFFSETS,
    REGEX,
    SHARE,
    STREAMS,
    Case,
)
from workshop.lab_load.logs import (
    PRODUCER,
    compacted,
    first_records,
    golden,
    joined,
    last_records,
    places,
    reordered,
    without,
    without_types,
    written,
)

_TOMBSTONES: Final = ("8t B", "7t B", "5t B")
_MEMBER: Final = "5 A; 3 1; 7 A 0-2; 6 1; 8 A 1/0 0-2"
_MIGRATION: Final = golden("captures/migration", 1)
_ORDER: Final = range(len(places(CONSUMER)))

_MISSING: Final = (
    *(
        Case(f"cut-after-{count}", f"the log ends after {count} records", first_records(CONSUMER, count))
        for count in (1, 2, 3, 4, 8, 9, 11)
    ),
    Case("cut-golden-early", "a golden log ends in the middle of a group's first epoch", first_records(MODERN, 7)),
    Case("cut-golden-late", "a golden log ends in the middle of a later epoch", first_records(MODERN, 61)),
    Case("begins-late", "all but the last records of a golden group are gone", last_records(MODERN, 25)),
    Case("begins-late-classic", "all but the last records of a classic group are gone", last_records(BILLING, 5)),
    Case("begins-late-migration", "a migration without its beginning", last_records(_MIGRATION, 60)),
    *(
        Case(f"lacks-type-{number}", f"no record of type {number}", without_types(CONSUMER, number))
        for number in (3, 5, 6, 7, 8)
    ),
    *(
        Case(f"golden-lacks-type-{number}", f"a golden log without records of type {number}",
             without_types(MODERN, number))
        for number in (3, 5, 6, 7, 8)
    ),
    *(
        Case(f"share-lacks-type-{number}", f"a share group without records of type {number}",
             without_types(SHARE, number))
        for number in (10, 11, 12, 13, 14)
    ),
    *(
        Case(
            f"streams-lacks-type-{number}",
            f"a streams group without records of type {number}",
            without_types(STREAMS, number),
        )
        for number in (17, 19, 20, 21, 22, 23)
    ),
    Case("lacks-member-b", "member B has all records but its own", without(CONSUMER, (5, 1))),
    Case("lacks-epoch-2", "the group epoch 2 is missing", without(CONSUMER, (3, 1))),
    Case("lacks-target-b", "the target of B is missing", without(CONSUMER, (7, 2))),
    Case("lacks-current-a-1", "the first assignment of A is missing", without(CONSUMER, (8, 0))),
    Case("lacks-current-a-2", "the assignment of A that gives up foo-2 is missing", without(CONSUMER, (8, 1))),
    Case("lacks-generation-1", "generation 1 is missing", without(CLASSIC, (2, 0))),
)  # fmt: skip

_TOMBSTONE_CASES: Final = (
    Case("member-ends", "B leaves, in the broker's order", joined(CONSUMER, written("8t B; 7t B; 5t B; 3 3"))),
    *(
        Case(
            f"member-ends-without-{left.split()[0]}",
            f"B leaves, and {left} is missing",
            joined(CONSUMER, written("; ".join([each for each in _TOMBSTONES if each != left] + ["3 3"]))),
        )
        for left in _TOMBSTONES
    ),
    *(
        Case(f"member-ends-only-{kept.split()[0]}", f"of B's tombstones only {kept}",
             joined(CONSUMER, written(f"{kept}; 3 3")))
        for kept in _TOMBSTONES
    ),
    Case("member-ends-reversed", "B leaves, in the reverse order", joined(CONSUMER, written("5t B; 7t B; 8t B; 3 3"))),
    Case("group-tombstone-with-members", "the group's tombstone while it has members",
         joined(CONSUMER, written("6t; 3t"))),
    Case("group-tombstone-without-6t", "the group's tombstone, without that of the target",
         joined(CONSUMER, written("3t"))),
    Case("only-6t", "the tombstone of the target metadata of a living group", joined(CONSUMER, written("6t"))),
    Case("member-record-after-end", "a current assignment after the member's tombstones",
         joined(CONSUMER, written("8t B; 7t B; 5t B; 3 3", "8 B 3/2 2"))),
    Case("tombstones-only", "nothing but tombstones of a consumer group", written("8t A; 7t A; 5t A; 6t; 3t")),
    Case("tombstones-only-classic", "nothing but a tombstone of a classic group", written("2t")),
    Case("tombstones-only-share", "nothing but tombstones of a share group",
         written("14t A; 13t A; 10t A; 12t; 15t; 11t")),
    Case("tombstones-only-streams", "nothing but tombstones of a streams group",
         written("22t A; 21t A; 19t A; 20t; 23t; 17t")),
    Case("tombstone-15-only", "nothing but a tombstone of a share group's state", written("15t")),
    Case("tombstones-first", "tombstones, then the group", joined(written("8t A; 7t A; 5t A; 6t; 3t"), CONSUMER)),
    Case("tombstones-of-offsets-first", "tombstones of offsets, then commits",
         written("1t foo:0; 1t foo:1", "1 foo:0 5")),
    Case("tombstones-of-offsets-only", "nothing but tombstones of offsets", written("1t foo:0; 1t foo:1")),
    Case("regex-tombstone-first", "the tombstone of an unknown expression", joined(written("16t ^g"), REGEX)),
    Case("regex-only", "an expression of a group without members", written("16 ^f foo")),
    Case("metadata-tombstone-4", "the tombstone of type 4, as 4.1 writes it", joined(CONSUMER, written("3 3; 4t"))),
    Case("metadata-value-4", "topic metadata as 4.0 writes it", joined(CONSUMER, written("3 3; 4 foo:6"))),
    Case("share-metadata-9", "share group's topic metadata as 4.0 writes it",
         joined(SHARE, written("9 foo:6 layout=4.0"))),
    *(
        Case(f"only-type-{number}", f"nothing but a record of type {number}", written(line))
        for number, line in ((3, "3 1"), (5, "5 A"), (6, "6 1"), (7, "7 A 0-2"), (8, "8 A 1/0 0-2"), (4, "4 foo:6"),
                             (10, "10 A"), (11, "11 1"), (12, "12 1"), (13, "13 A 0-2"), (14, "14 A 1/0 0-2"),
                             (15, "15 foo"), (17, "17 1"), (19, "19 A"), (20, "20 1"), (21, "21 A sub:0"),
                             (22, "22 A 1/0 sub:0"), (23, "23 1"))
    ),
)  # fmt: skip

_ORDER_CASES: Final = (
    Case("reversed", "all records in reverse order", reordered(CONSUMER, reversed(_ORDER))),
    Case("rotated", "the first five records last", reordered(CONSUMER, [*_ORDER[5:], *_ORDER[:5]])),
    Case("current-first", "a current assignment before its member", written("8 A 1/0 0-2", "5 A; 3 1; 7 A 0-2; 6 1")),
    Case("target-first", "a target before its member", written("7 A 0-2; 6 1", "5 A; 3 1", "8 A 1/0 0-2")),
    Case("member-first", "a member before the group, as brokers write it",
         written("5 A", "3 1", "7 A 0-2; 6 1", "8 A 1/0 0-2")),
    Case("generations-reversed", "generation 2 before generation 1", reordered(CLASSIC, [3, 1, 2, 0, 4])),
    Case("released-late", "the owner gives a partition up after another took it: KAFKA-19862",
         written("5 A; 5 B; 3 2; 7 A 0-1; 7 B 2; 6 2", "8 A 1/0 0-2", "8 B 2/0 2", "8 A 2/1 0-1")),
    Case("unassigned-at-other-epoch", "a partition is given up that another took at a later epoch",
         written("5 A; 5 B; 3 3; 8 A 1/0 0-2", "8 B 3/0 0-2", "8 A 3/1 -")),
    Case("owned-twice-same-epoch", "two members hold a partition at the same epoch",
         written("5 A; 5 B; 3 2; 8 A 2/0 0-2", "8 B 2/0 0-2")),
    Case("owned-twice-older-epoch", "a member takes a partition at an older epoch than its owner",
         written("5 A; 5 B; 3 5; 8 A 5/0 0-2", "8 B 3/0 0-2")),
    Case("owned-twice-with-epochs", "the same with assignment epochs of partitions",
         written("5 A; 5 B; 3 5; 8 A 5/0 0-2@5", "8 B 5/0 0-2@3")),
    Case("owner-gone-without-tombstone", "an owner's member and target end, its assignment stays, another takes over",
         written("5 A; 3 1; 7 A 0-2; 6 1; 8 A 1/0 0-2", "7t A; 5t A; 3 2", "5 B; 3 3; 7 B 0-2; 6 3", "8 B 3/0 0-2")),
    Case("tombstone-eaten", "an owner's tombstones were removed before its records",
         written("8 A 1/0 0-2", "5 B; 3 3; 7 B 0-2; 6 3", "8 B 3/0 0-2")),
    Case("pending-then-taken", "a partition to be revoked is taken by another, then released",
         written("5 A; 5 B; 3 2; 8 A 1/1 UNREVOKED 0-1|2", "8 B 2/0 2", "8 A 2/1 0-1")),
    Case("streams-owned-twice", "two members run a task at the same epoch",
         written("19 A process=p; 19 B process=q; 17 2; 23 1; 22 A 2/0 sub:0-2", "22 B 2/0 sub:0-2")),
    Case("streams-released-late", "a task is given up after another process took it",
         written("19 A process=p; 19 B process=q; 17 3; 23 1; 22 A 1/0 sub:0-2", "22 B 3/0 sub:0-2", "22 A 3/1 -")),
    Case("streams-owner-without-member", "tasks of a member without its record",
         written("17 3; 23 1; 22 A 1/0 sub:0-2", "19 B; 22 B 3/0 sub:0-2")),
    Case("compacted-golden", "a golden log, only the last record of each key",
         compacted(golden("captures/consumer-protocol", 0))),
    Case("compacted-migration", "a migration, only the last record of each key", compacted(_MIGRATION)),
    Case("compacted-half", "the first half of a golden log compacted, the rest not",
         (*compacted(first_records(MODERN, 60)), *last_records(MODERN, len(places(MODERN)) - 60))),
    Case("repeated", "the whole log once more behind itself", joined(CONSUMER, CONSUMER)),
    Case("repeated-classic", "a classic group's log once more behind itself", joined(CLASSIC, CLASSIC)),
    Case("epoch-back", "the group epoch goes back", joined(CONSUMER, written("3 1"))),
    Case("target-epoch-back", "the assignment epoch goes back", joined(CONSUMER, written("6 1"))),
    Case("target-epoch-ahead", "the assignment epoch is ahead of the group epoch", joined(CONSUMER, written("6 9"))),
    Case("member-epoch-back", "the epoch of a member goes back", joined(CONSUMER, written("8 A 1/0 0-1"))),
    Case("member-epoch-ahead", "the epoch of a member is ahead of the group epoch",
         joined(CONSUMER, written("8 A 9/2 0-1"))),
    Case("member-epoch-negative", "a member at epoch -1", joined(CONSUMER, written("8 A -1/2 0-1"))),
    Case("member-epoch-static-left", "a static member that left for a while",
         written("5 A instance=i1; 3 1; 7 A 0-2; 6 1; 8 A -2/1 -")),
    Case("member-state-odd", "a state of a member that no release has", joined(CONSUMER, written("8 A 2/1 ODD 0-1"))),
    Case("group-epoch-negative", "a group epoch below 0", written("5 A; 3 -5; 6 -5; 8 A -5/-6 0-1")),
    Case("generation-back", "the generation goes back", joined(CLASSIC, written("2 1 range A=0-2"))),
    Case("generation-negative", "a generation below 0", written("2 -7 range A=0-2")),
    Case("same-instance-twice", "two members with one instance id",
         written("5 A instance=i1; 5 B instance=i1; 3 1; 6 1")),
    Case("same-instance-twice-classic", "two classic members with one instance id",
         written("2 1 range A@i1=0-1 B@i1=2")),
    Case("same-member-twice-classic", "one member id twice in a generation", written("2 1 range A=0-1 A=2")),
    Case("assignor-unknown", "a member with an assignor that the broker lacks",
         written(_MEMBER.replace("5 A", "5 A assignor=magic"))),
    Case("regex-broken", "a member whose regular expression is broken", written("5 A regex=[a; 3 1; 6 1; 16 [a foo")),
    Case("leader-unknown", "a leader that is no member", written("2 1 range A=0-2 lead=Z")),
    Case("protocol-none-with-members", "members, and no protocol", written("2 1 - A=0-2")),
)  # fmt: skip

_KIND_CASES: Final = (
    Case("classic-over-consumer", "a generation of a group that is a consumer group",
         joined(CONSUMER, written("2 5 range A=0-2"))),
    Case("classic-over-empty-consumer", "a generation of a consumer group without members",
         joined(written("3 1; 6 1"), written("2 5 range A=0-2"))),
    Case("consumer-over-classic", "a consumer group's records while the classic group lives",
         joined(CLASSIC, CONSUMER)),
    Case("consumer-over-empty-classic", "a consumer group's records after an empty generation",
         joined(written("2 1 range A=0-2", "2 2"), CONSUMER)),
    Case("consumer-after-classic", "a consumer group's records after the classic group's tombstone",
         joined(CLASSIC, written("2t"), CONSUMER)),
    Case("classic-after-consumer", "a generation after the consumer group's tombstones",
         joined(CONSUMER, written("8t B; 7t B; 5t B; 8t A; 7t A; 5t A; 6t; 3t"), CLASSIC)),
    Case("classic-tombstone-of-consumer", "a classic tombstone of a consumer group", joined(CONSUMER, written("2t"))),
    Case("consumer-tombstone-of-classic", "consumer tombstones of a classic group",
         joined(CLASSIC, written("8t A", "7t A", "5t A", "6t", "3t"))),
    Case("member-of-classic", "a consumer member in a classic group", joined(CLASSIC, written("5 C"))),
    Case("current-of-classic", "a current assignment in a classic group", joined(CLASSIC, written("8 C 1/0 0"))),
    Case("share-over-consumer", "a share group's records of a consumer group", joined(CONSUMER, SHARE)),
    Case("consumer-over-share", "a consumer group's records of a share group", joined(SHARE, CONSUMER)),
    Case("streams-over-consumer", "a streams group's records of a consumer group", joined(CONSUMER, STREAMS)),
    Case("streams-over-classic", "a streams group's records of a classic group", joined(CLASSIC, STREAMS)),
    Case("streams-over-simple", "a streams group's records over offsets alone", joined(OFFSETS, STREAMS)),
    Case("share-over-simple", "a share group's records over offsets alone", joined(OFFSETS, SHARE)),
    Case("consumer-over-simple", "a consumer group's records over offsets alone", joined(OFFSETS, CONSUMER)),
    Case("consumer-over-streams", "a consumer group's records of a streams group", joined(STREAMS, CONSUMER)),
    Case("classic-over-streams", "a generation of a streams group", joined(STREAMS, CLASSIC)),
    Case("classic-over-share", "a generation of a share group", joined(SHARE, CLASSIC)),
    Case("offsets-of-share", "an offset commit of a share group", joined(SHARE, written("1 foo:0 5"))),
    Case("transaction-of-unknown", "an open transaction of a group that has nothing else",
         written("1 foo:0 5", producer=PRODUCER)),
    Case("fault-after-good-group", "a group out of order behind another that is whole",
         (*BILLING, *written("2 5 range A=0-2", "8t A", "5t A", from_offset=100_000))),
)  # fmt: skip

SEQUENCE_CASES: Final = (*_MISSING, *_TOMBSTONE_CASES, *_ORDER_CASES, *_KIND_CASES)

FOUND_CASES: Final = (
    Case("group-tombstone-over-offsets", "the tombstone of a consumer group over offsets alone",
         joined(OFFSETS, written("3t"))),
)  # fmt: skip
"""What random changes have found: at the end of all cases, so that the others keep their partitions."""
