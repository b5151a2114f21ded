"""Rows of one table of a lake, read when they are first asked for."""

from collections.abc import Iterator
from functools import cached_property

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from rebalance_audit.audit.rows import Row
from rebalance_audit.readers.tables import open_table
from rebalance_audit.tables.arrow_types import arrow_schema
from rebalance_audit.tables.order import LATEST_FIRST
from rebalance_audit.tables.rows import Rows
from rebalance_audit.tables.schemas import TableSchema


class LakeRows(Rows):
    """Rows of a Delta table that match an Arrow expression."""

    def __init__(self, lake: str, schema: TableSchema, wanted: ds.Expression) -> None:
        """Nothing is read yet."""
        super().__init__(schema)
        self._lake = lake
        self._wanted = wanted

    @cached_property
    def _dataset(self) -> ds.Dataset:
        return open_table(self._lake, self.schema.full_name)

    @cached_property
    def _table(self) -> pa.Table:
        found = self._shaped(self._dataset.to_table(filter=self._wanted))
        keys = [
            (name, "descending" if name in LATEST_FIRST else "ascending", "at_start")
            for name in self.schema.key
        ]
        return found.take(pc.sort_indices(found, sort_keys=keys))

    def _shaped(self, found: pa.Table) -> pa.Table:
        """With the columns of the contract; one that came after the release that wrote the lake is null."""
        wanted = arrow_schema(self.schema)
        there = set(found.schema.names)
        columns = [
            found.column(field.name).cast(field.type)
            if field.name in there
            else pa.nulls(len(found), field.type)
            for field in wanted
        ]
        return pa.table(columns, schema=wanted)

    def __len__(self) -> int:
        if "_table" in self.__dict__:
            return len(self._table)
        return int(self._dataset.count_rows(filter=self._wanted))

    def __iter__(self) -> Iterator[Row]:
        for batch in self._table.to_batches():
            yield from batch.to_pylist(maps_as_pydicts="strict")

    def _row(self, number: int) -> Row:
        rows: list[Row] = self._table.slice(number, 1).to_pylist(maps_as_pydicts="strict")
        return rows[0]

    def _first(self, most: int) -> Iterator[Row]:
        """Without reading the whole table."""
        if "_table" in self.__dict__:
            yield from super()._first(most)
        else:
            yield from self._shaped(self._dataset.head(most, filter=self._wanted)).to_pylist(
                maps_as_pydicts="strict"
            )

    def _filtered(
        self, groups: frozenset[str], start_ms: int | None, end_ms: int | None
    ) -> "LakeRows":
        wanted = self._wanted
        if groups:
            wanted &= ds.field("group_id").isin(sorted(groups))
        for bound_ms, at_least in ((start_ms, True), (end_ms, False)):
            if bound_ms is not None:
                begins = ds.field(self.schema.begins_at)
                moment = pa.scalar(bound_ms * 1000, pa.timestamp("us", tz="UTC"))
                wanted &= begins >= moment if at_least else begins < moment
        return LakeRows(self._lake, self.schema, wanted)

    def _arrow(self) -> pa.Table:
        return self._table
