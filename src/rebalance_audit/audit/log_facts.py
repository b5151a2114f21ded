"""What was read of a log: the lines above the answer and the notes below it."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple


class LogFacts(NamedTuple):
    """Counts of one log, and what was odd about it."""

    source: str
    log_partitions: int
    size_bytes: int
    records: int
    """All of them; offset commits and transaction markers included."""
    offset_commits: int
    first_ms: int | None
    last_ms: int | None
    """Smallest and largest record timestamp; None where there is no record."""
    undecodable: Mapping[str, int]
    """Reason -> group records that could not be decoded."""
    anomalies: Mapping[str, Mapping[str, int]]
    """Group id -> kind of anomaly -> how often it was met."""
    notes: Sequence[str]
    """Sentences about damaged stretches and other oddities of the files."""
    unfinished_ends: int
    """Segments that end in reserved space or in half a batch, as those of a running broker do."""
