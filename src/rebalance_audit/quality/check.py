"""A check of a lake: every table against its suite, and what came of it."""

from collections import Counter, deque
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, Final, TypeAlias

import orjson

from rebalance_audit.lake.check_frames import CheckedTable, Scope, Tables, checked_table
from rebalance_audit.lake.check_log import Finding, new_check_id, write_findings
from rebalance_audit.lake.errors import BadRequest, LakeNotReadable
from rebalance_audit.lake.tables import Lake
from rebalance_audit.quality.expectations import Expected, expectation_of, name_of
from rebalance_audit.quality.suites import Judgement, Suites
from rebalance_audit.table_schemas import table_schemas

AHEAD: Final = 2
"""Tables that are made ready ahead: for small ones Spark mostly waits for its driver."""
Progress: TypeAlias = Callable[[str], None]
"""Told what is being done now."""


@dataclass(frozen=True, slots=True)
class CheckRequest:
    """What to check, and what to leave behind."""

    scope: Scope
    tables: Collection[str] = ()
    """Full names; empty: all."""
    docs: Path | None = None
    """Folder for Data Docs."""
    sample_keys: int = 20
    """How many keys of broken rows are kept for each expectation."""


@dataclass(frozen=True, slots=True)
class CheckReport:
    """What a check found."""

    check_id: str
    findings: tuple[Finding, ...]

    @property
    def broken(self) -> tuple[Finding, ...]:
        """Expectations that rows break, those of severity fail first."""
        found = [finding for finding in self.findings if finding.outcome == "broken"]
        return tuple(sorted(found, key=lambda finding: finding.severity != "fail"))

    @property
    def failed(self) -> bool:
        """Whether one of severity fail is among them."""
        return any(finding.severity == "fail" for finding in self.broken)

    @property
    def outcomes(self) -> Counter[str]:
        """Outcome -> how many expectations."""
        return Counter(finding.outcome for finding in self.findings)


def run_check(
    lake: Lake, request: CheckRequest, progress: Progress = lambda _: None
) -> CheckReport:
    """Check the tables, and append what came of it to meta.checks.

    Raises BadRequest, LakeNotReadable and LakeNotWritable, each with one sentence.
    """
    names = check_tables(request)
    if all(lake.version(name) is None for name in table_schemas()):
        raise LakeNotReadable(f"{lake.path} is no lake of this program: it has none of its tables.")
    check_id = new_check_id(request.scope.now)
    suites = Suites(request.docs, request.sample_keys)
    findings: list[Finding] = []
    for table in _ahead(lake, request.scope, names):
        progress(f"checking {table.schema.full_name}")
        try:
            findings += _findings(table, suites)
        finally:
            table.release()
    _require_rows(lake, request.scope, findings)
    if request.docs is not None:
        progress("writing Data Docs")
        suites.build_docs()
    progress("writing meta.checks")
    write_findings(lake, check_id, request.scope, findings)
    return CheckReport(check_id, tuple(findings))


def check_tables(request: CheckRequest) -> list[str]:
    """Full names of the tables to check, in order. Raises BadRequest for a request that makes no sense."""
    known = table_schemas()
    if unknown := sorted(set(request.tables) - set(known)):
        raise BadRequest(f"There is no table {', '.join(unknown)}: there are {', '.join(known)}.")
    scope = request.scope
    if scope.from_ms is not None and scope.to_ms is not None and scope.from_ms >= scope.to_ms:
        raise BadRequest("The window is empty: its end is not after its start.")
    return [name for name in known if not request.tables or name in request.tables]


def _ahead(lake: Lake, scope: Scope, names: Collection[str]) -> Iterator[CheckedTable]:
    """The tables in order, each made ready while the one before is judged."""
    tables = Tables(lake, scope)
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


def _require_rows(lake: Lake, scope: Scope, findings: Collection[Finding]) -> None:
    """A check of a cluster that the lake does not have must not pass: its name is mistyped."""
    if scope.cluster is None or scope.is_window or any(one.rows_checked for one in findings):
        return
    raise LakeNotReadable(f"{lake.path} has no row of cluster {scope.cluster}.")


def _findings(table: CheckedTable, suites: Suites) -> Iterator[Finding]:
    schema = table.schema
    for check, why in table.passed_over.items():
        yield Finding(
            schema.full_name,
            name_of(schema, check),
            check.kind,
            check.severity,
            "passed_over",
            detail=why,
            table_version=table.version,
        )
    if table.frame is None:
        return
    expected = [
        expectation_of(schema, check, table.problems.get(check))
        for check in table.checks
        if check not in table.passed_over
    ]
    judgements = suites.judge(schema, expected, table.frame, table.rows)
    for one in expected:
        yield replace(_finding(one, judgements[one.name]), table_version=table.version)


def _finding(expected: Expected, judgement: Judgement) -> Finding:
    check = expected.check
    return Finding(
        expected.table,
        expected.name,
        check.kind,
        check.severity,
        "held" if judgement.success else "broken",
        rows_checked=judgement.rows,
        unexpected_count=judgement.unexpected_count,
        sample_keys=tuple(map(_json, judgement.keys)),
        detail=judgement.detail,
    )


def _json(key: Any) -> str:
    return orjson.dumps(key, default=str, option=orjson.OPT_UTC_Z).decode()
