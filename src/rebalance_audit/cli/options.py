"""Arguments and options that several commands share."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Final, TypeVar

import click

from rebalance_audit.cli import times
from rebalance_audit.cli.invocation import Invocation
from rebalance_audit.errors import BadRequest
from rebalance_audit.moment_text import moment_ms

T = TypeVar("T")
Decorated = TypeVar("Decorated", bound=Callable[..., Any])


class NeededOption(click.Option):
    """An option that must be given, but not with --print-config."""

    def process_value(self, ctx: click.Context, value: Any) -> Any:
        """None where a missing value is not needed."""
        try:
            return super().process_value(ctx, value)
        except click.MissingParameter:
            invocation = ctx.find_object(Invocation)
            if invocation is None or not invocation.print_config:
                raise
            return None


def path(
    *names: str, text: str, metavar: str = "FILE", exists: bool = False, **more: Any
) -> Callable[[Decorated], Decorated]:
    """An option whose value is a path of what `metavar` says: FILE, DIR, or either as PATH; `text` is its help."""
    kind = click.Path(
        exists=exists, dir_okay=metavar != "FILE", file_okay=metavar != "DIR", path_type=Path
    )
    return click.option(*names, type=kind, metavar=metavar, help=text, **more)


class Parsed(click.ParamType[T]):
    """What `read` makes of an option's text; its BadRequest is an error of the command line."""

    name = "text"

    def __init__(self, read: Callable[[str], T]) -> None:
        self._read = read

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> T:
        """The value, read from a text unless it is one already."""
        if not isinstance(value, str):
            return value  # type: ignore[no-any-return] # a default of that type
        try:
            return self._read(value)
        except BadRequest as error:
            self.fail(str(error), param, ctx)


def secret(text: str) -> str:
    """A text, or of `@FILE` the first line of the file: other users see the command line. Raises BadRequest."""
    if not text.startswith("@"):
        return text
    try:
        return Path(text[1:]).read_text(encoding="utf-8").strip().partition("\n")[0]
    except OSError as error:
        raise BadRequest(f"{text[1:]} cannot be read: {error.strerror}.") from None


def groups_of(text: str) -> Callable[[Decorated], Decorated]:
    """`--group`, which may be repeated; `text` is its help."""
    return click.option("--group", "group_ids", metavar="GROUP", multiple=True, help=text)


groups: Final = groups_of("Only this group; may be repeated.")


def log_partitions(text: str) -> Callable[[Decorated], Decorated]:
    """`--partition` of `__consumer_offsets`; `text` is its help."""
    return click.option(
        "--partition",
        "log_partitions",
        type=click.IntRange(min=0),
        multiple=True,
        metavar="N",
        help=f"{text}; may be repeated.",
    )


cluster: Final = click.option(
    "--cluster", metavar="NAME", help="Name of the Kafka cluster: the first column of every table."
)


lake: Final = click.option(
    "--lake", metavar="DIR", help="Folder, URL or catalog (catalog:NAME) of the tables."
)
tables: Final = click.option(
    "--table", "tables", metavar="TABLE", multiple=True, help="Only this table; may be repeated."
)
"""Both of commands that look after the tables of a lake."""

errors_as_json: Final = click.option(
    "--json",
    is_flag=True,
    expose_value=False,
    help="Also print errors as a JSON object on stdout; records are always JSON.",
)
"""For commands that print nothing but JSON; `main` looks for the word."""


def time_option(*names: str, text: str) -> Callable[[Decorated], Decorated]:
    """An option whose value is a moment; `text` is its help."""
    return click.option(*names, type=Parsed(moment_ms), metavar="TIME", help=f"{text} {times.HELP}")


def seconds(*names: str, text: str) -> Callable[[Decorated], Decorated]:
    """An option whose value is a duration; `text` is its help."""
    positive = click.FloatRange(min=0, min_open=True)
    return click.option(*names, type=positive, metavar="SECONDS", help=text)


seeds: Final = click.option(
    "--seeds",
    type=click.IntRange(1, 1_000),
    metavar="N",
    help="Runs of each simulation. [default: 3 to 20, fewer for a long history]",
)
"""Of what-if."""

groups_max: Final = click.option(
    "--groups-max",
    type=click.IntRange(min=0),
    default=500,
    show_default=True,
    metavar="N",
    help="Per-group series for the N groups of a cluster that need attention most.",
)
"""Of metrics."""

broker_logs: Final = path(
    "--broker-log",
    "broker_logs",
    metavar="PATH",
    exists=True,
    multiple=True,
    text="A broker's server.log in any layout, compressed or not, or a folder of them; may be repeated."
    " Settles causes that the records leave open.",
)

end_offsets: Final = path(
    "--end-offsets",
    metavar="PATH",
    exists=True,
    multiple=True,
    text="Samples of end offsets, one JSON object a line (docs/lag.md), or a folder with copies of topic partitions;"
    " may be repeated. They bound how many records a rebalance delayed.",
)

deploys: Final = path(
    "--deploys",
    exists=True,
    multiple=True,
    text="Rollouts, as exported by kubectl, Argo CD, Helm or GitHub, or as CSV (docs/deploys.md); may be repeated."
    " Rebalances that belong to a rollout are tied to it.",
)

broker_log_zone: Final = click.option(
    "--broker-log-time-zone",
    "broker_log_zone",
    metavar="ZONE",
    help="Time zone of the broker logs, such as Europe/Berlin or +02:00. [default: audit.broker_log_time_zone, UTC]",
)
