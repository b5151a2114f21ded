"""Rows of the output tables for a program or a notebook, wherever they come from: a lake or an audit."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from html import escape
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, overload

from rebalance_audit.errors import BadRequest
from rebalance_audit.extras import require_extra
from rebalance_audit.moment_text import MomentLike, moment_ms
from rebalance_audit.tables.schemas import TableName, TableSchema, table_schemas

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

ROWS_SHOWN: Final = 20
"""Rows that a notebook displays; there may be millions."""
CELL_MAX: Final = 120
"""Characters of one cell that a notebook displays."""


class Rows(Sequence[dict[str, Any]], ABC):
    """The rows of one table: a sequence of dictionaries, keyed by column name.

    Every row has every column of the table's contract, in order. Times are `datetime` in UTC, columns that end in `_ms`
    are milliseconds, ids are text; None where the value is unknown. Rows are in order of the table's key, the latest
    incarnation of a group first.
    """

    schema: TableSchema
    """Columns with their meanings, key and checks of the table (`schemas/tables`)."""

    def __init__(self, schema: TableSchema) -> None:
        self.schema = schema

    @overload
    def __getitem__(self, index: int) -> dict[str, Any]: ...

    @overload
    def __getitem__(self, index: slice) -> list[dict[str, Any]]: ...

    def __getitem__(self, index: int | slice) -> dict[str, Any] | list[dict[str, Any]]:
        if isinstance(index, slice):
            return [self._row(number) for number in range(*index.indices(len(self)))]
        number = index + len(self) if index < 0 else index
        if not 0 <= number < len(self):
            raise IndexError(f"row {index} of {len(self)} rows of {self.schema.full_name}")
        return self._row(number)

    @abstractmethod
    def _row(self, number: int) -> dict[str, Any]:
        """The row at a position from 0 to below the length."""

    @abstractmethod
    def _filtered(
        self, groups: frozenset[str], start_ms: int | None, end_ms: int | None
    ) -> "Rows": ...

    @abstractmethod
    def _arrow(self) -> "pa.Table": ...

    def where(
        self,
        groups: Collection[str] = (),
        *,
        start: MomentLike | None = None,
        end: MomentLike | None = None,
    ) -> "Rows":
        """The rows of these groups that begin at `start` or later and before `end`.

        What is not given limits nothing. The column that says when a row begins is `schema.begins_at`; a row whose
        beginning is unknown is in no window. A moment is a `datetime` (UTC if it has no zone), Unix time in seconds or
        milliseconds, or text such as `2026-11-21T03:12Z` or `-2h`. Raises BadRequest for a table without groups or
        without times, and for an unreadable time.
        """
        if groups and "group_id" not in self.schema.column_names:
            raise BadRequest(f"{self.schema.full_name} has no column group_id.")
        window = (moment_ms(start), moment_ms(end))
        if window != (None, None) and self.schema.begins_at is None:
            raise BadRequest(f"Rows of {self.schema.full_name} have no time.")
        return self._filtered(frozenset(groups), *window)

    def to_arrow(self) -> "pa.Table":
        """The rows as an Arrow table with the columns of the contract; times are `timestamp[us, tz=UTC]`.

        An empty table has its types too.
        """
        return self._arrow()

    def to_pandas(self) -> "pd.DataFrame":
        """The rows as a data frame; integers and booleans are nullable types, times are `datetime64[us, UTC]`.

        Raises MissingExtra without the extra `notebook`.
        """
        require_extra("notebook")
        from rebalance_audit.tables.arrow_types import to_pandas  # noqa: PLC0415 - imports Arrow and pandas

        return to_pandas(self._arrow())

    def _first(self, most: int) -> Iterator[dict[str, Any]]:
        return islice(self, most)

    def __repr__(self) -> str:
        return f"<{len(self):,} rows of {self.schema.full_name}>"

    def _repr_html_(self) -> str:
        """A table of the first rows, for notebooks."""
        names = self.schema.column_names
        head = "".join(
            f'<th title="{escape(column.meaning)}">{escape(column.name)}</th>'
            for column in self.schema.columns
        )
        body = "".join(
            "<tr>" + "".join(f"<td>{_cell(row[name])}</td>" for name in names) + "</tr>"
            for row in self._first(ROWS_SHOWN)
        )
        more = max(0, len(self) - ROWS_SHOWN)
        caption = f"{len(self):,} rows of {self.schema.full_name}"
        caption += f", the first {ROWS_SHOWN} of them" if more else ""
        return (
            f"<table><caption>{escape(caption)}</caption>"
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        )


def _cell(value: object) -> str:
    if value is None:
        return ""
    text = str(value)
    return escape(text if len(text) <= CELL_MAX else text[: CELL_MAX - 1] + "…")


class GoldRows(ABC):
    """What `Audit` and `LakeReader` have in common: the tables that docs/tables.md describes column by column."""

    @abstractmethod
    def table(self, name: str) -> Rows:
        """The rows of a table by its full name, as `gold.epochs`. Raises BadRequest for a table that there is not."""

    @abstractmethod
    def rows_of_group(self, group_id: str) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        """Gold table (`epochs`) -> the rows of one group, as reports take them: times are epoch milliseconds.

        Raises UnknownGroup, and LakeNotReadable for a lake of several clusters if none was chosen.
        """

    @abstractmethod
    def log_end_ms(self) -> int | None:
        """When the log ends, in epoch milliseconds; None where that is not known. Raises LakeNotReadable as above."""

    @property
    def epochs(self) -> Rows:
        """One row per group epoch or generation: when it began and converged, what it moved, its primary cause."""
        return self.table(TableName.EPOCHS)

    @property
    def causes(self) -> Rows:
        """One row per cause of an epoch, the primary one first, with certainty, alternatives and evidence."""
        return self.table(TableName.REBALANCE_CAUSES)

    @property
    def rebalances(self) -> Rows:
        """One row per rebalance: the epochs from a stable group to the next stable one."""
        return self.table(TableName.REBALANCES)

    @property
    def convergence(self) -> Rows:
        """One row per epoch and member: how long the member took, and what it waited for."""
        return self.table(TableName.CONVERGENCE)

    @property
    def members(self) -> Rows:
        """One row per life of a member: when and how it came and went."""
        return self.table(TableName.MEMBERS)

    @property
    def ownership(self) -> Rows:
        """One row per partition and stretch of time in which one member owned it, with the gap before."""
        return self.table(TableName.OWNERSHIP)

    @property
    def group_states(self) -> Rows:
        """One row per stretch of time in which a group was in one state."""
        return self.table(TableName.GROUP_STATES)

    @property
    def findings(self) -> Rows:
        """One row per finding: a pattern worth attention, with severity, evidence and advice."""
        return self.table(TableName.FINDINGS)

    @property
    def group_hours(self) -> Rows:
        """One row per group and hour in which something happened; an audit of a log says nothing of commits there."""
        return self.table(TableName.GROUP_HOURS)

    @property
    def topics(self) -> Rows:
        """One row per topic id with its name, as far as the log or the metadata log has it."""
        return self.table(TableName.TOPICS)


def schema_of(name: str) -> TableSchema:
    """The schema of a table by its full name. Raises BadRequest."""
    try:
        return table_schemas()[name]
    except KeyError:
        raise BadRequest(f"There is no table {name!r}; see docs/tables.md.") from None
