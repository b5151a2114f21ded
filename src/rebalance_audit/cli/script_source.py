"""Where `what-if` takes the script of a group from: SEGMENTS, audited now, the lake of `run`, or a file."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from rebalance_audit.cli.audit_settings import audit_settings
from rebalance_audit.cli.bad_arguments import bad_arguments
from rebalance_audit.cli.invocation import Invocation
from rebalance_audit.cli.log_end import require_within_log
from rebalance_audit.cli.progress import slow_step
from rebalance_audit.cli.segments_audit import audit_with_progress, refuse_files_of_segments
from rebalance_audit.errors import BadRequest, require_known
from rebalance_audit.whatif.extraction import script_of
from rebalance_audit.whatif.group_rows import GroupRows, group_rows
from rebalance_audit.whatif.refusal import refusal_of, too_large
from rebalance_audit.whatif.script import Script
from rebalance_audit.whatif.script_file import script_from

if TYPE_CHECKING:
    from collections.abc import Mapping

NOTHING = "No source given: give SEGMENTS, --lake DIR or --script FILE."


class Refused(NamedTuple):
    """A group that no script can be made for."""

    group_id: str
    sentence: str


class ScriptSource(NamedTuple):
    """What the command line names."""

    segments: Path | None
    lake: str | None
    script: Path | None
    group_id: str | None
    cluster: str | None
    broker_logs: tuple[Path, ...]
    broker_log_zone: str | None
    from_ms: int | None
    to_ms: int | None
    was_session_timeout_ms: int | None = None
    was_heartbeat_ms: int | None = None


def script_at(invocation: Invocation, source: ScriptSource) -> Script | Refused:
    """The script, or why there is none. Raises click.UsageError and what reading raises."""
    if source.script is not None:
        return _of_file(source, source.script)
    if source.group_id is None:
        raise click.UsageError("Name the group: --group GROUP.")
    with bad_arguments():
        rows = (
            _of_lake(invocation, source, source.group_id)
            if source.segments is None
            else _of_segments(invocation, source, source.group_id, source.segments)
        )
    require_within_log("--from", source.from_ms, rows.end_ms)
    if None not in (source.from_ms, source.to_ms) and source.from_ms >= source.to_ms:  # type: ignore[operator] # neither is None
        raise click.UsageError("--from must be before --to.")
    sentence = refusal_of(rows, source.from_ms, source.to_ms)
    if sentence is not None:
        return Refused(rows.group_id, sentence)
    try:
        script = script_of(
            rows,
            source.from_ms,
            source.to_ms,
            session_timeout_ms=source.was_session_timeout_ms,
            heartbeat_interval_ms=source.was_heartbeat_ms,
        )
    except BadRequest as error:
        raise click.UsageError(str(error)) from error
    return _within_limits(script)


def _within_limits(script: Script) -> Script | Refused:
    sentence = too_large(script)
    return script if sentence is None else Refused(script.group_id, sentence)


def _of_file(source: ScriptSource, file: Path) -> Script | Refused:
    given: Mapping[str, Any] = {
        "--from": source.from_ms,
        "--to": source.to_ms,
        "--cluster": source.cluster,
        "--broker-log": source.broker_logs or None,
        "--was-session-timeout": source.was_session_timeout_ms,
        "--was-heartbeat": source.was_heartbeat_ms,
    }
    for option, value in given.items():
        if value is not None:
            raise click.UsageError(f"{option} goes with a log; a script has that in the file.")
    script = script_from(file.read_bytes(), str(file))
    if source.group_id not in (None, script.group_id):
        raise click.UsageError(
            f"{file} is the script of {script.group_id!r}, not of {source.group_id!r}."
        )
    return _within_limits(script)


def _of_segments(
    invocation: Invocation, source: ScriptSource, group_id: str, segments: Path
) -> GroupRows:
    settings = audit_settings(invocation, source.cluster, source.broker_log_zone)
    audit = audit_with_progress(segments, (group_id,), source.broker_logs, settings)
    return group_rows(audit.tables, group_id, audit.facts.last_ms)


def _of_lake(invocation: Invocation, source: ScriptSource, group_id: str) -> GroupRows:
    refuse_files_of_segments(source.broker_logs)
    flags = {"lake.path": source.lake, "cluster": source.cluster}
    config = invocation.config_of_reader(flags, without=NOTHING, group_id=group_id)
    from rebalance_audit.readers import group as lake_group  # noqa: PLC0415 - imports Arrow
    from rebalance_audit.readers.log_end import log_end_ms  # noqa: PLC0415 - as above
    from rebalance_audit.readers.tables import read_rows  # noqa: PLC0415 - as above

    path, cluster = config.lake.path, config.cluster
    with slow_step("reading the lake"):
        tables = lake_group.group_tables(path, cluster, group_id)
        topics = read_rows(path, "gold.topics", cluster=cluster)
    if not tables["group_states"]:
        require_known((group_id,), lake_group.group_ids(path, cluster))
    return group_rows({**tables, "topics": topics}, group_id, log_end_ms(path, cluster))
