"""Runs that are killed anywhere, and two runs at once."""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession

from rebalance_audit.cli.exit_codes import UNEXPECTED
from rebalance_audit.errors import LakeBusy
from rebalance_audit.lake.runs.run import run_audit
from tests.cli.call import PROGRAM
from tests.spark.lakes import (
    CLUSTER,
    FINDINGS,
    TABLES,
    Earlier,
    Whole,
    difference,
    request_of,
    table,
)
from tests.spark.mixed_log import write_log
from tests.support.processes import javas_below, kill
from tests.support.spark_sessions import configuration

SEED = 7
KILLS = ((0.85, "all"), (1.0, "java"))
"""How much of the log a run finds, and what of its processes is killed."""
COMMITS = (2, 16)
"""A run over what is new makes about this many: it is killed after one of them."""
PATIENCE_S = 600
JAVA_GONE = "Error: Spark's Java process ended during the work. "


def commits(lake: Path) -> int:
    """How many commits all tables of a lake have."""
    return sum(1 for _ in lake.glob("*/*/_delta_log/*.json"))


def test_killed_runs_leave_nothing_that_the_next_does_not_mend(
    spark: SparkSession, whole: Whole, earlier: Earlier, tmp_path: Path
) -> None:
    """Driver and workers are killed after some commit, then Java alone; then the tables are those of one run.

    While a run is at work, another one over the same cluster is turned away. Without its Java a run says so, and ends.
    """
    random = Random(SEED)
    lake, log = Path(shutil.copytree(earlier.lake, tmp_path / "lake")), tmp_path / "log"
    # Thresholds of the runs before: with others everything would be recreated.
    config = configuration(tmp_path, f"[findings]\ngrowth_records = {FINDINGS.growth_records}")
    for share, victim in KILLS:
        write_log(log, share=share)
        before = commits(lake)
        enough = before + random.randint(*COMMITS)
        command = [*PROGRAM, "run", "--source", f"segments:{log}", "--lake", str(lake)]
        command += ["--cluster", CLUSTER, "--config", str(config)]
        with subprocess.Popen(
            command,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ) as process:
            try:
                deadline = time.monotonic() + PATIENCE_S
                turned_away = False
                while commits(lake) < enough and process.poll() is None:
                    assert time.monotonic() < deadline
                    if not turned_away and commits(lake) > before:
                        with pytest.raises(LakeBusy, match="try again when it has ended"):
                            run_audit(spark, request_of(None, lake))
                        turned_away = True
                    time.sleep(0.02)
                if victim == "java":
                    (java,) = javas_below(process.pid)
                    kill(java)
                    _, printed = process.communicate(timeout=PATIENCE_S)
                    # Spark's Python workers may add a traceback of theirs, before or after.
                    assert JAVA_GONE in printed
                    assert not re.search(r'File ".*rebalance_audit/', printed), printed
                    assert process.returncode == UNEXPECTED
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
        assert turned_away
    run_audit(spark, request_of(f"segments:{log}", lake))
    outcomes = {row["outcome"] for row in table(lake, "meta.runs")}
    assert outcomes >= {"running", "done"}
    for name in TABLES:
        assert not difference(name, lake, whole.lake), name
