"""Column types: from the DDL strings of `schemas/tables` to Arrow, and rows of plain Python values to Arrow columns.

The core has moments as epoch milliseconds; tables have timestamps of microseconds in UTC. Importing this imports Arrow.
"""

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import accumulate, chain
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from rebalance_audit.moments import MICROS_PER_MILLI, MILLIS_MAX, micros_of
from rebalance_audit.tables.schemas import TableSchema

if TYPE_CHECKING:
    import pandas as pd

MOMENT: Final = pa.timestamp("us", tz="UTC")
ATOMIC: Final[Mapping[str, pa.DataType]] = {
    "string": pa.string(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "double": pa.float64(),
    "boolean": pa.bool_(),
    "binary": pa.binary(),
    "timestamp": MOMENT,
}


@cache
def arrow_type(ddl: str) -> pa.DataType:
    """The Arrow type of a DDL type such as `array<struct<at: timestamp, fact: string>>`."""
    found, rest = _parse(ddl.strip())
    assert not rest, f"{rest!r} follows the type in {ddl!r}"
    return found


def arrow_schema(schema: TableSchema) -> pa.Schema:
    """The Arrow schema of a table."""
    return schema_of_columns(schema.column_types)


def schema_of_columns(columns: Mapping[str, str]) -> pa.Schema:
    """The Arrow schema of columns: name -> type as DDL."""
    return pa.schema([(name, arrow_type(kind)) for name, kind in columns.items()])


def ddl_of_columns(columns: Mapping[str, str]) -> str:
    """The DDL of columns: name -> type."""
    return ", ".join(f"{name} {kind}" for name, kind in columns.items())


def struct_of_columns(columns: Mapping[str, str]) -> str:
    """The type, as DDL, of a struct with these columns as fields."""
    return f"struct<{', '.join(f'{name}: {kind}' for name, kind in columns.items())}>"


def arrow_table(
    schema: TableSchema, rows: Sequence[Mapping[str, Any]], cluster: str | None = None
) -> pa.Table:
    """An Arrow table of plain rows, a missing column as null; moments are epoch milliseconds.

    `cluster`: for rows that do not have it.
    """
    return pa.table(
        [
            column_of(
                column.type,
                [cluster] * len(rows)
                if cluster is not None and column.name == "cluster"
                else [row.get(column.name) for row in rows],
            )
            for column in schema.columns
        ],
        schema=arrow_schema(schema),
    )


def padded(rows: Any, schema: pa.Schema) -> Any:
    """The rows, a batch or a table, with the columns of a schema; those that they lack are null."""
    there = rows.schema.names
    arrays = [
        rows[field.name] if field.name in there else pa.nulls(rows.num_rows, field.type)
        for field in schema
    ]
    return type(rows).from_arrays(arrays, names=schema.names).cast(schema)


def in_millis(table: pa.Table) -> pa.Table:
    """The same rows with moments at any depth as epoch milliseconds, as the core has them.

    Of the moments of a run itself, which have microseconds, these are left out.
    """
    columns = [
        column.cast(_with(pa.timestamp("ms"), column.type), safe=False).cast(
            _with(pa.int64(), column.type)
        )
        if _has_moments(column.type)
        else column
        for column in table.columns
    ]
    return pa.table(columns, names=table.column_names)


def to_pandas(table: pa.Table) -> "pd.DataFrame":
    """A data frame whose integers and booleans stay what they are where some are null."""
    import pandas as pd  # noqa: PLC0415 - Arrow is used without pandas, too

    nullable = {
        pa.int32(): pd.Int32Dtype(),
        pa.int64(): pd.Int64Dtype(),
        pa.bool_(): pd.BooleanDtype(),
    }
    frame: pd.DataFrame = table.to_pandas(types_mapper=nullable.get)
    return frame


def column_of(ddl: str, values: Sequence[Any]) -> pa.Array:
    """An Arrow column of plain values; moments, also nested ones, are epoch milliseconds."""
    return _column(arrow_type(ddl), values)


def _column(kind: pa.DataType, values: Sequence[Any]) -> pa.Array:
    if pa.types.is_timestamp(kind):
        return _moments(values)
    if not _has_moments(kind):
        return pa.array(values, kind)
    nulls = [value is None for value in values]
    missing = pa.array(nulls, pa.bool_()) if any(nulls) else None
    if pa.types.is_list(kind):
        lists = [() if value is None else value for value in values]
        elements = _column(kind.value_type, [*chain.from_iterable(lists)])
        ends = pa.array([*accumulate(map(len, lists), initial=0)], pa.int32())
        return pa.ListArray.from_arrays(ends, elements, kind, mask=missing)
    columns = [
        _column(field.type, [None if value is None else value[field.name] for value in values])
        for field in kind
    ]
    return pa.StructArray.from_arrays(columns, fields=list(kind), mask=missing)


def _moments(values: Sequence[int | None]) -> pa.Array:
    """Timestamps in microseconds as `micros_of` makes them, all at once."""
    try:
        millis = pa.array(values, pa.int64())
    except (OverflowError, pa.ArrowInvalid):
        # A damaged record has a moment that no integer of Arrow holds.
        return pa.array(map(micros_of, values), MOMENT)
    extremes = pc.min_max(millis)
    least_ms, most_ms = extremes["min"].as_py(), extremes["max"].as_py()
    if least_ms is not None and not 0 <= least_ms <= most_ms <= MILLIS_MAX:
        # Only damaged records are from before 1970, and records without a timestamp have -1.
        return pa.array(map(micros_of, values), MOMENT)
    return pc.multiply(millis, MICROS_PER_MILLI).cast(MOMENT)


def _parse(ddl: str) -> tuple[pa.DataType, str]:
    """The type that a DDL string begins with, and what follows it."""
    end = next((at for at, char in enumerate(ddl) if char in "<>,"), len(ddl))
    name, rest = ddl[:end].strip(), ddl[end:]
    if not rest.startswith("<"):
        return ATOMIC[name], rest
    rest = rest[1:]
    if name == "array":
        element, rest = _parse(rest)
        return pa.list_(element), rest[1:]
    if name == "map":
        key, rest = _parse(rest)
        value, rest = _parse(rest[1:])
        return pa.map_(key, value), rest[1:]
    fields = []
    while True:
        field, _, rest = rest.partition(":")
        kind, rest = _parse(rest)
        fields.append(pa.field(field.strip(), kind))
        separator, rest = rest[0], rest[1:]
        if separator == ">":
            return pa.struct(fields), rest


@cache
def _with(moment: pa.DataType, kind: pa.DataType) -> pa.DataType:
    """The type with `moment` in place of timestamps."""
    if pa.types.is_timestamp(kind):
        return moment
    if pa.types.is_list(kind):
        return pa.list_(_with(moment, kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _with(moment, field.type)) for field in kind])
    return kind


@cache
def _has_moments(kind: pa.DataType) -> bool:
    if pa.types.is_list(kind):
        return _has_moments(kind.value_type)
    if pa.types.is_struct(kind):
        return any(_has_moments(field.type) for field in kind)
    return bool(pa.types.is_timestamp(kind))
