"""What commands do with Spark. Importing this imports it, so commands do that only when they are called."""

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from rebalance_audit.audit.deploys.rollout import Rollout
from rebalance_audit.cli.spark_jars import jars_folder, require_java
from rebalance_audit.config import Config, effective_config, unhidden
from rebalance_audit.lake.bronze.kafka_stream import Duration
from rebalance_audit.lake.checks.check_frames import Scope
from rebalance_audit.lake.runs import maintain as care
from rebalance_audit.lake.runs.answers import write_deploy_costs, write_predictions
from rebalance_audit.lake.runs.context import RunReport
from rebalance_audit.lake.runs.request import ALL_LAYERS, GOLD_ONLY, RunRequest, check_request
from rebalance_audit.lake.runs.run import IngestReport, IngestRequest, run_audit, run_ingest
from rebalance_audit.lake.session.spark_session import (
    SUBMITTED,
    active_session,
    build_session,
    is_connect,
    reporting_a_failed_start,
    stopping,
)
from rebalance_audit.lake.sources.source import Source
from rebalance_audit.lake.sources.source_spec import parse_source
from rebalance_audit.lake.storage.table_place import LakeOptions
from rebalance_audit.lake.storage.table_writer import Written
from rebalance_audit.lake.storage.tables import Lake
from rebalance_audit.live_cluster.kafka_cluster import KafkaSettings
from rebalance_audit.location import absolute, catalog_settings
from rebalance_audit.readers.gold import matched_deploys
from rebalance_audit.steps import OnProgress
from rebalance_audit.tables.schemas import TableName

if TYPE_CHECKING:
    from rebalance_audit.quality.check import CheckReport

DAY_MS: Final = 86_400_000
LAYERS: Final = {"all": ALL_LAYERS, "gold": GOLD_ONLY}


def run_request_of(config: Config, *, layers: str = "all", **limits: Any) -> RunRequest:
    """The run that the configuration and the flags ask for; `limits` are fields of RunRequest.

    Raises BadRequest, SourceNotReadable and LakeNotWritable: errors are reported before Spark starts.
    """
    request = RunRequest(
        source=source_of(config) if config.source.spec else None,
        lake=absolute(config.lake.path),
        cluster=config.cluster,
        layers=LAYERS[layers],
        rules=config.audit.departure_rules(),
        findings=config.findings.finding_rules(),
        options=lake_options(config),
        config=effective_config(config),
        **limits,
    )
    check_request(request)
    return request


def ingest_request_of(
    config: Config,
    *,
    from_ms: int | None = None,
    follow: bool = False,
    stop_after_s: float | None = None,
    stopped: Callable[[], bool] = lambda: False,
) -> IngestRequest:
    """The ingest that the configuration and the flags ask for; `stopped` is called now and then while it follows.

    Raises BadRequest, SourceNotReadable and LakeNotWritable before Spark starts.
    """
    request = IngestRequest(
        source_of(config, from_ms),
        absolute(config.lake.path),
        config.cluster,
        from_ms=from_ms,
        duration=Duration(follow, stop_after_s, stopped),
        config=effective_config(config),
        options=lake_options(config),
    )
    request.check()
    return request


def lake_options(config: Config) -> LakeOptions:
    """How the lake of the configuration is written."""
    given = config.lake
    return LakeOptions(
        given.writer,
        given.stage_folder,
        unhidden(given.storage_options),
        unhidden(given.delta_rs_options),
    )


def source_of(config: Config, from_ms: int | None = None) -> Source:
    """The source of the configuration; `from_ms` is where a live cluster's first ingest begins. Raises BadRequest."""
    kafka = config.source.kafka
    settings = KafkaSettings(
        **dict(kafka) | {"options": unhidden(kafka.options), "admin": unhidden(kafka.admin)},
        start_ms=from_ms,
    )
    given = config.source
    storage = unhidden(given.storage_options)
    return parse_source(given.spec, given.split_target_bytes, settings, storage)


def audit_once(
    request: RunRequest, config: Config, on_progress: OnProgress, deploys: Sequence[Rollout] = ()
) -> RunReport:
    """One run in a session of its own; `deploys`: rollouts that are matched with the rebalances of the lake after it.

    Raises click.ClickException without Java, LakeError without Delta, and what `run_audit` raises.
    """
    with session(request.command, request.lake, config, on_progress) as spark:
        return _audit(spark, request, on_progress, deploys)


def audit_rounds(
    requests: Iterator[tuple[RunRequest, Sequence[Rollout]]],
    config: Config,
    on_progress: OnProgress,
) -> Iterator[tuple[RunRequest, RunReport]]:
    """One run after the other in one session, which the first of them opens; as `audit_once`."""
    for first in requests:
        with session(first[0].command, first[0].lake, config, on_progress) as spark:
            for request, deploys in chain([first], requests):
                yield request, _audit(spark, request, on_progress, deploys)


def _audit(
    spark: Any, request: RunRequest, on_progress: OnProgress, deploys: Sequence[Rollout]
) -> RunReport:
    report = run_audit(spark, request, on_progress)
    if deploys:
        on_progress("matching rollouts")
        rows = matched_deploys(request.lake, request.cluster, deploys)
        lake = Lake(spark, request.lake, request.options)
        written = write_deploy_costs(lake, request.cluster, deploys, rows, datetime.now(UTC))
        report.rows[TableName.DEPLOYS] = written.rows
    return report


def ingest_once(request: IngestRequest, config: Config, on_progress: OnProgress) -> IngestReport:
    """One ingest in a session of its own; raises as `audit_once`."""
    with session("ingest", request.lake, config, on_progress) as spark:
        return run_ingest(spark, request, on_progress)


def maintain_request_of(
    config: Config,
    *,
    tables: Sequence[str],
    retentions: Mapping[str, int],
    dry_run: bool,
) -> care.MaintainRequest:
    """The maintenance that the configuration and the flags ask for; `retentions` is table -> days.

    Raises BadRequest before Spark starts.
    """
    request = care.MaintainRequest(
        tables=tables,
        keep_days={**config.maintain.keep_days, **retentions},
        vacuum_hours=config.maintain.vacuum_hours,
        vacuum_hours_of=config.maintain.vacuum_hours_of,
        dry_run=dry_run,
    )
    care.check_maintain_request(request)
    return request


def maintain_once(
    config: Config, request: care.MaintainRequest, on_progress: OnProgress
) -> care.MaintainReport:
    """One maintenance in a session of its own; raises as `audit_once`."""
    with _lake_for("maintain", config, on_progress) as lake:
        return care.maintain(lake, request, datetime.now(UTC), on_progress)


def check_once(
    config: Config,
    on_progress: OnProgress,
    *,
    cluster: str | None,
    tables: Collection[str],
    from_ms: int | None,
    to_ms: int | None,
    docs: Path | None,
) -> "CheckReport":
    """One check in a session of its own.

    Raises as `audit_once`; a bad request is reported before Spark starts.
    """
    from rebalance_audit.quality.check import (  # noqa: PLC0415 - imports Spark
        CheckRequest,
        check_tables,
        run_check,
    )

    kept_ms = {name: days * DAY_MS for name, days in config.maintain.keep_days.items()}
    scope = Scope(cluster, from_ms, to_ms, limits=config.checks.limits(), kept_ms=kept_ms)
    request = CheckRequest(scope, tables, docs, config.checks.sample_keys)
    check_tables(request)
    with _lake_for("check", config, on_progress) as lake:
        return run_check(lake, request, on_progress)


def write_answers(
    config: Config, rows: Sequence[Mapping[str, Any]], on_progress: OnProgress
) -> Written:
    """Write rows of gold.what_if in a session of its own; raises as `audit_once`."""
    with _lake_for("predict", config, on_progress) as lake:
        on_progress("writing gold.what_if")
        return write_predictions(lake, config.cluster, rows, datetime.now(UTC))


@contextmanager
def _lake_for(command: str, config: Config, on_progress: OnProgress) -> Iterator[Lake]:
    path = absolute(config.lake.path)
    with session(command, path, config, on_progress) as spark:
        yield Lake(spark, path, lake_options(config))


@contextmanager
def session(command: str, lake: str, config: Config, on_progress: OnProgress) -> Iterator[Any]:
    """A session of its own for a command, or the one that a platform has started.

    Raises click.ClickException without Java, LakeError without Delta, SparkEnded where Spark ends by itself.
    """
    is_ours = active_session() is None
    starts_java = is_ours and SUBMITTED not in os.environ and not is_connect(config.spark.master)
    if starts_java:
        require_java()
    on_progress("starting Spark")
    with reporting_a_failed_start():
        spark = build_session(
            f"rebalance-audit {command}",
            master=config.spark.master,
            settings={**catalog_settings(lake), **config.spark.settings},
            jars_folder=jars_folder(Path(config.spark.jars_folder)) if starts_java else None,
        )
    with stopping(spark, when=is_ours):
        yield spark
