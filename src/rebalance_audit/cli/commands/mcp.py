"""`rebalance-audit mcp`: the server for agents."""

from typing import Final

import click

from rebalance_audit.cli import options
from rebalance_audit.cli.invocation import Invocation, configured, require_packages_of
from rebalance_audit.cli.output import echo
from rebalance_audit.cli.source import LakeSource, Segments, takes_source

EXAMPLES: Final = """\b
Examples:
  rebalance-audit mcp copy-of-log
  rebalance-audit mcp --lake /data/lake --cluster blue
  rebalance-audit mcp --lake /data/lake --http-port 8931 --http-token @mcp-token
"""


@click.command(epilog=EXAMPLES)
@options.seconds(
    "--query-seconds",
    text="Stop a query after this time. [default: 6]",
)
@click.option(
    "--http-port",
    type=click.IntRange(0, 65535),
    metavar="PORT",
    help="Serve over streamable HTTP at this port in place of stdin and stdout; 0 for any that is free.",
)
@click.option(
    "--http-token",
    type=options.Parsed(options.secret),
    metavar="TOKEN|@FILE",
    help="The bearer token that each request over HTTP must have; @FILE reads it from a file.",
)
@click.option(
    "--http-address",
    default="127.0.0.1",
    show_default=True,
    metavar="ADDRESS",
    help="Where to serve; 0.0.0.0 lets other hosts ask.",
)
@click.option(
    "--http-host",
    "http_hosts",
    metavar="NAME",
    multiple=True,
    help="A name by which clients ask for this machine, if it is not its own; may be repeated.",
)
@click.option(
    "--http-origin",
    "http_origins",
    metavar="ORIGIN",
    multiple=True,
    help="An origin whose pages may ask, such as https://tools.example; may be repeated.",
)
@takes_source(options.broker_logs, options.broker_log_zone, options.end_offsets)
@configured
def mcp(
    invocation: Invocation,
    /,
    source: Segments | LakeSource,
    query_seconds: float | None,
    http_port: int | None,
    http_token: str | None,
    http_address: str,
    http_hosts: tuple[str, ...],
    http_origins: tuple[str, ...],
) -> None:
    """Serve the answers to agents by the Model Context Protocol, on stdin and stdout until stdin ends, or over HTTP.

    Read-only. SEGMENTS are audited once, when the server starts; a lake is read again for each
    answer. Tools: docs/agents.md.
    """
    if (http_port is None) != (http_token is None):
        raise click.UsageError("Give --http-port and --http-token together.")
    require_packages_of("agents")
    from rebalance_audit.agents.read_only_sql import SECONDS  # noqa: PLC0415 - imports Arrow
    from rebalance_audit.agents.server import server_over  # noqa: PLC0415 - imports the SDK

    seconds, gold = query_seconds or SECONDS, source.gold()
    if http_port is None or http_token is None:
        server_over(gold, seconds).run("stdio")
        return
    from rebalance_audit.agents import http_server  # noqa: PLC0415 - imports uvicorn

    def started(url: str) -> None:
        if not invocation.quiet:
            echo(f"Serving agents at {url}", err=True)

    verifier = http_server.OneToken(http_server.require_token(http_token))
    server = server_over(
        gold, seconds, token_verifier=verifier, auth=http_server.auth_at(http_address)
    )
    http_server.serve_http(
        server,
        http_address,
        http_port,
        host_names=http_hosts,
        origins=http_origins,
        started=started,
    )
