"""Holds the lines that the compiled walk prints to those of the decoder of single records."""

from pathlib import Path

from rebalance_audit.local.decode import RecordFilter, plain_lines, record_filter, walked_lines
from rebalance_audit.wire.segments.folder import LogFolder, Segment

PARTITION = 3
EVERYTHING = record_filter((), (), None, None)


def assert_same_lines(
    path: Path, end_offset: int | None = None, wanted: RecordFilter = EVERYTHING
) -> list[bytes]:
    """Both ways print the same; returns the lines."""
    segment = Segment(PARTITION, path, 0, path.stat().st_size, end_offset, 0)
    folder = LogFolder(path.parent, {PARTITION: (segment,)}, (), ())
    walked = b"".join(walked_lines(folder, wanted, [PARTITION])).splitlines()
    assert walked == b"".join(plain_lines(folder, wanted, [PARTITION])).splitlines()
    return walked
