"""Tables as frames that an expectation can judge row by row.

Most checks look at one column of a row. Those that look at others, at neighbouring rows or at another table get a
column here: null if the row is fine, otherwise a sentence that says what is wrong. One pass computes all columns of a
table.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, Row, Window
from pyspark.sql import functions as F  # noqa: N812 - the usual name
from pyspark.sql.types import StringType

from rebalance_audit.lake.checks.row_problems import COLUMN_PROBLEMS, ROW_PROBLEMS, conditions
from rebalance_audit.lake.checks.scope import Scope
from rebalance_audit.lake.checks.table_frames import TableFrames
from rebalance_audit.lake.checks.table_problems import Sight, judged_together, with_problems
from rebalance_audit.lake.gold.output_tables import begins_within
from rebalance_audit.tables.checks import Check, single_checks
from rebalance_audit.tables.schemas import TableSchema

HTML_ENTITIES: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;"}
"""Character -> what stands for it in HTML; the first one first."""

Frame: TypeAlias = DataFrame
"""The type for modules that judge a frame without knowing the engine."""


@dataclass(slots=True)
class CheckedTable:
    """A table that is ready to be judged."""

    schema: TableSchema
    checks: tuple[Check, ...]
    """A check of several columns at once is split into one for each."""
    version: int | None
    """Delta version; None if there is no such table."""
    rows: int = 0
    """How many of its rows are judged."""
    frame: DataFrame | None = None
    """The columns that checks use, and a column for each check in `problems`; held in memory until `release`."""
    problems: dict[Check, str] = field(default_factory=dict)
    """Check -> name of its column: null, or what is wrong with the row."""
    passed_over: dict[Check, str] = field(default_factory=dict)
    """Check -> why it cannot be judged here."""

    def release(self) -> None:
        """Free what the frame holds."""
        if self.frame is not None:
            self.frame.unpersist()


def checked_table(tables: TableFrames, schema: TableSchema, scope: Scope) -> CheckedTable:
    """A table with the columns that its checks need. Raises LakeNotReadable."""
    checks = tuple(single_checks(schema.checks))
    found = tables.find(schema.full_name)
    if found is None:
        checked = CheckedTable(schema, checks, None)
        checked.passed_over = dict.fromkeys(checks, "the lake has no such table")
        return checked
    version, table = found
    checked = CheckedTable(schema, checks, version)
    for check in checks:
        if (why := _cannot(tables, check, table.columns, scope)) is not None:
            checked.passed_over[check] = why
    judged = [check for check in checks if check not in checked.passed_over]
    used = {name for check in judged for name in check.used_columns}
    used |= {*schema.key, *filter(None, [schema.begins_at])}
    rows = table.select(*[name for name in table.columns if name in used])
    for together in judged_together(judged):
        names = {
            check: f"problem_{len(checked.problems) + at}" for at, check in enumerate(together)
        }
        sight = Sight(tables, scope, names[together[0]], schema.begins_at)
        rows = with_problems(sight, rows, names)
        checked.problems |= names
    rows = rows.where(_in_window(schema, scope))
    # For a column under a condition, too, a suite would count the rows twice more.
    others = [check for check in judged if check not in checked.problems]
    of_rows = [check for check in others if check.kind in ROW_PROBLEMS or check.where]
    names = {check: f"row_problem_{number}" for number, check in enumerate(of_rows)}
    checked.problems |= names
    # In one step: each step makes Spark analyse the plan again.
    rows = rows.withColumns({name: _row_problem(check) for check, name in names.items()})
    checked.frame = rows.persist(StorageLevel.MEMORY_AND_DISK)
    checked.rows = checked.frame.count()
    return checked


@dataclass(frozen=True, slots=True)
class BrokenRows:
    """The rows of a table that break a check."""

    count: int
    keys: tuple[str, ...]
    """Keys of the first of them, each as JSON."""
    detail: str
    """What is wrong with the first."""


def broken_rows(
    table: CheckedTable, checks: Sequence[Check], sample_keys: int
) -> dict[Check, BrokenRows]:
    """The rows that break each of these checks, found in one job; a check that no row breaks is absent."""
    assert table.frame is not None
    if not checks:
        return {}
    found = [
        F.struct(F.lit(at).alias("check"), _problem(table, check).alias("problem"))
        for at, check in enumerate(checks)
    ]
    key = F.to_json(F.struct(*table.schema.key), {"ignoreNullFields": "false"})
    broken = table.frame.select(key.alias("key"), F.explode(F.array(*found)).alias("found"))
    alike = Window.partitionBy("found.check")
    first = (
        broken.where("found.problem is not null")
        .withColumn("place", F.row_number().over(alike.orderBy("key")))
        .withColumn("count", F.count(F.lit(1)).over(alike))
        .where(F.col("place") <= sample_keys)
        .select("found.*", "key", "place", "count")
    )
    rows: dict[int, list[Row]] = {}
    for row in sorted(first.collect(), key=lambda row: row["place"]):
        rows.setdefault(row["check"], []).append(row)
    return {
        checks[at]: BrokenRows(of[0]["count"], tuple(row["key"] for row in of), of[0]["problem"])
        for at, of in rows.items()
    }


def text_as_html(frame: Frame) -> Frame:
    """The frame with its texts, which are not trusted, escaped for HTML."""
    texts = [field.name for field in frame.schema.fields if field.dataType == StringType()]
    return frame.withColumns({name: _escaped(F.col(name)) for name in texts})


def _escaped(text: Column) -> Column:
    for char, entity in HTML_ENTITIES.items():
        text = F.replace(text, F.lit(char), F.lit(entity))
    return text


def _problem(table: CheckedTable, check: Check) -> Column:
    name = table.problems.get(check)
    return _row_problem(check) if name is None else F.col(name)


def _row_problem(check: Check) -> Column:
    problem = {**COLUMN_PROBLEMS, **ROW_PROBLEMS}[check.kind](check)
    return F.when(conditions(check.where), problem)


def _in_window(schema: TableSchema, scope: Scope) -> Column:
    if schema.begins_at is None:
        return F.lit(True)
    return begins_within(schema.begins_at, scope.from_ms, scope.to_ms)


def _cannot(tables: TableFrames, check: Check, columns: Sequence[str], scope: Scope) -> str | None:
    """Why a check cannot be judged; None if it can."""
    if missing := [name for name in check.used_columns if name not in columns]:
        return f"the table is from an earlier release and lacks {', '.join(missing)}"
    if check.limit is not None and not scope.limits.get(check.limit):
        return f"checks.{check.limit} is 0"
    if check.table is not None:
        found = tables.find(check.table)
        if found is None:
            return f"the lake has no {check.table}"
        if missing := [name for name in check.used_there() if name not in found[1].columns]:
            return f"{check.table} is from an earlier release and lacks {', '.join(missing)}"
    return None
