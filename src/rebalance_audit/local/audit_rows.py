"""Rows of an audit that is in memory."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rebalance_audit.audit.rows import Row
from rebalance_audit.moments import utc_datetime
from rebalance_audit.tables.row_shapes import shaper
from rebalance_audit.tables.rows import Rows
from rebalance_audit.tables.schemas import TableSchema

if TYPE_CHECKING:
    import pyarrow as pa


class AuditRows(Rows):
    """Rows as the audit made them, shaped when they are asked for."""

    def __init__(self, schema: TableSchema, rows: Sequence[Row], cluster: str) -> None:
        """`rows` have no `cluster`; their times are epoch milliseconds."""
        super().__init__(schema)
        self._rows = rows
        self._cluster = cluster
        self._shape = shaper(schema, utc_datetime)

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Row]:
        return (self._shape(row, self._cluster) for row in self._rows)

    def _row(self, number: int) -> Row:
        return self._shape(self._rows[number], self._cluster)

    def _filtered(
        self, groups: frozenset[str], start_ms: int | None, end_ms: int | None
    ) -> "AuditRows":
        rows = [row for row in self._rows if not groups or row["group_id"] in groups]
        if (start_ms, end_ms) != (None, None):
            begins = self.schema.begins_at
            assert begins is not None
            rows = [
                row
                for row in rows
                if row[begins] is not None
                and (start_ms is None or row[begins] >= start_ms)
                and (end_ms is None or row[begins] < end_ms)
            ]
        return AuditRows(self.schema, rows, self._cluster)

    def _arrow(self) -> "pa.Table":
        from rebalance_audit.tables.arrow_types import arrow_table  # noqa: PLC0415 - imports Arrow

        return arrow_table(self.schema, self._rows, self._cluster)
