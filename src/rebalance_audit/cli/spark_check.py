"""What `check` does with Spark. Importing this imports it, and Great Expectations (six seconds)."""

from collections.abc import Collection
from pathlib import Path
from typing import Final

from rebalance_audit.cli.progress import Tell
from rebalance_audit.cli.spark_run import session
from rebalance_audit.config import Config
from rebalance_audit.lake.checks.check_frames import Scope
from rebalance_audit.lake.storage.tables import Lake
from rebalance_audit.location import absolute
from rebalance_audit.quality.check import CheckReport, CheckRequest, check_tables, run_check

DAY_MS: Final = 86_400_000


def check(
    config: Config,
    tell: Tell,
    *,
    cluster: str | None,
    tables: Collection[str],
    from_ms: int | None,
    to_ms: int | None,
    docs: Path | None,
) -> CheckReport:
    """One check in a session of its own.

    Raises what `run_check` and the session raise; what is wrong with the request is told before Spark starts.
    """
    kept_ms = {name: days * DAY_MS for name, days in config.maintain.keep_days.items()}
    scope = Scope(cluster, from_ms, to_ms, limits=config.checks.limits(), kept_ms=kept_ms)
    request = CheckRequest(scope, tables, docs, config.checks.sample_keys)
    check_tables(request)
    lake = absolute(config.lake.path)
    with session("check", lake, config, tell) as spark:
        return run_check(Lake(spark, lake), request, tell)
