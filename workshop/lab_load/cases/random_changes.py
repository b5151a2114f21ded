"""Logs with a few random changes, the same for the same seed: what no rule was written for."""

import struct
from collections.abc import Callable
from random import Random
from typing import Final

from rebalance_audit.sim.brokers.batch_writer import NO_PRODUCER, Codec, LoggedRecord, Producer
from workshop.lab_load.cases.case import (
    BILLING,
    CLASSIC,
    CONSUMER,
    MODERN,
    OFFSETS,
    PARTITION_COUNT,
    REGEX,
    SHARE,
    STREAMS,
    Case,
    CaseSet,
)
from workshop.lab_load.damage import changed_body
from workshop.lab_load.logs import (
    BEGIN_MS,
    Log,
    LogBatch,
    Marker,
    compacted,
    compressed,
    damaged,
    golden,
    joined,
    places,
    written,
)

_SMALL: Final = (CONSUMER, CLASSIC, SHARE, STREAMS, REGEX, OFFSETS)
_GOLDEN: Final = (
    MODERN,
    BILLING,
    golden("captures/migration", 1),
    golden("captures/migration", 0),
    golden("captures/share-streams", 0),
    golden("captures/offsets", 1),
    golden("captures/consumer-static", 2),
    golden("captures/consumer-protocol", 3),
    golden("captures/compacted", 1),
    golden("captures/upgrade", 1),
    golden("captures/broker-3.9", 3),
    golden("by_hand/broker-4.3", 0),
)
_VERSIONS: Final = (-1, 0, 1, 2, 3, 4, 5, 7)
_TYPES_MAX: Final = 26
_CHANGES_MAX: Final = 3

Step = Callable[[Random, Log], Log]


def random_cases(seed: int) -> CaseSet:
    """As many logs as there are partitions, half of them small."""
    return CaseSet(_case(Random(f"{seed}-{number}"), number) for number in range(PARTITION_COUNT))


def _case(rng: Random, number: int) -> Case:
    log = rng.choice(_SMALL if rng.random() < 0.5 else _GOLDEN)
    names: list[str] = []
    for _ in range(rng.randint(1, _CHANGES_MAX)):
        step = rng.choice(_STEPS)
        names.append(step.__name__.strip("_").replace("_", " "))
        log = step(rng, log) or log
    return Case(f"random-{number}", ", ".join(names), log)


# --- records, one a batch, so that each can be moved ---------------------------------------------


def _records(log: Log) -> list[LogBatch]:
    """The log with one record in each batch; markers stay."""
    return [batch._replace(records=(each,)) for batch in log for each in batch.records]


def _drop_record(rng: Random, log: Log) -> Log:
    held = _records(log)
    del held[rng.randrange(len(held))]
    return tuple(held)


def _drop_range(rng: Random, log: Log) -> Log:
    held = _records(log)
    begin = rng.randrange(len(held))
    del held[begin : begin + rng.randint(2, max(2, len(held) // 3))]
    return tuple(held)


def _drop_type(rng: Random, log: Log) -> Log:
    record_type = struct.unpack_from(">h", _some(rng, log).key or b"\0\1")[0]
    prefix = struct.pack(">h", record_type)
    return tuple(
        each for each in _records(log) if each.marker or not (each.records[0].key or b"").startswith(prefix)
    )  # fmt: skip


def _cut(rng: Random, log: Log) -> Log:
    held = _records(log)
    return tuple(held[: rng.randint(1, len(held))])


def _begin_late(rng: Random, log: Log) -> Log:
    held = _records(log)
    return tuple(held[rng.randrange(len(held)) :])


def _swap(rng: Random, log: Log) -> Log:
    held = _records(log)
    one, other = rng.randrange(len(held)), rng.randrange(len(held))
    held[one], held[other] = held[other], held[one]
    return joined(tuple(held))


def _move_record(rng: Random, log: Log) -> Log:
    held = _records(log)
    moved = held.pop(rng.randrange(len(held)))
    held.insert(rng.randint(0, len(held)), moved)
    return joined(tuple(held))


def _repeat_record(rng: Random, log: Log) -> Log:
    held = _records(log)
    held.insert(rng.randint(0, len(held)), rng.choice(held))
    return joined(tuple(held))


def _append_another(rng: Random, log: Log) -> Log:
    return joined(log, rng.choice(_SMALL))


def _put_another_first(rng: Random, log: Log) -> Log:
    return joined(rng.choice(_SMALL), log)


def _compact(_: Random, log: Log) -> Log:
    return compacted(log)


def _compress(rng: Random, log: Log) -> Log:
    return compressed(log, rng.choice(list(Codec)))


def _put_into_transaction(rng: Random, log: Log) -> Log:
    held = _records(log)
    begin = rng.randrange(len(held))
    end = rng.randint(begin, len(held))
    producer = Producer(77, 0)
    inside = [
        each._replace(producer=producer) if each.producer == NO_PRODUCER else each
        for each in held[begin:end]
    ]
    marker = LogBatch(
        (LoggedRecord(0, BEGIN_MS, b"", b""),), producer, marker=Marker(rng.random() < 0.5)
    )
    ends = [marker] if rng.random() < 0.8 else []
    return joined((*held[:begin], *inside, *ends, *held[end:]))


def _add_tombstones(rng: Random, log: Log) -> Log:
    lines = ["8t A", "7t A", "5t A", "8t B", "7t B", "5t B", "6t", "3t", "2t", "1t foo:0", "10t A", "13t A", "14t A",
             "19t A", "21t A", "22t A", "17t", "11t", "12t", "20t", "16t ^f", "23t", "15t"]  # fmt: skip
    return joined(log, written("; ".join(rng.sample(lines, rng.randint(1, 4)))))


# --- keys and values ------------------------------------------------------------------------------


def _some(rng: Random, log: Log) -> LoggedRecord:
    number, place = rng.choice(places(log) or [(0, 0)])
    return log[number].records[place]


def _with_record(rng: Random, log: Log, change: Callable[[LoggedRecord], LoggedRecord]) -> Log:
    """With a change of one record."""
    held = _records(log)
    number = rng.choice([place for place, each in enumerate(held) if not each.marker] or [0])
    held[number] = held[number]._replace(records=(change(held[number].records[0]),))
    return tuple(held)


def _make_tombstone(rng: Random, log: Log) -> Log:
    return _with_record(rng, log, lambda each: each._replace(value=None))


def _truncate_value(rng: Random, log: Log) -> Log:
    return _with_record(
        rng, log, lambda each: each._replace(value=each.value and each.value[: rng.randrange(len(each.value))])
    )  # fmt: skip


def _truncate_key(rng: Random, log: Log) -> Log:
    return _with_record(
        rng, log, lambda each: each._replace(key=each.key and each.key[: rng.randrange(len(each.key))])
    )  # fmt: skip


def _lengthen_value(rng: Random, log: Log) -> Log:
    return _with_record(
        rng, log, lambda each: each._replace(value=each.value and each.value + rng.randbytes(5))
    )


def _set_value_version(rng: Random, log: Log) -> Log:
    version = struct.pack(">h", rng.choice(_VERSIONS))
    return _with_record(
        rng, log, lambda each: each._replace(value=each.value and version + each.value[2:])
    )


def _set_type(rng: Random, log: Log) -> Log:
    number = struct.pack(">h", rng.randrange(_TYPES_MAX))
    return _with_record(
        rng, log, lambda each: each._replace(key=each.key and number + each.key[2:])
    )


def _byte_of(rng: Random, data: bytes | None, first: int) -> bytes | None:
    if data is None or len(data) <= first:
        return data
    place = rng.randrange(first, len(data))
    return data[:place] + rng.randbytes(1) + data[place + 1 :]


def _change_byte_of_value(rng: Random, log: Log) -> Log:
    return _with_record(rng, log, lambda each: each._replace(value=_byte_of(rng, each.value, 2)))


def _change_byte_of_key_end(rng: Random, log: Log) -> Log:
    return _with_record(rng, log, lambda each: each._replace(key=_byte_of(rng, each.key, 6)))


def _give_value_of_another(rng: Random, log: Log) -> Log:
    value = _some(rng, log).value
    return _with_record(rng, log, lambda each: each._replace(value=value))


def _change_byte_of_batch(rng: Random, log: Log) -> Log:
    """A byte after the header, and a checksum that holds."""
    place, byte = rng.random(), rng.randbytes(1)

    def changed(body: bytes) -> bytes:
        at = int(place * len(body))
        return body[:at] + byte + body[at + 1 :]

    return damaged(log, rng.randrange(len(log)), lambda batch: changed_body(batch, changed))


_STEPS: Final[tuple[Step, ...]] = (
    _drop_record, _drop_record, _drop_range, _drop_type, _cut, _begin_late, _swap, _move_record, _repeat_record,
    _append_another, _put_another_first, _compact, _compress, _put_into_transaction, _add_tombstones, _add_tombstones,
    _make_tombstone, _make_tombstone, _truncate_value, _truncate_key, _lengthen_value, _set_value_version, _set_type,
    _change_byte_of_value, _change_byte_of_value, _change_byte_of_key_end, _give_value_of_another,
    _change_byte_of_batch,
)  # fmt: skip
