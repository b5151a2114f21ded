"""The golden captures: their folders, and what Kafka's own tools say about them."""

import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

CAPTURES = Path(__file__).resolve().parents[1] / "golden" / "captures"
CAPTURE_NAMES = sorted(folder.name for folder in CAPTURES.iterdir())

BATCH_LINE = re.compile(
    r"baseOffset: (?P<base_offset>\d+) lastOffset: (?P<last_offset>\d+) count: (?P<record_count>\d+)"
    r" baseSequence: (?P<base_sequence>-?\d+) lastSequence: -?\d+ producerId: (?P<producer_id>-?\d+)"
    r" producerEpoch: (?P<producer_epoch>-?\d+) partitionLeaderEpoch: (?P<leader_epoch>\d+)"
    r" isTransactional: (?P<is_transactional>\w+) isControl: (?P<is_control>\w+)"
    r" deleteHorizonMs: OptionalLong(?P<delete_horizon_ms>\S+) position: (?P<byte_position>\d+)"
    r" (?P<timestamp_type>\w+): (?P<max_timestamp_ms>-?\d+) size: (?P<size_bytes>\d+)"
    r" magic: (?P<magic>\d) compresscodec: (?P<codec>\w+)"
)
RECORD_LINE = re.compile(
    r"\| offset: (?P<log_offset>\d+) \w+: (?P<record_timestamp_ms>-?\d+)"
    r" keySize: (?P<key_size>-?\d+) valueSize: (?P<value_size>-?\d+)"
)


class Capture(NamedTuple):
    """One golden capture."""

    path: Path

    @property
    def segments(self) -> Path:
        """Folder that `open_log_folder` takes."""
        return self.path / "segments"

    def meta(self) -> dict[str, Any]:
        """Versions, settings and counts."""
        found: dict[str, Any] = json.loads((self.path / "meta.json").read_text())
        return found

    def dump(self, partition: int) -> Iterator[str]:
        """Lines of Kafka's own dump of a partition."""
        path = self.path / "dump" / f"__consumer_offsets-{partition}.txt.gz"
        with gzip.open(path, "rt", errors="replace") as lines:
            yield from lines

    def stream(self) -> list[dict[str, Any]]:
        """Every record as it was written, from the one capture that has it."""
        with gzip.open(self.path / "stream.jsonl.gz", "rt") as lines:
            return [json.loads(line) for line in lines]


def capture(name: str) -> Capture:
    """The capture of a name."""
    return Capture(CAPTURES / name)
