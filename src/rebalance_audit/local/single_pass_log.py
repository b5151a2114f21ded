"""A log that is read once: its counts and the names of its topics first, then its records without the commits.

The audit can begin only when every name is known. So what it needs of the log, one record in a hundred and what the
commits between them were, waits in memory. Of a log where that is too much, the rest is read once more.
"""

from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple, TypeAlias

from rebalance_audit import limits
from rebalance_audit.local.byte_ranges import Range, RangeItem, in_portions, ranges_of, workers_for
from rebalance_audit.local.survey import (
    NOTHING,
    Survey,
    survey_of,
)
from rebalance_audit.steps import OnProgress, no_progress
from rebalance_audit.wire.key_bytes import group_bytes
from rebalance_audit.wire.metadata_log import read_topic_names
from rebalance_audit.wire.segments.bad_bytes import BadBytes, TailNote
from rebalance_audit.wire.segments.folder import LogFolder

if TYPE_CHECKING:
    from rebalance_audit.segments.commits import Account, CommitsApart

Piece: TypeAlias = "tuple[int, CommitsApart | BadBytes | TailNote]"
"""Log partition, and what is in a stretch of it."""

KEPT_BYTES_MAX: Final = limits.KEPT_BYTES.most
"""What waits for the audit takes about so much memory at most."""
_SUMMED_UP_AT_ONCE: Final = 4
"""Ranges of the log, since commits of one partition in one range become one summary."""
_RECORD_BYTES: Final = 250
_SUMMARY_BYTES: Final = 350
"""Memory of a record beside its value, and of a summary."""


class _Found(NamedTuple):
    survey: Survey
    pieces: list[Piece]
    accounts: "list[Account]"

    @property
    def weight_bytes(self) -> int:
        return sum(
            _RECORD_BYTES * len(piece.chunk.keys)
            + sum(map(len, filter(None, piece.chunk.values)))
            + _SUMMARY_BYTES * sum(len(summaries) for _, _, summaries in piece.commits)
            for _, piece in self.pieces
            if not isinstance(piece, BadBytes | TailNote)
        ) + sum(len(piece.raw) for _, piece in self.pieces if isinstance(piece, BadBytes))


class SinglePassLog:
    """What a log holds. Reads it when it is made; raises OSError that names the file."""

    def __init__(self, folder: LogFolder, on_progress: OnProgress = no_progress) -> None:
        from rebalance_audit.local.log_commits import LogCommits  # noqa: PLC0415 - imports numpy

        self.folder = folder
        self.names = read_topic_names(folder)
        """Of all topics that any record names."""
        self.total = NOTHING
        self.commits = LogCommits()
        """The account of all offset commits."""
        self._kept: list[list[Piece]] = []
        kept_bytes = 0
        for found in _looks(folder):
            self.names.merge(found.survey.topics)
            self.total = self.total.joined(found.survey)
            for account in found.accounts:
                self.commits.add(account)
            on_progress(f"reading the log: {self.total.records:,} records")
            if kept_bytes < KEPT_BYTES_MAX:
                kept_bytes += found.weight_bytes
                self._kept.append(found.pieces)
        self._is_all_kept = kept_bytes < KEPT_BYTES_MAX

    @property
    def group_records(self) -> int:
        """How many records wait that are no offset commits; all of the log's, or more than memory is for."""
        return sum(
            len(piece.chunk.keys)
            for pieces in self._kept
            for _, piece in pieces
            if not isinstance(piece, BadBytes | TailNote)
        )

    def weights(self) -> dict[str, int]:
        """Id of each group of these records -> about how much work its replay is."""
        weights: Counter[bytes | None] = Counter()
        for pieces in self._kept:
            for _, piece in pieces:
                if not isinstance(piece, BadBytes | TailNote):
                    for key, value in zip(piece.chunk.keys, piece.chunk.values, strict=True):
                        weights[group_bytes(key)] += _RECORD_BYTES + len(value or b"")
        return {
            group.decode(errors="replace"): weight for group, weight in weights.items() if group
        }

    def pieces(self) -> Iterator[Piece]:
        """The log, in order of partition and offset; a process can ask once. Raises OSError that names the file."""
        kept_pieces = len(self._kept)
        for number in range(kept_pieces):
            yield from self._kept[number]
            self._kept[number] = []  # the audit goes on in the memory that it leaves
        if not self._is_all_kept:
            for found in islice(_looks(self.folder), kept_pieces, None):
                yield from found.pieces


def _looks(folder: LogFolder) -> Iterator[_Found]:
    parts = ranges_of(folder, folder.segments, _SUMMED_UP_AT_ONCE)
    yield from in_portions(_look_at, parts, workers_for(folder.size_bytes))


def _look_at(part: Range, read: list[RangeItem]) -> _Found:
    from rebalance_audit.segments.commits import (  # noqa: PLC0415 - imports numpy
        KeyedCommits,
        account_of,
        set_apart,
    )

    log_partition = part.segment.log_partition
    pieces: list[Piece] = []
    accounts = []
    for each in read:
        if isinstance(each, BadBytes | TailNote):
            pieces.append((log_partition, each))
        else:
            commits = KeyedCommits.among(each)
            apart = set_apart(each, commits)
            pieces.append((log_partition, apart))
            accounts.append(account_of(log_partition, each, commits, apart.chunk))
    return _Found(survey_of(log_partition, read), pieces, accounts)
