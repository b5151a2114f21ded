"""Batches that are damaged, out of order, compressed badly, or part of odd transactions."""

import struct
from collections.abc import Callable
from typing import Final

from rebalance_audit.sim.brokers.batch_writer import Codec, Producer
from workshop.lab_load.cases.case import BILLING, CLASSIC, CONSUMER, MODERN, OFFSETS, Case
from workshop.lab_load.damage import changed_body, changed_header, cut_to, wrong_checksum
from workshop.lab_load.logs import (
    PRODUCER,
    Log,
    LogBatch,
    Marker,
    compressed,
    damaged,
    joined,
    written,
)

_LATER_PRODUCER: Final = Producer(PRODUCER.producer_id, 1)


def _shifted(log: Log, by: int) -> Log:
    return tuple(
        batch._replace(
            records=tuple(each._replace(log_offset=each.log_offset + by) for each in batch.records)
        )
        for batch in log
    )


def _timed(log: Log, *times: int) -> Log:
    """With these times of the batches, one after the other."""
    return tuple(
        batch._replace(
            records=tuple(each._replace(record_timestamp_ms=at) for each in batch.records)
        )
        for batch, at in zip(log, times, strict=True)
    )


def _header(**changes: Callable[[int], int]) -> Log:
    """With other numbers in the header of the third batch."""
    return damaged(CONSUMER, 2, lambda batch: changed_header(batch, **changes))


def _body(change: Callable[[bytes], bytes]) -> Log:
    """With other bytes in the third batch, and a checksum that holds."""
    return damaged(CONSUMER, 2, lambda batch: changed_body(batch, change))


def _garbage(codec: Codec) -> Log:
    return _header(attributes=lambda _: int(codec))


def _control(key: bytes) -> Log:
    marker = LogBatch(CONSUMER[0].records[:1], PRODUCER, marker=Marker(key=key))
    return joined(CONSUMER[:3], (marker,), CONSUMER[3:])


def _transaction(*lines: str, log: Log = OFFSETS) -> Log:
    return joined(log, written(*lines, producer=PRODUCER))


_CODECS: Final = tuple(Codec)[1:]

_DAMAGED: Final = (
    Case("cut-in-batch", "the file ends in the middle of a batch",
         damaged(CONSUMER, -1, cut_to(0.7)), damages_file=True),
    Case("cut-in-header", "the file ends in the middle of a batch's header",
         damaged(CONSUMER, -1, cut_to(30)), damages_file=True),
    Case("cut-in-first-batch", "the file ends in the middle of its first batch",
         damaged(CONSUMER[:1], 0, cut_to(0.5)), damages_file=True),
    Case("cut-golden", "a golden log ends in the middle of a batch",
         damaged(MODERN, -1, cut_to(0.5)), damages_file=True),
    Case("padding-behind", "zeros after the last batch",
         damaged(CONSUMER, -1, lambda batch: batch + bytes(4096)), damages_file=True),
    Case("garbage-behind", "bytes that are no batch after the last one",
         damaged(CONSUMER, -1, lambda batch: batch + b"\xab" * 200), damages_file=True),
    Case("checksum-wrong-last", "the checksum of the last batch is wrong",
         damaged(CONSUMER, -1, wrong_checksum), damages_file=True),
    Case("checksum-wrong-middle", "the checksum of a batch in the middle is wrong",
         damaged(CONSUMER, 2, wrong_checksum), damages_file=True),
    Case("checksum-wrong-classic", "the checksum of a classic group's batch is wrong",
         damaged(CLASSIC, 1, wrong_checksum), damages_file=True),
    Case("magic-9", "a batch of magic 9", _header(magic=lambda _: 9),
         damages_file=True),
    Case("magic-negative", "a batch of magic -1",
         _header(magic=lambda _: -1),
         damages_file=True),
    Case("magic-1", "a batch that says it is of magic 1",
         _header(magic=lambda _: 1),
         damages_file=True),
    Case("length-long", "a batch that claims more bytes than follow",
         _header(length=lambda size: size + 100_000), damages_file=True),
    Case("length-long-by-one", "a batch that claims one byte of the next",
         _header(length=lambda size: size + 1), damages_file=True),
    Case("length-short", "a batch that claims fewer bytes than it has",
         _header(length=lambda size: size - 5), damages_file=True),
    Case("length-tiny", "a batch that claims 10 bytes",
         _header(length=lambda _: 10), damages_file=True),
    Case("length-negative", "a batch of a negative length",
         _header(length=lambda _: -1), damages_file=True),
    Case("record-count-more", "a batch that claims more records than it has",
         _header(record_count=lambda count: count + 3), damages_file=True),
    Case("record-count-fewer", "a batch that claims fewer records than it has",
         _header(record_count=lambda count: count - 1), damages_file=True),
    Case("record-count-negative", "a batch that claims -1 records",
         _header(record_count=lambda _: -1), damages_file=True),
    Case("record-count-absurd", "a batch that claims 2 billion records",
         _header(record_count=lambda _: 0x7FFFFFFF), damages_file=True),
    Case("last-offset-more", "a batch whose last offset is beyond its records",
         damaged(CONSUMER, -1, lambda batch: changed_header(batch, last_offset_delta=lambda delta: delta + 50))),
    Case("last-offset-negative", "a batch whose last offset is below its first",
         _header(last_offset_delta=lambda _: -3), damages_file=True),
    Case("record-length-absurd", "a record that claims more bytes than its batch has",
         _body(lambda body: b"\xfe\xff\xff\x0f" + body[1:]), damages_file=True),
    Case("record-length-negative", "a record of a negative length",
         _body(lambda body: b"\1" + body[1:]), damages_file=True),
    Case("body-cut", "a batch without its last bytes, and a checksum that holds",
         _body(lambda body: body[:-4]), damages_file=True),
    Case("body-trailing", "a batch with bytes behind its records",
         _body(lambda body: body + b"\0\0\0"), damages_file=True),
    Case("body-empty", "a batch without the records it claims",
         _body(lambda _: b""), damages_file=True),
    Case("codec-unknown", "a batch with codec 7",
         _header(attributes=lambda _: 7),
         damages_file=True),
    *(
        Case(f"compressed-broken-{codec.name.lower()}", f"a batch of {codec.name.lower()} that does not decompress",
             damaged(compressed(CONSUMER, codec), 2,
                     lambda batch: changed_body(batch, lambda body: body[:-12] + b"\xff" * 12)), damages_file=True)
        for codec in _CODECS
    ),
    *(
        Case(f"compressed-garbage-{codec.name.lower()}", f"a batch that claims {codec.name.lower()} and is plain",
             _garbage(codec), damages_file=True)
        for codec in _CODECS
    ),
    Case("compressed-cut-golden", "a golden batch of gzip without its end",
         damaged(compressed(BILLING, Codec.GZIP), 3, lambda batch: changed_body(batch, lambda body: body[:-20])),
         damages_file=True),
)  # fmt: skip

_ORDERED: Final = (
    Case("offsets-back", "a batch whose base offset goes back to 0", (*CONSUMER, *written("1 foo:1 99"))),
    Case("offsets-overlap", "two batches whose offsets overlap", (*CONSUMER[:3], *_shifted(CONSUMER[3:], -3))),
    Case("offsets-equal", "the same batch twice at the same offsets", (*CONSUMER, CONSUMER[-1])),
    Case("offsets-gap", "a gap of a million offsets", (*CONSUMER[:3], *_shifted(CONSUMER[3:], 1_000_000))),
    Case("offsets-from-late", "a log whose first record has offset 5,000,000,000",
         _shifted(CONSUMER, 2_000_000_000)),
    Case("batches-swapped", "two batches in the wrong order", (*CONSUMER[:2], CONSUMER[3], CONSUMER[2], *CONSUMER[4:])),
    Case("times-unsorted", "times that go back", _timed(OFFSETS, 9_000, 5_000, 1_000)),
    Case("times-negative", "records at -1", _timed(OFFSETS, -1, -1, -1)),
    Case("times-absurd", "records at the end of time", _timed(OFFSETS, 0, 1 << 61, 5)),
    Case("control-unknown", "a control record of type 77", _control(struct.pack(">hh", 0, 77))),
    Case("control-version", "a control record in version 9", _control(struct.pack(">hh", 9, 1))),
    Case("control-version-negative", "a control record in version -1", _control(struct.pack(">hh", -1, 1))),
    Case("control-key-short", "a control record with a key of 2 bytes", _control(b"\0\0")),
    Case("control-key-empty", "a control record with an empty key", _control(b"")),
    Case("control-leader-change", "the control record of a new leader, as in a metadata log",
         _control(struct.pack(">hh", 0, 2))),
    Case("commit-without-data", "a marker that commits nothing", _transaction("C")),
    Case("abort-without-data", "a marker that aborts nothing", _transaction("A")),
    Case("transaction-open", "a transaction without an end", _transaction("1 foo:0 77")),
    Case("transaction-two-open", "two open transactions",
         joined(_transaction("1 foo:0 77"), written("1 foo:0 78", producer=Producer(1001, 0)))),
    Case("transaction-tombstone", "a tombstone of an offset in a transaction", _transaction("1t foo:0", "C")),
    Case("transaction-aborted-tombstone", "the same, aborted", _transaction("1t foo:0", "A")),
    Case("transaction-of-records", "a consumer group's records in a transaction that is committed",
         joined(CONSUMER, written("5 C; 3 3", "C", producer=PRODUCER))),
    Case("transaction-of-records-aborted", "a consumer group's records in a transaction that is aborted",
         joined(CONSUMER, written("5 C; 3 3", "A", producer=PRODUCER))),
    Case("transaction-of-classic-aborted", "a generation in a transaction that is aborted",
         joined(CLASSIC, written("2 3 range A=0-2 session=300000", "A", producer=PRODUCER))),
    Case("transaction-of-removed-group", "an open transaction of a classic group that was deleted",
         joined(written("2 1 range A=0-2", "2 2", "2t"), written("1 foo:0 77", producer=PRODUCER))),
    Case("transaction-fenced", "a marker of an older producer epoch",
         joined(OFFSETS, written("1 foo:0 77", producer=_LATER_PRODUCER), written("C", producer=PRODUCER))),
    Case("transaction-twice-ended", "a transaction that is committed, then aborted",
         _transaction("1 foo:0 77", "C", "A")),
    Case("transaction-plain-after", "a plain commit over a pending one",
         joined(_transaction("1 foo:0 77"), written("1 foo:0 78"), written("C", producer=PRODUCER))),
)  # fmt: skip

BATCH_CASES: Final = (*_DAMAGED, *_ORDERED)
