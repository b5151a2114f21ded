"""What was read from a log: printed as the lines above an answer and the notes below it."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from rebalance_audit.audit.broker_log.file_report import BrokerLogFile
from rebalance_audit.audit.deploys.read import DeploysRead


class LogFacts(NamedTuple):
    """Counts of one log, and its oddities."""

    source: str
    log_partitions: int
    size_bytes: int
    records: int
    """All records, including offset commits and transaction markers."""
    offset_commits: int
    first_ms: int | None
    last_ms: int | None
    """`first_ms` and this: smallest and largest record timestamp (epoch ms); None without records."""
    undecodable: Mapping[str, int]
    """Reason -> number of group records that could not be decoded."""
    anomalies: Mapping[str, Mapping[str, int]]
    """Group id -> kind of anomaly -> count."""
    notes: Sequence[str]
    """Sentences about damaged stretches and other oddities of the files."""
    unfinished_ends: int
    """Number of segments that end in preallocated space or in a partial batch, as a running broker's do."""
    unread: Mapping[str, Mapping[str, int]] = {}
    """Group id -> part of its members' bytes that cannot be read (`audit.group.classic_members.SENTENCES`) -> count."""
    broker_logs: Sequence[BrokerLogFile] = ()
    """What became of each file of a broker's log that was given."""
    left_out: Sequence[str] = ()
    """Sentences about groups that are not audited, as they have records in several partitions; also among `notes`."""
    deploys: DeploysRead = DeploysRead()
