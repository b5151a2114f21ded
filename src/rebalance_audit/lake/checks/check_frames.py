"""Which rows a check looks at, and at which time; those that break it, and the results in meta.checks."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from threading import Lock
from typing import Any, Final, Literal, TypeAlias

from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, Row, Window
from pyspark.sql import functions as F  # noqa: N812 - the usual name
from pyspark.sql.types import StringType

from rebalance_audit.lake.gold.outputs import begins_within
from rebalance_audit.lake.storage.sinks import Sink
from rebalance_audit.lake.storage.table_log import commit_metadata
from rebalance_audit.lake.storage.tables import Lake
from rebalance_audit.moments import utc_datetime
from rebalance_audit.tables.checks import Check, CheckKind, CheckSeverity, single_checks
from rebalance_audit.tables.rules import (
    OF_NEIGHBOURS,
    CheckBounds,
    problem,
    rows_with_problems,
    view_name,
)
from rebalance_audit.tables.schemas import TableName, TableSchema
from rebalance_audit.version import __version__
from rebalance_audit.visible import NAME_MAX


@dataclass(frozen=True, slots=True)
class Scope:
    """Which rows are checked, and at which time."""

    cluster: str | None = None
    """None: rows of all clusters."""
    from_ms: int | None = None
    """Rows that begin at this moment or later, epoch milliseconds; rows without a time are in every window."""
    to_ms: int | None = None
    """Rows that begin before this moment, epoch milliseconds."""
    now: datetime = field(default_factory=lambda: datetime.now(UTC))
    limits: Mapping[str, int] = field(default_factory=dict)
    """Name of a limit -> milliseconds; if it is 0 or absent, the checks that use it are skipped."""

    kept_ms: Mapping[str, int] = field(default_factory=dict)
    """Full table name -> milliseconds for which rows are kept once they have ended; an absent table keeps all rows."""

    @property
    def bounds(self) -> CheckBounds:
        """What checks depend on besides the rows."""
        limits = {name: limit_ms for name, limit_ms in self.limits.items() if limit_ms}
        return CheckBounds(self.now, limits, self.kept_ms)

    def rows(self, schema: TableSchema, table: DataFrame) -> DataFrame:
        """The rows of a table that begin in the window."""
        if schema.begins_at is None:
            return table
        return table.where(begins_within(schema.begins_at, self.from_ms, self.to_ms))


@dataclass(slots=True)
class TableFrames:
    """The tables of a lake as they are when a check begins: each is looked up only once."""

    _lake: Lake
    _scope: Scope
    _found: dict[str, tuple[int, DataFrame] | None] = field(default_factory=dict)
    _lock: Any = field(default_factory=Lock)

    def find(self, name: str) -> tuple[int, DataFrame] | None:
        """Version of a table, and its rows of the cluster that is checked; None if there is no table.

        Raises LakeNotReadable.
        """
        with self._lock:
            if name not in self._found:
                version = self._lake.version(name)
                self._found[name] = None if version is None else (version, self._read(name))
            return self._found[name]

    def size_bytes(self, names: Iterable[str]) -> int:
        """How many bytes the files of these tables have. Raises LakeNotReadable."""
        return sum(self._lake.log(name).size()[1] for name in self._lake.versions(names))

    def _read(self, name: str) -> DataFrame:
        table = self._lake.read(name)
        cluster = self._scope.cluster
        return table if cluster is None else table.where(F.col("cluster") == cluster)


@dataclass(slots=True)
class CheckedTable:
    """A table that is ready to be checked."""

    schema: TableSchema
    checks: tuple[Check, ...]
    """A check of several columns at once is split into one for each."""
    version: int | None
    """Delta version; None if there is no such table."""
    rows: int = 0
    """How many of its rows are checked."""
    frame: DataFrame | None = None
    """The columns that checks use, held in memory until `release`."""
    problems: dict[Check, str] = field(default_factory=dict)
    """Check -> expression over the frame: null, or what is wrong with the row."""
    broken: dict[Check, int] = field(default_factory=dict)
    """Check -> how many rows break it; a check that no row breaks is absent."""
    passed_over: dict[Check, str] = field(default_factory=dict)
    """Check -> why it cannot be evaluated here."""

    def release(self) -> None:
        """Free what the frame holds."""
        if self.frame is not None:
            self.frame.unpersist()


def checked_table(tables: TableFrames, schema: TableSchema, scope: Scope) -> CheckedTable:
    """A table, and how many rows break each of its checks. Raises LakeNotReadable."""
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
    evaluated = [check for check in checks if check not in checked.passed_over]
    used = {name for check in evaluated for name in check.used_columns}
    used |= {*schema.key, *filter(None, [schema.begins_at])}
    columns = [name for name in table.columns if name in used]
    related = _with_relations(tables, checked, table.select(*columns), evaluated, scope)
    rows = scope.rows(schema, related)
    # Only within the window: rows with the same key have the same time, and a window of a long log is quickly sorted.
    unique = {check: f"unique_{at}" for at, check in enumerate(evaluated) if check.kind == "unique"}
    rows = rows.withColumns(
        {name: F.expr(problem(schema, check, scope.bounds)) for check, name in unique.items()}
    )
    checked.problems |= unique
    checked.problems |= {
        check: problem(schema, check, scope.bounds)
        for check in evaluated
        if check not in checked.problems
    }
    checked.frame = rows.persist(StorageLevel.MEMORY_AND_DISK)
    counts = [F.count(F.expr(checked.problems[check])) for check in evaluated]
    # The one job over the table, which fills the memory too.
    checked.rows, *broken = checked.frame.agg(F.count(F.lit(1)), *counts).head() or (0,)
    checked.broken = {check: rows for check, rows in zip(evaluated, broken, strict=True) if rows}
    return checked


def _with_relations(
    tables: TableFrames,
    checked: CheckedTable,
    rows: DataFrame,
    checks: Sequence[Check],
    scope: Scope,
) -> DataFrame:
    """The rows with a column for each check that looks at neighbouring rows or another table."""
    related = [check for check in checks if check.kind in OF_NEIGHBOURS or check.table is not None]
    names = {f"problem_{at}": check for at, check in enumerate(related)}
    if not names:
        return rows
    query = rows_with_problems(
        checked.schema, names, rows.columns, scope.bounds, lambda table: f"{{{view_name(table)}}}"
    )
    frames: dict[str, Any] = {"batch": rows}
    for check in related:
        if check.table is not None and (found := tables.find(check.table)) is not None:
            frames[view_name(check.table)] = found[1]
    checked.problems |= {check: name for name, check in names.items()}
    return rows.sparkSession.sql(query, **frames)


@dataclass(frozen=True, slots=True)
class BrokenRows:
    """The rows of a table that break a check."""

    keys: tuple[str, ...]
    """Keys of the first of them, each as JSON."""
    detail: str
    """What is wrong with the first."""


def broken_rows(table: CheckedTable, sample_keys: int) -> dict[Check, BrokenRows]:
    """The first rows that break each check, found in one job; a check that no row breaks is absent."""
    checks = list(table.broken)
    if table.frame is None or not checks:
        return {}
    found = [
        F.struct(F.lit(at).alias("check"), F.expr(table.problems[check]).alias("problem"))
        for at, check in enumerate(checks)
    ]
    key = F.to_json(F.struct(*table.schema.key), {"ignoreNullFields": "false"})
    broken = table.frame.select(key.alias("key"), F.explode(F.array(*found)).alias("found"))
    first = (
        broken.where("found.problem is not null")
        .withColumn("place", F.row_number().over(Window.partitionBy("found.check").orderBy("key")))
        .where(F.col("place") <= max(sample_keys, 1))
        .select("found.*", "key", "place")
    )
    rows: dict[int, list[Row]] = {}
    for row in sorted(first.collect(), key=lambda row: row["place"]):
        rows.setdefault(row["check"], []).append(row)
    return {
        checks[at]: BrokenRows(tuple(row["key"] for row in of[:sample_keys]), of[0]["problem"])
        for at, of in rows.items()
    }


def _cannot(tables: TableFrames, check: Check, columns: Sequence[str], scope: Scope) -> str | None:
    """Why a check cannot be evaluated; None if it can."""
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


ALL_CLUSTERS: Final = "*"
Outcome: TypeAlias = Literal["held", "broken", "passed_over"]


@dataclass(frozen=True, slots=True)
class CheckResult:
    """The result of one expectation; fields are named as the columns."""

    table: str
    expectation: str
    kind: CheckKind
    severity: CheckSeverity
    outcome: Outcome
    rows_checked: int | None = None
    unexpected_count: int | None = None
    sample_keys: tuple[str, ...] = ()
    """Keys of some rows that break it, each as JSON."""
    detail: str | None = None
    table_version: int | None = None


def write_results(lake: Lake, check_id: str, scope: Scope, results: Sequence[CheckResult]) -> None:
    """Append a check's results to meta.checks in one commit. Raises LakeNotWritable."""
    cluster = ALL_CLUSTERS if scope.cluster is None else scope.cluster
    common = {
        "check_id": check_id,
        "from_at": utc_datetime(scope.from_ms),
        "to_at": utc_datetime(scope.to_ms),
        "checked_at": scope.now,
        "package_version": __version__,
    }
    rows = [common | _row(result) for result in results]
    with commit_metadata(lake.spark, check_id):
        lake.create([TableName.CHECKS])
        sink = Sink(lake, cluster, check_id, is_log=True)
        sink.append_rows(TableName.CHECKS, lambda _: rows)


def _row(result: CheckResult) -> dict[str, Any]:
    return {
        **asdict(result),
        "checked_table": result.table,
        "success": result.outcome != "broken",
        "sample_keys": list(result.sample_keys),
    }


Frame: TypeAlias = DataFrame
"""The type for modules that pass a frame on without knowing the engine."""
HTML_ENTITIES: Final = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;"}
"""Character -> its HTML entity; the ampersand comes first, since entities contain it."""
UNSEEN: Final = r"[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Zl}\p{Zp}]"
"""Controls, and characters that leave nothing on a screen or change the direction of what follows."""
DIGEST_DIGITS: Final = 16


def shown_text(frame: Frame) -> Frame:
    """The frame with its texts cut to a length that a page can show, without controls, and escaped for HTML.

    Texts that differ still do: one that was changed ends with a digest of it.
    """
    texts = [field.name for field in frame.schema.fields if field.dataType == StringType()]
    return frame.withColumns({name: _shown(F.col(name)) for name in texts})


def _shown(text: Column) -> Column:
    seen = F.regexp_replace(F.substring(text, 1, NAME_MAX), UNSEEN, "\N{REPLACEMENT CHARACTER}")
    digest = F.substring(F.sha2(text, 256), 1, DIGEST_DIGITS)
    marked = F.when(seen == text, text).otherwise(F.concat(seen, F.lit(" … "), digest))
    for char, entity in HTML_ENTITIES.items():
        marked = F.replace(marked, F.lit(char), F.lit(entity))
    return marked
