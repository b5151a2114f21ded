"""The two large logs that benchmarks read, of one shape, made once and kept under `build/bench`.

A log as one partition of a cluster of 4.3 has it: of a hundred records 99 are offset commits, a member commits its five
partitions by one request, and a request is a batch; 400 groups of five members, of both protocols. The smaller log has
a quarter of the records, of commits as of groups, and the same groups.
"""

from pathlib import Path
from typing import Final, NamedTuple

from rebalance_audit.sim.brokers.batch_writer import NO_SEQUENCE, LoggedRecord, encode_batch
from rebalance_audit.wire.segments.folder import open_log_folder
from tests.dsl import TOPIC_IDS
from tests.support.batches import Batch, read_batches
from tests.support.broker_folder import OFFSETS_TOPIC
from tests.support.cluster_topics import ClusterTopic, creating
from workshop.bench.scale_log import SHARE, START_MS, TOPIC, Shape, scale_log

SMALLER: Final = 4
"""So many times the records of the smaller log are those of the larger one."""
GROUPS: Final = 400
MEMBERS: Final = 5
RECORDS_PER_ROUND: Final = 500_000
"""With two rebalances of each group about one record in a hundred is one of a group."""


class BenchLog(NamedTuple):
    """A log on disk."""

    folder: Path
    records: int
    size_bytes: int
    segments: tuple[Path, ...]


def bench_log(records: int) -> BenchLog:
    """A log of so many records; made where it is not there."""
    shape = Shape(
        records,
        groups=GROUPS,
        members=MEMBERS,
        rounds=max(1, records // RECORDS_PER_ROUND),
        partitions=1,
        committed=MEMBERS * SHARE,
        commits_per_batch=SHARE,
        commit_version=4,
    )
    folder = scale_log(shape)
    _write_metadata(folder / "__cluster_metadata-0" / f"{0:020}.log")
    segments = tuple(
        path for paths in open_log_folder(folder).partitions.values() for path in paths
    )
    return BenchLog(
        folder,
        sum(_record_count(path) for path in segments),
        sum(path.stat().st_size for path in segments),
        segments,
    )


def _write_metadata(path: Path) -> None:
    """What defines the topics: beside the segments of a controller that is a broker as well."""
    topics = {
        TOPIC: ClusterTopic(TOPIC_IDS[TOPIC], MEMBERS * SHARE),
        OFFSETS_TOPIC: ClusterTopic(b"consumer-offsets", 1),
    }
    values = creating(topics, 0)
    records = [LoggedRecord(at, START_MS, None, value) for at, value in enumerate(values)]
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(encode_batch(records, 1, base_sequence=NO_SEQUENCE))


def _record_count(segment: Path) -> int:
    return sum(
        found.header.record_count or 0
        for found in read_batches(segment)
        if isinstance(found, Batch)
    )
