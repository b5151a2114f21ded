"""Which coordinator a command judges by: `--as RELEASE`."""

from typing import Any, Final

import click

from rebalance_audit.verify.coordinators import DEFAULT, Coordinator, coordinator_named


class _Release(click.ParamType[Coordinator]):
    name = "release"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Coordinator:
        if isinstance(value, Coordinator):
            return value
        try:
            return coordinator_named(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


coordinator: Final = click.option(
    "--as",
    "coordinator",
    type=_Release(),
    default=DEFAULT,
    metavar="RELEASE",
    show_default=str(DEFAULT),
    help="The release of Kafka that would load the log: 3.3 to 4.4; 3.9 and earlier mean the classic coordinator,"
    " `3.9 new` the new one.",
)
"""The command gets a Coordinator."""
