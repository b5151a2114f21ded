"""What a snapshot takes in bytes and processor time: `python -m workshop.bench.snapshot_cost --members 10 1000`.

Groups of both protocols in which every member has five partitions: in the consumer one all have just joined, the
classic one has its third generation.
"""

import argparse
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from itertools import count

import orjson

from rebalance_audit.audit.group_audit import GroupAudit
from rebalance_audit.audit.rows import Row
from rebalance_audit.audit.snapshots.snapshot import resumed, snapshot_of
from rebalance_audit.replay.changes import Position
from tests.dsl import record_of

SHARE = 5
"""Partitions of a member."""
GENERATIONS = 3
REPEATS_OF_ONE = 2_000
"""How often a group of one member is measured; larger ones less often."""


def main() -> None:
    """Measure groups of each size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--members", type=int, nargs="+", default=[10, 1_000])
    for members in parser.parse_args().members:
        for protocol, writes in (("consumer", consumer_writes), ("classic", classic_writes)):
            running = audited(writes(members))
            text = orjson.dumps(snapshot_of(running))
            state = orjson.loads(text)

            def save(audit: GroupAudit = running) -> object:
                return snapshot_of(audit)

            def resume(state: dict[str, object] = state) -> object:
                return resumed(state, nothing)

            repeats = max(3, REPEATS_OF_ONE // members)
            sys.stdout.write(
                f"{protocol:10} {members:6,} members {len(text):12,} bytes"
                f" ({len(zlib.compress(text)):,} compressed)"
                f" write {best_ms(save, repeats):8.2f} ms"
                f" read {best_ms(resume, repeats):8.2f} ms\n"
            )


def nothing(_table: str, _row: Row) -> None:
    """Rows do not matter here."""


def audited(writes: Iterator[list[str]]) -> GroupAudit:
    """The audit after the last record."""
    running, log_offset = GroupAudit("orders", 0, nothing), count()
    for number, write in enumerate(writes):
        at_ms = 1_000 * (number + 1)
        for line in write:
            running.feed(record_of(line, at_ms), Position(0, next(log_offset), at_ms, 0))
        next(log_offset)
    return running


def consumer_writes(members: int) -> Iterator[list[str]]:
    """Everybody joins at once and reaches the first epoch."""
    names = list(named(members))
    yield [f"5 {name}" for name in names] + ["3 2"]
    yield [f"7 {name} {share(number)}" for number, name in enumerate(names)] + ["6 2"]
    for number, name in enumerate(names):
        yield [f"8 {name} 2/0 {share(number)}"]


def classic_writes(members: int) -> Iterator[list[str]]:
    """A member more in each generation."""
    names = list(named(members))
    for generation in range(1, GENERATIONS + 1):
        there = names[: members - GENERATIONS + generation]
        shares = " ".join(f"{name}={share(number)}" for number, name in enumerate(there))
        yield [f"2 {generation} range {shares}"]


def named(members: int) -> Iterator[str]:
    """Member ids as long as those of Java clients."""
    return (f"consumer-orders-{number:05}-{'0' * 32}" for number in range(members))


def share(number: int) -> str:
    """The partitions of one member."""
    return f"{number * SHARE}-{number * SHARE + SHARE - 1}"


def best_ms(action: Callable[[], object], repeats: int) -> float:
    """Processor time of the quickest run in milliseconds."""
    times = []
    for _ in range(repeats):
        began = time.process_time()
        action()
        times.append(time.process_time() - began)
    return 1000 * min(times)


if __name__ == "__main__":
    main()
