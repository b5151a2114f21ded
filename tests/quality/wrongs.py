"""What may go wrong in the rows of a lake that a run has left, each kind once, as a change to one of its tables."""

from collections.abc import Callable
from datetime import timedelta
from itertools import pairwise
from typing import Any, Final, NamedTuple, TypeAlias

Rows: TypeAlias = list[dict[str, Any]]
Change: TypeAlias = Callable[[Rows], Rows]
Chosen: TypeAlias = Callable[[dict[str, Any]], Any]
SHIFT: Final = timedelta(seconds=20)


class Wrong(NamedTuple):
    """One kind."""

    name: str
    table: str
    change: Change
    """Takes all rows of the table in order of the key, and returns the damaged ones."""
    breaks: str
    """The rule that rows of this cluster break, by its name."""


def cluster_of(wrong: Wrong) -> str:
    """The cluster whose rows have it."""
    return f"wrong: {wrong.name}"


def _any(_: dict[str, Any]) -> bool:
    return True


def _lost(wanted: Chosen = _any) -> Change:
    return lambda rows: [row for row in rows if row is not _middle(rows, wanted)]


def _all_lost(wanted: Chosen = _any) -> Change:
    return lambda rows: [row for row in rows if not wanted(row)]


def _doubled(wanted: Chosen = _any) -> Change:
    return lambda rows: [*rows, dict(_middle(rows, wanted))]


def _with(wanted: Chosen = _any, **columns: Callable[[Any], Any]) -> Change:
    """Other values in one row, each made from the one before."""

    def change(rows: Rows) -> Rows:
        row = _middle(rows, wanted)
        row |= {name: made(row[name]) for name, made in columns.items()}
        return rows

    return change


def _swapped(column: str, within: str) -> Change:
    """Two rows that are alike in `within` have each other's value."""

    def change(rows: Rows) -> Rows:
        pairs = (
            pair
            for pair in pairwise(sorted(rows, key=lambda row: str(row[within])))
            if pair[0][within] == pair[1][within] and pair[0][column] != pair[1][column]
        )
        one, other = next(pairs)
        one[column], other[column] = other[column], one[column]
        return rows

    return change


def _without_end(rows: Rows) -> Rows:
    """A stretch of ownership that goes on beside the next one of its partition."""

    def place(row: dict[str, Any]) -> tuple[str, ...]:
        return tuple(
            str(row[name]) for name in ("group_id", "topic_id", "topic", "topic_partition")
        )

    ordered = sorted(rows, key=lambda row: (place(row), row["from_offset"]))
    one = next(one for one, other in pairwise(ordered) if place(one) == place(other))
    one |= {"to_offset": None, "to_at": None}
    return rows


def _middle(rows: Rows, wanted: Chosen) -> dict[str, Any]:
    """One of the rows, neither the first nor the last where there are three."""
    found = [row for row in rows if wanted(row)]
    return found[len(found) // 2]


def _later(moment: Any) -> Any:
    return moment + SHIFT


def _one_more(number: int) -> int:
    return number + 1


def _is_modern(row: dict[str, Any]) -> bool:
    return bool(row["protocol"] != "classic" and row["completeness"] == "complete")


def _is_sure_of_less(row: dict[str, Any]) -> bool:
    return bool(row["certainty"] != "proven" and row["alternatives"])


OF_SILVER: Final = "silver.group_records"
MODERN: Final = "protocol is consumer or share or streams"
WRONGS: Final = (
    Wrong(
        "an epoch lost",
        "gold.epochs",
        _lost(_is_modern),
        "gold.epochs chain(epoch, previous_epoch) where completeness is complete",
    ),
    Wrong(
        "an epoch doubled",
        "gold.epochs",
        _doubled(),
        "gold.epochs unique(cluster, group_id, incarnation, epoch)",
    ),
    Wrong(
        "an epoch 20 s late, its durations with it",
        "gold.epochs",
        _with(
            lambda row: _is_modern(row) and row["converged_at"] and row["target_installed_at"],
            started_at=_later,
            target_installed_at=_later,
            converged_at=_later,
        ),
        f"gold.epochs refers(cluster, log_partition, first_offset, started_at) {OF_SILVER} where {MODERN}",
    ),
    Wrong(
        "an epoch that converged 20 s later",
        "gold.epochs",
        _with(lambda row: row["convergence_ms"], converged_at=_later),
        "gold.epochs difference(convergence_ms, started_at, converged_at)",
    ),
    Wrong(
        "an epoch that converged before it started",
        "gold.epochs",
        _with(lambda row: row["converged_at"], converged_at=lambda at: at - timedelta(days=1)),
        "gold.epochs ordered(started_at, target_installed_at, converged_at)",
    ),
    Wrong(
        "a rebalance lost",
        "gold.rebalances",
        _lost(),
        "gold.epochs refers(cluster, group_id, incarnation, rebalance_seq) gold.rebalances",
    ),
    Wrong(
        "a rebalance of one epoch more",
        "gold.rebalances",
        _with(epochs=_one_more),
        "gold.rebalances total(epochs) gold.epochs",
    ),
    Wrong(
        "a rebalance of other certainty than its epoch",
        "gold.rebalances",
        _with(
            lambda row: row["primary_certainty"] == "possible", primary_certainty=lambda _: "proven"
        ),
        "gold.rebalances refers(cluster, group_id, incarnation, first_epoch, primary_cause,"
        " primary_certainty) gold.epochs",
    ),
    Wrong(
        "a cause that is proven, and has alternatives",
        "gold.rebalance_causes",
        _with(_is_sure_of_less, certainty=lambda _: "proven"),
        "gold.rebalance_causes empty(alternatives) where certainty is proven",
    ),
    Wrong(
        "the first of several causes lost",
        "gold.rebalance_causes",
        _lost(lambda row: row["cause_seq"] == 0),
        "gold.epochs refers(cluster, group_id, incarnation, epoch, primary_cause, primary_certainty)"
        " gold.rebalance_causes",
    ),
    Wrong(
        "a cause of no list",
        "gold.rebalance_causes",
        _with(cause=lambda _: "member_vanished"),
        "gold.rebalance_causes in_set(cause)",
    ),
    Wrong(
        "a cause without a sentence",
        "gold.rebalance_causes",
        _with(detail=lambda _: None),
        "gold.rebalance_causes not_null(detail)",
    ),
    Wrong(
        "a cause before the first",
        "gold.rebalance_causes",
        _with(cause_seq=lambda _: -1),
        "gold.rebalance_causes range(cause_seq) >= 0",
    ),
    Wrong(
        "convergence of a member lost",
        "gold.convergence",
        _lost(),
        "gold.epochs at_most(members) gold.convergence where completeness is complete and"
        " members_unchanged is 0",
    ),
    Wrong(
        "an owner who does not exist",
        "gold.ownership",
        _with(member_id=lambda _: "missing"),
        "gold.ownership refers(cluster, group_id, incarnation, member_id) gold.members",
    ),
    Wrong(
        "two owners at once",
        "gold.ownership",
        _without_end,
        "gold.ownership no_overlap(from_offset, to_offset)",
    ),
    Wrong(
        "a partition owned 20 s later",
        "gold.ownership",
        _with(from_at=_later, held_ms=lambda held_ms: held_ms and held_ms - 20_000),
        f"gold.ownership refers(cluster, log_partition, from_offset, from_at, group_id) {OF_SILVER}",
    ),
    Wrong(
        "a member lost",
        "gold.members",
        _lost(),
        "gold.convergence refers(cluster, group_id, incarnation, member_id) gold.members",
    ),
    Wrong(
        "two members' names swapped",
        "gold.members",
        _swapped("client_id", "group_id"),
        "gold.convergence refers(cluster, group_id, incarnation, member_id, client_id) gold.members",
    ),
    Wrong(
        "two groups' names swapped",
        "gold.members",
        _swapped("group_id", "protocol"),
        "gold.members refers(cluster, log_partition, first_offset, first_seen_at, group_id)"
        f" {OF_SILVER}",
    ),
    Wrong(
        "two topics' names swapped",
        "gold.topics",
        _swapped("topic", "cluster"),
        "gold.ownership refers(cluster, topic_id, topic) gold.topics",
    ),
    Wrong(
        "a state of a group lost",
        "gold.group_states",
        _lost(lambda row: row["to_offset"] and row["epoch"] and row["epoch"] > 2),
        "gold.group_states contiguous(from_offset, to_offset)",
    ),
    Wrong(
        "a member too many at the end",
        "gold.group_states",
        _with(lambda row: row["is_current"], members_at_end=_one_more),
        "gold.group_states total(members_at_end) gold.members where is_current is true",
    ),
    Wrong(
        "an hour of one epoch more",
        "gold.group_hours",
        _with(epochs=_one_more),
        "gold.group_hours total(epochs) gold.epochs",
    ),
    Wrong(
        "a finding of a group that is not there",
        "gold.findings",
        _with(lambda row: row["group_id"], group_id=lambda _: "missing"),
        "gold.findings refers(cluster, group_id) gold.group_states",
    ),
    Wrong(
        "a group's commits lost",
        "silver.offset_commits",
        _all_lost(lambda row: row["group_id"] == "fleet"),
        "gold.group_hours total(commits) silver.offset_commits",
    ),
    Wrong(
        "one commit lost",
        "silver.offset_commits",
        _lost(lambda row: not row["tombstone"]),
        "gold.group_hours total(commits) silver.offset_commits",
    ),
    Wrong(
        "the record of an epoch lost",
        "silver.group_records",
        _lost(lambda row: row["record_name"] == "CONSUMER_GROUP_METADATA"),
        f"gold.epochs refers(cluster, log_partition, first_offset, group_id) {OF_SILVER}",
    ),
    Wrong(
        "a record lost from bronze",
        "bronze.records",
        _lost(),
        "meta.progress at_most(records) bronze.records",
    ),
    Wrong(
        "a record twice in bronze",
        "bronze.records",
        _doubled(),
        "bronze.records unique(cluster, partition, offset)",
    ),
    Wrong(
        "progress ahead of the log",
        "meta.progress",
        _with(replayed_to=lambda next_offset: next_offset + 100, ingested_to=lambda to: to + 100),
        "meta.progress at_most(replayed_to) meta.ingested",
    ),
    Wrong(
        "a run that read more than it counted",
        "meta.runs",
        _with(records_read=_one_more),
        "meta.runs sum(records_read, records_decoded, records_quarantined, control_records,"
        " records_passed_over)",
    ),
)
