"""The values of `--source`, and the sources that they name."""

from collections.abc import Mapping
from typing import Final

from rebalance_audit.errors import BadRequest
from rebalance_audit.lake.sources.delta_source import DeltaSource
from rebalance_audit.lake.sources.kafka_source import KafkaSource
from rebalance_audit.lake.sources.segments_source import DEFAULT_SPLIT_BYTES, SegmentsSource
from rebalance_audit.lake.sources.source import Source
from rebalance_audit.live_cluster.kafka_cluster import KafkaSettings
from rebalance_audit.location import spelled

SPELLINGS: Final = "segments:DIR, segments:URL, delta:PATH or kafka:HOST:PORT"


def parse_source(
    spec: str,
    split_target_bytes: int = DEFAULT_SPLIT_BYTES,
    kafka: KafkaSettings | None = None,
    storage_options: Mapping[str, str] | None = None,
) -> Source:
    """The source that a SPEC names. Raises BadRequest.

    `kafka` is how to read a live cluster, `storage_options` are those of fsspec for segments that are not mounted.
    """
    kind, colon, location = spec.partition(":")
    if not colon or not location:
        raise BadRequest(f"{spec!r} is not a source: write {spelled(spec, SPELLINGS)}.")
    match kind:
        case "segments":
            return SegmentsSource(spec, location, split_target_bytes, storage_options)
        case "delta":
            return DeltaSource(spec, location)
        case "kafka":
            return KafkaSource(spec, location, kafka)
        case _:
            raise BadRequest(f"{spec!r} is not a known kind of source: write {SPELLINGS}.")
