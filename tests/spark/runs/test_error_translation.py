"""A disk that takes no more, and a source that vanishes, in the middle of a run."""

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from resource import RLIMIT_FSIZE, prlimit

import pytest
from pyspark.sql import SparkSession

from rebalance_audit.errors import LakeNotWritable
from rebalance_audit.lake.runs.run import IngestRequest, run_audit, run_ingest
from rebalance_audit.wire.segments.folder import SourceNotReadable
from tests.spark.lakes import CLUSTER, TABLES, Whole, difference, request_of

FULL = ("creating tables", "writing tables")
"""Steps of a run from whose begin on the disk takes nothing."""
GONE = "reading the source into bronze"
"""The step of a run at whose begin the source is moved away."""


class Disk:
    """The files of Spark's process: nothing can be added to them while it is full, as by `ulimit -f 0`."""

    def __init__(self, spark: SparkSession) -> None:
        gateway = spark.sparkContext._gateway
        assert gateway is not None
        self._pid = gateway.proc.pid
        _, self._hard = prlimit(self._pid, RLIMIT_FSIZE)

    def fill(self) -> None:
        """From now on."""
        prlimit(self._pid, RLIMIT_FSIZE, (0, self._hard))

    @contextmanager
    def mended(self) -> Iterator[None]:
        """Room again afterwards."""
        try:
            yield
        finally:
            prlimit(self._pid, RLIMIT_FSIZE, (self._hard, self._hard))


def at(step: str, harm: Callable[[], object]) -> Callable[[str], None]:
    """Does harm when a run reports that it has come to a step."""
    return lambda reported: harm() if reported == step else None  # type: ignore[return-value]


def test_what_is_refused_in_the_middle_is_reported_and_mended(
    spark: SparkSession, whole: Whole, tmp_path: Path
) -> None:
    """A sentence each time, whichever step it hits; then one run gives the tables of a clean one."""
    log, away, lake = (tmp_path / name for name in ("log", "away", "lake"))
    shutil.copytree(whole.log, log)
    # As of a run that was killed while it made its tables.
    died = lake / "gold" / "epochs" / "_delta_log"
    (died / "_staged_commits").mkdir(parents=True)
    (died / ".00000000000000000000.json.5a0c.tmp").touch()
    request = request_of(f"segments:{log}", lake)
    with pytest.raises(SourceNotReadable, match=rf"^{log}\S* (does not exist|cannot be read)"):
        run_audit(spark, request, at(GONE, lambda: log.rename(away)))
    away.rename(log)
    disk = Disk(spark)
    assert request.source is not None
    ingest = IngestRequest(request.source, str(lake), CLUSTER)
    refused = rf"^File too large: in the lake {lake} with [\d,]+ MB free, or in Spark's .* finishes the work\.(\n|$)"
    with disk.mended(), pytest.raises(LakeNotWritable, match=refused):
        run_ingest(spark, ingest, at("creating tables", disk.fill))
    for step in FULL:
        with disk.mended(), pytest.raises(LakeNotWritable, match=refused):
            run_audit(spark, request, at(step, disk.fill))
    run_audit(spark, request)
    for name in TABLES:
        assert not difference(name, lake, whole.lake), name
