"""A fault at each commit of a run: rows are equal in the end, or a sentence says what to do.

With the default writer; `make test-writers` takes the other one.
"""

import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from deltalake import CommitProperties, DeltaTable, write_deltalake
from pyspark.sql import SparkSession

from rebalance_audit.errors import LakeError
from rebalance_audit.lake.runs.run import run_audit
from rebalance_audit.lake.storage.delta_rs_writer import DeltaRsWriter
from rebalance_audit.lake.storage.spark_writer import SparkWriter
from rebalance_audit.lake.storage.stage import FOLDER
from rebalance_audit.lake.storage.table_place import KINDS, LakeOptions, WriterKind
from rebalance_audit.lake.storage.table_writer import Written
from rebalance_audit.tables.schemas import TableName, TableSchema
from tests.spark.lakes import TABLES, Whole, difference, empty_lake, request_of
from tests.spark.mixed_log import write_log

WRITERS = {"delta-rs": DeltaRsWriter, "spark": SparkWriter}
CHANGES = ("append", "merge", "replace")
ANOTHER = "20260101T000000Z-0000000a"
"""A run of another cluster of the lake."""
POINTS = (
    TableName.RECORDS,
    TableName.INGESTED,
    TableName.OFFSET_COMMITS,
    TableName.EPOCHS,
    TableName.GROUP_RECORDS,
    TableName.FINDINGS,
    TableName.SNAPSHOTS,
    TableName.PROGRESS,
)
"""In the order of the commits; those of gold are made by the same code, several at once."""
COMMAND = re.compile(r"`rm (\S+)`")
ATTEMPTS = 3


class Killed(BaseException):
    """The process ends here."""


class Commit(NamedTuple):
    """One that a run is about to make."""

    lake: Path
    table: Path
    make: Callable[[], Written | None]


def stage_removed(commit: Commit) -> Written | None:
    """All that was staged is gone, and what tasks have written into the table."""
    for staged in (commit.lake / FOLDER).glob("[0-9]*/[0-9]*"):
        shutil.rmtree(staged)
    committed = {Path(uri) for uri in DeltaTable(commit.table).file_uris()}
    for file in {*commit.table.glob("[0-9]*/*.parquet")} - committed:
        file.unlink()
    return commit.make()


def killed_before(_: Commit) -> Written | None:
    """The commit is not made."""
    raise Killed


def killed_after(commit: Commit) -> Written | None:
    """Only this commit is made."""
    commit.make()
    raise Killed


def half_commit(commit: Commit) -> Written | None:
    """Half of the commit reaches the disk."""
    before = DeltaTable(commit.table).version()
    commit.make()
    version = DeltaTable(commit.table).version()
    if version > before:
        file = commit.table / "_delta_log" / f"{version:020d}.json"
        os.truncate(file, file.stat().st_size // 2)
    raise Killed


def other_cluster(commit: Commit) -> Written | None:
    """A run of another cluster commits first."""
    rows = DeltaTable(commit.table).to_pyarrow_table().slice(0, 1)
    if rows.num_rows:
        cluster = rows.schema.get_field_index("cluster")
        theirs = rows.set_column(cluster, rows.schema.field(cluster), [["green"]])
        made_by = CommitProperties(custom_metadata={"userMetadata": ANOTHER})
        write_deltalake(commit.table, theirs, mode="append", commit_properties=made_by)
    return commit.make()


Fault = Callable[[Commit], Written | None]
FAULTS = (stage_removed, half_commit, killed_before, killed_after)


@contextmanager
def faulty(lake: Path, faults: Mapping[str, Fault], writer: WriterKind) -> Iterator[list[str]]:
    """Do a fault at the first commit to each of some tables in the block; gives the tables where that was done."""
    kind = WRITERS[writer]
    done: list[str] = []

    def with_fault(change: Callable[..., Written | None]) -> Callable[..., Written | None]:
        def changed(self: object, schema: TableSchema, *given: Any) -> Written | None:
            name = schema.full_name
            if name in done or name not in faults:
                return change(self, schema, *given)
            done.append(name)
            table = lake.joinpath(*name.split("."))
            return faults[name](Commit(lake, table, lambda: change(self, schema, *given)))

        return changed

    with pytest.MonkeyPatch.context() as patched:
        for each in CHANGES:
            patched.setattr(kind, each, with_fault(getattr(kind, each)))
        yield done


def test_a_fault_at_each_commit(
    spark: SparkSession, writer: WriterKind, whole: Whole, tmp_path: Path
) -> None:
    """The log grows from run to run. Each run has a fault at one commit, and loses the race at those before it.

    In the end bronze is an older copy of itself.
    """
    lake = empty_lake(tmp_path / "lake", whole.lake)
    said: list[str] = []

    def ran(share: float) -> None:
        log = write_log(tmp_path / "log", share)
        request = request_of(f"segments:{log}", lake, options=LakeOptions(writer=writer))
        for _ in range(ATTEMPTS):
            try:
                run_audit(spark, request)
            except LakeError as error:
                said.append(str(error))
                if found := COMMAND.search(said[-1]):
                    Path(found[1]).unlink()
                    continue
            return

    for number, name in enumerate(POINTS):
        fault = FAULTS[(number + KINDS.index(writer)) % len(FAULTS)]
        if writer == "spark" and fault is half_commit:
            # Delta has the commit in the memory of this session, as no process has that comes after a dead one.
            fault = killed_after
        others = dict.fromkeys(POINTS[:number], other_cluster)
        with faulty(lake, {**others, name: fault}, writer) as done, suppress(Killed):
            ran((number + 1) / (len(POINTS) + 1))
        assert name in done
        if number == len(POINTS) // 2:
            shutil.copytree(lake / "bronze", tmp_path / "older")
    shutil.rmtree(lake / "bronze")
    (tmp_path / "older").rename(lake / "bronze")
    ran(1)
    assert {name: found for name in TABLES if (found := difference(name, lake, whole.lake))} == {}
    assert [*(lake / FOLDER).glob("[0-9]*")] == []
    gone, half = (sum(words in each for each in said) for words in ("are gone", "half written"))
    assert gone, "rows of a stage that is gone are missed"
    assert half or writer == "spark", "a commit that was cut short is named"
