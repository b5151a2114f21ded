"""`rebalance-audit warmup`: compiles the reader of large logs ahead."""

from importlib.util import find_spec
from typing import Final

import click

from rebalance_audit.cli.invocation import Invocation, configured
from rebalance_audit.cli.output import HandOut, summarised
from rebalance_audit.cli.progress import progress
from rebalance_audit.extras import install_command
from rebalance_audit.segments.available import compile_walk

EXAMPLES: Final = """\b
Examples:
  rebalance-audit warmup
  NUMBA_CACHE_DIR=/opt/compiled rebalance-audit warmup   keep it in another folder, for all users
"""


@click.command(epilog=EXAMPLES)
@summarised()
@configured
def warmup(invocation: Invocation, /, hand_out: HandOut) -> None:
    """Compile the reader of large logs for this machine's processor, once per release.

    Commands that read a log of 100 MB or more compile what they need by themselves, in 3 to 7 s, and keep it: run this
    when you build an image, after an installation, or on the nodes of a Spark cluster. The folder is below
    $XDG_CACHE_HOME (~/.cache), or $NUMBA_CACHE_DIR where that is set: set it for the commands, too.
    """
    invocation.config()
    if find_spec("numba") is None:
        how = f"Install it with `{install_command('fast')}`"
        missing = f"Numba is not installed: large logs are read without it, more slowly, with the same result. {how}."
        hand_out({"folder": None, "compiled": False}, missing)
        return
    with progress() as on_progress:
        on_progress("compiling")
        folder = compile_walk()
    hand_out(
        {"folder": str(folder), "compiled": True},
        f"The reader of large logs is compiled, in {folder}.",
    )
