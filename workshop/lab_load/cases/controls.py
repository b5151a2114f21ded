"""Logs without a fault: golden logs of real brokers as they are, and the small logs that other cases change."""

from typing import Final

from rebalance_audit.sim.brokers.batch_writer import Codec
from workshop.lab_load.cases.case import CLASSIC, CONSUMER, OFFSETS, REGEX, SHARE, STREAMS, Case
from workshop.lab_load.logs import PRODUCER, compacted, compressed, golden, written

_CAPTURES: Final = (
    ("broker-3.3", 1), ("broker-3.7", 1), ("broker-3.7", 2), ("broker-3.9", 1), ("broker-3.9", 3), ("broker-4.0", 1),
    ("broker-4.0", 3), ("broker-4.4", 1), ("broker-4.4", 3), ("classic-static", 1), ("classic-cooperative", 3),
    ("compacted", 0), ("compacted", 1), ("consumer-protocol", 0), ("consumer-protocol", 3), ("consumer-static", 2),
    ("failover", 2), ("migration", 0), ("migration", 1), ("migration", 2), ("oddities", 0), ("oddities", 1),
    ("offsets", 1), ("offsets", 2), ("share-streams", 0), ("share-streams", 2), ("share-streams", 3), ("upgrade", 0),
    ("upgrade", 1),
)  # fmt: skip

CONTROLS: Final = (
    *(
        Case(f"golden-{name}-{number}", f"{name}, partition {number}", golden(f"captures/{name}", number))
        for name, number in _CAPTURES
    ),
    Case("plain-consumer", "a consumer group", CONSUMER),
    Case("plain-classic", "a classic group", CLASSIC),
    Case("plain-share", "a share group", SHARE),
    Case("plain-streams", "a streams group", STREAMS),
    Case("plain-regex", "a consumer group with a regular expression", REGEX),
    Case("plain-offsets", "offsets of a group without members", OFFSETS),
    Case("plain-compacted", "a consumer group's log after compaction", compacted(CONSUMER)),
    Case("plain-empty-classic", "a classic group that lost its members", written("2 1 range A=0-2", "2 2")),
    Case("plain-deleted-classic", "a classic group that was deleted", written("2 1 range A=0-2", "2 2", "2t")),
    Case(
        "plain-deleted-consumer",
        "a consumer group that was deleted, by records whose offsets overlap with the last one",
        (*CONSUMER, *written("8t B; 7t B; 5t B; 3 3", "8t A; 7t A; 5t A; 3 4", "6t; 3t", from_offset=14)),
    ),
    Case("plain-committed", "a transaction that was committed", written("1 foo:0 5", "C", producer=PRODUCER)),
    Case("plain-aborted", "a transaction that was aborted", written("1 foo:0 5", "A", producer=PRODUCER)),
    *(
        Case(f"plain-{codec.name.lower()}", f"batches compressed with {codec.name.lower()}",
             compressed(CONSUMER, codec))
        for codec in list(Codec)[1:]
    ),
)  # fmt: skip
