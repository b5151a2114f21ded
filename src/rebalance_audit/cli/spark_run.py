"""What `run` and `demo` do with Spark. Importing this imports it, so the commands do that when they are called."""

import os
import re
from pathlib import Path
from typing import Any, Final

from rebalance_audit.cli.progress import Tell
from rebalance_audit.cli.requirements import require_java
from rebalance_audit.config import Config, effective_config
from rebalance_audit.lake.catalog_names import catalog_settings
from rebalance_audit.lake.request import ALL_LAYERS, GOLD_ONLY, RunRequest, check_request
from rebalance_audit.lake.run import run_audit
from rebalance_audit.lake.run_log import RunReport
from rebalance_audit.lake.session import SUBMITTED, build_session
from rebalance_audit.lake.sources import local_path, parse_source
from rebalance_audit.resources import checkout_root

SECRET: Final = re.compile(
    r"^(\S*(?:secret|password|token|access\.?key)\S*) = .*$", re.IGNORECASE | re.MULTILINE
)
"""A setting that must not be read in the run log of a lake; the names are those that Spark redacts in its own logs."""

LAYERS: Final = {"all": ALL_LAYERS, "gold": GOLD_ONLY}


def request_of(config: Config, *, layers: str = "all", **limits: Any) -> RunRequest:
    """The run that the configuration and the flags ask for; `limits` are fields of RunRequest.

    Raises BadRequest, SourceNotReadable and LakeNotWritable: what is wrong is told before Spark starts.
    """
    request = RunRequest(
        source=parse_source(config.source.spec, config.source.split_target_bytes),
        lake=_absolute(config.lake.path),
        cluster=config.cluster,
        layers=LAYERS[layers],
        rules=config.audit.departure_rules(),
        findings=config.findings.finding_rules(),
        config=SECRET.sub(r'\1 = "(redacted)"', effective_config(config)),
        **limits,
    )
    check_request(request)
    return request


def audit(request: RunRequest, config: Config, tell: Tell) -> RunReport:
    """One run in a session of its own.

    Raises click.ClickException without Java, LakeError without Delta, and what `run_audit` raises.
    """
    if SUBMITTED not in os.environ:
        require_java()
    tell("starting Spark")
    spark = build_session(
        f"rebalance-audit {request.command}",
        master=config.spark.master,
        settings={**catalog_settings(request.lake), **config.spark.settings},
        jars_folder=_jars_folder(Path(config.spark.jars_folder)),
    )
    try:
        return run_audit(spark, request, tell)
    finally:
        spark.stop()


def _absolute(location: str) -> str:
    """A folder on this machine by its whole path; other storage (s3a://…) as it is."""
    path = local_path(location)
    return location if path is None else str(path.absolute())


def _jars_folder(folder: Path) -> Path:
    """The folder, or the one of the checkout that we run from where the current one has none."""
    if folder.is_absolute() or folder.is_dir():
        return folder
    try:
        return checkout_root() / folder
    except FileNotFoundError:
        return folder
