"""Runs that follow each other in one session."""

import json
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.cli.call import PROGRAM
from tests.spark.lakes import CLUSTER, FINDINGS, TABLES, Whole, difference, table
from tests.spark.mixed_log import write_log
from tests.support.spark_sessions import configuration

PATIENCE_S = 600


def wait_for(process: subprocess.Popen[str], condition: Callable[[], bool]) -> None:
    """Until it holds; the process must not end before."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.1)


def go_on(log: Path, whole: Path) -> None:
    """Append to the files of a log what they lack, as a broker does."""
    for file in whole.glob("__consumer_offsets-*/*.log"):
        there = log / file.relative_to(whole)
        with there.open("ab") as end:
            end.write(file.read_bytes()[there.stat().st_size :])


def test_runs_go_on_until_asked_to_end(whole: Whole, tmp_path: Path) -> None:
    """What comes into the source is in the tables after the next run; asked to end, it finishes the run it is in."""
    lake, file = tmp_path / "lake", tmp_path / "summary.json"
    log = write_log(tmp_path / "log", share=0.6)

    def summary() -> dict[str, Any]:
        return json.loads(file.read_bytes()) if file.exists() else {}

    config = configuration(tmp_path, f"[findings]\ngrowth_records = {FINDINGS.growth_records}")
    arguments = ("run", "--source", f"segments:{log}", "--lake", lake, "--cluster", CLUSTER)
    repeated = (*arguments, "--config", config, "--every", 0.5, "--summary", file)
    with subprocess.Popen([*PROGRAM, *map(str, repeated)], text=True) as process:
        try:
            wait_for(process, lambda: bool(summary()))
            first = summary()
            go_on(log, write_log(tmp_path / "whole"))
            wait_for(
                process,
                lambda: summary()["run_id"] != first["run_id"] and summary()["groups_resumed"] > 0,
            )
            process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE_S) == 0
        finally:
            process.kill()
    assert {row["outcome"] for row in table(lake, "meta.runs")} == {"done"}
    for name in TABLES:
        assert not difference(name, lake, whole.lake), name
