"""What a command reads: SEGMENTS, a lake, a live cluster or a script. All commands name each of them alike."""

import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import click
from click.shell_completion import CompletionItem

from rebalance_audit.audit.thresholds import DepartureRules, FindingRules
from rebalance_audit.cli import options
from rebalance_audit.cli.invocation import Invocation, bad_arguments
from rebalance_audit.cli.progress import slow_progress
from rebalance_audit.errors import UnknownGroup
from rebalance_audit.visible import visible

if TYPE_CHECKING:
    from rebalance_audit.config import Config
    from rebalance_audit.local.audit import Audit
    from rebalance_audit.tables.rows import GoldRows

_PREFIX: Final = "REBALANCE_AUDIT_"


class AuditSettings(NamedTuple):
    """What `audit_segments` takes by keyword."""

    cluster: str
    departure_rules: DepartureRules = DepartureRules()
    finding_rules: FindingRules = FindingRules()
    broker_log_time_zone: str = "UTC"
    end_offsets: tuple[Path, ...] = ()
    deploys: tuple[Path, ...] = ()


DEFAULTS: Final = AuditSettings("default")
"""As in `conf/base.toml`, to which a test holds them."""


def audit_settings(
    invocation: Invocation,
    cluster: str | None,
    broker_log_zone: str | None = None,
    end_offsets: tuple[Path, ...] = (),
    deploys: tuple[Path, ...] = (),
) -> AuditSettings:
    """The settings in force; all arguments but the first are flags. Raises ConfigError.

    Without any configuration these are the defaults, without the 0.3 s that loading the configuration takes.
    """
    settings = _configured(invocation, cluster)
    return settings._replace(
        broker_log_time_zone=broker_log_zone or settings.broker_log_time_zone,
        end_offsets=end_offsets,
        deploys=deploys,
    )


def _configured(invocation: Invocation, cluster: str | None) -> AuditSettings:
    configured = any(variable.upper().startswith(_PREFIX) for variable in os.environ)
    if not (configured or invocation.config_file or invocation.print_config):
        return DEFAULTS._replace(cluster=cluster or DEFAULTS.cluster)
    config = invocation.config({"cluster": cluster})
    return AuditSettings(
        config.cluster,
        config.audit.departure_rules(),
        config.findings.finding_rules(),
        config.audit.broker_log_time_zone,
    )


SEGMENTS: Final = "SEGMENTS"
LAKE: Final = "--lake DIR"
KAFKA: Final = "kafka:"
LIVE: Final = f"{KAFKA}HOST:PORT"
SCRIPT: Final = "--script FILE"

NO_GROUP: Final = "No group given: give GROUP after the source; `inspect` lists the groups."
OF_LOG: Final = "goes with a log; a script has that in the file."
_ELSEWHERE: Final = re.compile(r"(kafka|delta):|\w+://")
_GIVEN: Final = (
    *("segments", "lake", "cluster", "script_file"),
    *("broker_logs", "broker_log_zone", "end_offsets", "deploys"),
)


class Segments(NamedTuple):
    """A log on this machine, or of a live cluster where a command reads one."""

    spec: str
    """As the user wrote it."""
    settings: AuditSettings = DEFAULTS
    broker_logs: tuple[Path, ...] = ()

    @property
    def path(self) -> Path:
        """The folder, file or archive."""
        return path_of(self.spec)

    def gold(self, group_ids: Collection[str] = ()) -> "Audit":
        """The audit, with its progress and notes on its input. Raises what `audit_segments` raises."""
        from rebalance_audit.cli.input_notes import print_input_notes  # noqa: PLC0415 - a lake needs none
        from rebalance_audit.local.audit import audit_segments  # noqa: PLC0415 - the same

        with slow_progress() as on_progress:
            audit = audit_segments(
                *(self.path, group_ids, self.broker_logs),
                **self.settings._asdict(),
                on_progress=on_progress,
            )
        print_input_notes(audit.facts)
        return audit


class LakeSource(NamedTuple):
    """A lake that `run` wrote."""

    path: str
    cluster: str | None
    """None where none was named: all of them."""
    deploys: tuple[Path, ...] = ()

    def gold(self) -> "GoldRows":
        """The rows. Raises LakeNotReadable."""
        from rebalance_audit.readers.lake_reader import open_lake  # noqa: PLC0415 - as below

        self.clusters()
        return open_lake(self.path, self.cluster)

    def clusters(self) -> list[str]:
        """The one that was named, else all; at least one. Warns of unfinished runs. Raises LakeNotReadable."""
        from rebalance_audit.readers.tables import (  # noqa: PLC0415 - imports Arrow
            RUNS,
            clusters,
            unfinished_run,
        )

        found = [DEFAULTS.cluster] if self.cluster is None else [self.cluster]
        if self.cluster is None:
            found = clusters(self.path, RUNS) or found
        for cluster in found:
            if sentence := unfinished_run(self.path, cluster):
                click.echo(visible(sentence), err=True)
        return found

    def one_cluster(self, group_id: str | None = None) -> str:
        """The one that was named, else the only one, or the only one that has the group.

        Raises click.UsageError where several fit, UnknownGroup and LakeNotReadable.
        """
        found, of_group = self.clusters(), ""
        if len(found) > 1 and group_id is not None:
            from rebalance_audit.readers import gold  # noqa: PLC0415 - imports Arrow

            found = gold.clusters_with(self.path, group_id)
            if not found:
                raise UnknownGroup(group_id, gold.group_ids(self.path, None))
            of_group = f"Group {group_id!r} is in"
        if len(found) > 1:
            raise click.UsageError(
                f"{of_group or f'{self.path} has'} {len(found)} clusters ({', '.join(found)}): give --cluster NAME."
            )
        return found[0]


def lake_of(invocation: Invocation, config: "Config", flags: Mapping[str, object]) -> LakeSource:
    """The lake of a configuration that `flags` are part of."""
    from rebalance_audit.config import is_given  # noqa: PLC0415 - 0.3 s

    is_named = is_given("cluster", invocation.config_file, flags)
    return LakeSource(config.lake.path, config.cluster if is_named else None)


def path_of(spec: str, reads: Sequence[str] = (SEGMENTS,)) -> Path:
    """The path that SEGMENTS names. Raises click.UsageError for what is not on this machine."""
    if _ELSEWHERE.match(spec):
        raise _cannot_read(spec, reads)
    return Path(spec.removeprefix("segments:") or spec)


def refuse(given: Mapping[str, object], why: str) -> None:
    """Raises click.UsageError for the first option that has a value."""
    for option, value in given.items():
        if value not in {None, ()}:
            raise click.UsageError(f"{option} {why}")


def takes_source(
    *files: Callable[[Any], Any],
    reads: Sequence[str] = (SEGMENTS, LAKE),
    of_group: bool = False,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """SEGMENTS, --lake, --cluster and `files`, options about them; the command gets `source` in their place.

    `reads`: what the command can read. With `of_group` also GROUP, or --group; the command gets `group_id`. What it
    calls unknown is an error of the command line.
    """
    group = (
        click.argument("last", metavar="GROUP", required=False),
        click.option("--group", "group_id", metavar="GROUP", help="Another way to name GROUP."),
    )
    lake = click.option(
        "--lake",
        metavar="DIR",
        hidden=LAKE not in reads,
        help="Read this lake instead of SEGMENTS.",
    )
    # No click.Path, which looks at the file: the word may be a group.
    segments = click.argument(
        "segments",
        metavar=f"[{SEGMENTS}]",
        required=False,
        shell_complete=lambda _ctx, _param, typed: [CompletionItem(typed, type="file")],
    )
    hint = "GROUP" if of_group else "--group"

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def run(*args: Any, **kwargs: Any) -> Any:
            given = {name: kwargs.pop(name) for name in _GIVEN if name in kwargs}
            nothing = f"No source given: give {_listed(reads)}."
            if of_group:
                kwargs["group_id"], given["segments"] = _group_last(
                    given["segments"], kwargs.pop("last"), kwargs["group_id"]
                )
                # An id that is too long for a path is none.
                nothing = NO_GROUP if os.path.exists(kwargs["group_id"] or "") else nothing  # noqa: PTH110
            source = _source(reads, nothing, **given)
            if of_group and kwargs["group_id"] is None and not isinstance(source, Path):
                raise click.UsageError(NO_GROUP)
            with bad_arguments(hint):
                return command(*args, source=source, **kwargs)

        for each in reversed(
            (segments, *(group if of_group else ()), lake, options.cluster, *files)
        ):
            run = each(run)
        return run

    return decorate


def _group_last(
    first: str | None, second: str | None, group_id: str | None
) -> tuple[str | None, str | None]:
    """The group and SEGMENTS, of `[SEGMENTS] GROUP` or `[SEGMENTS] --group GROUP`."""
    if group_id is None:
        return (first, None) if second is None else (second, first)
    if second is not None:
        raise click.UsageError("Give GROUP or --group, not both.")
    return group_id, first


def _source(
    reads: Sequence[str],
    nothing: str,
    *,
    segments: str | None,
    lake: str | None,
    cluster: str | None,
    script_file: Path | None = None,
    broker_logs: tuple[Path, ...] = (),
    broker_log_zone: str | None = None,
    end_offsets: tuple[Path, ...] = (),
    deploys: tuple[Path, ...] = (),
) -> Segments | LakeSource | Path:
    invocation = click.get_current_context().find_object(Invocation)
    assert invocation is not None
    named = {SEGMENTS: segments, "--lake": lake, "--script": script_file}
    given = [name for name, value in named.items() if value is not None]
    if len(given) > 1:
        raise click.UsageError(f"Give {given[0]} or {given[1]}, not both.")
    flags = {"lake.path": lake, "cluster": cluster}
    if invocation.print_config:
        invocation.config(flags)
    of_broker_logs = {"--broker-log": broker_logs, "--broker-log-time-zone": broker_log_zone}
    if script_file is not None:
        refuse({"--cluster": cluster, **of_broker_logs}, OF_LOG)
        return script_file
    if segments is not None:
        if LIVE not in reads or not re.match(f"{KAFKA}.", segments):
            path_of(segments, reads)
        settings = audit_settings(invocation, cluster, broker_log_zone, end_offsets, deploys)
        return Segments(segments, settings, broker_logs)
    refuse(of_broker_logs, "goes with SEGMENTS; for a lake give it to `run`.")
    refuse({"--end-offsets": end_offsets}, "goes with SEGMENTS.")
    if LAKE in reads:
        config = invocation.config(flags)
        if config.lake.path:
            return lake_of(invocation, config, flags)._replace(deploys=deploys)
    elif lake is not None:
        raise _cannot_read("a lake", reads)
    raise click.UsageError(nothing)


def _cannot_read(what: str, reads: Sequence[str]) -> click.UsageError:
    name = click.get_current_context().info_name
    live = " `watch` reads a live cluster." * (what.startswith(KAFKA) and LIVE not in reads)
    return click.UsageError(f"`{name}` cannot read {what}: give {_listed(reads)}.{live}")


def _listed(reads: Sequence[str]) -> str:
    return " or ".join(filter(None, (", ".join(reads[:-1]), reads[-1])))
