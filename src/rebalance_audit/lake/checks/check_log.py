"""meta.checks: what each check of a lake found."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal, TypeAlias

from rebalance_audit.lake.checks.scope import Scope
from rebalance_audit.lake.storage.run_ids import commit_metadata
from rebalance_audit.lake.storage.tables import Lake
from rebalance_audit.moments import utc_datetime
from rebalance_audit.tables.checks import CheckKind, CheckSeverity
from rebalance_audit.tables.schemas import TableName
from rebalance_audit.version import __version__

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
        "cluster": cluster,
        "check_id": check_id,
        "from_at": utc_datetime(scope.from_ms),
        "to_at": utc_datetime(scope.to_ms),
        "checked_at": scope.now,
        "package_version": __version__,
    }
    rows = [common | _row(result) for result in results]
    with commit_metadata(lake.spark, check_id):
        lake.create([TableName.CHECKS])
        lake.add_rows(TableName.CHECKS, cluster, lambda _: rows)


def _row(result: CheckResult) -> dict[str, Any]:
    return {
        **asdict(result),
        "checked_table": result.table,
        "success": result.outcome != "broken",
        "sample_keys": list(result.sample_keys),
    }
