"""What `maintain` does with Spark. Importing this imports it."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from rebalance_audit.cli.progress import Tell
from rebalance_audit.cli.spark_run import session
from rebalance_audit.config import Config
from rebalance_audit.lake.runs import maintain as care
from rebalance_audit.lake.storage.tables import Lake
from rebalance_audit.location import absolute


def request_of(
    config: Config, *, tables: Sequence[str], retentions: Mapping[str, int], dry_run: bool
) -> care.MaintainRequest:
    """What the configuration and the flags ask for; raises BadRequest before Spark starts."""
    request = care.MaintainRequest(
        tables=tables,
        keep_days={**config.maintain.keep_days, **retentions},
        vacuum_hours=config.maintain.vacuum_hours,
        vacuum_hours_of=config.maintain.vacuum_hours_of,
        dry_run=dry_run,
    )
    care.check_request(request)
    return request


def maintain(config: Config, request: care.MaintainRequest, tell: Tell) -> care.MaintainReport:
    """One maintenance in a session of its own; raises what `lake.maintain` and the session raise."""
    lake = absolute(config.lake.path)
    with session("maintain", lake, config, tell) as spark:
        return care.maintain(Lake(spark, lake), request, datetime.now(UTC), tell)
