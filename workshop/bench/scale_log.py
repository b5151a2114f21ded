"""Logs of a given shape, written straight with the coordinator's encoders: `python -m workshop.bench.scale_log --help`.

Every other group is a classic one. All members join at once; then, round by round, one of them goes and another comes,
as a broker of 4.3 writes it. Commits fill the log up to its records, evenly over its time. Groups of one protocol and
one phase have the same history, so that a log of millions of records is a matter of seconds.
"""

import argparse
import shutil
import struct
from collections.abc import Callable, Iterator
from functools import cache
from heapq import merge
from pathlib import Path
from typing import Final, NamedTuple

from rebalance_audit.resources import checkout_root
from rebalance_audit.sim.brokers.batch_writer import LoggedRecord, encode_batch
from rebalance_audit.sim.brokers.partition_log import segment_path
from rebalance_audit.wire.generated.messages import OffsetCommitKey, OffsetCommitValue
from rebalance_audit.wire.records import encode_key, encode_value
from rebalance_audit.wire.topic_names import ZERO_TOPIC_ID
from tests.dsl import GROUP_ID, TOPIC_IDS, record_of

FOLDER: Final = checkout_root() / "build" / "bench"
START_MS: Final = 1_760_000_000_000
HOURS: Final = 10
SPAN_MS: Final = HOURS * 3_600_000
PHASES: Final = 20
"""Groups of one phase have their rounds at the same moments; the last phase has its last one shortly before the end."""
SHARE: Final = 5
"""Partitions of a member."""
TOPIC: Final = "foo"
SEGMENT_BYTES: Final = 100 << 20
VERSIONS: Final = {2: 3}
"""Record type -> version of its value, 0 for all others."""
KEY_HEAD: Final = struct.Struct(">hh")
"""Record type and length of the group's id: how every key begins."""
OFFSET: Final = struct.Struct(">q")
VERSION_WITH_TOPIC_ID: Final = 4


class Shape(NamedTuple):
    """What a log holds."""

    records: int
    """At least so many, commits included."""
    groups: int = 400
    members: int = 5
    rounds: int = 2
    """Replacements of one member; each is two rebalances."""
    big_rounds: int = 0
    """Of the first group, a consumer one, where it must be larger than the others."""
    big_commits: int = 0
    """Of 100 commits so many are the first group's."""
    partitions: int = 8
    """Of the log."""
    committed: int = 5
    """Partitions that a group commits."""
    commits_per_batch: int = 200
    commit_version: int = 3
    """Of the values of commits; from 4 on they have the topic's id."""

    @property
    def name(self) -> str:
        """What its folder is called."""
        return "scale-" + "-".join(map(str, self))


class Entry(NamedTuple):
    """A record without its group."""

    record_type: int
    key_tail: bytes
    value: bytes | None


Write = tuple[int, list[str]]
"""Milliseconds since the start of the log, and records in the shorthand of tests.dsl."""
History = list[tuple[int, list[Entry]]]
Due = tuple[int, str, list[Entry] | int]
"""Moment, group and its records; or how many offsets are committed."""


def scale_log(shape: Shape) -> Path:
    """The folder of such a log; made where it is not there."""
    folder = FOLDER / shape.name
    if not folder.exists():
        being_made = folder.with_suffix(".part")
        shutil.rmtree(being_made, ignore_errors=True)
        for number in range(shape.partitions):
            _write_partition(shape, number, being_made)
        being_made.rename(folder)
    return folder


def consumer_writes(members: int, rounds: int, begin_ms: int) -> Iterator[Write]:
    """A group of the consumer protocol."""
    names = [_name(number) for number in range(members)]
    shares = [_share(number) for number in range(members)]
    # Commits came before: brokers hold a group for them, and make it one of this protocol by a tombstone.
    yield begin_ms, ["2t", *(f"5 {name}" for name in names), "3 2"]
    targets = [f"7 {name} {share}" for name, share in zip(names, shares, strict=True)]
    yield begin_ms, [*targets, "6 2"]
    for name, share in zip(names, shares, strict=True):
        yield begin_ms + 500, [f"8 {name} 2/0 {share}"]
    epoch = 2
    for number in range(rounds):
        place, at_ms = number % members, begin_ms + (number + 1) * _pause_ms(rounds)
        heir = (place + 1) % members
        old, new, other = names[place], _name(members + number), names[heir]
        mine, its = shares[place], shares[heir]
        rest = [(name, share) for name, share in zip(names, shares, strict=True) if name != old]
        epoch += 1
        yield at_ms, [f"8t {old}", f"7t {old}", f"5t {old}", f"3 {epoch}"]
        yield at_ms + 10, [f"7 {other} {its},{mine}", f"6 {epoch}"]
        for name, share in rest:
            held = f"{its},{mine}" if name == other else share
            yield at_ms + 300, [f"8 {name} {epoch}/{epoch - 1} {held}"]
        epoch += 1
        names[place] = new
        joins = [f"5 {new}", f"3 {epoch}", f"7 {other} {its}", f"7 {new} {mine}", f"6 {epoch}"]
        yield at_ms + 2_000, [*joins, f"8 {new} {epoch}/0 UNRELEASED -"]
        yield at_ms + 2_100, [f"8 {other} {epoch - 1}/{epoch - 2} UNREVOKED {its}|{mine}"]
        for name, share in rest:
            yield at_ms + 2_300, [f"8 {name} {epoch}/{epoch - 1} {share}"]
        yield at_ms + 2_600, [f"8 {new} {epoch}/{epoch} {mine}"]


def classic_writes(members: int, rounds: int, begin_ms: int) -> Iterator[Write]:
    """A classic group; each write sets the state timestamp, since every phase has its own moment."""
    names = [_name(number) for number in range(members)]
    generation = 1
    yield begin_ms, [_generation(generation, names, "")]
    for number in range(rounds):
        place, at_ms = number % members, begin_ms + (number + 1) * _pause_ms(rounds)
        generation += 2
        gone = names[place]
        yield at_ms, [_generation(generation - 1, names, gone)]
        names[place] = _name(members + number)
        yield at_ms + 3_000, [_generation(generation, names, "")]


def _generation(number: int, names: list[str], gone: str) -> str:
    shares = [f"{name}={_share(at)}" for at, name in enumerate(names) if name != gone]
    return " ".join([f"2 {number} range", *shares])


def _name(number: int) -> str:
    """As long as the ids of Java clients."""
    return f"consumer-orders-{number:06}-{'0' * 32}"


def _share(number: int) -> str:
    return ",".join(str(partition) for partition in range(number * SHARE, (number + 1) * SHARE))


def _pause_ms(rounds: int) -> int:
    return SPAN_MS // (rounds + 1)


@cache
def history(protocol: str, members: int, rounds: int, phase: int) -> History:
    """A group's writes, encoded but for the group."""
    made: History = []
    writes = consumer_writes if protocol == "consumer" else classic_writes
    for since_ms, lines in writes(
        members, rounds, (10 * phase + 9) * _pause_ms(rounds) // (10 * PHASES)
    ):
        at_ms = START_MS + since_ms
        entries = []
        for line in lines:
            record = record_of(line, at_ms)
            version = VERSIONS.get(int(record.record_type), 0)
            value = None if record.value is None else encode_value(record.value, version)
            tail = encode_key(record.key)[KEY_HEAD.size + len(GROUP_ID) :]
            entries.append(Entry(int(record.record_type), tail, value))
        made.append((at_ms, entries))
    return made


def _write_partition(shape: Shape, number: int, folder: Path) -> None:
    """The segments of one partition; groups are dealt out by turns."""
    numbers = range(number, shape.groups, shape.partitions)
    histories = {at: _history_of(shape, at) for at in numbers}
    of_groups = sum(len(entries) for history in histories.values() for _, entries in history)
    written = sorted(
        (
            (at_ms, group_id(at), entries)
            for at, of_one in histories.items()
            for at_ms, entries in of_one
        ),
        key=lambda each: each[:2],
    )
    commits = max(0, shape.records // shape.partitions - of_groups)
    committed_at = _commit_times(commits, shape.commits_per_batch)
    value_at = _commit_value(shape.commit_version)
    batches: Iterator[Due] = merge(written, committed_at, key=lambda each: each[0])
    keys = list(_commit_keys(shape, numbers))
    next_offset = committed = 0
    path = segment_path(folder, number, 0)
    path.parent.mkdir(parents=True)
    file = path.open("wb")
    pairs: list[tuple[bytes, bytes | None]]
    for at_ms, name, what in batches:
        if isinstance(what, int):
            pairs = [
                (keys[place % len(keys)], value_at(at_ms, place))
                for place in range(committed, committed + what)
            ]
            committed += what
        else:
            head = name.encode()
            pairs = [
                (KEY_HEAD.pack(kind, len(head)) + head + tail, value) for kind, tail, value in what
            ]
        records = [
            LoggedRecord(next_offset + place, at_ms, key, value)
            for place, (key, value) in enumerate(pairs)
        ]
        if file.tell() > SEGMENT_BYTES:
            file.close()
            file = segment_path(folder, number, next_offset).open("wb")
        file.write(encode_batch(records, leader_epoch=0))
        next_offset += len(records)
    file.close()


def group_id(number: int) -> str:
    """Name of a group."""
    return f"team-{number % 97:02}-service-{number:06}"


def _history_of(shape: Shape, number: int) -> History:
    protocol = "classic" if number % 2 else "consumer"
    rounds = shape.big_rounds if number == 0 and shape.big_rounds else shape.rounds
    return history(protocol, shape.members, rounds, number // 2 % PHASES)


def _commit_times(commits: int, per_batch: int) -> Iterator[tuple[int, str, int]]:
    """When how many offsets are committed."""
    batches = -(-commits // per_batch)
    for place in range(batches):
        size = min(per_batch, commits - place * per_batch)
        yield START_MS + SPAN_MS * place // batches, "", size


def _commit_keys(shape: Shape, numbers: range) -> Iterator[bytes]:
    """Keys that are committed by turns."""
    others = [
        encode_key(OffsetCommitKey(group_id(at), TOPIC, partition))
        for at in numbers
        for partition in range(shape.committed)
    ]
    if numbers.start or not shape.big_commits:
        yield from others
        return
    # All that the first group commits is in one partition: there its share is that of the whole log times these.
    share = min(99, shape.big_commits * shape.partitions)
    big = others[: shape.committed]
    for place, key in enumerate(others):
        for turn in range(share // (100 - share)):
            yield big[(place + turn) % shape.committed]
        yield key


def _commit_value(version: int) -> Callable[[int, int], bytes]:
    """What makes the value of a commit from its moment and the committed offset."""

    def value(at_ms: int, committed: int) -> bytes:
        said = OffsetCommitValue(committed, "", at_ms, topic_id=topic_id)
        return encode_value(said, version)

    topic_id = TOPIC_IDS[TOPIC] if version >= VERSION_WITH_TOPIC_ID else ZERO_TOPIC_ID
    marks = 0x0102030405060708, 0x1112131415161718
    template = value(*marks)
    before, rest = template.split(OFFSET.pack(marks[1]))
    between, behind = rest.split(OFFSET.pack(marks[0]))
    pack = OFFSET.pack
    return lambda at_ms, committed: before + pack(committed) + between + pack(at_ms) + behind


def main() -> None:
    """Make one log."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in Shape(1_000_000)._asdict().items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, default=default)
    scale_log(Shape(**vars(parser.parse_args())))


if __name__ == "__main__":
    main()
