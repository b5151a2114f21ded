"""Where `what-if` takes the script of a group from: SEGMENTS, audited now, the lake of `run`, or a file."""

from pathlib import Path
from typing import NamedTuple

import click

from rebalance_audit.cli.progress import slow_step
from rebalance_audit.cli.source import OF_LOG, LakeSource, Segments, refuse
from rebalance_audit.cli.times import require_within_log
from rebalance_audit.errors import BadRequest, require_known
from rebalance_audit.tables.order import Window
from rebalance_audit.whatif.extraction import refusal_of, script_of, too_large
from rebalance_audit.whatif.group_rows import GroupRows, group_rows
from rebalance_audit.whatif.script import Script
from rebalance_audit.whatif.script_file import script_from


class Refused(NamedTuple):
    """A group that no script can be made for."""

    group_id: str
    sentence: str


class ScriptSource(NamedTuple):
    """What the command line names."""

    place: Segments | LakeSource | Path
    """A Path: the file of a script."""
    group_id: str | None
    from_ms: int | None = None
    to_ms: int | None = None
    was_session_timeout_ms: int | None = None
    was_heartbeat_ms: int | None = None


def script_at(source: ScriptSource) -> Script | Refused:
    """The script, or why there is none. Raises click.UsageError and what reading raises."""
    place, group_id = source.place, source.group_id
    if isinstance(place, Path):
        return _of_file(source, place)
    assert group_id is not None
    if isinstance(place, LakeSource):
        rows = _of_lake(place, group_id)
    else:
        audit = place.gold((group_id,))
        rows = group_rows(audit.tables, group_id, audit.facts.last_ms)
    require_within_log("--from", source.from_ms, rows.end_ms)
    if Window(source.from_ms, source.to_ms).is_empty:
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
    given = {
        "--from": source.from_ms,
        "--to": source.to_ms,
        "--was-session-timeout": source.was_session_timeout_ms,
        "--was-heartbeat": source.was_heartbeat_ms,
    }
    refuse(given, OF_LOG)
    script = script_from(file.read_bytes(), str(file))
    if source.group_id not in (None, script.group_id):
        raise click.UsageError(
            f"{file} is the script of {script.group_id!r}, not of {source.group_id!r}."
        )
    return _within_limits(script)


def _of_lake(lake: LakeSource, group_id: str) -> GroupRows:
    path, cluster = lake.path, lake.one_cluster(group_id)
    from rebalance_audit.readers import gold  # noqa: PLC0415 - imports Arrow
    from rebalance_audit.readers.tables import read_rows  # noqa: PLC0415 - as above

    with slow_step("reading the lake"):
        tables = gold.group_tables(path, cluster, group_id)
        topics = read_rows(path, "gold.topics", cluster=cluster)
    if not tables["group_states"]:
        require_known((group_id,), gold.group_ids(path, cluster))
    return group_rows({**tables, "topics": topics}, group_id, gold.log_end_ms(path, cluster))
