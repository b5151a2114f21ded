"""`rebalance-audit mcp`: the server for agents."""

from typing import TYPE_CHECKING, Final

import click

from rebalance_audit.cli import options
from rebalance_audit.cli.gold_source import reads_gold
from rebalance_audit.cli.invocation import configured

if TYPE_CHECKING:
    from rebalance_audit.tables.gold_rows import GoldRows

EXAMPLES: Final = """\b
Examples:
  rebalance-audit mcp copy-of-log
  rebalance-audit mcp --lake /data/lake --cluster blue
"""


@click.command(epilog=EXAMPLES)
@options.seconds(
    "--query-seconds",
    text="Refuse a query that takes longer. [default: 6]",
)
@reads_gold
@configured
def mcp(_invocation: object, /, gold: "GoldRows", query_seconds: float | None) -> None:
    """Serve the answers to agents on stdin and stdout, by the Model Context Protocol, until stdin ends.

    Read-only. SEGMENTS are audited once, when the server starts; a lake is read anew for each answer. docs/agents.md
    lists the tools.
    """
    from rebalance_audit.agents.read_only_sql import SECONDS  # noqa: PLC0415 - imports Arrow
    from rebalance_audit.agents.server import server_over  # noqa: PLC0415 - imports the SDK

    server_over(gold, query_seconds or SECONDS).run("stdio")
