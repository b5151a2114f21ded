"""What one call of the program is given besides its command: configuration, and how to report errors."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from rebalance_audit.errors import MissingExtra, UnknownGroup, UnknownPartition, UnknownTimeZone
from rebalance_audit.extras import require_extra

if TYPE_CHECKING:
    from rebalance_audit.config import Config

NO_LAKE: Final = "No lake: give --lake DIR."

Command = TypeVar("Command", bound=Callable[..., Any])


def require_packages_of(extra: str) -> None:
    """Raises MissingExtra if packages of an extra are not installed."""
    try:
        require_extra(extra)
    except MissingExtra as error:
        raise MissingExtra(
            f"{error} inspect, explain, state and decode work on segments without it."
        ) from error


@dataclass(slots=True)
class Invocation:
    """One call. The options below fill it, before or after the name of the command."""

    debug: bool = False
    quiet: bool = False
    config_file: Path | None = None
    print_config: bool = False

    def config(self, flags: Mapping[str, object] | None = None) -> "Config":
        """The effective configuration; `flags` by dotted key, None where a flag was not given.

        With --print-config it is printed and the command ends here. Raises ConfigError.
        """
        from rebalance_audit.config import effective_config, load_config  # noqa: PLC0415 - 0.3 s

        config = load_config(self.config_file, flags)
        if self.print_config:
            click.echo(effective_config(config), nl=False)
            click.get_current_context().exit()
        return config

    def config_of_lake(self, flags: Mapping[str, object], *extras: str) -> "Config":
        """`config`, for a command that needs a lake and the packages of these extras.

        Raises ConfigError, click.UsageError where there is no lake, and what `require_packages_of` raises.
        """
        config = self.config(flags)
        if not config.lake.path:
            raise click.UsageError(NO_LAKE)
        for extra in extras:
            require_packages_of(extra)
        return config


invocation_of: Final = click.make_pass_decorator(Invocation)


def _set(ctx: click.Context, param: click.Parameter, value: object) -> None:
    if value:
        assert param.name is not None
        setattr(ctx.find_object(Invocation), param.name, value)


def _noted(*names: str, **how: Any) -> Callable[[Command], Command]:
    """An option that is noted in the Invocation; the command does not get it."""
    return click.option(*names, expose_value=False, callback=_set, **how)


debug_option: Final = _noted(
    "--debug", is_flag=True, help="Show the traceback of an unexpected error."
)
"""On the program and on every command."""
quiet_option: Final = _noted(
    "--quiet",
    "-q",
    is_flag=True,
    help="No progress on stderr; results, warnings and errors only.",
)
"""On the program and on every command."""


def config_options(command: Command) -> Command:
    """--config and --print-config, on the program and on every command that reads the configuration."""
    file = _noted(
        "--config",
        "config_file",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        help="TOML file with settings. Environment variables override it, flags override both.",
    )
    shown = _noted(
        "--print-config",
        is_flag=True,
        is_eager=True,  # known before a missing argument is
        help="Print the effective configuration and exit.",
    )
    return file(shown(command))


def configured(command: Callable[..., Any]) -> Callable[..., Any]:
    """All of the above: what a command that reads the configuration ends its options with."""
    return config_options(quiet_option(debug_option(invocation_of(command))))


@contextmanager
def bad_arguments(group: str = "--group") -> Iterator[None]:
    """Raises click.UsageError for what `errors` calls unknown; `group` is the argument that names a group."""
    try:
        yield
    except (UnknownGroup, UnknownPartition) as error:
        hint = group if isinstance(error, UnknownGroup) else "--partition"
        raise click.BadParameter(str(error), param_hint=hint) from error
    except UnknownTimeZone as error:
        raise click.UsageError(str(error)) from error
