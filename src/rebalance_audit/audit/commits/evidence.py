"""What offset commits tell about the end of one member."""

from collections.abc import Collection, Mapping
from enum import Enum, auto
from typing import Final, NamedTuple

from rebalance_audit.audit.causes.member_watch import MemberWatch
from rebalance_audit.audit.commits.book import CommitBook
from rebalance_audit.audit.commits.last_commit import LastCommit
from rebalance_audit.audit.commits.libraries import ClientLibrary, library_of_member_id
from rebalance_audit.audit.commits.summary import CommitSummary
from rebalance_audit.audit.group.ownership import Ownership

JITTER_MS: Final = 100
"""Difference between two pauses of a timer's rhythm that means nothing."""


class CommitEvidence(NamedTuple):
    """A member's commits, and those of the members that stayed."""

    last: LastCommit
    usual: CommitSummary | None
    """Commits for the partition that it committed most often, of those that it owns; None if it has none of these."""
    recent: CommitSummary | None
    """The same since the last generation of a classic group."""
    fellow: CommitSummary | None
    """As `usual`, for the member that committed last of those that stayed."""
    others_ms: tuple[int, ...]
    """Time of the last commit of each member that stayed and ever committed (epoch ms)."""
    rejoined_ms: tuple[int, ...]
    """The same of those that committed last as they rejoined."""
    timed_ms: tuple[int, ...]
    """The same of those that committed last by their timer."""
    is_empty: bool
    """Nobody is left, not even members that are new."""
    timer_ms: int | None
    """The interval at which a classic group's members commit on a timer; None if no generation showed one."""
    since_ms: int
    """When the member last wrote a record (epoch ms): in a classic group the begin of its last generation."""
    library: ClientLibrary
    """The client library that the records show."""


def evidence_of(
    watch: MemberWatch,
    watches: Mapping[str, MemberWatch],
    book: CommitBook,
    ownership: Ownership,
    stayed: Collection[str] | None = None,
    library: ClientLibrary = ClientLibrary.UNKNOWN,
    rejoin_commits: Collection[str] = (),
) -> CommitEvidence | None:
    """The evidence for the end of a member; None if it never committed. `stayed`: ids of members; None: all others."""
    if watch.last_commit is None:
        return None
    if library is ClientLibrary.UNKNOWN:
        library = library_of_member_id(watch.stint.member_id)
    others = [
        other
        for member_id, other in watches.items()
        if other is not watch and (stayed is None or member_id in stayed)
    ]
    at_work = [
        (other.last_commit.position.record_timestamp_ms, other.stint.member_id)
        for other in others
        if other.last_commit is not None
    ]
    timer_ms = None if stayed is None else book.timer_ms()
    kinds = {
        member_id: _kind(watches[member_id], at_ms, book, ownership, timer_ms)
        for at_ms, member_id in at_work
        if member_id in rejoin_commits
    }
    owned = tuple(ownership.owned_by(watch.stint.member_id))
    return CommitEvidence(
        watch.last_commit,
        book.most_of(owned),
        book.most_of_round(owned),
        book.most_of(ownership.owned_by(max(at_work)[1])) if at_work else None,
        tuple(at_ms for at_ms, _ in at_work),
        tuple(at_ms for at_ms, each in at_work if kinds.get(each) is _Kind.REJOINING),
        tuple(at_ms for at_ms, each in at_work if kinds.get(each) is _Kind.TIMED),
        not (watches.keys() - {watch.stint.member_id} if stayed is None else stayed),
        timer_ms,
        watch.last_life.record_timestamp_ms,
        library,
    )


class _Kind(Enum):
    """Why a member with a library that commits on a timer, and as it rejoins, committed last."""

    TIMED = auto()
    REJOINING = auto()
    UNKNOWN = auto()


def _kind(
    watch: MemberWatch, at_ms: int, book: CommitBook, ownership: Ownership, timer_ms: int | None
) -> _Kind:
    owned = tuple(ownership.owned_by(watch.stint.member_id))
    usual, recent = book.most_of(owned), book.most_of_round(owned)
    if timer_ms is None:
        return _Kind.REJOINING if usual is not None and usual.is_steady else _Kind.UNKNOWN
    if recent is None or recent.last_ms != at_ms:
        return _Kind.UNKNOWN
    pause_ms = recent.pause_ms
    if pause_ms is None:
        pause_ms = at_ms - watch.last_life.record_timestamp_ms
    return _Kind.REJOINING if pause_ms < timer_ms - early_by_ms(timer_ms) else _Kind.TIMED


def early_by_ms(timer_ms: int) -> int:
    """How much earlier than a timer makes it a commit has another reason."""
    return max(JITTER_MS, timer_ms // 10)
