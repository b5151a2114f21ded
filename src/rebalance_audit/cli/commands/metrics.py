"""`rebalance-audit metrics`: the state of groups for Prometheus."""

from pathlib import Path
from typing import Final

import click

from rebalance_audit.cli import options
from rebalance_audit.cli.invocation import configured
from rebalance_audit.cli.output import document, write_file
from rebalance_audit.cli.progress import slow_step
from rebalance_audit.cli.source import LakeSource, Segments, takes_source

EXAMPLES: Final = """\b
Examples:
  rebalance-audit metrics copy-of-log
  rebalance-audit metrics --lake /data/lake --out /var/lib/node_exporter/rebalance_audit.prom
"""


@click.command(epilog=EXAMPLES)
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE.prom",
    help="Write to this file, atomically, instead of stdout.",
)
@options.groups_max
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead.")
@takes_source(options.broker_logs, options.broker_log_zone, options.end_offsets)
@configured
def metrics(
    _invocation: object,
    /,
    source: Segments | LakeSource,
    out: Path | None,
    groups_max: int,
    *,
    as_json: bool,
) -> None:
    """Print metrics of groups in OpenMetrics format: states, rebalances by cause, lost time, findings.

    For the textfile collector of node exporter. Alert rules: conf/alerts and docs/alerts.md.
    """
    from rebalance_audit.readers.metrics import metrics_shape, metrics_text  # noqa: PLC0415 - imports DuckDB

    gold = source.gold()
    with slow_step("counting"):
        text = (
            document({"metrics": metrics_shape(gold, groups_max)})
            if as_json
            else metrics_text(gold, groups_max)
        )
    if out is None:
        click.echo(text, nl=False)
    else:
        write_file(text, out)
