"""One run at a time per cluster, tried with two processes."""

import subprocess
import sys
from pathlib import Path

import pytest

from rebalance_audit.errors import LakeBusy, LakeNotWritable
from rebalance_audit.lake.storage.lock import sole_run, sole_table_maker

HOLDER = """
import sys, time
from rebalance_audit.lake.storage.lock import sole_run
with sole_run(sys.argv[1], "blue", "run-1"):
    print("held", flush=True)
    time.sleep(600)
"""


def test_a_second_run_is_refused_until_the_first_is_gone(tmp_path: Path) -> None:
    """One sentence with the other run's id; other clusters are free; a process that was killed holds nothing."""
    lake = str(tmp_path / "lake")
    command = [sys.executable, "-c", HOLDER, lake]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        sentence = rf"Cluster blue .* run-1 in process {holder.pid}; try again"
        with pytest.raises(LakeBusy, match=sentence), sole_run(lake, "blue", "run-2"):
            pass
        with sole_run(lake, "it's/green", "run-3"):
            pass
        holder.kill()
    with sole_run(lake, "blue", "run-4"):
        pass


def test_a_lake_on_other_storage_has_no_lock() -> None:
    """What is not on this machine's file systems is left to Delta, and nothing is written beside it."""
    for lake in ("s3a://bucket/lake", "catalog:unity"):
        with sole_run(lake, "blue", "run-1"), sole_run(lake, "blue", "run-2"):
            pass
    assert not list(Path.cwd().glob("s3a*"))


def test_clusters_with_long_names_have_locks_of_their_own(tmp_path: Path) -> None:
    """Of names as long as Kafka's identifiers may be, in letters that take twelve characters in a file's name."""
    lake, name = str(tmp_path / "lake"), "\U0001f600" * 249
    refused = pytest.raises(LakeBusy, match="is being written by run-1")
    with sole_run(lake, name, "run-1"), sole_run(lake, f"{name}!", "run-2"), refused:
        sole_run(lake, name, "run-3").__enter__()


def test_a_lock_that_is_a_link_is_refused(tmp_path: Path) -> None:
    """Taking a lock empties its file: what a link leads to stays as it is."""
    target, lake = tmp_path / "target", tmp_path / "lake"
    target.write_text("precious")
    (lake / "meta").mkdir(parents=True)
    for name in (".running-blue", ".making-tables"):
        (lake / "meta" / name).symlink_to(target)
    sentence = "running-blue cannot be written: it is a symbolic link"
    with pytest.raises(LakeNotWritable, match=sentence), sole_run(str(lake), "blue", "run-1"):
        pass
    with pytest.raises(OSError, match="it is a symbolic link"), sole_table_maker(str(lake)):
        pass
    assert target.read_text() == "precious"
