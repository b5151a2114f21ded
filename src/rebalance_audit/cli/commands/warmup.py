"""`rebalance-audit warmup`: an archive of Java's classes, with which Spark starts sooner."""

from tempfile import TemporaryDirectory
from typing import Final

import click

from rebalance_audit.cli.invocation import Invocation, configured
from rebalance_audit.cli.progress import progress
from rebalance_audit.cli.requirements import require_java
from rebalance_audit.cli.summaries import HandOut, summarised
from rebalance_audit.new_file import replacing

EXAMPLES: Final = """\b
Examples:
  rebalance-audit warmup
  XDG_CACHE_HOME=/opt/cache rebalance-audit warmup   while an image is built
"""
MIB: Final = 1 << 20


@click.command(epilog=EXAMPLES)
@summarised()
@configured
def warmup(invocation: Invocation, /, hand_out: HandOut) -> None:
    """Make commands that start Spark on this machine some five seconds faster.

    Audits the bundled log of `demo` twice, and has Java keep the classes that it loaded for that, some 190 MB, in a
    file below $XDG_CACHE_HOME, by default ~/.cache. `run`, `ingest`, `maintain` and `check` take them from there.
    Java checks the file, and does without it after an update of Java or Spark: repeat the command then. The file
    can be removed at any time.
    """
    with TemporaryDirectory(prefix="rebalance-audit-") as folder:
        config = invocation.config_of_lake(
            {"source.spec": f"segments:{folder}/log", "lake.path": f"{folder}/lake"}, "spark"
        )
        require_java()
        from rebalance_audit.cli import spark  # noqa: PLC0415 - imports Spark
        from rebalance_audit.lake.session.class_archive import class_archive  # noqa: PLC0415 - as above

        archive = class_archive()
        with progress() as tell, replacing(archive) as new:
            spark.record_classes(config, new, tell)
    size_bytes = archive.stat().st_size
    hand_out(
        {"archive": str(archive), "size_bytes": size_bytes},
        f"Java's classes are in {archive}, {size_bytes // MIB:,} MiB: Spark takes them from there.",
    )
