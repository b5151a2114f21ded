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
    """Takes all rows of the table in order of the key, and returns what somebody made of them."""
    told_by: str
    """The table whose rows `check` points at."""


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


WRONGS: Final = (
    Wrong("an epoch lost", "gold.epochs", _lost(_is_modern), "gold.epochs"),
    Wrong("an epoch doubled", "gold.epochs", _doubled(), "gold.epochs"),
    Wrong(
        "an epoch 20 s late, its durations with it",
        "gold.epochs",
        _with(
            lambda row: _is_modern(row) and row["converged_at"] and row["target_installed_at"],
            started_at=_later,
            target_installed_at=_later,
            converged_at=_later,
        ),
        "gold.epochs",
    ),
    Wrong(
        "an epoch that converged 20 s later",
        "gold.epochs",
        _with(lambda row: row["convergence_ms"], converged_at=_later),
        "gold.epochs",
    ),
    Wrong("a rebalance lost", "gold.rebalances", _lost(), "gold.epochs"),
    Wrong(
        "a rebalance of one epoch more",
        "gold.rebalances",
        _with(epochs=_one_more),
        "gold.rebalances",
    ),
    Wrong(
        "a rebalance of other certainty than its epoch",
        "gold.rebalances",
        _with(
            lambda row: row["primary_certainty"] == "possible", primary_certainty=lambda _: "proven"
        ),
        "gold.rebalances",
    ),
    Wrong(
        "a cause that is proven, and has alternatives",
        "gold.rebalance_causes",
        _with(_is_sure_of_less, certainty=lambda _: "proven"),
        "gold.rebalance_causes",
    ),
    Wrong(
        "the first of several causes lost",
        "gold.rebalance_causes",
        _lost(lambda row: row["cause_seq"] == 0),
        "gold.epochs",
    ),
    Wrong("convergence of a member lost", "gold.convergence", _lost(), "gold.epochs"),
    Wrong(
        "an owner who does not exist",
        "gold.ownership",
        _with(member_id=lambda _: "nobody"),
        "gold.ownership",
    ),
    Wrong(
        "two owners at once",
        "gold.ownership",
        _with(lambda row: row["to_offset"], to_offset=lambda _: None, to_at=lambda _: None),
        "gold.ownership",
    ),
    Wrong(
        "a partition owned 20 s later",
        "gold.ownership",
        _with(from_at=_later, held_ms=lambda held_ms: held_ms and held_ms - 20_000),
        "gold.ownership",
    ),
    Wrong("a member lost", "gold.members", _lost(), "gold.convergence"),
    Wrong(
        "two members' names swapped",
        "gold.members",
        _swapped("client_id", "group_id"),
        "gold.convergence",
    ),
    Wrong(
        "two groups' names swapped",
        "gold.members",
        _swapped("group_id", "protocol"),
        "gold.members",
    ),
    Wrong(
        "two topics' names swapped", "gold.topics", _swapped("topic", "cluster"), "gold.ownership"
    ),
    Wrong(
        "a state of a group lost",
        "gold.group_states",
        _lost(lambda row: row["to_offset"] and row["epoch"] and row["epoch"] > 2),
        "gold.group_states",
    ),
    Wrong(
        "a member too many at the end",
        "gold.group_states",
        _with(lambda row: row["is_current"], members_at_end=_one_more),
        "gold.group_states",
    ),
    Wrong(
        "an hour of one epoch more", "gold.group_hours", _with(epochs=_one_more), "gold.group_hours"
    ),
    Wrong(
        "a finding of a group that is not there",
        "gold.findings",
        _with(lambda row: row["group_id"], group_id=lambda _: "nobody"),
        "gold.findings",
    ),
    Wrong(
        "a group's commits lost",
        "silver.offset_commits",
        _all_lost(lambda row: row["group_id"] == "fleet"),
        "gold.group_hours",
    ),
    Wrong(
        "one commit lost",
        "silver.offset_commits",
        _lost(lambda row: not row["tombstone"]),
        "gold.group_hours",
    ),
    Wrong(
        "the record of an epoch lost",
        "silver.group_records",
        _lost(lambda row: row["record_name"] == "CONSUMER_GROUP_METADATA"),
        "gold.epochs",
    ),
    Wrong("a record lost from bronze", "bronze.records", _lost(), "meta.progress"),
    Wrong("a record twice in bronze", "bronze.records", _doubled(), "bronze.records"),
    Wrong(
        "progress ahead of the log",
        "meta.progress",
        _with(replayed_to=lambda next_offset: next_offset + 100, ingested_to=lambda to: to + 100),
        "meta.progress",
    ),
    Wrong(
        "a run that read more than it told of",
        "meta.runs",
        _with(records_read=_one_more),
        "meta.runs",
    ),
)
