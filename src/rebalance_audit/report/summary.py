"""The figures of one group from its rows, as on its line of the overview."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import Any, Final, NamedTuple, TypeAlias

from rebalance_audit.bounds import NOTHING, Bounds, total_of
from rebalance_audit.report.present import Present, present_of
from rebalance_audit.wire.consumer_protocol import PROTOCOL_TYPE

TableRow: TypeAlias = Mapping[str, Any]
"""One row of a gold table: columns as in `schemas/tables`, times in epoch milliseconds."""
Tables: TypeAlias = Mapping[str, Sequence[TableRow]]
"""Gold table name (without layer) -> rows."""
RowKey: TypeAlias = tuple[str, int, int]
"""Group, incarnation, and the number of an epoch or of a rebalance."""

_CONSUMERS: Final = (None, "", PROTOCOL_TYPE)
DEAD_OR_AWAY: Final = frozenset(
    {"member_departed", "member_session_expired", "static_member_expired"}
)
"""Ends of members that may have been dead or away for a while before."""


class GroupSummary(NamedTuple):
    """One group over the whole log."""

    group_id: str
    protocols: tuple[str, ...]
    """Two or more for a group that changed its protocol, each where it was seen last: the present one comes last."""
    protocol_type: str | None
    """Of its classic members, if they are no consumers: `connect`, `sr`."""
    present: Present | None
    """Its state at the end of the log; None for a deleted group."""
    incarnations: int
    log_partition: int
    last_epoch: int | None
    assignor: str | None
    """Members of the last epoch."""
    epochs: int
    epoch_noun: str
    """What its protocol calls an epoch."""
    rebalances: int
    not_stable: Bounds
    """Milliseconds from leaving stable to stable again, or to the end of the log, summed over the rebalances."""
    open_since_ms: int | None
    """Start of the rebalance whose end is not in the log; epoch milliseconds."""
    longest: Bounds | None
    """The longest of them, by `Bounds.rank`."""
    unowned: Bounds | None
    """Time without owner in milliseconds, summed over partitions; a lower bound where members kept theirs unused.

    None if members of the group own no partitions.
    """
    culprit_id: str | None
    """The member for which the group waited longest in all of its rebalances; None if no member held one up."""
    culprit_times: int
    """How many rebalances it held up."""
    culprit_ms: int
    """For how long in all of them."""
    top_cause: str | None
    """The cause that most epochs have as their first, with their count."""
    top_cause_times: int

    @property
    def is_stuck(self) -> bool:
        """Whether it rebalances at the end of the log, or waits for somebody."""
        waits = self.present is not None and self.present.is_stuck
        return waits or self.open_since_ms is not None


def is_classic(row: TableRow) -> bool:
    """Whether the row is of the classic protocol, whose one record per generation shows its end but not its start."""
    protocol: str = row["protocol"]
    return protocol == "classic"


def is_open_join_phase(rebalance: TableRow) -> bool:
    """Whether a rebalance goes on that no record shows yet: its join phase is in a coordinator's log."""
    is_open = rebalance["ended_at"] is None and rebalance["first_epoch"] is None
    return is_open and is_classic(rebalance)


def owns_partitions(row: TableRow) -> bool:
    """Whether members of the row's group own partitions: Connect's workers, for one, do not."""
    return not is_classic(row) or row.get("protocol_type") in _CONSUMERS


def is_share(row: TableRow) -> bool:
    """Whether a row is of a share group, whose members have partitions in common."""
    return bool(row["protocol"] == "share")


def epoch_noun(rows: Iterable[TableRow]) -> str:
    """`generation` where all rows are of the classic protocol, else `epoch`."""
    return "generation" if all(map(is_classic, rows)) else "epoch"


def epoch_key(row: TableRow) -> RowKey:
    """Key of the epoch that a row is, or is of."""
    return row["group_id"], row["incarnation"], row["epoch"]


def rebalance_key(row: TableRow, after: int = 0) -> RowKey:
    """Key of the rebalance that a row is, or is of; or of the one that many `after` it."""
    return row["group_id"], row["incarnation"], row["rebalance_seq"] + after


def duration_of(rebalance: TableRow) -> Bounds | None:
    """How long a rebalance took; None while it goes on. Tables of earlier releases have bounds of its start alone."""
    given = bounds_in(rebalance, "duration")
    took_ms, ended_ms = rebalance["duration_ms"], rebalance["ended_at"]
    if given is not None or took_ms is None:
        return given
    if not is_classic(rebalance):
        return Bounds.exactly(took_ms)
    earliest_ms = rebalance.get("started_at_earliest")
    return Bounds.between(took_ms, None if earliest_ms is None else ended_ms - earliest_ms, took_ms)


def began_ms(rebalance: TableRow) -> int | None:
    """When a rebalance began (epoch ms): by the best estimate where records give bounds, at the latest without one."""
    took = duration_of(rebalance)
    at_ms: int | None = rebalance["started_at"]
    if took is not None and took.estimate is not None and rebalance["ended_at"] is not None:
        at_ms = rebalance["ended_at"] - took.estimate
    return at_ms


def lasted(rebalance: TableRow) -> Bounds | None:
    """How long a rebalance took, or has taken when the log ends; None if that is not known."""
    began_at_ms, until_ms = rebalance["started_at"], rebalance.get("open_until")
    if until_ms is None or began_at_ms is None:
        return duration_of(rebalance)
    return Bounds.exactly(max(0, until_ms - began_at_ms))


def rank_of(rebalance: TableRow) -> tuple[int, int]:
    """How long it took, for sorting: `Bounds.rank`; what goes on counts up to the end of the log."""
    took = lasted(rebalance)
    return NOTHING.rank if took is None else took.rank


def longest_first(rebalance: TableRow) -> tuple[bool, int, int]:
    """The order in every list of the longest; what goes on comes before all others."""
    certain_ms, likely_ms = rank_of(rebalance)
    return rebalance["ended_at"] is not None, -certain_ms, -likely_ms


def waited_ms(rebalance: TableRow) -> Iterator[tuple[str, int]]:
    """Member ids with how long the group waited for each in a rebalance (ms), so far where it goes on.

    Not before it: the end of a member that was silent until then began it.
    """
    until_ms, started_ms = rebalance.get("open_until"), began_ms(rebalance)
    names = ("member_ids", "ms", "from")
    columns = (rebalance.get(f"held_up_{name}") or () for name in names)
    for member_id, ms, from_ms in zip(*columns, strict=False):
        if member_id is None:
            continue
        if from_ms is None or until_ms is not None:
            yield member_id, 0 if from_ms is None else max(0, until_ms - from_ms)
            continue
        before_ms = 0 if started_ms is None else max(0, started_ms - from_ms)
        yield member_id, max(0, (ms or 0) - before_ms)


def unowned_of(row: TableRow) -> Bounds | None:
    """Time without owner, summed over partitions, of an epoch or a rebalance; None if its members own none."""
    if not owns_partitions(row):
        return None
    given = bounds_in(row, "unowned_partition")
    if given is not None:
        return given
    known_ms = row["unowned_partition_ms"]
    if known_ms is None or is_classic(row):
        return Bounds(known_ms or 0, None, known_ms or 0)
    return Bounds.exactly(known_ms)


def bounds_in(row: TableRow, stem: str) -> Bounds | None:
    """`<stem>_min_ms`, `<stem>_max_ms` and `<stem>_estimate_ms` of a row; None where it has none."""
    least = row.get(f"{stem}_min_ms")
    if least is None:
        return None
    return Bounds(least, row[f"{stem}_max_ms"], row[f"{stem}_estimate_ms"])


def kept_unused(member: TableRow) -> bool:
    """Whether a member of the consumer protocol may have kept its partitions while it was dead, or away for a while."""
    if is_classic(member):
        return False
    return member.get("next_member_id") is not None or member.get("left_how") in DEAD_OR_AWAY


def summaries(tables: Tables) -> list[GroupSummary]:
    """One summary per group of `epochs`, `rebalances` and `group_states`, the most unsettled first.

    Groups that wait for somebody come before all others. What goes on counts up to the end of the log.
    """
    by_group: dict[str, dict[str, list[TableRow]]] = defaultdict(lambda: defaultdict(list))
    for name in ("epochs", "rebalances", "group_states", "members"):
        for row in tables[name]:
            by_group[row["group_id"]][name].append(row)
    found = [_summary(group_id, rows) for group_id, rows in by_group.items()]
    return sorted(
        found,
        key=lambda group: (
            not group.is_stuck,
            -group.not_stable.likely,
            -group.epochs,
            group.group_id,
        ),
    )


def _culprit(
    rebalances: Iterable[TableRow], members: Iterable[TableRow]
) -> tuple[str | None, int, int]:
    """The member for which the group waited longest, by its latest id, how many it held up, and for how long."""
    instances = {row["member_id"]: row["instance_id"] for row in members if row["instance_id"]}
    latest: dict[str, str] = {}
    waits: dict[str, list[int]] = defaultdict(list)
    for row in rebalances:
        for member_id, ms in waited_ms(row):
            who = instances.get(member_id, member_id)
            latest[who] = member_id
            waits[who].append(ms)
    worst = max(waits, key=lambda who: (sum(waits[who]), who), default=None)
    if worst is None:
        return None, 0, 0
    return latest[worst], len(waits[worst]), sum(waits[worst])


def _summary(group_id: str, rows: Mapping[str, list[TableRow]]) -> GroupSummary:
    epochs = sorted(rows["epochs"], key=lambda row: (row["incarnation"], row["epoch"]))
    rebalances, states = rows["rebalances"], rows["group_states"]
    durations = [took for row in rebalances if (took := lasted(row)) is not None]
    culprit_id, culprit_times, culprit_ms = _culprit(rebalances, rows["members"])
    causes = Counter(row["primary_cause"] for row in epochs if row["primary_cause"])
    top_cause, top_cause_times = next(iter(causes.most_common(1)), (None, 0))
    last_epoch = epochs[-1] if epochs else None
    measured = [unowned for row in epochs if (unowned := unowned_of(row)) is not None]
    unowned = total_of(measured) if measured or not epochs else None
    if unowned is not None and any(map(kept_unused, rows["members"])):
        unowned = unowned._replace(most=None)
    protocol_types = [row.get("protocol_type") for row in epochs if not owns_partitions(row)]
    present = present_of(states, rows["members"])
    protocols = [row["protocol"] for row in epochs or states]
    if present is not None:
        protocols.append(present.protocol)
    return GroupSummary(
        group_id=group_id,
        protocols=tuple(reversed(dict.fromkeys(reversed(protocols)))),
        protocol_type=protocol_types[-1] if protocol_types else None,
        present=present,
        incarnations=len({row["incarnation"] for row in states or epochs}),
        log_partition=(states or epochs)[0]["log_partition"],
        last_epoch=last_epoch["epoch"] if last_epoch else None,
        assignor=last_epoch["assignor"] if last_epoch else None,
        epochs=len(epochs),
        epoch_noun=epoch_noun(epochs),
        rebalances=len(rebalances),
        not_stable=total_of(durations),
        open_since_ms=next(
            (row["started_at"] for row in rebalances if row["ended_at"] is None), None
        ),
        longest=max(durations, key=attrgetter("rank"), default=None),
        unowned=unowned,
        culprit_id=culprit_id,
        culprit_times=culprit_times,
        culprit_ms=culprit_ms,
        top_cause=top_cause,
        top_cause_times=top_cause_times,
    )
