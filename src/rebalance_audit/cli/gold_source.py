"""Where commands that show gold tables take them from: SEGMENTS, audited now, or the lake of `run`."""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from rebalance_audit.cli import options
from rebalance_audit.cli.audit_settings import audit_settings
from rebalance_audit.cli.bad_arguments import bad_arguments
from rebalance_audit.cli.invocation import Invocation
from rebalance_audit.cli.segments_audit import audit_with_progress, refuse_files_of_segments

if TYPE_CHECKING:
    from rebalance_audit.tables.gold_rows import GoldRows

NOTHING: Final = "No source given: give SEGMENTS or --lake DIR."


def reads_gold(command: Callable[..., Any]) -> Callable[..., Any]:
    """SEGMENTS, --lake and what goes with them; the command gets `gold`, a GoldRows, in their place.

    A lake gives the rows of all its clusters unless --cluster names one. Raises click.UsageError, and what reading
    raises.
    """

    @click.argument(
        "segments", metavar="[SEGMENTS]", required=False, type=click.Path(path_type=Path)
    )
    @click.option("--lake", metavar="DIR", help="Read this lake instead of SEGMENTS.")
    @options.cluster
    @options.broker_logs
    @options.broker_log_zone
    @options.end_offsets
    @wraps(command)
    def run(
        *args: Any,
        segments: Path | None,
        lake: str | None,
        cluster: str | None,
        broker_logs: tuple[Path, ...],
        broker_log_zone: str | None,
        end_offsets: tuple[Path, ...],
        **kwargs: Any,
    ) -> Any:
        invocation = click.get_current_context().find_object(Invocation)
        assert invocation is not None
        if segments is None:
            refuse_files_of_segments(broker_logs, end_offsets)
            gold = _of_lake(invocation, lake, cluster)
        else:
            if lake is not None:
                raise click.UsageError("Give SEGMENTS or --lake, not both.")
            settings = audit_settings(invocation, cluster, broker_log_zone, end_offsets)
            with bad_arguments():
                gold = audit_with_progress(segments, (), broker_logs, settings)
        return command(*args, gold=gold, **kwargs)

    return run


def _of_lake(invocation: Invocation, lake: str | None, cluster: str | None) -> "GoldRows":
    flags = {"lake.path": lake, "cluster": cluster}
    config = invocation.config_of_lake(flags, without=NOTHING)
    from rebalance_audit.config import is_given  # noqa: PLC0415 - 0.3 s
    from rebalance_audit.readers.lake_reader import open_lake  # noqa: PLC0415

    one = is_given("cluster", invocation.config_file, flags)
    return open_lake(config.lake.path, config.cluster if one else None)
