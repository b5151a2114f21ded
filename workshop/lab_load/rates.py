"""How fast brokers load records of each kind: `python -m workshop.lab_load.rates RELEASES`.

Each kind of log is loaded several times in one start, so that the last times are those of compiled code. The time is
the broker's own, less its time in the queue of the loader, which loads one partition after the other.
"""

import argparse
import struct
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from rebalance_audit.sim.brokers.batch_writer import LoggedRecord, encode_batch
from workshop.lab_load.lab import COORDINATORS, Segment, loaded, prepared
from workshop.lab_load.logs import BEGIN_MS, key_bytes, written
from workshop.lab_load.words import read_words

_TIMES: Final = 5
_BATCH_RECORDS: Final = 50


Pair = tuple[bytes | None, bytes | None]

_COMMIT: Final = struct.pack(">hqih", 3, 5, 7, 0) + struct.pack(">q", BEGIN_MS)


def _commits() -> Iterator[Pair]:
    """300,000 commits of 300 groups."""
    for number in range(300_000):
        group_id = f"group-{number % 300}"
        yield key_bytes(1, group_id, "topic", partition=number // 300 % 100), _COMMIT


def _consumer_group() -> Iterator[Pair]:
    """1,000 members, 30 epochs."""
    members = range(1_000)
    lines = ["; ".join(f"5 m{each}" for each in members)]
    for epoch in range(1, 31):
        targets = "; ".join(f"7 m{each} {each}" for each in members)
        current = "; ".join(f"8 m{each} {epoch}/{epoch - 1} {each}" for each in members)
        lines += [f"3 {epoch}; {targets}; 6 {epoch}", current]
    return _pairs(lines)


def _classic_group() -> Iterator[Pair]:
    """200 members, 500 generations."""
    shares = " ".join(f"m{each}={each}" for each in range(200))
    return _pairs(f"2 {generation} range {shares} session=300000" for generation in range(1, 501))


def _streams_group() -> Iterator[Pair]:
    """500 members, 30 epochs."""
    members = range(500)
    lines = ["23 1; " + "; ".join(f"19 m{each} process=p{each}" for each in members)]
    for epoch in range(1, 31):
        targets = "; ".join(f"21 m{each} sub:{each}" for each in members)
        current = "; ".join(f"22 m{each} {epoch}/{epoch - 1} sub:{each}" for each in members)
        lines += [f"17 {epoch}; {targets}; 20 {epoch}", current]
    return _pairs(lines)


def _pairs(lines: Iterable[str]) -> Iterator[Pair]:
    for batch in written(*lines):
        for each in batch.records:
            yield each.key, each.value


_KINDS: Final[Mapping[str, Callable[[], Iterator[Pair]]]] = {
    "300,000 offset commits": _commits,
    "a consumer group of 1,000 members": _consumer_group,
    "a classic group of 200 members": _classic_group,
    "a streams group of 500 members": _streams_group,
}


def main() -> int:
    """Print the figures; returns the exit code."""
    options = argparse.ArgumentParser(prog="workshop.lab_load.rates", description=__doc__)
    options.add_argument("releases", nargs="+", choices=list(COORDINATORS))
    for release in options.parse_args().releases:
        for coordinator in COORDINATORS[release]:
            with TemporaryDirectory() as scratch:
                for line in _measured(release, coordinator, Path(scratch)):
                    sys.stdout.write(line)
                    sys.stdout.flush()
    return 0


def _measured(release: str, coordinator: str, folder: Path) -> Iterator[str]:
    lab = prepared(release, coordinator, folder, len(_KINDS) * _TIMES, is_quiet=True)
    segments: dict[int, Segment] = {}
    counts: dict[str, int] = {}
    for place, (name, kind) in enumerate(_KINDS.items()):
        pairs = [*kind()]
        counts[name] = len(pairs)
        segment = Segment(_segment(pairs))
        segments |= {place * _TIMES + copy: segment for copy in range(_TIMES)}
    with loaded(lab, "rates", segments) as (_, lines):
        words = read_words(lines)
    for place, name in enumerate(_KINDS):
        numbers = range(place * _TIMES, (place + 1) * _TIMES)
        size = len(segments[numbers[0]].data)
        took = [words[number]["load_ms"] - words[number]["queue_ms"] for number in numbers]
        best = max(1, min(took))
        yield (
            f"{release} {coordinator}, {name}: {counts[name]} records, {size / 1e6:.1f} MB,"
            f" loaded in {sorted(took)} ms: at best {counts[name] / best:.0f} records"
            f" or {size / best / 1000:.1f} kB a millisecond\n"
        )


def _segment(pairs: list[Pair]) -> bytes:
    batches = []
    for begin in range(0, len(pairs), _BATCH_RECORDS):
        some = pairs[begin : begin + _BATCH_RECORDS]
        held = [LoggedRecord(begin + place, BEGIN_MS, *pair) for place, pair in enumerate(some)]
        batches.append(encode_batch(held, 0))
    return b"".join(batches)


if __name__ == "__main__":
    sys.exit(main())
