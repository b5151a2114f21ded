"""What one call of the program is given besides its command: configuration, and how to report errors."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from rebalance_audit.cli.requirements import require_packages_of
from rebalance_audit.errors import UnknownGroup
from rebalance_audit.visible import visible

if TYPE_CHECKING:
    from rebalance_audit.config import Config

NO_LAKE: Final = "No lake: give --lake DIR."

Command = TypeVar("Command", bound=Callable[..., Any])


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

    def config_of_lake(
        self, flags: Mapping[str, object], *extras: str, without: str = NO_LAKE
    ) -> "Config":
        """`config`, for a command that needs a lake and the packages of these extras.

        Raises ConfigError, click.UsageError with the sentence `without` where there is no lake, and what
        `require_packages_of` raises.
        """
        config = self.config(flags)
        if not config.lake.path:
            raise click.UsageError(without)
        for extra in extras:
            require_packages_of(extra)
        return config

    def config_of_reader(
        self, flags: Mapping[str, object], without: str = NO_LAKE, *, group_id: str | None = None
    ) -> "Config":
        """`config_of_lake`, for a command that reads one cluster; if none was named, the only one of the lake.

        In a lake of several: the only one that has the group, if one is asked about.

        Raises as `config_of_lake`, click.UsageError where several clusters fit, UnknownGroup and LakeNotReadable.
        """
        config, clusters = self.clusters_of_reader(flags, without)
        if len(clusters) > 1 and group_id is not None:
            from rebalance_audit.readers.group import (  # noqa: PLC0415 - imports Arrow
                clusters_with,
                group_ids,
            )

            having = clusters_with(config.lake.path, group_id)
            if not having:
                raise UnknownGroup(group_id, group_ids(config.lake.path, None))
            if len(having) > 1:
                raise click.UsageError(
                    f"Group {group_id!r} is in {len(having)} clusters ({', '.join(having)}):"
                    " give --cluster NAME."
                )
            clusters = having
        if len(clusters) > 1:
            raise click.UsageError(
                f"{config.lake.path} has {len(clusters)} clusters ({', '.join(clusters)}):"
                " give --cluster NAME."
            )
        return config.model_copy(update={"cluster": clusters[0]})

    def clusters_of_reader(
        self, flags: Mapping[str, object], without: str = NO_LAKE
    ) -> "tuple[Config, list[str]]":
        """`config_of_lake`, and the clusters to read: the one that was named, else all of the lake; at least one.

        Raises as `config_of_lake`, and LakeNotReadable.
        """
        config = self.config_of_lake(flags, without=without)
        from rebalance_audit.config import is_given  # noqa: PLC0415 - 0.3 s
        from rebalance_audit.readers.tables import (  # noqa: PLC0415 - imports Arrow
            RUNS,
            clusters,
            unfinished_run,
        )

        found = [config.cluster]
        if not is_given("cluster", self.config_file, flags):
            found = clusters(config.lake.path, RUNS) or found
        for cluster in found:
            if sentence := unfinished_run(config.lake.path, cluster):
                click.echo(visible(sentence), err=True)
        return config, found


invocation_of: Final = click.make_pass_decorator(Invocation)


def _set(ctx: click.Context, param: click.Parameter, value: object) -> None:
    if value:
        assert param.name is not None
        setattr(ctx.find_object(Invocation), param.name, value)


def debug_option(command: Command) -> Command:
    """--debug, on the program and on every command."""
    return click.option(
        "--debug",
        is_flag=True,
        expose_value=False,
        callback=_set,
        help="Show the traceback of an unexpected error.",
    )(command)


def quiet_option(command: Command) -> Command:
    """--quiet, on the program and on every command."""
    return click.option(
        "--quiet",
        "-q",
        is_flag=True,
        expose_value=False,
        callback=_set,
        help="No progress on stderr; results, warnings and errors only.",
    )(command)


def config_options(command: Command) -> Command:
    """--config and --print-config, on the program and on every command that reads the configuration."""
    file = click.option(
        "--config",
        "config_file",
        type=click.Path(dir_okay=False, path_type=Path),
        metavar="FILE",
        expose_value=False,
        callback=_set,
        help="TOML file with settings. Environment variables override it, flags override both.",
    )
    shown = click.option(
        "--print-config",
        is_flag=True,
        is_eager=True,  # known before a missing argument is
        expose_value=False,
        callback=_set,
        help="Print the effective configuration and exit.",
    )
    return file(shown(command))


def configured(command: Callable[..., Any]) -> Callable[..., Any]:
    """All of the above: what a command that reads the configuration ends its options with."""
    return config_options(quiet_option(debug_option(invocation_of(command))))
