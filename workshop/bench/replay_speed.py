"""How many records a second replay applies on one core, decoding excluded: `python -m workshop.bench.replay_speed`.

The log is a consumer group that rebalances without end: members describe themselves, the epoch moves, every target
changes, and each member revokes, waits and takes (types 5, 3, 7, 6 and 8 as a broker of 4.3 writes them).
"""

import random
import sys
from collections.abc import Iterator, Mapping
from time import process_time

from rebalance_audit.replay.changes import Position
from rebalance_audit.replay.groups import GroupSlot
from rebalance_audit.replay.playback import apply
from rebalance_audit.wire.generated import messages
from rebalance_audit.wire.generated.messages import RecordType
from rebalance_audit.wire.records import Record

TOPIC_IDS = tuple(bytes([number]) * 16 for number in (1, 2))
SHAPES = (
    # members, partitions, epochs
    (10, 60, 600),
    (10, 600, 60),
    (10_000, 20_000, 2),
)

Holding = list[tuple[bytes, int]]


def rebalances(members: int, partitions: int, epochs: int) -> Iterator[Record]:
    """The group's log."""
    chance = random.Random(1)
    names = [f"member-{number:05d}-0123456789abcdef" for number in range(members)]
    everything = [(topic_id, n) for topic_id in TOPIC_IDS for n in range(partitions // 2)]
    held: dict[str, Holding] = {name: [] for name in names}
    for epoch in range(2, epochs + 2):
        for name in names if epoch == 2 else names[: members // 5]:
            yield _described(name)
        yield _record(3, "", messages.ConsumerGroupMetadataValue(epoch, epoch))
        order = chance.sample(names, members)
        targets = {name: everything[index::members] for index, name in enumerate(order)}
        for name in names:
            yield _target(name, targets[name])
        yield _record(6, "", messages.ConsumerGroupTargetAssignmentMetadataValue(epoch, 1000))
        for name in names:
            target = set(targets[name])
            lost = [partition for partition in held[name] if partition not in target]
            held[name] = [partition for partition in held[name] if partition in target]
            if lost:
                yield _current(name, epoch - 1, 1, held[name], lost)
        for name in names:
            yield _current(name, epoch, 2, held[name], [])
        held = targets
        for name in names:
            yield _current(name, epoch, 0, held[name], [])


def _record(record_type: int, member_id: str, value: messages.Value) -> Record:
    kind = messages.KEY_CLASSES[RecordType(record_type)]
    key = kind._make(("group", member_id)[: len(kind._fields)])
    return Record(RecordType(record_type), key, value, 0)


def _described(name: str) -> Record:
    value = messages.ConsumerGroupMemberMetadataValue(
        None, None, "client", "/10.0.0.1", ("orders", "payments"), "", 300_000, "uniform"
    )
    return _record(5, name, value)


def _by_topic(holding: Holding) -> Mapping[bytes, tuple[int, ...]]:
    topics: dict[bytes, tuple[int, ...]] = {}
    for topic_id, number in holding:
        topics[topic_id] = (*topics.get(topic_id, ()), number)
    return topics


def _target(name: str, holding: Holding) -> Record:
    entry = messages.ConsumerGroupTargetAssignmentMemberTopicPartitions
    entries = tuple(entry(*item) for item in _by_topic(holding).items())
    return _record(7, name, messages.ConsumerGroupTargetAssignmentMemberValue(entries))


def _current(name: str, epoch: int, state: int, held: Holding, lost: Holding) -> Record:
    entry = messages.ConsumerGroupCurrentMemberAssignmentTopicPartitions
    assigned, pending = (
        tuple(
            entry(topic_id, numbers, (epoch,) * len(numbers))
            for topic_id, numbers in _by_topic(holding).items()
        )
        for holding in (held, lost)
    )
    value = messages.ConsumerGroupCurrentMemberAssignmentValue(
        epoch, epoch - 1, assigned, pending, state
    )
    return _record(8, name, value)


def records_per_second(log: list[Record]) -> int:
    """The best of three runs."""
    positions = [Position(0, log_offset, log_offset) for log_offset in range(len(log))]
    seconds = []
    for _ in range(3):
        slot = GroupSlot("group")
        started = process_time()
        for record, position in zip(log, positions, strict=True):
            apply(slot, record, position)
        seconds.append(process_time() - started)
    return round(len(log) / min(seconds))


def main() -> None:
    """Print one line per shape."""
    for members, partitions, epochs in SHAPES:
        log = list(rebalances(members, partitions, epochs))
        sys.stdout.write(
            f"{members:6,} members {partitions:6,} partitions {len(log):8,} records"
            f" {records_per_second(log):10,} records/s\n"
        )


if __name__ == "__main__":
    main()
