"""Rows of a table with every column of its contract, their times as the reader wants them."""

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeAlias

from rebalance_audit.tables.schemas import TableSchema

Convert: TypeAlias = Callable[[Any], Any]

_TIMES_IN_STRUCT: Final = re.compile(r"(\w+):timestamp")


def shaper(
    schema: TableSchema, time: Convert
) -> Callable[[Mapping[str, Any], str], dict[str, Any]]:
    """A function of a row and the name of its cluster; the row's times, also nested ones, are epoch milliseconds.

    It returns the columns in order, a missing one as None, with `time` applied to every time.
    """
    names = [column.name for column in schema.columns]
    converted = [
        (column.name, convert)
        for column in schema.columns
        if (convert := _converter(column.type, time)) is not None
    ]

    def shape(row: Mapping[str, Any], cluster: str) -> dict[str, Any]:
        shaped = dict(zip(names, map(row.get, names), strict=True))
        for name, convert in converted:
            shaped[name] = convert(shaped[name])
        shaped["cluster"] = row.get("cluster", cluster)
        return shaped

    return shape


def _converter(column_type: str, time: Convert) -> Convert | None:
    if column_type == "timestamp":
        return time
    if column_type == "array<timestamp>":
        return _in_list(time)
    times = _TIMES_IN_STRUCT.findall(column_type)
    return _in_structs(times, time) if times else None


def _in_list(time: Convert) -> Convert:
    """For a list of times with possible None."""

    def convert(times: list[Any] | None) -> list[Any] | None:
        return None if times is None else [each if each is None else time(each) for each in times]

    return convert


def _in_structs(times: list[str], time: Convert) -> Convert:
    """For a list of structs: their fields that are times, converted."""

    def convert(structs: list[dict[str, Any]] | None) -> list[dict[str, Any]] | None:
        if structs is None:
            return None
        return [{**struct, **{name: time(struct[name]) for name in times}} for struct in structs]

    return convert


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)


def plain(value: Any) -> Any:
    """A value with the times at any depth of it as epoch milliseconds."""
    match value:
        case datetime():
            return (value - _EPOCH) // _MILLISECOND
        case Mapping():
            return {name: plain(inner) for name, inner in value.items()}
        case list():
            return [plain(inner) for inner in value]
        case _:
            return value
