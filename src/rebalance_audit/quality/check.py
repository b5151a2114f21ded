"""A check of a lake: the rules of its suites, evaluated for each table in one job."""

from collections import Counter, deque
from collections.abc import Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Final

from rebalance_audit.errors import BadRequest, LakeNotReadable
from rebalance_audit.lake.checks.check_frames import (
    CheckedTable,
    CheckResult,
    Scope,
    TableFrames,
    broken_rows,
    checked_table,
    write_results,
)
from rebalance_audit.lake.session.spark_session import small_queries
from rebalance_audit.lake.storage.table_log import new_run_id
from rebalance_audit.lake.storage.tables import Lake
from rebalance_audit.steps import OnProgress, no_progress
from rebalance_audit.tables.order import Window
from rebalance_audit.tables.schemas import table_schemas

AHEAD: Final = 2
"""Tables that are evaluated ahead: with small ones Spark mostly waits for its driver."""
FEW_TABLE_BYTES: Final = 4 << 20
"""Some 500 000 records with what comes of them: up to here a check is over before compiled code has paid for
itself."""


@dataclass(frozen=True, slots=True)
class CheckRequest:
    """What to check, and what to write besides meta.checks."""

    scope: Scope
    tables: Collection[str] = ()
    """Full names; empty for all."""
    docs: Path | None = None
    """Folder for Data Docs; None for no Data Docs."""
    sample_keys: int = 20
    """How many keys of rows that break an expectation are kept."""


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What a check found."""

    check_id: str
    results: tuple[CheckResult, ...]

    @property
    def broken(self) -> tuple[CheckResult, ...]:
        """Results of the expectations that rows break, those of severity fail first."""
        found = [result for result in self.results if result.outcome == "broken"]
        return tuple(sorted(found, key=lambda result: result.severity != "fail"))

    @property
    def failed(self) -> bool:
        """Whether rows break an expectation of severity fail."""
        return any(result.severity == "fail" for result in self.broken)

    @property
    def outcomes(self) -> Counter[str]:
        """Outcome -> how many expectations."""
        return Counter(result.outcome for result in self.results)


def run_check(
    lake: Lake, request: CheckRequest, on_progress: OnProgress = no_progress
) -> CheckReport:
    """Check the tables, and append the results to meta.checks.

    Raises BadRequest, LakeNotReadable and LakeNotWritable, each with one sentence.
    """
    names = check_tables(request)
    if all(lake.version(name) is None for name in table_schemas()):
        raise LakeNotReadable(
            f"{lake.path} is not a rebalance-audit lake: it has none of its tables."
        )
    check_id = new_run_id(request.scope.now)
    docs = None
    if request.docs is not None:
        from rebalance_audit.quality.data_docs import DataDocs  # noqa: PLC0415 - Great Expectations takes six seconds

        docs = DataDocs(request.docs)
    results: list[CheckResult] = []
    tables = TableFrames(lake, request.scope)
    with small_queries(lake.spark, when=tables.size_bytes(names) <= FEW_TABLE_BYTES):
        for table in _ahead(tables, request.scope, names):
            on_progress(f"checking {table.schema.full_name}")
            try:
                results += _results(table, request.sample_keys)
                if docs is not None:
                    docs.add(table, tables, request.scope)
            finally:
                table.release()
    _require_rows(lake, request.scope, results)
    if docs is not None:
        on_progress("writing Data Docs")
        docs.build()
    on_progress("writing meta.checks")
    write_results(lake, check_id, request.scope, results)
    return CheckReport(check_id, tuple(results))


def check_tables(request: CheckRequest) -> list[str]:
    """Full names of the tables to check, in order. Raises BadRequest for a request that makes no sense."""
    known = table_schemas()
    if unknown := sorted(set(request.tables) - set(known)):
        raise BadRequest(f"There is no table {', '.join(unknown)}: there are {', '.join(known)}.")
    scope = request.scope
    if Window(scope.from_ms, scope.to_ms).is_empty:
        raise BadRequest("The window is empty: its end is not after its start.")
    return [name for name in known if not request.tables or name in request.tables]


def _ahead(tables: TableFrames, scope: Scope, names: Collection[str]) -> Iterator[CheckedTable]:
    """The tables in order; each is evaluated while the one before it is reported."""
    schemas = iter([table_schemas()[name] for name in names])
    with ThreadPoolExecutor(AHEAD) as pool:
        ready = deque(
            pool.submit(checked_table, tables, schema, scope) for schema in islice(schemas, AHEAD)
        )
        while ready:
            table = ready.popleft().result()
            ready += [
                pool.submit(checked_table, tables, schema, scope) for schema in islice(schemas, 1)
            ]
            yield table


def _require_rows(lake: Lake, scope: Scope, results: Collection[CheckResult]) -> None:
    """A check of a cluster that the lake does not have must not pass: its name may be mistyped."""
    if (
        scope.cluster is None
        or Window(scope.from_ms, scope.to_ms).is_limited
        or any(one.rows_checked for one in results)
    ):
        return
    raise LakeNotReadable(f"{lake.path} has no row of cluster {scope.cluster}.")


def _results(table: CheckedTable, sample_keys: int) -> Iterator[CheckResult]:
    rows = broken_rows(table, sample_keys)
    for check in table.checks:
        name = table.schema.full_name
        held = CheckResult(
            name,
            check.name_in(name),
            check.kind,
            check.severity,
            "held",
            rows_checked=table.rows,
            unexpected_count=0,
            table_version=table.version,
        )
        if check in table.passed_over:
            why = table.passed_over[check]
            yield replace(
                held, outcome="passed_over", rows_checked=None, unexpected_count=None, detail=why
            )
        elif check in rows:
            yield replace(
                held,
                outcome="broken",
                unexpected_count=table.broken[check],
                sample_keys=rows[check].keys,
                detail=rows[check].detail,
            )
        else:
            yield held
