"""What can happen to a table of a lake between two runs, done by others than the program."""

import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from deltalake import DeltaTable
from pyspark.sql import SparkSession

from rebalance_audit.lake.session.spark_session import temporary_settings

APPEND_ONLY: Final = "delta.appendOnly"
VACUUM_SETTINGS: Final = {
    "spark.databricks.delta.retentionDurationCheck.enabled": "false",
    # By default ten thousand tasks list the files: a minute of processor time for one table.
    "spark.sql.sources.parallelPartitionDiscovery.parallelism": "2",
}
Fault = Callable[[SparkSession, Path], None]


def drop(_spark: SparkSession, table: Path) -> None:
    """The folder is gone."""
    shutil.rmtree(table)


def empty(spark: SparkSession, table: Path) -> None:
    """Somebody deleted all rows."""
    with _changeable(spark, table):
        spark.sql(f"DELETE FROM delta.`{table}`")  # noqa: S608 - a folder of the tests


def restore(spark: SparkSession, table: Path) -> None:
    """Somebody went back to the version before the last."""
    version = DeltaTable(str(table)).version() - 1
    with _changeable(spark, table):
        spark.sql(f"RESTORE TABLE delta.`{table}` TO VERSION AS OF {version}")


def truncate_log(_spark: SparkSession, table: Path) -> None:
    """The newest commit is gone, as after a copy that was made too early."""
    log = table / "_delta_log"
    newest = f"{DeltaTable(str(table)).version():020d}"
    for file in (*log.glob(f"{newest}.*"), *log.glob(f".{newest}.*")):
        file.unlink()


def vacuum(spark: SparkSession, table: Path) -> None:
    """Every file that the newest version does not use is gone, and files were put together before."""
    spark.sql(f"OPTIMIZE delta.`{table}`")
    with temporary_settings(spark, VACUUM_SETTINGS):
        spark.sql(f"VACUUM delta.`{table}` RETAIN 0 HOURS")


def lose_file(_spark: SparkSession, table: Path) -> None:
    """A data file is gone."""
    _largest_file(table).unlink()


def damage_file(_spark: SparkSession, table: Path) -> None:
    """Half of a data file, with its footer, is gone."""
    file = _largest_file(table)
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


@contextmanager
def _changeable(spark: SparkSession, table: Path) -> Iterator[None]:
    """Lift what protects a table for the block, as somebody must who wants to change it."""
    promised = DeltaTable(str(table)).metadata().configuration.get(APPEND_ONLY) == "true"
    if promised:
        spark.sql(f"ALTER TABLE delta.`{table}` SET TBLPROPERTIES ('{APPEND_ONLY}' = 'false')")
    yield
    if promised:
        spark.sql(f"ALTER TABLE delta.`{table}` SET TBLPROPERTIES ('{APPEND_ONLY}' = 'true')")


def _largest_file(table: Path) -> Path:
    used = [Path(uri.removeprefix("file://")) for uri in DeltaTable(str(table)).file_uris()]
    return max(used, key=lambda file: file.stat().st_size)


SEEN_IN_LOG: Final[Mapping[str, Fault]] = {
    "dropped": drop,
    "emptied": empty,
    "restored": restore,
    "log truncated": truncate_log,
    "vacuumed": vacuum,
}
"""The next run over what is new mends these by itself."""
SEEN_IN_FILES: Final[Mapping[str, Fault]] = {"file lost": lose_file, "file damaged": damage_file}
"""A run that meets these names the command that mends them."""
