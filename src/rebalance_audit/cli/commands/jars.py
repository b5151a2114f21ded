"""`rebalance-audit jars`: fetches the jars that Spark needs."""

from pathlib import Path
from typing import Final

import click

from rebalance_audit.cli import options
from rebalance_audit.cli.invocation import Invocation, configured, require_packages_of
from rebalance_audit.cli.output import HandOut, summarised
from rebalance_audit.cli.progress import progress
from rebalance_audit.cli.spark_jars import OF_SPARK, fetch_jars, jars_folder, require_java

EXAMPLES: Final = """\b
Examples:
  rebalance-audit jars
  rebalance-audit jars --out /opt/rebalance-audit/jars
"""


@click.command(epilog=EXAMPLES)
@options.path(
    "--out",
    metavar="DIR",
    text="Replace this folder; by default the one where commands that start Spark look for jars.",
)
@click.option("--configuration", default=OF_SPARK, hidden=True)
@summarised()
@configured
def jars(
    invocation: Invocation, /, out: Path | None, configuration: str, hand_out: HandOut
) -> None:
    """Fetch the jars of Delta Lake and of Spark's Kafka source for the installed Spark, once per release.

    22 MB from Maven Central, by the Ivy inside Spark. Commands that start Spark find them by themselves; with --out,
    name the folder in spark.jars_folder.
    """
    config = invocation.config()
    require_packages_of("spark")
    require_java()
    folder = out or jars_folder(Path(config.spark.jars_folder))
    with progress() as on_progress:
        on_progress(f"fetching the jars of {folder}")
        fetch_jars(configuration, folder, on_progress)
    names = sorted(path.name for path in folder.glob("*.jar"))
    hand_out({"folder": str(folder), "jars": names}, f"{len(names)} jars are in {folder}.")
