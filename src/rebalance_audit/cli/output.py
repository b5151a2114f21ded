"""How texts of a command reach stdout and stderr: through here, or through a console of `report.terminal.console`."""

import click

from rebalance_audit.visible import visible


def echo(text: str, *, err: bool = False) -> None:
    """Print lines; every control character but the breaks between them is shown as an escape.

    An id from the log may hold a line break, too: whoever joins lines makes each `visible` before.
    """
    click.echo("\n".join(map(visible, text.split("\n"))), err=err)
