"""A log with partitions of several brokers: transactions, conversions, early layouts, damage."""

import shutil
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final, NamedTuple

from tests.support.batches import Batch, read_batches
from tests.wire.golden import capture
from tests.wire.segments import hand_made


class Part(NamedTuple):
    """A partition of a capture, and the number that it gets here."""

    name: str
    partition: int
    becomes: int


PARTS: Final = (
    Part("offsets", 1, 1),
    Part("offsets", 2, 2),
    Part("migration", 0, 10),
    Part("migration", 1, 11),
    Part("migration", 2, 12),
    Part("consumer-static", 2, 22),
    Part("broker-3.7", 1, 31),
    Part("share-streams", 0, 40),
    Part("share-streams", 2, 42),
    Part("share-streams", 3, 43),
)
"""Captures whose group ids do not clash."""
DAMAGED_PARTITION: Final = 22
BROKEN_BATCH: Final = 60
"""One of 152 in the damaged partition."""
GROUP: Final = b"\0\5fleet"
BAD_RECORDS: Final[tuple[tuple[bytes | None, bytes | None, str], ...]] = (
    (None, b"\0\0", "no_key"),
    (b"\0", None, "key_truncated"),
    (b"\0\x63" + GROUP, b"\0\0\0", "unknown_record_type"),
    (b"\0\3" + GROUP, b"\0\x09\0\0\0\1\0", "unknown_value_version"),
    (b"\0\5\0\2\xc3\x28\0\1m", None, "key_corrupt"),
    (b"\0\1" + GROUP + b"\0\1t\0\0\0\1", b"\0\3\0\0", "value_truncated"),
    (b"\0\1\0\2\xc3\x28\0\1t\0\0\0\1", None, "key_corrupt"),
)
"""Key, value and why they cannot be decoded; they stand at the end of the damaged partition."""


def write_log(folder: Path, share: float = 1.0, parts: Collection[Part] = PARTS) -> Path:
    """Write the log, or the first part of every partition as a broker had it earlier; replaces what is there."""
    for part in parts:
        target = folder / f"__consumer_offsets-{part.becomes}"
        target.mkdir(parents=True, exist_ok=True)
        source = capture(part.name).segments / f"__consumer_offsets-{part.partition}"
        batches = list(batches_of(source))
        if part.becomes == DAMAGED_PARTITION:
            batches = list(_damaged(batches))
        kept = batches[: round(len(batches) * share)]
        (target / f"{0:020d}.log").write_bytes(b"".join(kept))
    metadata = "__cluster_metadata-0"
    shutil.copytree(capture("offsets").segments / metadata, folder / metadata, dirs_exist_ok=True)
    return folder


def batches_of(folder: Path) -> Iterator[bytes]:
    """The bytes of each batch of a partition's files."""
    for file in sorted(folder.glob("*.log")):
        data = file.read_bytes()
        for batch in read_batches(file):
            assert isinstance(batch, Batch)
            at = batch.header.byte_position
            yield data[at : at + batch.header.size_bytes]


def _damaged(batches: list[bytes]) -> Iterator[bytes]:
    for number, batch in enumerate(batches):
        if number == BROKEN_BATCH:
            broken = bytearray(batch)
            broken[-5] ^= 0xFF
            yield bytes(broken)
        else:
            yield batch
    first = int.from_bytes(batches[-1][:8]) + 1_000
    records = [
        (first + at, 1_795_253_000_000 + at, key, value)
        for at, (key, value, _) in enumerate(BAD_RECORDS)
    ]
    yield hand_made.batch(records)
