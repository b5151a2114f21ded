"""One lake of all that a check must find, and of what it must not: each kind of rows in clusters of its own."""

from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
from deltalake import DeltaTable

from rebalance_audit.local.audit import audit_segments
from rebalance_audit.quality.check import CheckReport
from rebalance_audit.tables.schemas import TableSchema, table_schemas
from tests.quality.planted import Row, violations
from tests.quality.wrongs import WRONGS, cluster_of
from tests.support.lake_without_spark import arrow_table, write_as_made
from tests.wire.golden import CAPTURE_NAMES, capture

SOUND = "sound"
"""The cluster whose rows are as a run has left them."""
HOUR_MS = 3_600_000
LIMITS = {"run_age_ms": HOUR_MS, "record_age_ms": HOUR_MS}
EVERY_KEY = 10_000


class Judged(NamedTuple):
    """The lake and one check of everything in it."""

    lake: Path
    report: CheckReport


def write_rows(lake: Path, made: Path) -> None:
    """Healthy rows, rows that break each expectation, and copies of a lake that a run made, each with a wrong.

    Delta tables without constraints, which would not let every violation in.
    """
    rows = _healthy_rows()
    for planted in violations():
        rows[planted.table] += planted.rows
        for name, row in planted.beside:
            rows[name].append(row)
    for schema in table_schemas().values():
        table = arrow_table(schema.full_name, rows[schema.full_name], None)
        folder = schema.full_name.replace(".", "/")
        if (made / folder).is_dir():
            left = DeltaTable(str(made / folder)).to_pyarrow_table()
            copies = [copy.cast(table.schema) for copy in _copies(schema, left)]
            table = pa.concat_tables([table, *copies])
        write_as_made(str(lake / folder), table)


def _healthy_rows() -> dict[str, list[Row]]:
    """What the audit makes of every captured log, each in a cluster of its own."""
    rows: dict[str, list[Row]] = defaultdict(list)
    for name in CAPTURE_NAMES:
        for table, found in audit_segments(capture(name).segments).tables.items():
            rows[f"gold.{table}"] += [{**row, "cluster": name} for row in found]
    return rows


def _copies(schema: TableSchema, table: pa.Table) -> list[pa.Table]:
    """The rows of a table as they are, and once for each wrong."""
    table = table.sort_by([(name, "ascending") for name in schema.key])
    rows = {SOUND: table} | {
        cluster_of(wrong): pa.Table.from_pylist(wrong.change(table.to_pylist()), table.schema)
        if wrong.table == schema.full_name
        else table
        for wrong in WRONGS
    }
    return [_named(schema, copy, name) for name, copy in rows.items()]


def _named(schema: TableSchema, rows: pa.Table, name: str) -> pa.Table:
    """The rows as rows of a cluster of this name, and of a run of this name where that is the key."""
    for column in {"cluster", *schema.key[:1]}:
        at = rows.schema.get_field_index(column)
        rows = rows.set_column(at, rows.schema.field(at), pa.array([name] * len(rows), pa.string()))
    return rows
