"""What the rows of one group come to: the figures of the overview's line."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from rebalance_audit.report.present import Present, present_of

Row: TypeAlias = Mapping[str, Any]
"""One row of a gold table: columns as in `schemas/tables`, times in epoch milliseconds."""
Tables: TypeAlias = Mapping[str, Sequence[Row]]
"""Gold table name (without layer) -> rows."""


class GroupSummary(NamedTuple):
    """One group over the whole log."""

    group_id: str
    protocols: tuple[str, ...]
    """In the order of their appearance: two or more for a group that moved."""
    present: Present | None
    """How it stands at the end of the log; None for a deleted group."""
    incarnations: int
    log_partition: int
    last_epoch: int | None
    assignor: str | None
    """Of the last epoch."""
    epochs: int
    rebalances: int
    unsettled_ms: int
    """Time from leaving stable to stable again, summed over the finished rebalances."""
    at_least: bool
    """True where a classic rebalance is among them: the log does not hold when those began."""
    open_since_ms: int | None
    """Start of the rebalance that the log does not see the end of."""
    longest_ms: int | None
    unowned_partition_ms: int
    worst_member_id: str | None
    """The member that was last to arrive most often, in rebalances that took any time."""
    worst_member_times: int
    top_cause: str | None
    """The cause most epochs have first, with their count."""
    top_cause_times: int


def is_classic(row: Row) -> bool:
    """Whether the row is of the classic protocol, whose one record per generation tells its end but not its start."""
    protocol: str = row["protocol"]
    return protocol == "classic"


def is_bounded(rebalance: Row) -> bool:
    """Whether only the latest start of a rebalance is known: of a classic one without a broker's log."""
    exact: bool = rebalance.get("started_at_earliest") == rebalance["started_at"]
    return is_classic(rebalance) and not exact


def summaries(tables: Tables) -> list[GroupSummary]:
    """One summary per group of `epochs`, `rebalances` and `group_states`, the most unsettled first."""
    by_group: dict[str, dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for name in ("epochs", "rebalances", "group_states", "members"):
        for row in tables[name]:
            by_group[row["group_id"]][name].append(row)
    found = [_summary(group_id, rows) for group_id, rows in by_group.items()]
    return sorted(found, key=lambda group: (-group.unsettled_ms, -group.epochs, group.group_id))


def _summary(group_id: str, rows: Mapping[str, list[Row]]) -> GroupSummary:
    epochs = sorted(rows["epochs"], key=lambda row: (row["incarnation"], row["epoch"]))
    rebalances, states = rows["rebalances"], rows["group_states"]
    durations = [row["duration_ms"] for row in rebalances if row["duration_ms"] is not None]
    slowest = Counter(
        row["slowest_member_id"]
        for row in rebalances
        if row["slowest_member_id"] and row["duration_ms"] and not is_classic(row)
    )
    causes = Counter(row["primary_cause"] for row in epochs if row["primary_cause"])
    worst_member_id, worst_member_times = next(iter(slowest.most_common(1)), (None, 0))
    top_cause, top_cause_times = next(iter(causes.most_common(1)), (None, 0))
    last_epoch = epochs[-1] if epochs else None
    return GroupSummary(
        group_id=group_id,
        protocols=tuple(dict.fromkeys(row["protocol"] for row in epochs or states)),
        present=present_of(states, rows["members"]),
        incarnations=len({row["incarnation"] for row in states or epochs}),
        log_partition=(states or epochs)[0]["log_partition"],
        last_epoch=last_epoch["epoch"] if last_epoch else None,
        assignor=last_epoch["assignor"] if last_epoch else None,
        epochs=len(epochs),
        rebalances=len(rebalances),
        unsettled_ms=sum(durations),
        at_least=any(map(is_bounded, rebalances)),
        open_since_ms=next(
            (row["started_at"] for row in rebalances if row["ended_at"] is None), None
        ),
        longest_ms=max(durations, default=None),
        unowned_partition_ms=sum(row["unowned_partition_ms"] or 0 for row in rebalances),
        worst_member_id=worst_member_id,
        worst_member_times=worst_member_times,
        top_cause=top_cause,
        top_cause_times=top_cause_times,
    )
