"""How texts of a command reach stdout and stderr: through here, or through a console of `report.terminal.console`."""

import click

from rebalance_audit.shown_settings import without_credentials
from rebalance_audit.visible import visible


def echo(text: str, *, err: bool = False) -> None:
    """Print lines; every control character but the breaks between them is shown as an escape, credentials as hidden.

    An id from the log may hold a line break, too: whoever joins lines makes each `visible` before.
    """
    click.echo("\n".join(map(visible, without_credentials(text).split("\n"))), err=err)
