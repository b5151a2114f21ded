"""The gold rows of one group, as far as its script needs them; times are epoch milliseconds."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from rebalance_audit.audit.rows import Row
from rebalance_audit.figures.present import present_of
from rebalance_audit.replay.changes import GroupType
from rebalance_audit.tables.row_shapes import shaper
from rebalance_audit.tables.schemas import table_schemas


class GroupRows(NamedTuple):
    """Rows of one group in order of time; `topics` are those of the cluster."""

    group_id: str
    epochs: list[Row]
    causes: list[Row]
    convergence: list[Row]
    members: list[Row]
    ownership: list[Row]
    findings: list[Row]
    topics: list[Row]
    rebalances: list[Row]
    protocol: str
    """By the group's state, which a conversion changes without an epoch; that of the last epoch of one that is gone."""
    end_ms: int | None
    """Where the log ends; None where the rows do not say."""


def group_rows(
    tables: Mapping[str, Sequence[Mapping[str, Any]]], group_id: str, end_ms: int | None = None
) -> GroupRows:
    """The rows of one group among gold tables, by their names without `gold.`.

    `end_ms`: end of the log, else that of the last row.
    """

    def rows(name: str, *begins: str) -> list[Row]:
        def began_ms(row: Row) -> int:
            return next((row[begin] for begin in begins if row[begin] is not None), 0)

        shape = shaper(table_schemas()[f"gold.{name}"], lambda moment_ms: moment_ms)
        found = (row for row in tables[name] if row.get("group_id", group_id) == group_id)
        return sorted((shape(row, "") for row in found), key=began_ms)

    epochs = rows("epochs", "started_at", "target_installed_at")
    members = rows("members", "first_seen_at")
    ownership = rows("ownership", "from_at")
    return GroupRows(
        group_id,
        epochs,
        rows("rebalance_causes", "at"),
        rows("convergence", "started_at"),
        members,
        ownership,
        rows("findings"),
        rows("topics", "made_at"),
        rows("rebalances", "started_at", "started_at_earliest"),
        _protocol(group_id, tables, epochs),
        end_ms if end_ms is not None else _last_ms(epochs, members, ownership),
    )


def _protocol(
    group_id: str, tables: Mapping[str, Sequence[Mapping[str, Any]]], epochs: Sequence[Row]
) -> str:
    states = [row for row in tables["group_states"] if row["group_id"] == group_id]
    present = present_of(states)
    if present is not None:
        return present.protocol
    return epochs[-1]["protocol"] if epochs else str(GroupType.CLASSIC)


def epoch_began_ms(epoch: Row) -> int:
    """When an epoch began, as far as the log shows; 0 if not at all."""
    return int(epoch["started_at"] or epoch["target_installed_at"] or 0)


def _last_ms(*tables: Iterable[Mapping[str, Any]]) -> int | None:
    names = ("started_at", "last_seen_at", "left_at", "from_at", "to_at", "last_committed_at")
    moments = (row.get(name) for rows in tables for row in rows for name in names)
    return max((moment for moment in moments if moment is not None), default=None)
