"""Replays what was read of a log: all groups in this process, or a share of them in each of several copies of it."""

import multiprocessing
import signal
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import chain
from multiprocessing.connection import Connection
from multiprocessing.context import ForkProcess
from operator import itemgetter
from typing import Any, Final, Generic, NamedTuple, TypeAlias, TypeVar, cast

from rebalance_audit.audit.options import AuditOptions
from rebalance_audit.audit.rows import Row
from rebalance_audit.garbage import collecting_less
from rebalance_audit.local.audit_feeder import (
    EVERY_GROUP,
    AuditFeeder,
    GroupRange,
    Place,
    group_ranges,
)
from rebalance_audit.local.byte_ranges import cores
from rebalance_audit.local.single_pass_log import SinglePassLog
from rebalance_audit.steps import OnProgress, no_progress

Item = TypeVar("Item")
Answer = TypeVar("Answer")


def can_fork() -> bool:
    """Whether this system copies processes: Windows cannot, and on macOS system libraries do not survive it."""
    return sys.platform != "darwin" and "fork" in multiprocessing.get_all_start_methods()


def forked(work: Callable[[Item], Answer], items: Sequence[Item]) -> list[Answer]:
    """The answers of `work` in the order of the items: the first is made here, each other one in a copy.

    Answers, and what `work` raises, must be picklable. Raises ChildProcessError where a copy ends without an answer.
    """
    context = multiprocessing.get_context("fork")
    copies: list[tuple[ForkProcess, Connection]] = []
    try:
        for item in items[1:]:
            here, there = context.Pipe(duplex=False)
            copy = context.Process(target=_answer, args=(there, work, item), daemon=True)
            copy.start()
            there.close()
            copies.append((copy, here))
        return [work(items[0]), *(_received(*copy) for copy in copies)]
    finally:
        for copy, here in copies:
            copy.terminate()
            copy.join()
            here.close()


def _answer(there: Connection, work: Callable[[Any], Any], item: Any) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first process ends its copies
    try:
        answer, error = work(item), None
    except Exception as raised:  # noqa: BLE001 - raised again in the first process
        answer, error = None, raised
    with suppress(BrokenPipeError):  # the first process has ended
        there.send((answer, error))


def _received(copy: ForkProcess, here: Connection) -> Any:
    try:
        answer, error = cast("tuple[Any, Exception | None]", here.recv())
    except EOFError:
        copy.join()
        raise ChildProcessError(
            f"A process that replayed groups ended early, with exit code {copy.exitcode}."
        ) from None
    if error is not None:
        raise error
    return answer


FORK_FROM_RECORDS: Final = 2_000
"""Records of groups: below, copying this process and bringing the answers together takes longer than their replay."""

Finished = TypeVar("Finished")
Finish: TypeAlias = Callable[[dict[str, list[Row]]], Finished]
"""What is made of the gold tables of some groups, their rows in order of the key."""


GroupCounts: TypeAlias = dict[str, dict[str, int]]
"""Group id -> what was counted -> how often."""


class Share(NamedTuple, Generic[Finished]):
    """What came of some groups."""

    finished: Finished
    met: dict[str, Place]
    """Group id -> its first record."""
    anomalies: GroupCounts
    """By kind of anomaly."""
    unread: GroupCounts
    """By part of the members' bytes that cannot be read."""
    undecodable: dict[str, tuple[Place, int]]
    """Reason -> the first record that could not be decoded, and how many there were."""
    split: dict[str, set[int]]
    """Groups that are left out, as they have records in several log partitions -> those partitions."""


def replay_shares(
    look: SinglePassLog,
    options: AuditOptions,
    groups: tuple[bytes, ...],
    finish: Finish[Finished],
    on_progress: OnProgress = no_progress,
    *,
    with_progress: bool = False,
) -> list[Share[Finished]]:
    """All groups in ranges of their ids, in order. `groups`: see `AuditFeeder`. Raises OSError that names the file.

    `with_progress`: gold.progress is among the tables; the log is read again for it.
    `on_progress`: one process reports progress; the others are about as far.
    """
    ranges = [EVERY_GROUP]
    if look.group_records >= FORK_FROM_RECORDS and cores() > 1 and can_fork():
        ranges = group_ranges(look.weights(), cores())

    def work(ids: GroupRange) -> Share[Finished]:
        feed = AuditFeeder(options, groups, ids=ids)
        for log_partition, piece in look.pieces():
            if ids == ranges[0]:
                on_progress(f"auditing partition {log_partition}")
            feed.take(log_partition, piece)
        tables = feed.tables(look.commits, look.folder if with_progress else None)
        audit = feed.audit
        return Share(
            finish(tables),
            feed.met(),
            audit.anomalies(),
            audit.unread(),
            feed.undecodable,
            dict(feed.split),
        )

    with collecting_less():
        return forked(work, ranges) if len(ranges) > 1 else [work(EVERY_GROUP)]


def counts_of(
    shares: Iterable[Share[Finished]], counted: Callable[[Share[Finished]], GroupCounts]
) -> GroupCounts:
    """What was counted of the groups of all shares, the group first that the log has first."""
    found = [
        (met[group_id], group_id, counts)
        for met, by_group in ((share.met, counted(share)) for share in shares)
        for group_id, counts in by_group.items()
    ]
    return {group_id: counts for _, group_id, counts in sorted(found, key=itemgetter(0))}


def undecodable_of(parts: Iterable[Share[Finished]]) -> dict[str, int]:
    """Those of all parts, the reason first that the log has first."""
    counts: dict[str, int] = {}
    reported = chain.from_iterable(part.undecodable.items() for part in parts)
    for reason, (_, count) in sorted(reported, key=lambda each: each[1][0]):
        counts[reason] = counts.get(reason, 0) + count
    return counts
